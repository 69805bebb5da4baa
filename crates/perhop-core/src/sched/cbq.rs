//! Class-based queueing: shares of a link, what may be borrowed, and when a class must wait.
//!
//! Source: Floyd and Van Jacobson 1995: link-sharing goals, formal guidelines and estimator, one level of classes.
//! Different (decision 0016): an estimator without memory loss unless `gain` asks for the paper's average; start to
//! start instead of end to end; idle time counts against `maxidle` only while nothing waits; within a priority the
//! class that had least for its share goes first, which is round robin by share, packet by packet.
//! Units: times in 2^-64 ns, shares in parts of 10^9, so that nothing drifts. Cost: a scan of the classes that wait.

use super::{Heads, Scheduler, Select};
use crate::packet::{ClassId, Meta};
use crate::param_error::ParamError;
use crate::time::{Instant, Span};
use crate::units::{BitRate, Bytes};

const PARTS: u64 = 1_000_000_000;

/// A class of [`Cbq`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CbqClass {
    /// Its part of the link, above 0; all together are 1 at most.
    pub share: f64,
    /// Never gets more than its share.
    pub bounded: bool,
    /// What it leaves of its share is not lent.
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
    /// What may be lent: the link without the shares of isolated classes; absent where that is the whole link.
    lendable: Option<Lendable>,
    /// For each priority, how far the service of its classes has come: the tag of the latest to be served.
    served: Box<[u128]>,
    /// Time of a byte on the link.
    byte: u128,
}

#[derive(Clone, Debug)]
struct Class {
    params: CbqClass,
    /// Position of its priority among those that occur.
    rank: usize,
    /// Has a packet.
    waits: bool,
    account: Account,
    /// Within its share from here on: `account.undertime`, or `offtime` later.
    resume: u128,
    /// Where it stands in the service of its priority: time that its packets take at its share.
    tag: u128,
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
    /// Time of a byte at this share of the link.
    byte: u128,
    undertime: u128,
}

impl Account {
    fn new(rate: BitRate, parts: u64) -> Self {
        // at most 8e18 * 2^64, which is less than 2^128; rounding makes a billion packets a nanosecond shorter at most
        let bit_parts = u128::from(rate.bits_per_sec()) * u128::from(parts);
        let byte = ((8 * u128::from(PARTS) * 1_000_000_000) << 64) / bit_parts;
        Self { byte, undertime: 0 }
    }

    fn time(&self, len: Bytes) -> u128 {
        self.byte.saturating_mul(u128::from(len.0))
    }

    fn charge(&mut self, len: Bytes) -> u128 {
        let time = self.time(len);
        self.undertime = self.undertime.saturating_add(time);
        time
    }

    /// Forgets what was saved up beyond `most`.
    fn save_at_most(&mut self, now: u128, most: u128) {
        self.undertime = self.undertime.max(now.saturating_sub(most));
    }
}

/// In 2^-64 ns.
fn fine(ns: u64) -> u128 {
    u128::from(ns) << 64
}

