//! The papers' pseudo-code, written down as it stands and with nothing kept that can be counted again; and what ns-2 does
//! otherwise, as far as `Conventions` asks for it.

use perhop_core::packet::{Color, Ecn, Meta};
use perhop_core::queue::{Averaging, Conventions, RedParams, Thresholds, VirtualQueue};
use perhop_core::rng::Stream;
use perhop_core::sink::DropReason;
use perhop_core::time::{Instant, Span};
use perhop_core::units::QueueSize;
use perhop_testkit::packet::{AF11, AF12, id};

use super::lab::Outcome;

/// One colour's parameters and variables, by the names of the papers and, the last, of ns-2.
struct Colour {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    w_q: f64,
    limit: Option<QueueSize>,
    avg: f64,
    q_time: Instant,
    count: f64,
    old: bool,
}

/// What happens with a probability.
pub enum Draws {
    /// One draw for each event, as `perhop_core::rng::Chance` says: the stream, the probability that nothing happened since
    /// the last, and what it must fall below.
    Inverted { random: Box<Stream>, none_since: f64, drawn: f64 },
    /// One draw for each decision, as in ns-2: the next.
    Each(f64),
}

impl Draws {
    pub fn inverted(mut random: Stream) -> Self {
        let drawn = 1.0 - random.unit();
        Self::Inverted { random: Box::new(random), none_since: 1.0, drawn }
    }

    pub fn happens(&mut self, p: f64) -> bool {
        match self {
            Self::Inverted { random, none_since, drawn } => {
                *none_since *= 1.0 - p;
                let happens = *none_since < *drawn;
                if happens {
                    (*none_since, *drawn) = (1.0, 1.0 - random.unit());
                }
                happens
            }
            Self::Each(draw) => *draw <= p,
        }
    }
}

pub struct Pseudocode {
    colours: Vec<Colour>,
    averaging: Averaging,
    limit: QueueSize,
    in_bytes: bool,
    gentle: bool,
    byte_mode: bool,
    ecn: bool,
    conventions: Conventions,
    /// Nanoseconds to send a byte.
    byte: f64,
    mean: f64,
    pub waiting: Vec<Meta>,
    /// Since when a shared average is idle though something waits.
    color_idle: Option<Instant>,
    pub draws: Draws,
}

fn amount(size: QueueSize) -> f64 {
    match size {
        QueueSize::Packets(n) | QueueSize::Bytes(n) => n as f64,
    }
}

impl Pseudocode {
    pub fn new(red: &RedParams, averaging: Averaging, colours: &[VirtualQueue], draws: Draws) -> Self {
        let colour = |queue: &VirtualQueue| {
            let Thresholds { min_th, max_th, max_p } = queue.thresholds;
            let (min_th, max_th) = (amount(min_th), amount(max_th));
            let (w_q, limit) = (queue.w_q, queue.limit);
            let (avg, q_time, count, old) = (0.0, Instant::ZERO, -1.0, false);
            Colour { min_th, max_th, max_p, w_q, limit, avg, q_time, count, old }
        };
        Self {
            colours: colours.iter().map(colour).collect(),
            averaging,
            limit: red.limit,
            in_bytes: matches!(colours[0].thresholds.min_th, QueueSize::Bytes(_)),
            gentle: red.gentle,
            byte_mode: red.byte_mode,
            ecn: red.ecn,
            conventions: red.conventions,
            byte: 8e9 / red.rate.bits_per_sec() as f64,
            mean: red.mean_packet.0 as f64,
            waiting: Vec::new(),
            color_idle: None,
            draws,
        }
    }

    pub fn colours(&self) -> usize {
        self.colours.len()
    }

    pub fn average(&self, whose: usize) -> f64 {
        self.colours[whose].avg
    }

    fn of(&self, meta: &Meta) -> usize {
        let color = match meta.dscp {
            AF11 => Color::Green,
            AF12 => Color::Yellow,
            _ => Color::Red,
        };
        (color as usize).min(self.colours.len() - 1)
    }

    /// Whether the average of colour `whose` counts packets of colour `what`.
    fn counts(&self, whose: usize, what: usize) -> bool {
        match self.averaging {
            Averaging::Coupled => what <= whose,
            Averaging::Decoupled | Averaging::Summed => what == whose,
            Averaging::Shared => true,
        }
    }

    /// The queue that the average of `whose` follows.
    fn q(&self, whose: usize) -> f64 {
        let counted = self.waiting.iter().filter(|meta| self.counts(whose, self.of(meta)));
        counted.map(|meta| if self.in_bytes { meta.len.0 as f64 } else { 1.0 }).sum()
    }

    /// Packets that could have been sent since.
    fn m(&self, since: Instant, now: Instant) -> f64 {
        let idle = if since > now { 0.0 } else { (now - since).as_nanos() as f64 };
        let m = idle / (self.byte * self.mean);
        if self.conventions.idle_whole { m.floor() } else { m }
    }

