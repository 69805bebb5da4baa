//! Class-based queueing: shares of a link, what may be borrowed, and when a class must wait.
//!
//! Source: Floyd and Van Jacobson 1995: link-sharing goals, formal guidelines and estimator, one level of classes.
//! Different (decision 0016): an estimator without memory loss unless `gain` asks for the paper's average; start to
//! start instead of end to end; idle time counts against `maxidle` only while nothing waits; within a priority the
//! class that had least for its share goes first, which is round robin by share, packet by packet.
//! Units: ns, what a packet takes beyond whole ones carried to the class's next packet, so that nothing drifts; shares
//! in parts of 10^9. Cost: two scans of the classes, a multiplication.

use super::{Heads, Scheduler, Select};
use crate::packet::{ClassId, Meta};
use crate::param_error::ParamError;
use crate::time::{Instant, Span};
use crate::units::{BitRate, Bytes};

const PARTS: u64 = 1_000_000_000;

// The order in which classes go is one number: whether the class borrows, its rank, how far it is ahead of others.

/// Bits of how far a class is ahead: over a year.
const AHEAD: u32 = 55;
/// One less than fits, so that no order is [`NEVER`].
const MOST_AHEAD: u64 = (1 << AHEAD) - 2;
const BORROWS: u64 = 1 << 63;
/// Comes after all.
const NEVER: u64 = u64::MAX;

/// A class of [`Cbq`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CbqClass {
    /// Its part of the link, above 0; all together are 1 at most.
    pub share: f64,
    /// Never gets more than its share.
    pub bounded: bool,
    /// The rest of its share is not lent.
    pub isolated: bool,
    /// Classes of a smaller number go first, where both are within their shares or both beyond.
    pub priority: u8,
    /// Most idle time that it may save up while it has nothing to send: a burst of n packets, each `t` long on the
    /// link, takes n `t` (1/`share` - 1).
    pub maxidle: Span,
    /// Most debt that borrowing leaves.
    pub minidle: Span,
    /// How much longer a bounded class waits when its share is used up, to send in bursts.
    pub offtime: Span,
    /// With n, each packet makes the estimator forget 2^-n of what it knew; without, it forgets nothing.
    pub gain: Option<u8>,
}

impl CbqClass {
    /// A class that lends and borrows, saves up nothing and owes nothing.
    #[must_use]
    pub const fn new(share: f64) -> Self {
        Self {
            share,
            bounded: false,
            isolated: false,
            priority: 0,
            maxidle: Span::ZERO,
            minidle: Span::ZERO,
            offtime: Span::ZERO,
            gain: None,
        }
    }
}

/// Guarantees each class its share and lends what is left over.
#[derive(Clone, Debug)]
pub struct Cbq {
    classes: Box<[Class]>,
    /// The rate that may be lent: the link without the shares of isolated classes; absent where that is the whole link.
    lendable: Option<Lendable>,
    /// The whole of it.
    link: Account,
}

/// Whole cache lines; a position is found by a shift.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Class {
    /// Position of its priority among those that occur, above the bits of [`AHEAD`].
    rank: u64,
    /// `rank` while it has a packet, [`NEVER`] while it has none.
    place: u64,
    /// Within its share from here on, in whole ns: `account.undertime`, or `offtime` later.
    resume: u64,
    /// The addition to its place while it is beyond its share: [`NEVER`] for a bounded class.
    beyond: u64,
    /// How far it is ahead of where the service of its priority has come, as time at its share; 0 where it is behind.
    ahead: u64,
    account: Account,
    params: CbqClass,
}

#[derive(Clone, Debug)]
struct Lendable {
    account: Account,
    /// A class that may borrow has a packet.
    waits: bool,
}

/// Use of a share, as a time: what is saved up is `now - undertime`, what is owed `undertime - now`.
#[derive(Clone, Debug)]
struct Account {
    /// Time of a byte at this share of the link, in 2^-64 ns.
    byte: u128,
    /// Longer packets are taken to be this long: more would take longer than a class can be ahead.
    longest: u64,
    undertime: u64,
    /// Part of a nanosecond that its packets took, in 2^-64 ns.
    carried: u64,
}

impl Account {
    fn new(rate: BitRate, parts: u64) -> Self {
        // 8e18 * 2^64 is less than 2^128; rounded up, so that no share is exceeded
        let bit_parts = u128::from(rate.bits_per_sec()) * u128::from(parts);
        let byte = ((8 * u128::from(PARTS) * 1_000_000_000) << 64).div_ceil(bit_parts);
        let longest = ((u128::from(MOST_AHEAD) << 64) / byte).min(u128::from(u64::MAX));
        Self { byte, longest: longest as u64, undertime: 0, carried: 0 }
    }

