//! What the benches share: how an operation is repeated, and a packet that is one pointer, as the engine's.

use std::hint::black_box;
use std::time::{Duration, Instant as Clock};

use criterion::Criterion;
use perhop_core::packet::{Acknowledgment, Kind, Meta, Packet};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;

/// A packet behind a pointer.
#[derive(Debug)]
pub struct Pkt(pub Box<Meta>);

impl Packet for Pkt {
    fn meta(&self) -> &Meta {
        &self.0
    }

    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.0
    }

    fn acknowledgment(&self) -> Option<Acknowledgment> {
        self.0.tcp.map(|tcp| Acknowledgment::new(tcp.ack, self.0.kind == Kind::PureAck))
    }
}

/// Holds what was dropped, to arrive again.
#[derive(Debug, Default)]
pub struct Back(pub Vec<Pkt>);

impl Sink<Pkt> for Back {
    fn dropped(&mut self, _now: Instant, _site: SiteId, pkt: Pkt, _why: DropReason) {
        self.0.push(pkt);
    }
}

/// How the operations of a bench are repeated.
pub enum Bench {
    /// By criterion, which times them.
    Timed(Box<Criterion>),
    /// One of them, this many times and nothing else, for a program that counts its instructions.
    Counted {
        /// Which one.
        name: String,
        /// How many times.
        times: u64,
    },
}

impl Bench {
    /// Repeats `operation`.
    pub fn operation<O>(&mut self, name: &str, mut operation: impl FnMut() -> O) {
        match self {
            Self::Timed(criterion) => {
                criterion.bench_function(name, |b| b.iter(&mut operation));
            }
            Self::Counted { name: one, times } if one == name => {
                for _ in 0..*times {
                    let _ = black_box(operation());
                }
            }
            Self::Counted { .. } => {}
        }
    }

    /// Repeats a `batch` of `size` operations, which says how long it took.
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    pub fn batch(&mut self, name: &str, size: u64, mut batch: impl FnMut() -> Duration) {
        match self {
            Self::Timed(criterion) => {
                criterion.bench_function(name, |b| {
                    b.iter_custom(|operations| {
                        let batches = operations.div_ceil(size);
                        let spent: Duration = (0..batches).map(|_| batch()).sum();
                        spent.mul_f64(operations as f64 / (batches * size) as f64)
                    });
                });
            }
            Self::Counted { name: one, times } if one == name => {
                for _ in 0..times.div_ceil(size) {
                    let _ = black_box(batch());
                }
            }
            Self::Counted { .. } => {}
        }
    }
}

/// How long `work` takes.
#[expect(clippy::disallowed_methods, reason = "a bench has a clock")]
pub fn timed(work: impl FnOnce()) -> Duration {
    let start = Clock::now();
    work();
    start.elapsed()
}

/// Runs `benches`: by criterion, with its options, or as `--count NAME TIMES` one operation.
///
/// # Panics
/// If TIMES is no number.
pub fn run(benches: &[fn(&mut Bench)]) {
    let words: Vec<String> = std::env::args().collect();
    let mut bench = match &words[1..] {
        [option, name, times] if option == "--count" => {
            Bench::Counted { name: name.clone(), times: times.parse().expect("a number of times") }
        }
        _ => Bench::Timed(Box::new(Criterion::default().configure_from_args())),
    };
    benches.iter().for_each(|run| run(&mut bench));
    if let Bench::Timed(criterion) = bench {
        criterion.final_summary();
    }
}
