//! The body of a fuzz target, replayed over seeded mutations of scenarios: no input panics, and what loads resolves to a
//! text that loads to the same text.

use crate::common::{BASE, DOMAIN};
use perhop_scenario::{load, render};

/// `data` is a scenario file; its first line may be overrides after `#-s `, separated by `|`.
pub fn fuzz(data: &[u8]) {
    let first = data.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(first);
    let overrides: Vec<String> =
        line.strip_prefix("#-s ").map(|o| o.split('|').map(str::to_owned).collect()).unwrap_or_default();
    match load(data, "fuzz.toml", &overrides) {
        Ok(loaded) => {
            let text = loaded.resolved_toml();
            let again = load(text.as_bytes(), "resolved.toml", &[]);
            let again = again.unwrap_or_else(|found| panic!("{text}\n{}", render(&found[0], false)));
            assert_eq!(again.resolved_toml(), text);
            assert_eq!(format!("{:?}", again.scenario), format!("{:?}", loaded.scenario));
        }
        Err(found) => {
            assert!(!found.is_empty());
            for diagnostic in found.iter().take(20) {
                assert!(!render(diagnostic, false).is_empty());
            }
        }
    }
}

/// SplitMix64: the same inputs on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % n as u64).expect("n is a usize")
    }
}

/// Pieces that mean something to the parser.
const WORDS: [&str; 59] = [
    "\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    ",",
    "\n",
    "[*]",
    "[0]",
    "->",
    "0",
    "-1",
    "1e9",
    "nan",
    "\"1s\"",
    "\"0B\"",
    "\"9p\"",
    "\"1Mbit/s\"",
    "true",
    "1979-05-27",
    "slow",
    "fast",
    "\"s[*]\"",
    "kind",
    "\"any\"",
    "[[port]]",
    "[[flow]]",
    "\n[[profile]]\nname = \"own\"\nbase = \"own\"\n",
    "\nprofile = \"linux\"\n",
    "drop = { flow = \"up\", packets = [[1, 1]] }",
    "µ",
    "\u{0}",
    "\"e[*]\"",
    "\"AF11\"",
    "\"AF15\"",
    "\"pass\"",
    "\"shape\"",
    "\"pure-ack\"",
    "[\"EF\", \"BE\"]",
    "[80, 90]",
    "[]",
    "{}",
    "9223372036854775807",
    "1e-300",
    "\"1000000000000000B\"",
    "\"1000000000s\"",
    "\nkind = \"router\"\n",
    "\nper = \"flow\"\n",
    "\nmatch = { flow = [\"web\", \"bulk[1]\"], src = \"s[*]\" }\n",
    "\nqueue = { kind = \"red\", min_th = \"5p\", max_th = \"15p\", max_p = 0.1 }\n",
    "\nack_marking = { kind = \"copy\" }\n",
    "\nshare = 0.1\npriority = 7\n",
    "[0..2]",
    "\"s[1..3]\"",
    "\ncount = 2\n",
    "\nlabels = { load = \"high\" }\n",
    "\nbetween = [\"e[*]\", \"r2\"]\n",
    "\nclock_phase = \"random\"\n",
];

/// Overrides that reach every part of the grammar.
const OVERRIDES: [&str; 23] = [
    "run.duration=9s",
    "node.s.count=2",
    "node.d.count=2",
    "link.slow-fast.rate.slow->fast=1Mbps",
    "link.s-r.delay.s->r=1ms",
    "port.slow-fast.scheduler.share=0.1",
    "port.slow-fast.class.data.queue.limit=9p",
    "flow.bulk.tcp={ mss = \"536B\" }",
    "flow.up.ack.policy=never",
    "flow.up.tcp.profile=bsd",
    "flow.up.tcp={ profile = \"linux\", size = \"9p\" }",
    "flow.bulk.tcp.window=1MB",
    "flow.up.ack.policy=delayed",
    "flow.up.ack.timeout=10ms",
    "link.slow-fast.loss.slow->fast=0.1",
    "link.slow-fast.drop={ flow = \"up\", packets = [[1, 1]] }",
    "link.s-r.mark=[{ flow = \"bulk[0]\", packets = [[1, 1]] }]",
    "flow=[]",
    "flow.bulk.from=s[0..2]",
    "flow.bulk.count=2",
    "flow.up.labels.load=high",
    "flow.up.tcp={ profile = \"bsd\", clock_phase = \"random\" }",
    "port.slow-fast.between=[\"slow\", \"fast\"]",
];

