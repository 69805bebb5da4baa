//! Classifiers: which class of a port takes a packet.

mod kind;

pub use kind::{KindClassifier, Selector};

use crate::packet::{ClassId, Meta};

/// Assigns a packet to a class. A function of the packet alone (RFC 2475 section 2.3.1).
pub trait Classifier: Send {
    /// The class that takes the packet, or `None` where no class does.
    fn classify(&self, meta: &Meta) -> Option<ClassId>;
}
