//! Instructions and cache misses of a packet-hop, by valgrind's cachegrind: the same on every machine and in every hour.
//!
//! A program is run twice under it, up to two points in simulated time; what the second run does more, divided by the
//! packet-hops that it does more, is the cost of one, set-up being in both.

use std::process::Command;

use perhop_core::time::Span;
use serde::Serialize;

use crate::measure::float;

/// The caches: 32 kB for data, and behind it 1 MB (an L2 of today), in lines of 64 bytes.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,8,64"];
/// Packet-hops before those that are counted, and of those.
const HOPS: u64 = 300_000;

/// For each packet-hop.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// Instructions of the processor.
    pub instructions: f64,
    /// Reads and writes that miss 32 kB.
    pub d1_misses: f64,
    /// Those, and instructions, that miss 1 MB.
    pub l2_misses: f64,
}

/// What a program did up to some point in simulated time.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Packet-hops.
    pub hops: u64,
    /// Instructions, misses of the first cache, misses of the second.
    pub costs: [u64; 3],
}

/// The cost of a hop of a program that does `hops` in `duration`; `run` runs it under valgrind up to a point.
///
/// # Errors
/// Why it could not.
pub fn cost(duration: Span, hops: u64, run: impl Fn(Span) -> Result<Counts, String>) -> Result<Cost, String> {
    let nanos = u128::from(duration.as_nanos()) * u128::from(HOPS.min(hops / 2)) / u128::from(hops);
    let first = Span::from_nanos(u64::try_from(nanos).map_err(|_| "too long")?);
    let (first, second) = (run(first)?, run(first + first)?);
    let hops = float(second.hops - first.hops);
    let [instructions, d1_misses, l2_misses] =
        [0, 1, 2].map(|i| float(second.costs[i] - first.costs[i]) / hops);
    Ok(Cost { instructions, d1_misses, l2_misses })
}

/// Runs `program` under valgrind. Returns what it printed, and its instructions, misses of the first and of the second cache.
///
/// # Errors
/// Why it could not.
pub fn run(program: &str, arguments: &[String]) -> Result<(String, [u64; 3]), String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"]).args(CACHES);
    let output = match valgrind.arg(program).args(arguments).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err("valgrind is not installed (Debian package valgrind)".to_owned());
        }
        other => other.map_err(|error| format!("valgrind does not start: {error}"))?,
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let count = |what: &str| said.lines().find_map(|line| number(line.split_once(what)?.1));
    match (output.status.success(), count("I   refs:"), count("D1  misses:"), count("LL misses:")) {
        (true, Some(instructions), Some(d1), Some(l2)) => {
            Ok((String::from_utf8_lossy(&output.stdout).into_owned(), [instructions, d1, l2]))
        }
        _ => Err(format!("valgrind failed: {}", said.lines().last().unwrap_or("no message"))),
    }
}

/// The number at the beginning of `text`, as valgrind writes it.
fn number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_costs_what_the_second_run_does_more() {
        let run = |until: Span| {
            let hops = until.as_nanos() / 10;
            Ok(Counts { hops, costs: [5_000 + 7 * hops, 100 + 2 * hops, 30 + hops] })
        };
        let cost = cost(Span::from_millis(10), 1_000_000, run).expect("it runs");
        assert_eq!((cost.instructions, cost.d1_misses, cost.l2_misses), (7.0, 2.0, 1.0));
    }

    #[test]
    fn numbers_are_read_as_valgrind_writes_them() {
        assert_eq!(number("      1,278,812,466"), Some(1_278_812_466));
        assert_eq!(number("      3,826,728  (  3,244,907 rd   +     581,821 wr)"), Some(3_826_728));
    }
}
