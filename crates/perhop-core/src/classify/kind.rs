//! Classifies by what a packet carries: pure ACKs apart from data.
//!
//! Source: Kalampoukas, Varma, Ramakrishnan 1997, sections 4 and 6 (two queues at the slow node).
//! Different: a segment that carries data is data even if it also acknowledges.
//! Cost: one table look-up.

use super::Classifier;
use crate::packet::{ClassId, Kind, Meta};

/// The packets that a class takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selector {
    /// Nothing: it takes every packet.
    Any,
    /// An acknowledgment and no payload.
    PureAck,
    /// Anything but a pure ACK.
    Data,
}

impl Selector {
    const fn takes(self, pure_ack: bool) -> bool {
        match self {
            Self::Any => true,
            Self::PureAck => pure_ack,
            Self::Data => !pure_ack,
        }
    }
}

/// Sends pure ACKs to one class and all else to another.
#[derive(Clone, Debug)]
pub struct KindClassifier {
    pure_ack: Option<ClassId>,
    other: Option<ClassId>,
}

impl KindClassifier {
    /// The first class of `classes` that has a matching selector takes the packet.
    #[must_use]
    pub fn new<'a>(classes: impl IntoIterator<Item = &'a [Selector]>) -> Self {
        let mut built = Self { pure_ack: None, other: None };
        for (id, selectors) in (0u16..).map(ClassId).zip(classes) {
            if selectors.iter().any(|s| s.takes(true)) {
                built.pure_ack.get_or_insert(id);
            }
            if selectors.iter().any(|s| s.takes(false)) {
                built.other.get_or_insert(id);
            }
        }
        built
    }
}

impl Classifier for KindClassifier {
    fn classify(&self, meta: &Meta) -> Option<ClassId> {
        if meta.kind == Kind::PureAck { self.pure_ack } else { self.other }
    }
}
