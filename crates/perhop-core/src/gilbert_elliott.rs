//! Losses in bursts: a chain of two states that goes on with each packet, and a probability of loss in each.
//!
//! Sources: E. N. Gilbert, Capacity of a burst-noise channel, Bell System Technical Journal 39(5), 1960, whose good state loses
//! nothing; E. O. Elliott, Estimates of error rates for codes on burst-noise channels, the same 42(5), 1963. Order and start as in
//! Linux's netem (`loss gemodel`): the chain begins in the good state; for each packet it is drawn first whether the state changes, then
//! whether the packet is lost, by the state before the change.
//!
//! Different from netem: probabilities have 53 bits and not 32. Cost: two draws for each packet.

use crate::param_error::ParamError;
use crate::rng::Stream;

/// Resolution of a probability: what a float can tell apart.
const DRAWS: u64 = 1 << 53;

/// Probabilities of the chain.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GilbertElliottParams {
    /// That the good state ends with a packet: `p` of netem.
    pub p: f64,
    /// That the bad state does: `r`.
    pub r: f64,
    /// Of a loss in the good state: `1-k`.
    pub loss_good: f64,
    /// Of a loss in the bad state: `1-h`.
    pub loss_bad: f64,
}

impl GilbertElliottParams {
    /// The part of packets in the bad state, in the long run.
    #[must_use]
    pub fn bad(&self) -> f64 {
        self.p / (self.p + self.r)
    }

    /// The part of packets lost, in the long run.
    #[must_use]
    pub fn mean_loss(&self) -> f64 {
        (1.0 - self.bad()) * self.loss_good + self.bad() * self.loss_bad
    }

    /// Mean number of packets that are lost one after the other: losses over first losses.
    #[must_use]
    pub fn mean_burst(&self) -> f64 {
        let (bad, good) = (self.bad(), 1.0 - self.bad());
        let after_good = (1.0 - self.p) * self.loss_good + self.p * self.loss_bad;
        let after_bad = self.r * self.loss_good + (1.0 - self.r) * self.loss_bad;
        let first = good * (1.0 - self.loss_good) * after_good + bad * (1.0 - self.loss_bad) * after_bad;
        self.mean_loss() / first
    }
}

/// The chain of a direction of a link.
#[derive(Debug)]
pub struct GilbertElliott {
    /// In units of 1 / [`DRAWS`]: that the state ends, of a loss; first of the good state, then of the bad.
    states: [[u64; 2]; 2],
    is_bad: bool,
    stream: Stream,
}

impl GilbertElliott {
    /// A chain in the good state, drawn from `stream`.
    ///
    /// # Errors
    /// `p` or `r` is not above 0 and at most 1, or a probability of loss not from 0 to 1, or nothing is ever lost, or all.
    pub fn new(params: &GilbertElliottParams, stream: Stream) -> Result<Self, ParamError> {
        let GilbertElliottParams { p, r, loss_good, loss_bad } = *params;
        for (field, value) in [("p", p), ("r", r)] {
            if !(value > 0.0 && value <= 1.0) {
                return Err(ParamError::new(field, "must be above 0 and at most 1"));
            }
        }
        for (field, value) in [("loss_good", loss_good), ("loss_bad", loss_bad)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(ParamError::new(field, "must be from 0 to 1"));
            }
        }
        if !(params.mean_loss() > 0.0 && params.mean_loss() < 1.0) {
            return Err(ParamError::new("loss_bad", "must leave something to lose, and something to pass"));
        }
        let states = [[p, loss_good], [r, loss_bad]].map(|state| state.map(threshold));
        Ok(Self { states, is_bad: false, stream })
    }

    /// Whether the next packet is lost.
    pub fn loses(&mut self) -> bool {
        let [ends, loss] = self.states[usize::from(self.is_bad)];
        self.is_bad ^= self.stream.below(DRAWS) < ends;
        self.stream.below(DRAWS) < loss
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "p is inside [0, 1], and the factor a power of two"
)]
fn threshold(p: f64) -> u64 {
    (p * DRAWS as f64) as u64
}

#[cfg(test)]
mod tests {
    use perhop_testkit::stats::chi_square;

    use super::*;

    const CASES: [GilbertElliottParams; 4] = [
        // Gilbert's simplest: all of the bad state is lost
        GilbertElliottParams { p: 0.02, r: 0.25, loss_good: 0.0, loss_bad: 1.0 },
        // Gilbert's own
        GilbertElliottParams { p: 0.05, r: 0.2, loss_good: 0.0, loss_bad: 0.5 },
        // Elliott's
        GilbertElliottParams { p: 0.03, r: 0.4, loss_good: 0.01, loss_bad: 0.8 },
        // the good state is the worse one
        GilbertElliottParams { p: 0.6, r: 0.7, loss_good: 0.7, loss_bad: 0.1 },
    ];
    const PACKETS: u32 = 2_000_000;

    fn chain(params: &GilbertElliottParams, seed: u64) -> GilbertElliott {
        GilbertElliott::new(params, Stream::new(seed, 0, "link.a->b.burst_loss")).expect("a chain")
    }

    /// `loss_gilb_ell` of Linux's `net/sched/sch_netem.c`, in its order, with probabilities as numbers.
    fn netem(params: &GilbertElliottParams, mut stream: Stream) -> impl FnMut() -> bool {
        let mut good_state = true;
        move || {
            let (change, loss) = (stream.unit(), stream.unit());
            if good_state {
                good_state = change >= params.p;
                loss < params.loss_good
            } else {
                good_state = change < params.r;
                loss < params.loss_bad
            }
        }
    }

