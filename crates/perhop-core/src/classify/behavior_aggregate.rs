//! Classifies by the code point alone.
//!
//! Source: RFC 2475 section 2.3.1 (behaviour aggregate classifier), RFC 2474 section 3. Different: nothing.
//! Cost: one table look-up.

use super::Classifier;
use crate::packet::{ClassId, Dscp, Meta};

/// A table from code point to class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BehaviorAggregate([Option<ClassId>; Dscp::COUNT]);

impl BehaviorAggregate {
    /// Each class takes the code points it is listed with; one that is listed twice goes to the first class. No class
    /// takes the others: see [`BehaviorAggregate::otherwise`].
    //= rfc2474-3-configurable
    //= rfc2474-2-several
    #[must_use]
    pub fn new(classes: &[(ClassId, Dscp)]) -> Self {
        let mut table = [None; Dscp::COUNT];
        for (class, dscp) in classes {
            table[dscp.index()].get_or_insert(*class);
        }
        Self(table)
    }

    /// The same, with `class` for every code point that has none: the class of best effort, for code points that are
    /// not recognised.
    //= rfc2474-3-no-malfunction
    #[must_use]
    pub fn otherwise(mut self, class: ClassId) -> Self {
        for slot in &mut self.0 {
            slot.get_or_insert(class);
        }
        self
    }
}

impl Classifier for BehaviorAggregate {
    //= rfc2474-3-whole-field
    //= rfc2474-3-other-bits
    //= rfc2475-2.3.1-behavior-aggregate
    fn classify(&self, meta: &Meta) -> Option<ClassId> {
        self.0[meta.dscp.index()]
    }
}
