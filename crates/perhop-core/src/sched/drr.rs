//! Deficit round robin: the classes take turns, each of so many bytes, and what a turn left over is kept.
//!
//! Source: Shreedhar and Varghese 1995, the algorithm of its section 3.
//! Different: the length of the head decides, and what really left is charged. A queue that drops at departure may
//! send a longer packet than it showed: the counter then goes below zero and the class makes up for it.
//! Units: quanta and deficits in bytes. Cost: O(1) if a quantum is at least the longest packet, else one step for
//! each turn that passes without a packet.

use std::collections::VecDeque;

use super::{Heads, Scheduler, Select};
use crate::packet::{ClassId, Meta};
use crate::param_error::ParamError;
use crate::time::Instant;
use crate::units::Bytes;

/// Serves each class `quantum` bytes in a turn, in the long run exactly.
#[derive(Clone, Debug)]
pub struct Drr {
    classes: Box<[Class]>,
    /// Classes with packets, the one in turn first.
    active: VecDeque<ClassId>,
}

#[derive(Clone, Debug)]
struct Class {
    quantum: i64,
    deficit: i64,
    active: bool,
}

impl Drr {
    /// `quanta` are bytes for each turn, by position of the class.
    ///
    /// # Errors
    /// Refuses a quantum of zero, at which a class is never served, one beyond 2^31 bytes, and an empty list.
    pub fn new(quanta: &[Bytes]) -> Result<Self, ParamError> {
        if quanta.is_empty() {
            return Err(ParamError::new("quantum", "must be given for one class at least"));
        }
        let classes = quanta.iter().map(|quantum| match i32::try_from(quantum.0) {
            Ok(0) => Err(ParamError::new("quantum", "must be at least 1 B")),
            Ok(bytes) => Ok(Class { quantum: i64::from(bytes), deficit: 0, active: false }),
            Err(_) => Err(ParamError::new("quantum", "must be less than 2^31 B")),
        });
        Ok(Self {
            classes: classes.collect::<Result<_, _>>()?,
            active: VecDeque::with_capacity(quanta.len()),
        })
    }

    /// The first turn's quantum is granted where the turn begins: when the class comes to the front.
    fn begin_turn(&mut self) {
        if let Some(front) = self.active.front() {
            let class = &mut self.classes[usize::from(front.0)];
            //= shreedhar1995-3-turn
            class.deficit += class.quantum;
        }
    }

    /// Takes a class without packets off the list; what its turn left over is lost.
    fn remove(&mut self, at: usize) {
        //= shreedhar1995-3-empty
        if let Some(gone) = self.active.remove(at) {
            let class = &mut self.classes[usize::from(gone.0)];
            (class.deficit, class.active) = (0, false);
        }
        if at == 0 {
            self.begin_turn();
        }
    }
}

impl Scheduler for Drr {
    fn on_enqueued(&mut self, _now: Instant, id: ClassId, _meta: &Meta) {
        let class = &mut self.classes[usize::from(id.0)];
        if class.active {
            return;
        }
        class.active = true;
        //= shreedhar1995-3-active
        self.active.push_back(id);
        if self.active.len() == 1 {
            self.begin_turn();
        }
    }

    fn on_emptied(&mut self, _now: Instant, id: ClassId) {
        if let Some(at) = self.active.iter().position(|&c| c == id) {
            self.remove(at);
        }
    }

    fn select(&mut self, _now: Instant, heads: &dyn Heads) -> Select {
        // A class found at the front may be served: asking again finds it there again.
        while let Some(&front) = self.active.front() {
            let Some(head) = heads.head(front) else {
                self.remove(0);
                continue;
            };
            //= shreedhar1995-3-fits
            if head.len.0 <= self.classes[usize::from(front.0)].deficit.max(0).unsigned_abs() {
                return Select::Serve(front);
            }
            //= shreedhar1995-3-keep
            //= shreedhar1995-4-fair
            self.active.rotate_left(1);
            self.begin_turn();
        }
        Select::Idle
    }

    fn on_served(&mut self, _now: Instant, class: ClassId, served: &Meta) {
        //= shreedhar1995-3-charge
        self.classes[usize::from(class.0)].deficit -= served.len.0.cast_signed();
    }
}
