//! References for the schedulers that divide a link, written from the published rules and for clarity alone.

use std::collections::VecDeque;

use crate::exact::Ratio;

/// Deficit round robin, line by line as Shreedhar and Varghese 1995 print it, over queues of lengths.
///
/// The paper's loop sends a whole turn; here it stops after each packet and goes on with the same turn.
#[derive(Clone, Debug)]
pub struct DeficitRounds {
    quantum: Vec<u64>,
    deficit: Vec<u64>,
    queues: Vec<VecDeque<u64>>,
    active: VecDeque<usize>,
    turn: Option<usize>,
}

impl DeficitRounds {
    /// Empty queues with these quanta.
    #[must_use]
    pub fn new(quantum: &[u64]) -> Self {
        Self {
            quantum: quantum.into(),
            deficit: vec![0; quantum.len()],
            queues: vec![VecDeque::new(); quantum.len()],
            active: VecDeque::new(),
            turn: None,
        }
    }

    /// The enqueuing module.
    pub fn enqueue(&mut self, class: usize, len: u64) {
        let exists_in_active_list = self.active.contains(&class) || self.turn == Some(class);
        if !exists_in_active_list {
            self.active.push_back(class);
            self.deficit[class] = 0;
        }
        self.queues[class].push_back(len);
    }

    /// The dequeuing module, up to the next packet that it sends: class and length.
    pub fn send(&mut self) -> Option<(usize, u64)> {
        loop {
            let class = match self.turn {
                Some(class) => class,
                None => {
                    let class = self.active.pop_front()?;
                    self.deficit[class] += self.quantum[class];
                    self.turn = Some(class);
                    class
                }
            };
            let len = *self.queues[class].front()?;
            if len <= self.deficit[class] {
                self.queues[class].pop_front();
                self.deficit[class] -= len;
                if self.queues[class].is_empty() {
                    self.deficit[class] = 0;
                    self.turn = None;
                }
                return Some((class, len));
            }
            self.active.push_back(class);
            self.turn = None;
        }
    }
}

/// Self-clocked fair queueing as Golestani 1994 defines it: each packet is tagged as it arrives, with fractions.
#[derive(Clone, Debug)]
pub struct SelfClocked {
    weights: Vec<u32>,
    /// The tag of the last packet of each class.
    last: Vec<Ratio>,
    /// Tags and lengths.
    queues: Vec<VecDeque<(Ratio, u64)>>,
    virtual_time: Ratio,
}

impl SelfClocked {
    /// Empty queues with these weights.
    #[must_use]
    pub fn new(weights: &[u32]) -> Self {
        let none = Ratio::from(0);
        Self {
            weights: weights.into(),
            last: vec![none; weights.len()],
            queues: vec![VecDeque::new(); weights.len()],
            virtual_time: none,
        }
    }

    /// A packet arrives.
    pub fn enqueue(&mut self, class: usize, len: u64) {
        let service = Ratio::new(i128::from(len), i128::from(self.weights[class]));
        let tag = self.last[class].max(self.virtual_time) + service;
        self.last[class] = tag;
        self.queues[class].push_back((tag, len));
    }

    /// The packet with the smallest tag leaves: class and length.
    pub fn send(&mut self) -> Option<(usize, u64)> {
        let heads =
            self.queues.iter().enumerate().filter_map(|(class, queue)| Some((queue.front()?.0, class)));
        let (tag, class) = heads.min()?;
        self.virtual_time = tag;
        let (_, len) = self.queues[class].pop_front()?;
        Some((class, len))
    }
}

/// A class of [`LinkShares`]: its share of the link in tenths, times in ns.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "named as in `CbqClass`")]
pub struct LinkClass {
    pub tenths: u64,
    pub bounded: bool,
    pub isolated: bool,
    pub priority: u8,
    pub maxidle: u64,
    pub minidle: u64,
    pub offtime: u64,
}

/// Verdict of [`LinkShares`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Permitted {
    /// One of these: several where they had equally little for their shares.
    OneOf(Vec<usize>),
    /// None before this time, in ns.
    Wait(u64),
    /// Nothing waits.
    Idle,
}

/// Idle time saved up at a share of the link, in ns, negative where it is owed.
#[derive(Clone, Copy, Debug)]
struct Idle {
    /// Time of a byte at this share.
    byte: Ratio,
    /// Time that packets took beyond whole ns.
    carried: Ratio,
    value: i128,
    since: u64,
}

impl Idle {
    fn new(rate: u64, tenths: u64) -> Self {
        let byte = Ratio::new(80_000_000_000, i128::from(rate) * i128::from(tenths));
        Self { byte, carried: Ratio::from(0), value: 0, since: 0 }
    }

    fn at(&self, now: u64) -> i128 {
        self.value + i128::from(now - self.since)
    }

    fn set(&mut self, now: u64, value: i128) {
        (self.value, self.since) = (value, now);
    }

    /// A packet leaves: how long it takes in whole ns, the rest of the last one included.
    fn pay(&mut self, now: u64, len: u64) -> i128 {
        let exact = Ratio::from(len) * self.byte + self.carried;
        let time = exact.floor();
        self.carried = exact - Ratio::new(time, 1);
        self.set(now, self.at(now) - time);
        time
    }

    /// Leaves no more than `most` saved up.
    fn save_at_most(&mut self, now: u64, most: u64) {
        if self.paid() < i128::from(now) - i128::from(most) {
            self.set(now, i128::from(most));
            self.carried = Ratio::from(0);
        }
    }

