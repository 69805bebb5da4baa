//! The meters of RFC 2697, RFC 2698 and RFC 4115 twice more, in other forms than the elements.
//!
//! The `Literal` ones count bytes as fractions, by the wording of the RFCs. Those of [`Clock`] keep no level at all: a
//! bucket is the time at which it will be full again, a fraction whose denominator is the rate. What is always computed
//! from the present time cannot drift.

use perhop_core::packet::Color;

use crate::exact::Ratio;

/// A bucket as the time at which it will be full, in 1/rate ns.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    full_at: i128,
    /// The time that it takes to fill from empty.
    depth: i128,
}

const PER_BYTE: i128 = 8_000_000_000;

impl Clock {
    /// A full bucket of `depth` bytes.
    #[must_use]
    pub fn new(depth: u64) -> Self {
        Self { full_at: 0, depth: i128::from(depth) * PER_BYTE }
    }

    /// When it would be full if it gave `bytes` at `now`, or `None` if it has not so many.
    fn after(&self, now: i128, bytes: u64) -> Option<i128> {
        let full_at = self.full_at.max(now) + i128::from(bytes) * PER_BYTE;
        (full_at - now <= self.depth).then_some(full_at)
    }
}

/// `ns` in 1/rate ns.
fn scaled(rate: u64, ns: u64) -> i128 {
    i128::from(rate) * i128::from(ns)
}

/// The single-rate meter by clocks. E's own clock runs only while C is full.
#[derive(Clone, Debug)]
pub struct SrTcmByClocks {
    cir: u64,
    committed: Clock,
    excess: Clock,
    /// How long C has been full so far.
    excess_time: i128,
    last: i128,
}

impl SrTcmByClocks {
    /// Rate in bit/s, bursts in bytes.
    #[must_use]
    pub fn new(cir: u64, cbs: u64, ebs: u64) -> Self {
        Self { cir, committed: Clock::new(cbs), excess: Clock::new(ebs), excess_time: 0, last: 0 }
    }

    /// The verdict on `bytes` at `ns` that come as `color`, green where colours do not count.
    pub fn measure(&mut self, ns: u64, bytes: u64, color: Color) -> Color {
        let now = scaled(self.cir, ns);
        self.excess_time += (now - self.last.max(self.committed.full_at)).max(0);
        self.last = now;
        if color == Color::Green
            && let Some(full_at) = self.committed.after(now, bytes)
        {
            self.committed.full_at = full_at;
            return Color::Green;
        }
        if color != Color::Red
            && let Some(full_at) = self.excess.after(self.excess_time, bytes)
        {
            self.excess.full_at = full_at;
            return Color::Yellow;
        }
        Color::Red
    }
}

/// The two-rate meter by clocks.
#[derive(Clone, Debug)]
pub struct TrTcmByClocks {
    cir: u64,
    committed: Clock,
    pir: u64,
    peak: Clock,
}

impl TrTcmByClocks {
    /// Rates in bit/s, bursts in bytes.
    #[must_use]
    pub fn new(cir: u64, cbs: u64, pir: u64, pbs: u64) -> Self {
        Self { cir, committed: Clock::new(cbs), pir, peak: Clock::new(pbs) }
    }

    /// The verdict on `bytes` at `ns` that come as `color`, green where colours do not count.
    pub fn measure(&mut self, ns: u64, bytes: u64, color: Color) -> Color {
        let (committed, peak) = (scaled(self.cir, ns), scaled(self.pir, ns));
        let Some(peak_full_at) = self.peak.after(peak, bytes) else { return Color::Red };
        match (color, self.committed.after(committed, bytes)) {
            (Color::Red, _) => Color::Red,
            (Color::Green, Some(full_at)) => {
                (self.committed.full_at, self.peak.full_at) = (full_at, peak_full_at);
                Color::Green
            }
            _ => {
                self.peak.full_at = peak_full_at;
                Color::Yellow
            }
        }
    }
}

/// The two-rate meter of differentiated service by clocks.
#[derive(Clone, Debug)]
pub struct DiffServByClocks {
    cir: u64,
    committed: Clock,
    eir: u64,
    excess: Clock,
}

impl DiffServByClocks {
    /// Rates in bit/s, bursts in bytes.
    #[must_use]
    pub fn new(cir: u64, cbs: u64, eir: u64, ebs: u64) -> Self {
        Self { cir, committed: Clock::new(cbs), eir, excess: Clock::new(ebs) }
    }