    #[test]
    fn it_is_the_chain_of_netem_packet_by_packet() {
        for (params, seed) in CASES.iter().zip(1..) {
            let mut reference = netem(params, Stream::new(seed, 0, "link.a->b.burst_loss"));
            let mut own = chain(params, seed);
            assert!((0..100_000).all(|_| own.loses() == reference()), "{params:?}");
        }
    }

    #[test]
    fn the_part_that_is_lost_is_the_mean_loss() {
        for params in &CASES {
            let mut own = chain(params, 7);
            let lost = (0..PACKETS).filter(|_| own.loses()).count() as f64 / f64::from(PACKETS);
            // the variance of a mean of a chain whose states keep 1 - p - r of their memory
            let memory = 1.0 - params.p - params.r;
            let between = (params.loss_bad - params.loss_good).powi(2) * params.bad() * (1.0 - params.bad());
            let mean = params.mean_loss();
            let variance = mean * (1.0 - mean) + 2.0 * between * memory / (1.0 - memory);
            let bound = 3.3 * (variance / f64::from(PACKETS)).sqrt();
            assert!((lost - mean).abs() < bound, "{params:?}: {lost}, not {mean} by {bound}");
        }
    }

    /// The part of bursts of 1, 2, ... packets by the chain: a loss after a packet that passed, then losses, then one that passes.
    fn bursts(params: &GilbertElliottParams, most: usize) -> Vec<f64> {
        let loss = [params.loss_good, params.loss_bad];
        let next = [[1.0 - params.p, params.p], [params.r, 1.0 - params.r]];
        let step = |from: [f64; 2], of: &dyn Fn(usize) -> f64| {
            [0, 1].map(|to| (from[0] * next[0][to] + from[1] * next[1][to]) * of(to))
        };
        let state = [1.0 - params.bad(), params.bad()];
        let passed = [state[0] * (1.0 - loss[0]), state[1] * (1.0 - loss[1])];
        let mut lost = step(passed, &|to| loss[to]);
        let all = lost[0] + lost[1];
        let mut found = Vec::new();
        for _ in 0..most {
            found.push(step(lost, &|to| 1.0 - loss[to]).iter().sum::<f64>() / all);
            lost = step(lost, &|to| loss[to]);
        }
        found
    }

    #[test]
    fn bursts_have_the_lengths_of_the_chain() {
        for params in &CASES {
            let mut own = chain(params, 11);
            let mut counts = [0_u32; 13];
            let (mut length, mut packets) = (0_usize, 0_u32);
            for _ in 0..PACKETS {
                if own.loses() {
                    length += 1;
                } else if length > 0 {
                    counts[length.min(13) - 1] += 1;
                    packets += u32::try_from(length).expect("short");
                    length = 0;
                }
            }
            let bursts = bursts(params, 12);
            let all = f64::from(counts.iter().sum::<u32>());
            let longer = 1.0 - bursts.iter().sum::<f64>();
            let mut expected: Vec<f64> = bursts.iter().map(|part| part * all).collect();
            expected.push(longer * all);
            // lengths of which few are expected count together
            let kept = expected.iter().take_while(|mean| **mean >= 5.0).count().min(12);
            let tail = |values: &[f64]| values[kept..].iter().sum::<f64>();
            let observed: Vec<u32> =
                counts[..kept].iter().copied().chain([counts[kept..].iter().sum()]).collect();
            let means: Vec<f64> = expected[..kept].iter().copied().chain([tail(&expected)]).collect();
            // the 0.999 quantile for as many degrees of freedom as there are lengths, by Wilson and Hilferty
            let free = kept as f64;
            let bound = free * (1.0 - 2.0 / (9.0 * free) + 3.09 * (2.0 / (9.0 * free)).sqrt()).powi(3);
            assert!(chi_square(&observed, &means) < bound, "{params:?}: {observed:?}, not {means:?}");
            let mean = f64::from(packets) / all;
            assert!((mean / params.mean_burst() - 1.0).abs() < 0.02, "{params:?}: {mean}");
        }
        // where all of the bad state is lost a burst is its stay there
        assert!((CASES[0].mean_burst() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_chain_is_refused() {
        let refused = |change: fn(&mut GilbertElliottParams)| {
            let mut params = CASES[2];
            change(&mut params);
            GilbertElliott::new(&params, Stream::new(1, 0, "test")).err().map(|error| error.to_string())
        };
        assert_eq!(refused(|_| ()), None);
        assert_eq!(refused(|a| a.p = 0.0).as_deref(), Some("p: must be above 0 and at most 1"));
        assert_eq!(refused(|a| a.r = 1.5).as_deref(), Some("r: must be above 0 and at most 1"));
        assert_eq!(refused(|a| a.loss_good = -0.1).as_deref(), Some("loss_good: must be from 0 to 1"));
        assert_eq!(refused(|a| a.loss_bad = f64::NAN).as_deref(), Some("loss_bad: must be from 0 to 1"));
        let useless = Some("loss_bad: must leave something to lose, and something to pass");
        assert_eq!(refused(|a| (a.loss_good, a.loss_bad) = (0.0, 0.0)).as_deref(), useless);
        assert_eq!(refused(|a| (a.loss_good, a.loss_bad) = (1.0, 1.0)).as_deref(), useless);
    }
}
