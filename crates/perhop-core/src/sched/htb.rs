//! Hierarchical token buckets: each class has a rate, and up to its ceiling what others leave of their parent's.
//!
//! Source: `tc-htb(8)` and `sch_htb.c` of Linux 6 (Devera 2002), whose order of classes this is.
//! Different (decision 0110): one level of classes under one parent; tokens are counted exactly, where Linux rounds the time of a
//! packet to a nanosecond; the rates of all classes together are the parent's at most, so that no debt grows.
//! Units: bytes, bit/s. Cost: a scan of the classes, and two multiplications for each that waits; where none may go,
//! three divisions for each.

use super::{Heads, Scheduler, Select};
use crate::meter::bucket::Credit;
use crate::packet::{ClassId, Meta};
use crate::param_error::ParamError;
use crate::time::Instant;
use crate::units::{BitRate, Bytes};

/// Number of priorities.
const PRIORITIES: u8 = 8;
/// A class is held until it owes nothing; its next packet may then be of any length.
const NOTHING: Bytes = Bytes(0);

/// A class of [`Htb`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HtbClass {
    /// The rate that it has for itself.
    pub rate: BitRate,
    /// The most that it gets, with what it borrows.
    pub ceil: BitRate,
    /// Bytes of its own that it may send at once after a pause.
    pub burst: Bytes,
    /// Bytes that it may send at once after a pause, with what it borrows.
    pub cburst: Bytes,
    /// Classes of a smaller number borrow first, and among those within their rates go first; up to 7.
    pub priority: u8,
    /// The bytes of its turn among classes of its priority.
    pub quantum: Bytes,
}

/// Assures each class its rate and lends what is left over.
#[derive(Clone, Debug)]
pub struct Htb {
    parent: Credit,
    classes: Box<[Class]>,
    /// The next in turn, by way and by priority: the first class from this one on that goes this way, or from the first.
    turns: [[Option<u16>; PRIORITIES as usize]; 2],
}

#[derive(Clone, Debug)]
struct Class {
    waits: bool,
    priority: u8,
    rate: Credit,
    ceil: Credit,
    quantum: i64,
    /// The rest of its turns, by way.
    left: [i64; 2],
}

/// How a class may go; the number of its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Own = 0,
    Borrows = 1,
}

impl Class {
    fn new(params: &HtbClass) -> Result<Self, ParamError> {
        let HtbClass { rate, ceil, burst, cburst, priority, quantum } = *params;
        if ceil < rate {
            return Err(ParamError::new("ceil", "must be at least `rate`"));
        }
        if priority >= PRIORITIES {
            return Err(ParamError::new("priority", "must be at most 7"));
        }
        let quantum = match i32::try_from(quantum.0) {
            Ok(0) => return Err(ParamError::new("quantum", "must be at least 1 B")),
            Ok(bytes) => i64::from(bytes),
            Err(_) => return Err(ParamError::new("quantum", "must be less than 2^31 B")),
        };
        let (rate, ceil) = (Credit::new("burst", rate, burst)?, Credit::new("cburst", ceil, cburst)?);
        Ok(Self { waits: false, priority, rate, ceil, quantum, left: [0; 2] })
    }

    fn refill(&mut self, now: Instant) {
        self.rate.refill(now);
        self.ceil.refill(now);
    }

    /// How it may go as far as it is concerned; borrowing needs a parent that lends.
    fn way(&self) -> Option<Way> {
        if !self.ceil.is_even() {
            None
        } else if self.rate.is_even() {
            Some(Way::Own)
        } else {
            Some(Way::Borrows)
        }
    }

    fn is_in(&self, way: Way, priority: u8) -> bool {
        self.waits && self.priority == priority && self.way() == Some(way)
    }

    /// From when on it may go, if nothing is sent until then.
    fn goes_from(&self, parent: &Credit) -> Instant {
        self.ceil.when(NOTHING).max(self.rate.when(NOTHING).min(parent.when(NOTHING)))
    }
}

