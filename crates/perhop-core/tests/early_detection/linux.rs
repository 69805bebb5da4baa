//! Linux's `sch_gred`, its bookkeeping written down step by step: each virtual queue has a backlog in bytes, an average of it,
//! a time since when it is idle, and a limit; the whole has none. In its mode `wred` one average serves all and follows all
//! that waits; in `grio` a queue is dropped by its average and those of better ones that are not idle. Numbers are exact where the kernel has powers of two, and chance is the paper's.

use perhop_core::packet::{Ecn, Meta, Packet};
use perhop_core::queue::{Averaging, GredParams, VirtualQueue};
use perhop_core::rng::Stream;
use perhop_core::sink::DropReason;
use perhop_core::time::{Instant, Span};
use perhop_core::units::QueueSize;
use perhop_testkit::aqm::{self, GRED, RATE, bytes};
use perhop_testkit::packet::{AF11, AF12, AF13, TestPacket};

use super::lab::{Lab, Outcome, SITE};
use super::pseudocode::Draws;

struct Virtual {
    limit: u64,
    min: f64,
    max: f64,
    max_p: f64,
    weight: f64,
    average: f64,
    backlog: u64,
    idle_since: Option<Instant>,
    count: f64,
}

struct Linux {
    wred: bool,
    grio: bool,
    tab: [Virtual; 3],
    /// All that waits.
    backlog: u64,
    draws: Draws,
}

fn in_bytes(size: QueueSize) -> u64 {
    match size {
        QueueSize::Bytes(n) => n,
        QueueSize::Packets(n) => panic!("{n} packets: Linux counts bytes"),
    }
}

impl Linux {
    fn new(params: &GredParams) -> Self {
        let own = |queue: VirtualQueue| Virtual {
            limit: in_bytes(queue.limit.expect("each has one")),
            min: in_bytes(queue.thresholds.min_th) as f64,
            max: in_bytes(queue.thresholds.max_th) as f64,
            max_p: queue.thresholds.max_p,
            weight: queue.w_q,
            average: 0.0,
            backlog: 0,
            idle_since: None,
            count: -1.0,
        };
        Self {
            wred: params.averaging == Averaging::Shared,
            grio: params.averaging == Averaging::Summed,
            tab: [params.green, params.yellow, params.red].map(own),
            backlog: 0,
            draws: Draws::inverted(aqm::stream()),
        }
    }

    fn enqueue(&mut self, now: Instant, dp: usize, len: u64) -> Outcome {
        let dropped = self.verdict(now, dp, len);
        match dropped {
            None => {
                self.tab[dp].backlog += len;
                self.backlog += len;
            }
            Some(_) => self.tab[dp].count = 0.0,
        }
        self.note_idle(now, dp);
        dropped.map_or(Outcome::Accepted(Ecn::NotEct), Outcome::Dropped)
    }

    fn verdict(&mut self, now: Instant, dp: usize, len: u64) -> Option<DropReason> {
        let (set, waiting) = self.averaged(dp);
        let weight = self.tab[dp].weight;
        let shared = &mut self.tab[set];
        match shared.idle_since.take() {
            Some(since) => {
                let packet = GRED.mean_packet.0 as f64 * 8e9 / RATE.bits_per_sec() as f64;
                shared.average *= (1.0 - weight).powf((now - since).as_nanos() as f64 / packet);
            }
            None => shared.average += weight * (waiting as f64 - shared.average),
        }
        let mut average = shared.average;
        if self.grio {
            let better = self.tab[..dp].iter().filter(|q| q.idle_since.is_none());
            average += better.map(|q| q.average).sum::<f64>();
        }
        let q = &mut self.tab[dp];
        if average >= q.max {
            return Some(DropReason::Forced);
        }
        if average < q.min {
            q.count = -1.0;
        } else {
            let p_b = q.max_p * (average - q.min) / (q.max - q.min);
            q.count += 1.0;
            let passed = q.count * p_b;
            if self.draws.happens(if passed < 1.0 { (p_b / (1.0 - passed)).min(1.0) } else { 1.0 }) {
                return Some(DropReason::Early);
            }
        }
        (q.backlog + len > q.limit).then_some(DropReason::Overflow)
    }

