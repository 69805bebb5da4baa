//! References in exact arithmetic, written from the published rule and for clarity alone.

use core::cmp::Ordering;
use core::ops::{Add, Mul, Sub};

/// A fraction of two integers, in lowest terms, its denominator positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ratio {
    num: i128,
    den: i128,
}

impl Ratio {
    /// `num / den`.
    ///
    /// # Panics
    /// When `den` is zero.
    #[must_use]
    pub fn new(num: i128, den: i128) -> Self {
        assert_ne!(den, 0, "a fraction of zero parts");
        let divisor = gcd(num, den) * den.signum();
        Self { num: num / divisor, den: den / divisor }
    }
}

impl From<u64> for Ratio {
    fn from(whole: u64) -> Self {
        Self { num: i128::from(whole), den: 1 }
    }
}

impl Add for Ratio {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self::new(self.num * rhs.den + rhs.num * self.den, self.den * rhs.den)
    }
}

impl Sub for Ratio {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self::new(self.num * rhs.den - rhs.num * self.den, self.den * rhs.den)
    }
}

impl Mul for Ratio {
    type Output = Self;
    fn mul(self, rhs: Self) -> Self {
        Self::new(self.num * rhs.num, self.den * rhs.den)
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.num * other.den).cmp(&(other.num * self.den))
    }
}

impl Ratio {
    /// The largest whole number that is not more.
    #[must_use]
    pub const fn floor(self) -> i128 {
        self.num.div_euclid(self.den)
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// Which of two queues is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// The data queue.
    Data,
    /// The ACK queue.
    Ack,
}

/// The two-counter rule of Kalampoukas, Varma, Ramakrishnan 1997, Figure 6.1, with the scaling of its section 6.
#[derive(Clone, Debug)]
pub struct TwoCounters {
    scale: Ratio,
    data_sent: Ratio,
    acks_sent: Ratio,
}

impl TwoCounters {
    /// Data's share is `num / den`: every ACK byte counts f/(1-f).
    #[must_use]
    pub fn new(num: u64, den: u64) -> Self {
        let scale = Ratio::new(i128::from(num), i128::from(den - num));
        Self { scale, data_sent: Ratio::from(0), acks_sent: Ratio::from(0) }
    }

    /// The link is idle, with these lengths in bytes at the heads of the queues.
    pub fn serve(&mut self, data: Option<u64>, ack: Option<u64>) -> Option<Served> {
        let zero = Ratio::from(0);
        match (data, ack) {
            (None, None) => None,
            (Some(len), None) => {
                (self.data_sent, self.acks_sent) = (Ratio::from(len), zero);
                Some(Served::Data)
            }
            (None, Some(len)) => {
                (self.data_sent, self.acks_sent) = (zero, Ratio::from(len) * self.scale);
                Some(Served::Ack)
            }
            (Some(len), Some(_)) if self.acks_sent >= self.data_sent => {
                self.data_sent = self.data_sent + Ratio::from(len);
                if self.data_sent > self.acks_sent {
                    (self.data_sent, self.acks_sent) = (self.data_sent - self.acks_sent, zero);
                }
                Some(Served::Data)
            }
            (Some(_), Some(len)) => {
                self.acks_sent = self.acks_sent + Ratio::from(len) * self.scale;
                if self.acks_sent > self.data_sent {
                    (self.data_sent, self.acks_sent) = (zero, self.acks_sent - self.data_sent);
                }
                Some(Served::Ack)
            }
        }
    }
}
