//! Bodies of fuzz targets, and their replay over seeded byte strings where no fuzzer runs.

use arbitrary::{Arbitrary, Unstructured};
use perhop_core::queue::Fifo;
use perhop_core::rng::Stream;
use perhop_core::units::QueueSize;

use crate::aqm;
use crate::laws::queue;

#[cfg(feature = "wire")]
mod capture;
#[cfg(feature = "tcp")]
mod tcp;
#[cfg(feature = "wire")]
mod wire;
#[cfg(feature = "wire")]
pub use capture::{CaptureBytes, capture};
#[cfg(feature = "tcp")]
pub use tcp::{Connection, SenderOps, Settings, connection, sender_ops};
#[cfg(feature = "wire")]
pub use wire::{PacketBytes, wire};

/// Operations of one input: more would only take longer.
const MOST_OPS: usize = 1000;
/// Elements made of all bytes that are left, at most so many: a derived list tosses a coin before each, and of random bytes
/// has one on average.
fn rest<'a, T: Arbitrary<'a>>(u: &mut Unstructured<'a>, most: usize) -> arbitrary::Result<Vec<T>> {
    let mut all = Vec::new();
    while !u.is_empty() && all.len() < most {
        all.push(u.arbitrary()?);
    }
    Ok(all)
}

/// Input of [`queue_ops`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueOps {
    /// Size of the queue.
    pub limit: u16,
    /// Whether `limit` counts bytes.
    pub in_bytes: bool,
    /// Which queue, modulo 4: drop-tail, RED, RIO, GRED.
    pub kind: u8,
    /// Operations on it.
    pub ops: Vec<queue::Op>,
}

impl<'a> Arbitrary<'a> for QueueOps {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (limit, in_bytes, kind) = u.arbitrary()?;
        Ok(Self { limit, in_bytes, kind, ops: rest(u, MOST_OPS)? })
    }
}

/// A queue obeys its laws; a limit of packets is taken modulo 32, and a queue of [`aqm`] has its own.
pub fn queue_ops(input: &QueueOps) {
    let limit = u64::from(input.limit);
    let limit = if input.in_bytes { QueueSize::Bytes(limit) } else { QueueSize::Packets(limit % 32) };
    match input.kind % 4 {
        0 => queue::repeats(|site| Box::new(Fifo::new(site, limit)), limit, &input.ops),
        1 => queue::repeats(|site| aqm::red(site, aqm::RED), aqm::RED.limit, &input.ops),
        2 => queue::repeats(|site| aqm::rio(site, aqm::RIO), aqm::RIO.limit, &input.ops),
        _ => queue::repeats(|site| aqm::gred(site, aqm::GRED), aqm::GRED.limit, &input.ops),
    }
}

/// Runs `body` on `runs` inputs made of seeded bytes, the same every time.
///
/// # Panics
/// When `body` does; what it was given then is printed.
pub fn replay<T: for<'a> Arbitrary<'a> + core::fmt::Debug>(runs: u64, body: impl Fn(&T)) {
    for run in 0..runs {
        let mut stream = Stream::new(run, 0, "fuzz");
        let length = stream.below(4096);
        let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(stream.below(256)).unwrap_or(0)).collect();
        if let Ok(input) = T::arbitrary_take_rest(Unstructured::new(&bytes)) {
            let _shown = ShownOnPanic(&input);
            body(&input);
        }
    }
}

/// The mean of what `count` finds in the inputs that [`replay`] makes: how much of its body they reach.
pub fn reached<T: for<'a> Arbitrary<'a> + core::fmt::Debug>(runs: u64, count: impl Fn(&T) -> usize) -> usize {
    let total = core::cell::Cell::new(0);
    replay(runs, |input| total.set(total.get() + count(input)));
    total.get() / usize::try_from(runs).unwrap_or(usize::MAX)
}

struct ShownOnPanic<'a, T: core::fmt::Debug>(&'a T);

impl<T: core::fmt::Debug> Drop for ShownOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("fuzz input: {:?}", self.0);
        }
    }
}