    /// Leaves no more than `most` owed.
    fn owe_at_most(&mut self, now: u64, most: u64) {
        if self.paid() > i128::from(now) + i128::from(most) {
            self.set(now, -i128::from(most));
            self.carried = Ratio::from(0);
        }
    }

    /// When nothing is owed any more.
    fn paid(&self) -> i128 {
        i128::from(self.since) - self.value + i128::from(self.carried > Ratio::from(0))
    }
}

#[derive(Clone, Debug)]
struct Member {
    class: LinkClass,
    waits: bool,
    idle: Idle,
    /// When it is within its share: when its idle time is zero, or `offtime` later if it was used up.
    resume: i128,
    /// Time of its packets at its share.
    tag: i128,
}

impl Member {
    const fn borrows(&self) -> bool {
        !self.class.bounded
    }
}

/// Class-based queueing by the rules of decision 0016 in exact fractions, without a gain.
#[derive(Clone, Debug)]
pub struct LinkShares {
    rate: u64,
    members: Vec<Member>,
    /// The part that is not isolated: may be lent while its idle time is not negative.
    rest: Idle,
    /// For each priority the tag of whom it served last.
    reached: Vec<i128>,
}

impl LinkShares {
    /// Shares of a link of `rate` bit/s.
    #[must_use]
    pub fn new(rate: u64, classes: &[LinkClass]) -> Self {
        let isolated: u64 = classes.iter().filter(|c| c.isolated).map(|c| c.tenths).sum();
        let member = |&class: &LinkClass| Member {
            class: LinkClass { bounded: class.bounded || isolated == 10, ..class },
            waits: false,
            idle: Idle::new(rate, class.tenths),
            resume: 0,
            tag: 0,
        };
        Self {
            rate,
            members: classes.iter().map(member).collect(),
            rest: Idle::new(rate, (10 - isolated).max(1)),
            reached: vec![0; 256],
        }
    }

    fn rest_is_wanted(&self) -> bool {
        self.members.iter().any(|m| m.waits && m.borrows())
    }

    /// A packet came to `class`.
    pub fn arrived(&mut self, now: u64, class: usize) {
        let wanted = self.rest_is_wanted();
        let member = &mut self.members[class];
        if member.waits {
            return;
        }
        member.waits = true;
        member.idle.save_at_most(now, member.class.maxidle);
        if !wanted && self.rest_is_wanted() {
            self.rest.save_at_most(now, 0);
        }
    }

    /// The last packet of `class` is gone.
    pub fn emptied(&mut self, class: usize) {
        self.members[class].waits = false;
    }

    fn all_is_lent(&self) -> bool {
        self.members.iter().all(|m| !m.class.isolated)
    }

    /// Classes that may be served.
    #[must_use]
    pub fn permitted(&self, now: u64) -> Permitted {
        let waiting: Vec<usize> = (0..self.members.len()).filter(|&i| self.members[i].waits).collect();
        if waiting.is_empty() {
            return Permitted::Idle;
        }
        let ns = i128::from(now);
        let within: Vec<usize> = waiting.iter().copied().filter(|&i| self.members[i].resume <= ns).collect();
        let borrower = |&i: &usize| self.members[i].borrows();
        let lent_from = if self.all_is_lent() { 0 } else { self.rest.paid() };
        let may = if !within.is_empty() {
            within
        } else if lent_from <= ns {
            waiting.iter().copied().filter(borrower).collect()
        } else {
            Vec::new()
        };
        if may.is_empty() {
            let resumes = waiting.iter().map(|&i| self.members[i].resume);
            let lent = waiting.iter().filter(|i| borrower(i)).map(|_| lent_from);
            let first = resumes.chain(lent).min().and_then(|ns| u64::try_from(ns).ok());
            return Permitted::Wait(first.unwrap_or(0));
        }
        let urgent = may.iter().map(|&i| self.members[i].class.priority).min();
        let may = may.into_iter().filter(|&i| Some(self.members[i].class.priority) == urgent);
        let tagged: Vec<(i128, usize)> = may.map(|i| (self.start(i), i)).collect();
        let least = tagged.iter().map(|&(tag, _)| tag).min();
        Permitted::OneOf(tagged.into_iter().filter(|&(tag, _)| Some(tag) == least).map(|(_, i)| i).collect())
    }

    fn start(&self, class: usize) -> i128 {
        self.members[class].tag.max(self.reached[usize::from(self.members[class].class.priority)])
    }

    /// A packet of `class` begins to leave.
    pub fn served(&mut self, now: u64, class: usize, len: u64) {
        let start = self.start(class);
        let on_link = Ratio::new(i128::from(len) * 8_000_000_000, i128::from(self.rate)).floor();
        let member = &mut self.members[class];
        let borrows = member.resume > i128::from(now);
        if !member.class.isolated || borrows {
            self.rest.pay(now, len);
        }
        let time = if member.class.isolated && borrows {
            (Ratio::from(len) * member.idle.byte).floor()
        } else {
            member.idle.owe_at_most(now, member.class.minidle);
            let time = member.idle.pay(now, len);
            member.resume = member.idle.paid();
            if member.resume > i128::from(now) + on_link {
                member.resume += i128::from(member.class.offtime);
            }
            time
        };
        member.tag = start + time;
        self.reached[usize::from(member.class.priority)] = start;
    }
}