    /// The verdict on `bytes` at `ns` that come as `color`, green where colours do not count.
    pub fn measure(&mut self, ns: u64, bytes: u64, color: Color) -> Color {
        let buckets = [
            (Color::Green, &mut self.committed, scaled(self.cir, ns)),
            (Color::Yellow, &mut self.excess, scaled(self.eir, ns)),
        ];
        for (verdict, bucket, now) in buckets {
            if color <= verdict
                && let Some(full_at) = bucket.after(now, bytes)
            {
                bucket.full_at = full_at;
                return verdict;
            }
        }
        Color::Red
    }
}

/// The tokens of a bucket, in bytes.
#[derive(Clone, Copy, Debug)]
struct Literal {
    tokens: Ratio,
    size: Ratio,
}

impl Literal {
    fn new(size: u64) -> Self {
        Self { tokens: Ratio::from(size), size: Ratio::from(size) }
    }

    /// Adds tokens and returns those beyond the size.
    fn add(&mut self, tokens: Ratio) -> Ratio {
        let sum = self.tokens + tokens;
        self.tokens = sum.min(self.size);
        sum - self.tokens
    }

    fn has(&self, bytes: Ratio) -> bool {
        self.tokens >= bytes
    }
}

/// The tokens that come at `rate` bit/s in `ns`, in bytes.
fn tokens(rate: u64, ns: u64) -> Ratio {
    Ratio::new(scaled(rate, ns), PER_BYTE)
}

/// The single-rate meter by the wording of RFC 2697 section 3.
#[derive(Clone, Debug)]
pub struct SrTcmInBytes {
    cir: u64,
    c: Literal,
    e: Literal,
}

impl SrTcmInBytes {
    /// Rate in bit/s, bursts in bytes.
    #[must_use]
    pub fn new(cir: u64, cbs: u64, ebs: u64) -> Self {
        Self { cir, c: Literal::new(cbs), e: Literal::new(ebs) }
    }

    /// The verdict on `bytes`, `waited` ns after the last packet, that come as `color`.
    pub fn measure(&mut self, waited: u64, bytes: u64, color: Color) -> Color {
        let over = self.c.add(tokens(self.cir, waited));
        self.e.add(over);
        let bytes = Ratio::from(bytes);
        if color == Color::Green && self.c.has(bytes) {
            self.c.tokens = self.c.tokens - bytes;
            Color::Green
        } else if (color == Color::Green || color == Color::Yellow) && self.e.has(bytes) {
            self.e.tokens = self.e.tokens - bytes;
            Color::Yellow
        } else {
            Color::Red
        }
    }
}

/// The two-rate meter by the wording of RFC 2698 section 3.
#[derive(Clone, Debug)]
pub struct TrTcmInBytes {
    cir: u64,
    c: Literal,
    pir: u64,
    p: Literal,
}

impl TrTcmInBytes {
    /// Rates in bit/s, bursts in bytes.
    #[must_use]
    pub fn new(cir: u64, cbs: u64, pir: u64, pbs: u64) -> Self {
        Self { cir, c: Literal::new(cbs), pir, p: Literal::new(pbs) }
    }

    /// The verdict on `bytes`, `waited` ns after the last packet, that come as `color`.
    pub fn measure(&mut self, waited: u64, bytes: u64, color: Color) -> Color {
        self.p.add(tokens(self.pir, waited));
        self.c.add(tokens(self.cir, waited));
        let bytes = Ratio::from(bytes);
        if color == Color::Red || !self.p.has(bytes) {
            return Color::Red;
        }
        self.p.tokens = self.p.tokens - bytes;
        if color == Color::Yellow || !self.c.has(bytes) {
            return Color::Yellow;
        }
        self.c.tokens = self.c.tokens - bytes;
        Color::Green
    }
}

/// The two-rate meter by the wording of RFC 4115 section 3, but that it may take the last token.
#[derive(Clone, Debug)]
pub struct DiffServInBytes {
    cir: u64,
    c: Literal,
    eir: u64,
    e: Literal,
}

impl DiffServInBytes {
    /// Rates in bit/s, bursts in bytes.
    #[must_use]
    pub fn new(cir: u64, cbs: u64, eir: u64, ebs: u64) -> Self {
        Self { cir, c: Literal::new(cbs), eir, e: Literal::new(ebs) }
    }

    /// The verdict on `bytes`, `waited` ns after the last packet, that come as `color`.
    pub fn measure(&mut self, waited: u64, bytes: u64, color: Color) -> Color {
        self.c.add(tokens(self.cir, waited));
        self.e.add(tokens(self.eir, waited));
        let bytes = Ratio::from(bytes);
        match color {
            Color::Green if self.c.has(bytes) => {
                self.c.tokens = self.c.tokens - bytes;
                Color::Green
            }
            Color::Green | Color::Yellow if self.e.has(bytes) => {
                self.e.tokens = self.e.tokens - bytes;
                Color::Yellow
            }
            _ => Color::Red,
        }
    }
}