    /// How long `len` takes, in 2^-64 ns: less than 2^119, which is what `longest` bytes take.
    fn exact_time(&self, len: Bytes) -> u128 {
        self.byte * u128::from(len.0.min(self.longest))
    }

    /// How long `len` takes, in whole ns.
    fn time(&self, len: Bytes) -> u64 {
        (self.exact_time(len) >> 64) as u64
    }

    /// A packet leaves: returns how long it takes in whole ns. The rest is carried to the next packet.
    fn charge(&mut self, len: Bytes) -> u64 {
        let time = self.exact_time(len) + u128::from(self.carried);
        self.carried = time as u64;
        let whole = (time >> 64) as u64;
        self.undertime = self.undertime.saturating_add(whole);
        whole
    }

    /// When what is owed is paid, in whole ns. What is carried is nothing below 2^-32 ns: that is rounding of `byte`.
    fn paid(&self) -> u64 {
        self.undertime.saturating_add(u64::from(self.carried >> 32 > 0))
    }

    /// Forgets what was saved up beyond `most`.
    fn save_at_most(&mut self, now: u64, most: u64) {
        let earliest = now.saturating_sub(most);
        if self.paid() < earliest {
            (self.undertime, self.carried) = (earliest, 0);
        }
    }

    /// Forgives what is owed beyond `most`.
    fn owe_at_most(&mut self, now: u64, most: u64) {
        let latest = now.saturating_add(most);
        if self.paid() > latest {
            (self.undertime, self.carried) = (latest, 0);
        }
    }

    /// Forgets 2^-n of what was saved up or is owed.
    fn forget(&mut self, now: u64, n: u8) {
        self.undertime += now.saturating_sub(self.undertime) >> n;
        self.undertime -= self.undertime.saturating_sub(now) >> n;
    }
}

impl Cbq {
    /// A scheduler of a link of this `rate`; `classes` by position.
    ///
    /// # Errors
    /// Refuses a share outside (0, 1], below 10^-9 or of less than 1 bit/s, shares that exceed the link, a `gain`
    /// beyond 62, an `offtime` where nothing is ever regulated, and an empty list.
    pub fn new(rate: BitRate, classes: &[CbqClass]) -> Result<Self, ParamError> {
        let parts = classes.iter().map(check).collect::<Result<Vec<_>, _>>()?;
        if classes.is_empty() {
            return Err(ParamError::new("share", "must be given for one class at least"));
        }
        if parts.iter().sum::<u64>() > PARTS {
            return Err(ParamError::new(
                "share",
                "must leave the shares of all classes together at 1 at most",
            ));
        }
        let too_little =
            |&parts: &u64| u128::from(parts) * u128::from(rate.bits_per_sec()) < u128::from(PARTS);
        if parts.iter().any(too_little) {
            return Err(ParamError::new("share", format!("must be at least 1 bit/s of the link's {rate}")));
        }
        let mut priorities: Vec<u8> = classes.iter().map(|c| c.priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let isolated: u64 =
            classes.iter().zip(&parts).filter(|(c, _)| c.isolated).map(|(_, &parts)| parts).sum();
        let rest = PARTS - isolated;
        let class = |(params, &parts): (&CbqClass, &u64)| {
            // where all of the link is isolated there is nothing to borrow
            let bounded = params.bounded || too_little(&rest);
            Class {
                rank: (priorities.partition_point(|&p| p < params.priority) as u64) << AHEAD,
                place: NEVER,
                resume: 0,
                beyond: if bounded { NEVER } else { BORROWS },
                ahead: 0,
                account: Account::new(rate, parts),
                params: CbqClass { bounded, ..*params },
            }
        };
        Ok(Self {
            classes: classes.iter().zip(&parts).map(class).collect(),
            lendable: (isolated > 0 && !too_little(&rest))
                .then(|| Lendable { account: Account::new(rate, rest), waits: false }),
            link: Account::new(rate, PARTS),
        })
    }
}

/// The share in parts of 10^9, if the class has one to live with.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "inside 0..=10^9, checked")]
fn check(class: &CbqClass) -> Result<u64, ParamError> {
    // 0.3 * 10^9 may be a hair below 3 * 10^8; thirds are rounded down, so that three of them fit
    let parts = (class.share * 1e9 + 1e-3).floor();
    if !(1.0..=1e9).contains(&parts) {
        return Err(ParamError::new("share", "must lie between 0.000000001 and 1"));
    }
    if class.gain.is_some_and(|n| n > 62) {
        return Err(ParamError::new("gain", "must be at most 62"));
    }
    if class.offtime > Span::ZERO && !class.bounded {
        return Err(ParamError::new("offtime", "needs a bounded class"));
    }
    Ok(parts as u64)
}

impl Cbq {
    /// The first time at which a class that waits may go.
    fn wake(&self, lent_from: u64) -> Select {
        let waiting = self.classes.iter().filter(|c| c.waits());
        let first = waiting.map(|c| if c.params.bounded { c.resume } else { c.resume.min(lent_from) }).min();
        first.map_or(Select::Idle, |ns| Select::NotBefore(Instant::from_nanos(ns)))
    }
}

impl Class {
    fn waits(&self) -> bool {
        self.place != NEVER
    }

