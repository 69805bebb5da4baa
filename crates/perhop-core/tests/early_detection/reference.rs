//! The papers' pseudo-code, written down as it stands and with nothing kept that can be counted again, against the queues:
//! the same draws must give the same decisions. What happens with p_a is drawn as `perhop_core::rng::Chance` says.

use perhop_core::packet::{Color, Ecn, Meta, Packet};
use perhop_core::queue::{Averaging, GredParams, Queue, RedParams, RioParams, Thresholds, VirtualQueue};
use perhop_core::rng::Stream;
use perhop_core::sink::DropReason;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::aqm::{self, GRED, RED, RIO, bytes, packets};
use perhop_testkit::packet::{AF11, AF12, AF13, TestPacket, id};

use super::lab::{Fate, Lab, SITE};

/// One colour's parameters and variables, by the names of the papers.
struct Colour {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    w_q: f64,
    limit: Option<QueueSize>,
    avg: f64,
    q_time: Instant,
    count: f64,
}

struct Pseudocode {
    colours: Vec<Colour>,
    averaging: Averaging,
    limit: QueueSize,
    in_bytes: bool,
    gentle: bool,
    byte_mode: bool,
    ecn: bool,
    /// Seconds to send a packet of the mean length.
    s: f64,
    mean: f64,
    waiting: Vec<Meta>,
    random: Stream,
    /// Probability that nothing was chosen since the last, and what it must fall below.
    none_since: f64,
    drawn: f64,
}

fn amount(size: QueueSize) -> f64 {
    match size {
        QueueSize::Packets(n) | QueueSize::Bytes(n) => n as f64,
    }
}

impl Pseudocode {
    fn new(red: &RedParams, averaging: Averaging, colours: &[VirtualQueue]) -> Self {
        let colour = |queue: &VirtualQueue| {
            let Thresholds { min_th, max_th, max_p } = queue.thresholds;
            let (min_th, max_th) = (amount(min_th), amount(max_th));
            let (w_q, limit) = (queue.w_q, queue.limit);
            Colour { min_th, max_th, max_p, w_q, limit, avg: 0.0, q_time: Instant::ZERO, count: -1.0 }
        };
        let mut random = aqm::stream();
        Self {
            drawn: 1.0 - random.unit(),
            none_since: 1.0,
            colours: colours.iter().map(colour).collect(),
            averaging,
            limit: red.limit,
            in_bytes: matches!(colours[0].thresholds.min_th, QueueSize::Bytes(_)),
            gentle: red.gentle,
            byte_mode: red.byte_mode,
            ecn: red.ecn,
            s: red.mean_packet.0 as f64 * 8.0 / red.rate.bits_per_sec() as f64,
            mean: red.mean_packet.0 as f64,
            waiting: Vec::new(),
            random,
        }
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
            Averaging::Decoupled => what == whose,
            Averaging::Shared => true,
        }
    }

    /// The queue that the average of `whose` follows.
    fn q(&self, whose: usize) -> f64 {
        let counted = self.waiting.iter().filter(|meta| self.counts(whose, self.of(meta)));
        counted.map(|meta| if self.in_bytes { meta.len.0 as f64 } else { 1.0 }).sum()
    }

    fn arrival(&mut self, now: Instant, meta: &Meta) -> Fate {
        let colour = self.of(meta);
        for whose in 0..self.colours.len() {
            if !self.counts(whose, colour) {
                continue;
            }
            let q = self.q(whose);
            // a shared average is written down for each colour; each step is of the arrival's weight
            let w_q = self.colours[if self.averaging == Averaging::Shared { colour } else { whose }].w_q;
            let Colour { avg, q_time, .. } = &mut self.colours[whose];
            if q > 0.0 {
                *avg = (1.0 - w_q) * *avg + w_q * q;
            } else {
                let m = (now - *q_time).as_secs_f64() / self.s;
                *avg *= (1.0 - w_q).powf(m);
                *q_time = now;
            }
        }
        let fate = self.fate(colour, meta);
        match fate {
            Fate::Accepted(_) => self.waiting.push(*meta),
            Fate::Dropped(_) => self.colours[colour].count = 0.0,
        }
        fate
    }

    fn fate(&mut self, colour: usize, meta: &Meta) -> Fate {
        let len = meta.len;
        let Colour { min_th, max_th, max_p, limit, avg, count, .. } = &mut self.colours[colour];
        let mut chosen = false;
        if avg < min_th {
            *count = -1.0;
        } else if *avg < *max_th || self.gentle && *avg < 2.0 * *max_th {
            *count += 1.0;
            let mut p_b = if *avg < *max_th {
                *max_p * (*avg - *min_th) / (*max_th - *min_th)
            } else {
                *max_p + (1.0 - *max_p) * (*avg - *max_th) / *max_th
            };
            if self.byte_mode {
                p_b = p_b * len.0 as f64 / self.mean;
            }
            let p_a = if *count * p_b < 1.0 { p_b / (1.0 - *count * p_b) } else { 1.0 };
            self.none_since *= 1.0 - p_a;
            chosen = self.none_since < self.drawn;
        } else {
            return Fate::Dropped(DropReason::Forced);
        }
        if chosen {
            (self.none_since, self.drawn) = (1.0, 1.0 - self.random.unit());
            *count = 0.0;
        }
        let mark = self.ecn && meta.ecn != Ecn::NotEct;
        if chosen && !mark {
            return Fate::Dropped(DropReason::Early);
        }
        let limit = *limit;
        let own: Vec<&Meta> = self.waiting.iter().filter(|meta| self.of(meta) == colour).collect();
        let fits = |all: &[&Meta], limit| match limit {
            QueueSize::Packets(n) => (all.len() as u64) < n,
            QueueSize::Bytes(n) => all.iter().map(|meta| meta.len.0).sum::<u64>() + len.0 <= n,
        };
        if !fits(&self.waiting.iter().collect::<Vec<_>>(), self.limit)
            || limit.is_some_and(|limit| !fits(&own, limit))
        {
            return Fate::Dropped(DropReason::Overflow);
        }
        Fate::Accepted(if chosen { Ecn::Ce } else { meta.ecn })
    }

    fn departure(&mut self, now: Instant, at: usize) -> u32 {
        let gone = self.waiting.remove(at);
        for whose in 0..self.colours.len() {
            if self.counts(whose, self.of(&gone)) && self.q(whose) == 0.0 {
                self.colours[whose].q_time = now;
            }
        }
        id(&gone)
    }
}