    pub fn arrival(&mut self, now: Instant, meta: &Meta) -> Outcome {
        if self.conventions.skip_full && !fits(&self.waiting, self.limit, meta) {
            return Outcome::Dropped(DropReason::Overflow);
        }
        let colour = self.of(meta);
        for whose in 0..self.colours.len() {
            if !self.counts(whose, colour) {
                continue;
            }
            let q = self.q(whose);
            // a shared average is written down for each colour; each step is of the arrival's weight
            let w_q = self.colours[if self.averaging == Averaging::Shared { colour } else { whose }].w_q;
            let idle_since = if q == 0.0 { Some(self.colours[whose].q_time) } else { self.color_idle };
            let m = idle_since.map_or(0.0, |since| self.m(since, now));
            let step = q > 0.0 || self.conventions.idle_whole;
            let Colour { avg, q_time, .. } = &mut self.colours[whose];
            *avg *= (1.0 - w_q).powf(m);
            if step {
                *avg = (1.0 - w_q) * *avg + w_q * q;
            }
            if q == 0.0 && !self.conventions.idle_again && *q_time < now {
                *q_time = now;
            }
        }
        let outcome = self.outcome(colour, meta);
        if matches!(outcome, Outcome::Accepted(_)) || !self.conventions.idle_again {
            self.color_idle = None;
        }
        match outcome {
            Outcome::Accepted(_) => self.waiting.push(*meta),
            Outcome::Dropped(_) => self.colours[colour].count = 0.0,
        }
        outcome
    }

    /// The probability before it is spread; none where chance has no say, and whether everything is dropped then.
    fn p_b(&self, colour: usize, meta: &Meta) -> Result<f64, bool> {
        let Colour { min_th, max_th, max_p, avg, .. } = self.colours[colour];
        let length = if self.byte_mode { meta.len.0 as f64 / self.mean } else { 1.0 };
        if avg < min_th || self.conventions.spare_short && self.q(colour) <= 1.0 {
            Err(false)
        } else if avg < max_th {
            Ok(max_p * (avg - min_th) / (max_th - min_th) * length)
        } else if self.gentle && avg < 2.0 * max_th {
            Ok((max_p + (1.0 - max_p) * (avg - max_th) / max_th) * length)
        } else {
            Err(true)
        }
    }

    fn p_a(&self, p_b: f64, count: f64) -> f64 {
        let Conventions { wait, unclamped, .. } = self.conventions;
        let (passed, spread) = (count * p_b, if wait { 2.0 } else { 1.0 });
        if wait && passed < 1.0 {
            0.0
        } else if passed < spread {
            (p_b / (spread - passed)).min(1.0)
        } else if unclamped && passed > spread {
            0.0
        } else {
            1.0
        }
    }

    fn outcome(&mut self, colour: usize, meta: &Meta) -> Outcome {
        let mut chosen = false;
        match self.p_b(colour, meta) {
            Err(true) => return Outcome::Dropped(DropReason::Forced),
            Err(false) => (self.colours[colour].count, self.colours[colour].old) = (-1.0, false),
            Ok(_) if self.conventions.spare_first && !self.colours[colour].old => {
                (self.colours[colour].count, self.colours[colour].old) = (1.0, true);
            }
            Ok(p_b) => {
                self.colours[colour].count += 1.0;
                let p_a = self.p_a(p_b, self.colours[colour].count);
                chosen = self.draws.happens(p_a);
            }
        }
        if chosen {
            self.colours[colour].count = 0.0;
        }
        if chosen && !(self.ecn && meta.ecn != Ecn::NotEct) {
            return Outcome::Dropped(DropReason::Early);
        }
        let own: Vec<Meta> = self.waiting.iter().filter(|meta| self.of(meta) == colour).copied().collect();
        let within_limit = self.colours[colour].limit.is_none_or(|limit| fits(&own, limit, meta));
        if !within_limit || !fits(&self.waiting, self.limit, meta) {
            return Outcome::Dropped(DropReason::Overflow);
        }
        Outcome::Accepted(if chosen { Ecn::Ce } else { meta.ecn })
    }

    pub fn departure(&mut self, now: Instant) -> u32 {
        let gone = self.waiting.remove(0);
        let colour = self.of(&gone);
        let sent = if self.conventions.idle_sent { gone.len.0 as f64 * self.byte } else { 0.0 };
        let from = now + Span::from_nanos(sent as u64);
        for whose in 0..self.colours.len() {
            if self.counts(whose, colour) && self.q(whose) == 0.0 {
                self.colours[whose].q_time = from;
            }
        }
        let last = self.waiting.iter().all(|meta| self.of(meta) != colour);
        if last && self.averaging == Averaging::Shared && self.conventions.idle_color {
            self.color_idle = Some(from);
        }
        id(&gone)
    }
}

/// Whether a packet fits where these wait and at most `limit` may.
fn fits(waiting: &[Meta], limit: QueueSize, meta: &Meta) -> bool {
    match limit {
        QueueSize::Packets(n) => (waiting.len() as u64) < n,
        QueueSize::Bytes(n) => waiting.iter().map(|meta| meta.len.0).sum::<u64>() + meta.len.0 <= n,
    }
}
