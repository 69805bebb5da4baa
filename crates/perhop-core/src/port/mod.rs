//! One outgoing interface: classifier, queues and scheduler.
//!
//! The port moves packets between its parts, so that no part needs to know another. Cost: with one class, a queue
//! operation; with more, one scheduler decision for each departure.

mod class;

pub use self::class::{Class, ClassStats, DropStats};
use crate::classify::Classifier;
use crate::node::Departure;
use crate::packet::{ClassId, Kind, Meta, Packet};
use crate::queue::Queue;
use crate::sched::{Heads, Scheduler, Select};
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::Instant;
use crate::units::Bytes;

/// An outgoing interface.
pub struct Port<P: Packet>(Inside<P>);

/// A single class lies in place, and needs neither a classifier nor a scheduler.
enum Inside<P: Packet> {
    Single([Class<P>; 1]),
    Several(Box<Several<P>>),
}

struct Several<P: Packet> {
    /// Where unclassified drops are reported.
    site: SiteId,
    classifier: Box<dyn Classifier>,
    classes: Vec<Class<P>>,
    scheduler: Box<dyn Scheduler>,
}

impl<P: Packet> Port<P> {
    /// A port with several classes; `classifier` and `scheduler` name them by position.
    #[must_use]
    pub fn new(
        site: SiteId,
        classifier: Box<dyn Classifier>,
        classes: Vec<Class<P>>,
        scheduler: Box<dyn Scheduler>,
    ) -> Self {
        Self(Inside::Several(Box::new(Several { site, classifier, classes, scheduler })))
    }

    /// A port with one class that takes every packet.
    #[must_use]
    pub const fn single(class: Class<P>) -> Self {
        Self(Inside::Single([class]))
    }

    /// The classes, in order.
    #[must_use]
    pub fn classes(&self) -> &[Class<P>] {
        match &self.0 {
            Inside::Single(class) => class,
            Inside::Several(several) => &several.classes,
        }
    }

    /// A measurement begins: the largest backlogs of every class are from here on those of what follows, and waits count from
    /// here.
    pub fn restart(&mut self, now: Instant) {
        self.classes_mut().iter_mut().for_each(|class| class.restart(now));
    }

    /// The run ends: everything that waits leaves, so that its waits until now count.
    pub fn close(&mut self, now: Instant) {
        self.classes_mut().iter_mut().for_each(|class| class.close(now));
    }

    fn classes_mut(&mut self) -> &mut [Class<P>] {
        match &mut self.0 {
            Inside::Single(class) => class,
            Inside::Several(several) => &mut several.classes,
        }
    }

    /// Puts `pkt` into its class's queue, or drops it.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        match &mut self.0 {
            Inside::Single([class]) => {
                class.enqueue(now, pkt, sink);
            }
            Inside::Several(several) => several.enqueue(now, pkt, sink),
        }
    }

    /// Counts a packet of length `len` as queued and sent at once, where that is all that would happen to it: a single
    /// drop-tail queue with nothing in it. Returns whether it did; no observer hears of it.
    #[inline]
    pub fn pass(&mut self, len: Bytes, kind: Kind) -> bool {
        match &mut self.0 {
            Inside::Single([class]) => class.pass(len, kind),
            Inside::Several(_) => false,
        }
    }

    /// The packet to transmit now.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Departure<P> {
        match &mut self.0 {
            Inside::Single([class]) => match class.dequeue(now, sink) {
                Some(pkt) => Departure::Packet(pkt),
                None => class.queue.not_before().map_or(Departure::Empty, Departure::NotBefore),
            },
            Inside::Several(several) => several.dequeue(now, sink),
        }
    }

    /// Whether any of its queues ever has a deadline.
    #[must_use]
    pub fn has_deadlines(&self) -> bool {
        self.classes().iter().any(|class| class.queue.has_deadlines())
    }

    /// The first deadline of its queues, if there is one.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.classes().iter().filter_map(|class| class.queue.next_timeout()).min()
    }

    /// The deadlines of its queues up to `now` have come. An extra call changes nothing.
    pub fn on_timeout(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        for at in 0..self.classes().len() {
            let emptied = self.classes_mut()[at].on_timeout(now, sink);
            if let Inside::Several(several) = &mut self.0
                && emptied
            {
                several.scheduler.on_emptied(now, class_id(at));
            }
        }
    }

    /// Whether nothing waits.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Inside::Single([class]) => class.is_empty(),
            Inside::Several(several) => several.classes.iter().all(Class::is_empty),
        }
    }
}

impl<P: Packet> Several<P> {
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        let Some(id) = self.classifier.classify(pkt.meta()) else {
            sink.dropped(now, self.site, pkt, DropReason::Unclassified);
            return;
        };
        let meta = *pkt.meta();
        let class = &mut self.classes[usize::from(id.0)];
        if class.enqueue(now, pkt, sink) {
            self.scheduler.on_enqueued(now, id, &meta);
            // a queue may drop what waits for what came, and that too
            if class.backlog().packets == 0 {
                self.scheduler.on_emptied(now, id);
            }
        }
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Departure<P> {
        loop {
            match self.scheduler.select(now, &PortHeads(&self.classes)) {
                Select::Idle => return Departure::Empty,
                Select::NotBefore(at) => return Departure::NotBefore(at),
                Select::Serve(id) => {
                    let class = &mut self.classes[usize::from(id.0)];
                    let pkt = class.dequeue(now, sink);
                    if let Some(at) = class.queue.not_before().filter(|_| pkt.is_none()) {
                        return Departure::NotBefore(at);
                    }
                    if let Some(pkt) = &pkt {
                        self.scheduler.on_served(now, id, pkt.meta());
                    }
                    if pkt.is_none() || class.backlog().packets == 0 {
                        self.scheduler.on_emptied(now, id);
                    }
                    if let Some(pkt) = pkt {
                        return Departure::Packet(pkt);
                    }
                }
            }
        }
    }
}

struct PortHeads<'a, P: Packet>(&'a [Class<P>]);

impl<P: Packet> Heads for PortHeads<'_, P> {
    fn classes(&self) -> u16 {
        class_id(self.0.len()).0
    }

    fn head(&self, class: ClassId) -> Option<&Meta> {
        self.0[usize::from(class.0)].queue.peek()
    }
}

/// A position among classes, of which a port has at most 2^16.
fn class_id(at: usize) -> ClassId {
    ClassId(u16::try_from(at).unwrap_or(u16::MAX))
}