/// Phases of heavy and of light load, with departures, takes and pauses in between.
fn agree<Q: Queue<TestPacket>>(
    fates: &mut Fates,
    queue: Box<Q>,
    mut paper: Pseudocode,
    averages: impl Fn(&Q) -> Vec<f64>,
) {
    const OPERATIONS: u32 = 120_000;
    let (mut lab, mut chance) = (Lab::new(queue), Stream::new(3, 0, "operations"));
    for step in 0..OPERATIONS {
        let busy = [45, 60, 52, 30, 70][step as usize / 700 % 5];
        match chance.below(100) {
            roll if roll < busy => {
                let dscp = [AF11, AF12, AF13][chance.below(3) as usize];
                let ecn = [Ecn::NotEct, Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][chance.below(5) as usize];
                let len = [40, 576, 1250, 1500, 1 + chance.below(1500)][chance.below(5) as usize];
                let pkt = TestPacket::data(step).dscp(dscp).ecn(ecn).len(len);
                let expected = paper.arrival(lab.now, pkt.meta());
                let fate = lab.arrival(|_| pkt).0;
                assert_eq!(fate, expected, "operation {step}");
                fates[match fate {
                    Fate::Accepted(Ecn::Ce) if ecn != Ecn::Ce => 1,
                    Fate::Accepted(_) => 0,
                    Fate::Dropped(DropReason::Early) => 2,
                    Fate::Dropped(DropReason::Forced) => 3,
                    Fate::Dropped(_) => 4,
                }] += 1;
                for (whose, average) in averages(&lab.queue).into_iter().enumerate() {
                    let expected = paper.colours[whose].avg;
                    assert!((average - expected).abs() <= 1e-9 * expected.max(1.0), "operation {step}");
                }
            }
            roll if roll < 96 => {
                let expected = (!paper.waiting.is_empty()).then(|| paper.departure(lab.now, 0));
                assert_eq!(lab.depart().map(|pkt| pkt.id()), expected, "operation {step}");
            }
            roll if roll < 98 => {
                let dscp = [AF11, AF12, AF13][chance.below(3) as usize];
                let at = paper.waiting.iter().position(|meta| meta.dscp == dscp);
                let expected = at.map(|at| paper.departure(lab.now, at));
                assert_eq!(lab.take(|meta| meta.dscp == dscp).map(|pkt| pkt.id()), expected);
            }
            _ => lab.pass(Span::from_micros(chance.below(30_000))),
        }
    }
}

