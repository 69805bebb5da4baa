//! The pseudo-code of `pseudocode.rs` against the queues: the same draws must give the same decisions.

use perhop_core::packet::{Ecn, Packet};
use perhop_core::queue::{Averaging, Conventions, GredParams, Queue, RedParams, RioParams, VirtualQueue};
use perhop_core::rng::Stream;
use perhop_core::sink::DropReason;
use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::aqm::{self, GRED, RED, RIO, bytes, packets};
use perhop_testkit::packet::{AF11, AF12, AF13, TestPacket};

use super::lab::{Lab, Outcome, SITE};
use super::pseudocode::{Draws, Pseudocode};

/// Phases of heavy and of light load, with departures and pauses in between.
fn agree<Q: Queue<TestPacket>>(
    counts: &mut OutcomeCounts,
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
                let outcome = lab.arrival(|_| pkt).0;
                assert_eq!(outcome, expected, "operation {step}");
                counts[match outcome {
                    Outcome::Accepted(Ecn::Ce) if ecn != Ecn::Ce => 1,
                    Outcome::Accepted(_) => 0,
                    Outcome::Dropped(DropReason::Early) => 2,
                    Outcome::Dropped(DropReason::Forced) => 3,
                    Outcome::Dropped(_) => 4,
                }] += 1;
                for (whose, average) in averages(&lab.queue).into_iter().enumerate() {
                    let expected = paper.average(whose);
                    assert!((average - expected).abs() <= 1e-9 * expected.max(1.0), "operation {step}");
                }
            }
            roll if roll < 96 => {
                let expected = (!paper.waiting.is_empty()).then(|| paper.departure(lab.now));
                assert_eq!(lab.depart().map(|pkt| pkt.id()), expected, "operation {step}");
            }
            _ => lab.pass(Span::from_micros(chance.below(30_000))),
        }
    }
}

/// How many were accepted, marked, dropped by chance, by force, for want of room.
type OutcomeCounts = [u32; 5];

/// Every outcome must have been met with often, or the agreement says little.
fn often(counts: OutcomeCounts) {
    assert!(counts.iter().all(|&met| met > 2000), "{counts:?}");
}

fn draws() -> Draws {
    Draws::inverted(aqm::stream())
}

/// The conventions of those that are named, each by itself, and pairs of which one changes what the other means.
pub fn conventions() -> Vec<Conventions> {
    let none = Conventions::FLOYD1993;
    vec![
        Conventions::NS2_RED,
        Conventions { wait: false, ..Conventions::NS2_RED },
        Conventions::DSRED,
        Conventions { wait: true, ..none },
        Conventions { spare_short: true, ..none },
        Conventions { spare_first: true, ..none },
        Conventions { unclamped: true, ..none },
        Conventions { skip_full: true, ..none },
        Conventions { idle_sent: true, ..none },
        Conventions { idle_whole: true, ..none },
        Conventions { idle_again: true, ..none },
        Conventions { idle_color: true, ..none },
        Conventions { wait: true, unclamped: true, ..none },
        Conventions { idle_sent: true, idle_again: true, idle_color: true, ..none },
    ]
}

fn variants() -> Vec<RedParams> {
    let mut variants = vec![
        RED,
        RedParams { gentle: true, ..RED },
        RedParams { byte_mode: true, ecn: true, ..RED },
        RedParams { gentle: true, ecn: true, byte_mode: true, ..RED },
    ];
    variants.extend(conventions().into_iter().map(|conventions| RedParams { conventions, ecn: true, ..RED }));
    variants
}

/// The limit lies where a burst reaches it before the average reaches the end of the curve.
#[test]
fn red_decides_as_figure_2() {
    let mut counts = OutcomeCounts::default();
    for variant in variants() {
        for (thresholds, limit) in [
            (packets(2, 6, 0.05), QueueSize::Packets(8)),
            (packets(1, 3, 0.05), QueueSize::Bytes(9000)),
            (bytes(1700, 3800, 0.1), QueueSize::Bytes(6000)),
        ] {
            let params = RedParams { thresholds, limit, w_q: 0.07, ..variant };
            let own = VirtualQueue { thresholds, w_q: params.w_q, limit: None };
            let paper = Pseudocode::new(&params, Averaging::Shared, &[own], draws());
            agree(&mut counts, aqm::red(SITE, params), paper, |queue| queue.averages().to_vec());
        }
    }
    often(counts);
}

const MODES: [Averaging; 3] = [Averaging::Coupled, Averaging::Decoupled, Averaging::Shared];

#[test]
fn rio_decides_as_the_paper_and_its_variants() {
    for averaging in MODES {
        let mut counts = OutcomeCounts::default();
        for RedParams { gentle, byte_mode, ecn, conventions, .. } in variants() {
            let (limit, green, red) = (QueueSize::Packets(9), packets(3, 5, 0.05), packets(1, 3, 0.1));
            let params = RioParams {
                limit,
                green,
                red,
                averaging,
                gentle,
                byte_mode,
                ecn,
                conventions,
                w_q: 0.07,
                ..RIO
            };
            let colours = [params.green, params.red].map(|thresholds| VirtualQueue {
                thresholds,
                w_q: params.w_q,
                limit: None,
            });
            let common = RedParams { limit, gentle, byte_mode, ecn, conventions, ..RED };
            let paper = Pseudocode::new(&common, averaging, &colours, draws());
            agree(&mut counts, aqm::rio(SITE, params), paper, |queue| queue.averages().to_vec());
        }
        often(counts);
    }
}

#[test]
fn gred_decides_as_its_variants() {
    for averaging in MODES {
        let mut counts = OutcomeCounts::default();
        for RedParams { gentle, byte_mode, ecn, conventions, .. } in variants() {
            let green = VirtualQueue {
                thresholds: packets(2, 7, 0.02),
                limit: Some(QueueSize::Packets(6)),
                ..GRED.green
            };
            let params = GredParams { averaging, gentle, byte_mode, ecn, conventions, green, ..GRED };
            let common = RedParams { limit: params.limit, gentle, byte_mode, ecn, conventions, ..RED };
            let paper =
                Pseudocode::new(&common, averaging, &[params.green, params.yellow, params.red], draws());
            agree(&mut counts, aqm::gred(SITE, params), paper, |queue| queue.averages().to_vec());
        }
        often(counts);
    }
}

#[test]
fn mean_packets_agree() {
    // what the pseudo-code takes from RED's parameters is the same for all
    assert_eq!((RED.mean_packet, RED.rate), (RIO.mean_packet, RIO.rate));
    assert_eq!((RED.mean_packet, RED.rate), (GRED.mean_packet, GRED.rate));
    assert_eq!(RED.mean_packet, Bytes(1250));
}