impl Htb {
    /// `rate` and `burst` are those of the parent, `classes` by position.
    ///
    /// # Errors
    /// Refuses rates that exceed the parent's together, a ceiling below the rate, a burst of nothing and one that cannot be
    /// counted, a quantum of nothing and one beyond 2^31 bytes, a priority beyond 7, and an empty list.
    pub fn new(rate: BitRate, burst: Bytes, classes: &[HtbClass]) -> Result<Self, ParamError> {
        let parent = Credit::new("burst", rate, burst)?;
        if classes.is_empty() {
            return Err(ParamError::new("rate", "must be given for one class at least"));
        }
        let sum: u128 = classes.iter().map(|class| u128::from(class.rate.bits_per_sec())).sum();
        if sum > u128::from(rate.bits_per_sec()) {
            let rule = format!("must leave the rates of all classes together at {rate} at most");
            return Err(ParamError::new("rate", rule));
        }
        let classes = classes.iter().map(Class::new).collect::<Result<_, _>>()?;
        Ok(Self { parent, classes, turns: [[None; PRIORITIES as usize]; 2] })
    }

    fn turn(&mut self, way: Way, priority: u8) -> &mut Option<u16> {
        &mut self.turns[way as usize][usize::from(priority)]
    }

    /// The turn of `id` is over: the next in the row has it, or nobody where the round is over.
    fn pass(&mut self, way: Way, id: ClassId) {
        let priority = self.classes[usize::from(id.0)].priority;
        let mut after = (0u16..).zip(&*self.classes).skip(usize::from(id.0) + 1);
        let next = after.find(|(_, class)| class.is_in(way, priority));
        *self.turn(way, priority) = next.map(|(next, _)| next);
    }
}

impl Scheduler for Htb {
    fn on_enqueued(&mut self, _now: Instant, id: ClassId, _meta: &Meta) {
        self.classes[usize::from(id.0)].waits = true;
    }

    fn on_emptied(&mut self, _now: Instant, id: ClassId) {
        let class = &mut self.classes[usize::from(id.0)];
        class.waits = false;
        let priority = class.priority;
        if *self.turn(Way::Own, priority) == Some(id.0) {
            self.pass(Way::Own, id);
        }
    }

    fn select(&mut self, now: Instant, _heads: &dyn Heads) -> Select {
        let Self { parent, classes, turns } = self;
        parent.refill(now);
        let lends = parent.is_even();
        let mut best: Option<(u16, u16)> = None;
        for (class, id) in classes.iter_mut().zip(0u16..).filter(|(class, _)| class.waits) {
            class.refill(now);
            if let Some(way) = class.way().filter(|way| *way == Way::Own || lends) {
                let turn = turns[way as usize][usize::from(class.priority)].unwrap_or(0);
                // those before the one in turn come round after those behind it
                let order = (way as u16) << 8 | u16::from(class.priority) << 1 | u16::from(id < turn);
                if best.is_none_or(|(least, _)| order < least) {
                    best = Some((order, id));
                }
            }
        }
        if let Some((_, id)) = best {
            return Select::Serve(ClassId(id));
        }
        let waiting = classes.iter().filter(|class| class.waits);
        waiting.map(|class| class.goes_from(parent)).min().map_or(Select::Idle, Select::NotBefore)
    }

    fn on_served(&mut self, now: Instant, id: ClassId, served: &Meta) {
        let class = &mut self.classes[usize::from(id.0)];
        class.refill(now);
        let way = class.way().unwrap_or(Way::Borrows);
        let left = &mut class.left[way as usize];
        *left -= served.len.0.cast_signed();
        let is_over = *left < 0;
        if is_over {
            *left += class.quantum;
        }
        if way == Way::Own {
            class.rate.charge(served.len);
        }
        class.ceil.charge(served.len);
        // what can go no more by its rate is not in that row, and keeps the rest of its turn
        let leaves = way == Way::Own && class.way() != Some(Way::Own);
        let priority = class.priority;
        self.parent.refill(now);
        self.parent.charge(served.len);
        *self.turn(way, priority) = Some(id.0);
        if is_over || leaves {
            self.pass(way, id);
        }
    }
}