/// How many were accepted, marked, dropped by chance, by force, for want of room.
type Fates = [u32; 5];

/// Every fate must have been met with often, or the agreement says little.
fn often(fates: Fates) {
    assert!(fates.iter().all(|&met| met > 2000), "{fates:?}");
}

fn variants() -> Vec<RedParams> {
    vec![
        RED,
        RedParams { gentle: true, ..RED },
        RedParams { byte_mode: true, ecn: true, ..RED },
        RedParams { gentle: true, ecn: true, byte_mode: true, ..RED },
    ]
}

/// The limit lies where a burst reaches it before the average reaches the end of the curve.
#[test]
fn red_decides_as_figure_2() {
    let mut fates = Fates::default();
    for variant in variants() {
        for (thresholds, limit) in [
            (packets(2, 6, 0.05), QueueSize::Packets(8)),
            (packets(1, 3, 0.05), QueueSize::Bytes(9000)),
            (bytes(1700, 3800, 0.1), QueueSize::Bytes(6000)),
        ] {
            let params = RedParams { thresholds, limit, w_q: 0.07, ..variant };
            let own = VirtualQueue { thresholds, w_q: params.w_q, limit: None };
            let paper = Pseudocode::new(&params, Averaging::Shared, &[own]);
            agree(&mut fates, aqm::red(SITE, params), paper, |queue| queue.averages().to_vec());
        }
    }
    often(fates);
}

const MODES: [Averaging; 3] = [Averaging::Coupled, Averaging::Decoupled, Averaging::Shared];

#[test]
fn rio_decides_as_the_paper_and_its_variants() {
    for averaging in MODES {
        let mut fates = Fates::default();
        for RedParams { gentle, byte_mode, ecn, .. } in variants() {
            let (limit, green, red) = (QueueSize::Packets(9), packets(3, 5, 0.05), packets(1, 3, 0.1));
            let params = RioParams { limit, green, red, averaging, gentle, byte_mode, ecn, w_q: 0.07, ..RIO };
            let colours = [params.green, params.red].map(|thresholds| VirtualQueue {
                thresholds,
                w_q: params.w_q,
                limit: None,
            });
            let common = RedParams { limit, gentle, byte_mode, ecn, ..RED };
            let paper = Pseudocode::new(&common, averaging, &colours);
            agree(&mut fates, aqm::rio(SITE, params), paper, |queue| queue.averages().to_vec());
        }
        often(fates);
    }
}

#[test]
fn gred_decides_as_its_variants() {
    for averaging in MODES {
        let mut fates = Fates::default();
        for RedParams { gentle, byte_mode, ecn, .. } in variants() {
            let green = VirtualQueue {
                thresholds: packets(2, 7, 0.02),
                limit: Some(QueueSize::Packets(6)),
                ..GRED.green
            };
            let params = GredParams { averaging, gentle, byte_mode, ecn, green, ..GRED };
            let common = RedParams { limit: params.limit, gentle, byte_mode, ecn, ..RED };
            let paper = Pseudocode::new(&common, averaging, &[params.green, params.yellow, params.red]);
            agree(&mut fates, aqm::gred(SITE, params), paper, |queue| queue.averages().to_vec());
        }
        often(fates);
    }
}

#[test]
fn mean_packets_agree() {
    // what the pseudo-code takes from RED's parameters is the same for all
    assert_eq!((RED.mean_packet, RED.rate), (RIO.mean_packet, RIO.rate));
    assert_eq!((RED.mean_packet, RED.rate), (GRED.mean_packet, GRED.rate));
    assert_eq!(RED.mean_packet, Bytes(1250));
}
