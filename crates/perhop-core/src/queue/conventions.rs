//! Departures of implementations of early detection from its paper: each a setting, all off by default.
//!
//! Source: ns-2.35, `queue/red.cc` (RED) and `diffserv/dsredq.cc` (dsRED, the queue of its DiffServ module), as read and as
//! recorded in `oracles/ns2-2.35-red`. Decision 0022 says why they are settings.
//! Different: `byte_mode` stays the paper's; what is equal to a threshold belongs above it, where dsRED has it below; averages
//! are doubles, where those of dsRED are floats; dsRED's marking by ECN, which spares no packet a forced mark, is not here.
//! Units: none. Cost: none where all are off, but a branch that says so; where one is on, a branch for each.

/// Conventions of RED, RIO and GRED. The default is Floyd and Jacobson 1993.
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conventions {
    /// After a drop none comes by chance before 1/p_b arrivals, and then one within another 1/p_b (`wait_` of ns-2).
    pub wait: bool,
    /// An arrival that finds at most one packet waiting (or one byte) is not dropped by the average.
    pub spare_short: bool,
    /// The arrival with which the average passes `min_th` is not dropped by chance, and counts as the first.
    pub spare_first: bool,
    /// Where `count p_b` has passed 1, p_a is negative: nothing is dropped by chance until the average falls.
    pub unclamped: bool,
    /// An arrival at a full queue is dropped before it is averaged and counted.
    pub skip_full: bool,
    /// Idle time begins when the last packet has been sent, not when it leaves the queue.
    pub idle_sent: bool,
    /// Idle time counts whole packets, and the arrival that ends it takes a step too.
    pub idle_whole: bool,
    /// An arrival that is dropped does not end the idle time: the next one counts all of it again.
    pub idle_again: bool,
    /// A shared average is idle once the last packet of any colour has left, whatever else waits.
    pub idle_color: bool,
}

impl Conventions {
    /// The paper's: none of them.
    pub const FLOYD1993: Self = Self {
        wait: false,
        spare_short: false,
        spare_first: false,
        unclamped: false,
        skip_full: false,
        idle_sent: false,
        idle_whole: false,
        idle_again: false,
        idle_color: false,
    };

    /// Those of RED in ns-2, with its default of `wait_`.
    pub const NS2_RED: Self = Self {
        wait: true,
        spare_short: true,
        spare_first: true,
        idle_sent: true,
        idle_whole: true,
        ..Self::FLOYD1993
    };

    /// Those of dsRED, the queue of ns-2's DiffServ module.
    pub const DSRED: Self = Self {
        unclamped: true,
        skip_full: true,
        idle_whole: true,
        idle_again: true,
        idle_color: true,
        ..Self::FLOYD1993
    };

    /// Those of a queue, which keeps nothing where they are the paper's.
    pub(super) fn kept(self) -> Option<Self> {
        (self != Self::FLOYD1993).then_some(self)
    }

    /// The conventions that a queue has kept.
    pub(super) fn of(kept: Option<Self>) -> Self {
        kept.unwrap_or(Self::FLOYD1993)
    }
}