    /// Whose average counts for `dp`, and what it follows; the set that all share in `wred` is kept in the first.
    fn averaged(&self, dp: usize) -> (usize, u64) {
        if self.wred { (0, self.backlog) } else { (dp, self.tab[dp].backlog) }
    }

    /// Where nothing waits after an arrival or a departure, idle time begins.
    fn note_idle(&mut self, now: Instant, dp: usize) {
        let (set, waiting) = self.averaged(dp);
        if waiting == 0 {
            self.tab[set].idle_since = Some(now);
        }
    }

    fn dequeue(&mut self, now: Instant, dp: usize, len: u64) {
        self.backlog -= len;
        self.tab[dp].backlog -= len;
        self.note_idle(now, dp);
    }
}

fn dp(meta: &Meta) -> usize {
    match meta.dscp {
        AF11 => 0,
        AF12 => 1,
        _ => 2,
    }
}

/// Data and ACKs of 40 bytes, which weigh as 40.
#[test]
fn each_virtual_queue_has_its_limit_in_bytes_as_in_linux() {
    for averaging in [Averaging::Decoupled, Averaging::Shared, Averaging::Summed] {
        let own =
            |thresholds, limit, w_q| VirtualQueue { thresholds, w_q, limit: Some(QueueSize::Bytes(limit)) };
        let params = GredParams {
            // no limit but these three
            limit: QueueSize::Bytes(5000 + 3800 + 2200),
            averaging,
            green: own(bytes(2500, 4000, 0.05), 5000, 0.05),
            yellow: own(bytes(1500, 2900, 0.1), 3800, 0.1),
            red: own(bytes(700, 1600, 0.2), 2200, 0.2),
            ..GRED
        };
        let (mut linux, mut lab) = (Linux::new(&params), Lab::new(aqm::gred(SITE, params)));
        let mut chance = Stream::new(5, 0, "operations");
        let mut met = [0u32; 4];
        let mut most = 0;
        for step in 0..200_000u32 {
            let busy = [45, 60, 52, 30, 70][step as usize / 700 % 5];
            match chance.below(100) {
                roll if roll < busy => {
                    let dscp = [AF11, AF12, AF13][chance.below(3) as usize];
                    let pkt =
                        TestPacket::data(step).dscp(dscp).len([40, 40, 552, 1500][chance.below(4) as usize]);
                    let meta = *pkt.meta();
                    let expected = linux.enqueue(lab.now, dp(&meta), meta.len.0);
                    let (outcome, color) = lab.arrival(|_| pkt);
                    assert_eq!(
                        (outcome, color as usize),
                        (expected, dp(&meta)),
                        "{averaging:?}, operation {step}"
                    );
                    met[match outcome {
                        Outcome::Accepted(_) => 0,
                        Outcome::Dropped(DropReason::Early) => 1,
                        Outcome::Dropped(DropReason::Forced) => 2,
                        Outcome::Dropped(_) => 3,
                    }] += 1;
                }
                roll if roll < 96 => {
                    if let Some(pkt) = lab.depart() {
                        linux.dequeue(lab.now, dp(pkt.meta()), pkt.meta().len.0);
                    }
                }
                _ => lab.pass(Span::from_micros(chance.below(30_000))),
            }
            let backlogs = lab.queue.backlogs().map(|own| own.bytes.0);
            assert_eq!(backlogs, [0, 1, 2].map(|at: usize| linux.tab[at].backlog), "operation {step}");
            most = most.max(linux.backlog);
        }
        assert!(met.iter().all(|&n| n > 1000), "{averaging:?}: {met:?}");
        assert!(most > 5000, "more waits than any one may have: {most}");
    }
}
