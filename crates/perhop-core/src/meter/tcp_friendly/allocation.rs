//! Divides an interval's tokens among the flows.
//!
//! Source: Feroz, Kalyanaraman, Rao 2000, Algorithm 1, (1)-(9); max-min fairness by filling up: nobody gets more than it
//! asks for, and all who get less get the same.
//! Units: parts of 10^6 tokens. Cost: a sort of the demands and two divisions for each flow, once an interval.

use super::estimate::ONE;
use super::{Fraction, Shortage};

/// The tokens that each flow of a kind gets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Grant {
    /// All it asks for.
    All,
    /// All it asks for up to this level.
    UpTo(i64),
    /// This, whatever it asks for.
    Each(i64),
}

impl Grant {
    /// Tokens for a flow that asks for `demand`.
    pub(super) fn tokens(self, demand: i64, fraction: Fraction) -> i64 {
        let tokens = match self {
            Self::All => demand,
            Self::UpTo(level) => level.min(demand),
            Self::Each(level) => level,
        };
        match fraction {
            Fraction::Floor => tokens / ONE * ONE,
            Fraction::Carry | Fraction::RoundUp => tokens,
        }
    }

    /// S: OUT packets between two IN packets of a flow that asks for `demand` and gets `tokens`.
    //= feroz2000-3-spacing
    pub(super) fn spacing(self, demand: i64, tokens: i64) -> i64 {
        if matches!(self, Self::All) {
            return 0;
        }
        let ratio = match demand.checked_mul(ONE) {
            Some(parts) => parts / tokens,
            None => {
                (i128::from(demand) * i128::from(ONE) / i128::from(tokens)).try_into().unwrap_or(i64::MAX)
            }
        };
        ratio - ONE
    }
}

/// Demands of one interval, in two lists that keep their space from interval to interval.
#[derive(Clone, Debug, Default)]
pub(super) struct Demands {
    pub(super) small: Vec<i64>,
    pub(super) large: Vec<i64>,
}

impl Demands {
    /// The parts of `pool` for small-window flows and for the others.
    pub(super) fn divide(&mut self, pool: i64, shortage: Shortage) -> (Grant, Grant) {
        //= feroz2000-3-available
        let wanted: i128 = self.small.iter().map(|&demand| i128::from(demand)).sum();
        let available = i64::try_from(i128::from(pool) - wanted).unwrap_or(-1);
        if available > 0 {
            //= feroz2000-3-small-windows-first
            //= feroz2000-3-max-min
            return (Grant::All, Grant::UpTo(fill(&mut self.large, available)));
        }
        let small = match shortage {
            //= feroz2000-3-shortage-equal
            Shortage::Equal => {
                let flows = i64::try_from(self.small.len()).unwrap_or(i64::MAX);
                Grant::Each(pool.checked_div(flows).unwrap_or(0))
            }
            Shortage::MaxMin => Grant::UpTo(fill(&mut self.small, pool)),
        };
        //= feroz2000-3-shortage-others
        (small, Grant::UpTo(0))
    }
}

/// The level at which `pool` is used up, if each of `demands` is met up to it. Sorts them.
fn fill(demands: &mut [i64], pool: i64) -> i64 {
    demands.sort_unstable();
    let (mut left, mut flows) = (pool, i64::try_from(demands.len()).unwrap_or(i64::MAX));
    for &demand in &*demands {
        let share = left / flows;
        if demand > share {
            return share;
        }
        left -= demand;
        flows -= 1;
    }
    i64::MAX
}