    /// A packet leaves: returns how long it takes at this share. `borrows` says that it goes beyond it.
    fn charge(&mut self, now: u64, len: Bytes, borrows: bool, link: &Account) -> u64 {
        if borrows {
            //= floyd1995-A-minidle
            self.account.owe_at_most(now, self.params.minidle.as_nanos());
        }
        if let Some(n) = self.params.gain {
            //= floyd1995-A-average
            self.account.forget(now, n);
        }
        let time = self.account.charge(len);
        self.resume = self.account.paid();
        if self.params.offtime > Span::ZERO && self.resume > now.saturating_add(link.time(len)) {
            //= floyd1995-A-offtime
            self.resume = self.resume.saturating_add(self.params.offtime.as_nanos());
        }
        time
    }
}

impl Scheduler for Cbq {
    fn on_enqueued(&mut self, now: Instant, id: ClassId, _meta: &Meta) {
        let now = now.as_nanos();
        let class = &mut self.classes[usize::from(id.0)];
        if class.waits() {
            return;
        }
        class.place = class.rank;
        //= floyd1995-A-maxidle
        class.account.save_at_most(now, class.params.maxidle.as_nanos());
        if let Some(lendable) = self.lendable.as_mut().filter(|l| !l.waits && !class.params.bounded) {
            lendable.waits = true;
            lendable.account.save_at_most(now, 0);
        }
    }

    fn on_emptied(&mut self, _now: Instant, class: ClassId) {
        self.classes[usize::from(class.0)].place = NEVER;
        if let Some(lendable) = &mut self.lendable {
            lendable.waits = self.classes.iter().any(|c| c.waits() && !c.params.bounded);
        }
    }

    fn select(&mut self, now: Instant, _heads: &dyn Heads) -> Select {
        let now = now.as_nanos();
        let lent_from = self.lendable.as_ref().map_or(0, |l| l.account.paid());
        let lent_out = if lent_from > now { NEVER } else { 0 };
        let (mut least, mut best) = (NEVER, 0);
        for (class, id) in self.classes.iter().zip(0..) {
            // whoever borrows comes after all who do not
            //= floyd1995-2-share
            //= floyd1995-3-unsatisfied
            //= floyd1995-3-bounded
            let beyond = u64::from(class.resume > now).wrapping_neg() & (class.beyond | lent_out);
            //= floyd1995-2-excess
            //= floyd1995-3-general
            let order = class.place | beyond | class.ahead;
            (least, best) = if order < least { (order, id) } else { (least, best) };
        }
        if least < NEVER { Select::Serve(ClassId(best)) } else { self.wake(lent_from) }
    }

    fn on_served(&mut self, now: Instant, id: ClassId, served: &Meta) {
        let now = now.as_nanos();
        let class = &mut self.classes[usize::from(id.0)];
        let borrows = class.resume > now;
        //= floyd1995-3-isolated
        if let Some(lendable) = self.lendable.as_mut().filter(|_| borrows || !class.params.isolated) {
            lendable.account.charge(served.len);
        }
        let time = if borrows && class.params.isolated {
            // what it borrows is beside its share, which nobody else can use
            class.account.time(served.len)
        } else {
            class.charge(now, served.len, borrows, &self.link)
        };
        let (rank, reached) = (class.rank, class.ahead);
        for class in self.classes.iter_mut().filter(|c| c.rank == rank) {
            class.ahead = class.ahead.saturating_sub(reached);
        }
        self.classes[usize::from(id.0)].ahead = time;
    }
}