impl Cbq {
    /// A scheduler of a link of this `rate`; `classes` by position.
    ///
    /// # Errors
    /// Refuses a share outside (0, 1] or below 10^-9, shares that exceed the link, a `gain` beyond 62, an `offtime`
    /// where nothing is ever regulated, and an empty list.
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
        let mut priorities: Vec<u8> = classes.iter().map(|c| c.priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let isolated = classes.iter().zip(&parts).filter(|(c, _)| c.isolated).map(|(_, &parts)| parts).sum();
        let class = |(params, &parts): (&CbqClass, &u64)| Class {
            // where every part of the link is isolated there is nothing to borrow
            params: CbqClass { bounded: params.bounded || isolated == PARTS, ..*params },
            rank: priorities.partition_point(|&p| p < params.priority),
            waits: false,
            account: Account::new(rate, parts),
            resume: 0,
            tag: 0,
        };
        let lendable = (1..PARTS).contains(&isolated);
        Ok(Self {
            classes: classes.iter().zip(&parts).map(class).collect(),
            lendable: lendable
                .then(|| Lendable { account: Account::new(rate, PARTS - isolated), waits: false }),
            served: vec![0; priorities.len()].into(),
            byte: Account::new(rate, PARTS).byte,
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

impl Class {
    /// A packet leaves: settles the account, and returns how long the packet takes at this share.
    fn charge(&mut self, now: u128, len: Bytes, on_link: u128) -> u128 {
        let forgotten = |known: u128| self.params.gain.map_or(0, |n| known >> n);
        let account = &mut self.account;
        account.undertime = if account.undertime > now {
            //= floyd1995-A-minidle
            let debt = (account.undertime - now).min(fine(self.params.minidle.as_nanos()));
            now + (debt - forgotten(debt))
        } else {
            //= floyd1995-A-average
            account.undertime + forgotten(now - account.undertime)
        };
        //= floyd1995-A-idle
        let time = account.charge(len);
        self.resume = account.undertime;
        if self.resume > now.saturating_add(on_link) {
            //= floyd1995-A-offtime
            self.resume = self.resume.saturating_add(fine(self.params.offtime.as_nanos()));
        }
        time
    }
}

impl Scheduler for Cbq {
    fn on_enqueued(&mut self, now: Instant, id: ClassId, _meta: &Meta) {
        let now = fine(now.as_nanos());
        let class = &mut self.classes[usize::from(id.0)];
        if class.waits {
            return;
        }
        class.waits = true;
        //= floyd1995-A-maxidle
        class.account.save_at_most(now, fine(class.params.maxidle.as_nanos()));
        if let Some(lendable) = self.lendable.as_mut().filter(|l| !l.waits && !class.params.bounded) {
            lendable.waits = true;
            lendable.account.save_at_most(now, 0);
        }
    }

    fn on_emptied(&mut self, _now: Instant, class: ClassId) {
        self.classes[usize::from(class.0)].waits = false;
        if let Some(lendable) = &mut self.lendable {
            lendable.waits = self.classes.iter().any(|c| c.waits && !c.params.bounded);
        }
    }

    fn select(&mut self, now: Instant, heads: &dyn Heads) -> Select {
        let now = fine(now.as_nanos());
        let lends_from = self.lendable.as_ref().map_or(0, |l| l.account.undertime);
        let mut best: Option<((usize, u128), ClassId)> = None;
        let mut wake: Option<u128> = None;
        for (class, id) in self.classes.iter().zip((0..).map(ClassId)) {
            if !class.waits || heads.head(id).is_none() {
                continue;
            }
            //= floyd1995-3-bounded
            let from = if class.params.bounded { class.resume } else { class.resume.min(lends_from) };
            if from > now {
                wake = Some(wake.map_or(from, |w| w.min(from)));
                continue;
            }
            // whoever borrows comes after all who do not
            //= floyd1995-2-share
            //= floyd1995-3-unsatisfied
            let beyond = if class.resume > now { self.served.len() } else { 0 };
            //= floyd1995-2-excess
            //= floyd1995-3-general
            let order = (beyond + class.rank, class.tag.max(self.served[class.rank]));
            if best.is_none_or(|(other, _)| order < other) {
                best = Some((order, id));
            }
        }
        match (best, wake) {
            (Some((_, id)), _) => Select::Serve(id),
            (None, Some(at)) => Select::NotBefore(at_or_after(at)),
            (None, None) => Select::Idle,
        }
    }

    fn on_served(&mut self, now: Instant, id: ClassId, served: &Meta) {
        let now = fine(now.as_nanos());
        let class = &mut self.classes[usize::from(id.0)];
        let borrows = class.resume > now;
        //= floyd1995-3-isolated
        if let Some(lendable) = self.lendable.as_mut().filter(|_| borrows || !class.params.isolated) {
            lendable.account.charge(served.len);
        }
        let time = if borrows && class.params.isolated {
            // what others left is beside its share, which nobody else can use
            class.account.time(served.len)
        } else {
            class.charge(now, served.len, self.byte.saturating_mul(u128::from(served.len.0)))
        };
        let reached = &mut self.served[class.rank];
        *reached = class.tag.max(*reached);
        class.tag = reached.saturating_add(time);
    }
}

/// The first whole nanosecond from `at` on.
fn at_or_after(at: u128) -> Instant {
    Instant::from_nanos(u64::try_from(at.div_ceil(1 << 64)).unwrap_or(u64::MAX))
}
