//! Classes with packets, told to a scheduler as a port does it.

use std::collections::VecDeque;

use perhop_core::packet::{ClassId, Meta};
use perhop_core::sched::{Heads, Scheduler, Select};
use perhop_core::time::Instant;
use perhop_core::units::Bytes;

const NOW: Instant = Instant::ZERO;

/// The packets that wait, by class.
pub struct Queues(Vec<VecDeque<Meta>>);

impl Heads for Queues {
    fn classes(&self) -> u16 {
        u16::try_from(self.0.len()).expect("few classes")
    }

    fn head(&self, class: ClassId) -> Option<&Meta> {
        self.0[usize::from(class.0)].front()
    }
}

impl Queues {
    /// No packet in any class.
    pub fn new(classes: usize) -> Self {
        Self(vec![VecDeque::new(); classes])
    }

    /// A packet of `len` bytes comes to `class`.
    pub fn enqueue(&mut self, scheduler: &mut impl Scheduler, class: u16, len: u64) {
        let meta = Meta { len: Bytes(len), ..Meta::default() };
        self.0[usize::from(class)].push_back(meta);
        scheduler.on_enqueued(NOW, ClassId(class), &meta);
    }

    /// Class and length of what is served; `sent` is what leaves in its place, if not the head itself.
    pub fn serve(&mut self, scheduler: &mut impl Scheduler, sent: Option<u64>) -> Option<(usize, u64)> {
        match scheduler.select(NOW, self) {
            Select::Serve(id) => {
                let class = usize::from(id.0);
                let head = self.0[class].pop_front().expect("a head to serve");
                let served = Meta { len: sent.map_or(head.len, Bytes), ..head };
                scheduler.on_served(NOW, id, &served);
                if self.0[class].is_empty() {
                    scheduler.on_emptied(NOW, id);
                }
                Some((class, served.len.0))
            }
            Select::Idle => None,
            Select::NotBefore(at) => panic!("waits until {at}"),
        }
    }
}