/// Overrides of [`DOMAIN`].
const OF_DOMAIN: [&str; 22] = [
    "node.s.count=8",
    "node.e.count=4",
    "run.packet_size=0B",
    "run.duration=1s",
    "conditioner.customer.meter.cir=2Mbit/s",
    "conditioner.customer.meter={ kind = \"sr-tcm\", cir = \"1Mbit/s\", cbs = \"1p\", ebs = \"0B\" }",
    "conditioner.premium.from=s[*]",
    "conditioner.acks.match.kind=data",
    "conditioner.acks.ack_marking.marks={ default = \"EF\" }",
    "udp.cbr.rate=1Mbit/s",
    "udp.cbr.pattern={ kind = \"on-off\", on = \"1s\", off = \"0s\" }",
    "port.r2-r3.class.af.queue.green.max_p=0.5",
    "port.r2-r3.scheduler.kind=wrr",
    "port.r2-r3.class.ef.share=1",
    "port.s-e.class.all.queue.limit=9p",
    "link.s-e.delay.s->e=1ms",
    "link.r2-r3.delay=[\"1ms\"]",
    "flow.web.arrivals.mean_interval=100ms",
    "conditioner.customer.from=s[0..3]",
    "port.r2-r3.between=[\"r2\", \"r3\"]",
    "udp.cbr.labels={ load = \"high\", arm = \"one\" }",
    "node.s.count=5",
];

fn mutated(numbers: &mut Numbers, base: &str, overrides: &[&str]) -> Vec<u8> {
    let mut data = base.as_bytes().to_vec();
    for _ in 0..numbers.below(5) {
        let at = numbers.below(data.len());
        match numbers.below(6) {
            0 => data[at] = u8::try_from(numbers.below(256)).expect("a byte"),
            1 => drop(data.drain(at..(at + 1 + numbers.below(20)).min(data.len()))),
            2 => drop(data.splice(at..at, WORDS[numbers.below(WORDS.len())].bytes())),
            3 => {
                // A whole line is repeated elsewhere, or taken away.
                let lines: Vec<&[u8]> = data.split(|b| *b == b'\n').collect();
                let (from, to) = (numbers.below(lines.len()), numbers.below(lines.len()));
                let mut lines = lines.clone();
                if numbers.below(2) == 0 {
                    lines.insert(to, lines[from])
                } else {
                    lines.remove(from);
                }
                data = lines.join(&b'\n');
            }
            4 => {
                // A digit or letter becomes another one: names and numbers that are nearly right.
                if let Some(c) = data[at..].iter_mut().find(|c| c.is_ascii_alphanumeric()) {
                    *c = b"abcdefrstkM0159"[numbers.below(15)];
                }
            }
            _ => {
                let tables: Vec<usize> = base.match_indices("\n[[").map(|(i, _)| i).collect();
                let from = tables[numbers.below(tables.len())];
                let end = tables.iter().copied().find(|i| *i > from).unwrap_or(base.len());
                data.extend_from_slice(&base.as_bytes()[from..end]);
            }
        }
        if data.is_empty() {
            return data;
        }
    }
    if numbers.below(3) == 0 {
        let chosen: Vec<&str> =
            (0..=numbers.below(3)).map(|_| overrides[numbers.below(overrides.len())]).collect();
        data.splice(0..0, format!("#-s {}\n", chosen.join("|")).bytes());
    }
    data
}

/// Replays `runs` mutations of `base`, of which more than `least` have to load.
fn replay(seed: u64, base: &str, overrides: &[&str], runs: usize, least: usize) {
    let mut numbers = Numbers(seed);
    let mut loaded = 0;
    for _ in 0..runs {
        let data = mutated(&mut numbers, base, overrides);
        loaded += usize::from(load(&data, "fuzz.toml", &[]).is_ok());
        fuzz(&data);
    }
    assert!(
        loaded > least,
        "only {loaded} mutated scenarios load: the mutations are too coarse to test loading"
    );
}

#[test]
fn mutated_scenarios() {
    replay(1, BASE, &OVERRIDES, 4_000, 200);
}

#[test]
fn mutated_domains() {
    replay(3, DOMAIN, &OF_DOMAIN, 1_500, 100);
}

#[test]
fn the_mutated_starter() {
    let starter = include_str!("../../../python/perhop/starters/diffserv/diffserv.toml");
    let overrides = ["run.duration=1s", "node.bulk_host.count=8", "link.edge-core.rate=1Mbit/s"];
    replay(4, starter, &overrides, 600, 40);
}

#[test]
fn random_bytes() {
    let mut numbers = Numbers(2);
    for _ in 0..2_000 {
        let data: Vec<u8> =
            (0..numbers.below(200)).map(|_| u8::try_from(numbers.below(256)).expect("a byte")).collect();
        fuzz(&data);
    }
}
