//! Against recordings of ns-2 (`oracles/ns2-2.35-red`): every average, and every drop given the draw that ns-2 used. Of the
//! queues themselves, which draw otherwise: every drop that leaves nothing to chance, and how many packets lie between drops.
//! That queues and pseudo-code decide alike shows `reference.rs`.

use perhop_core::packet::{Meta, Packet};
use perhop_core::queue::{Averaging, Conventions, Queue, RedParams, RioParams, VirtualQueue};
use perhop_core::time::Instant;
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_testkit::aqm::{self, RED, RIO, packets};
use perhop_testkit::packet::{AF11, AF13, TestPacket};

use super::lab::{Lab, Outcome, SITE};
use super::pseudocode::{Draws, Pseudocode};

/// Nanoseconds for each tick of the recorded drops.
const TICK: u64 = 1_000_000_000 / 512;

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../../oracles/ns2-2.35-red/", $name, ".csv"))
    };
}

/// What the link takes packets from.
trait Waiting {
    /// A packet arrives; whether it is dropped.
    fn arrive(&mut self, now: Instant, pkt: TestPacket) -> bool;
    fn depart(&mut self, now: Instant) -> Option<Bytes>;
    fn averages(&self) -> Vec<f64>;
}

impl Waiting for Pseudocode {
    fn arrive(&mut self, now: Instant, pkt: TestPacket) -> bool {
        matches!(self.arrival(now, pkt.meta()), Outcome::Dropped(_))
    }

    fn depart(&mut self, now: Instant) -> Option<Bytes> {
        let first: Meta = *self.waiting.first()?;
        self.departure(now);
        Some(first.len)
    }

    fn averages(&self) -> Vec<f64> {
        (0..self.colours()).map(|whose| self.average(whose)).collect()
    }
}

/// A queue, and how to ask for its averages.
struct Real<Q>(Lab<Q>, fn(&Q) -> Vec<f64>);

impl<Q: Queue<TestPacket>> Waiting for Real<Q> {
    fn arrive(&mut self, now: Instant, pkt: TestPacket) -> bool {
        self.0.now = now;
        matches!(self.0.arrival(|_| pkt).0, Outcome::Dropped(_))
    }

    fn depart(&mut self, now: Instant) -> Option<Bytes> {
        self.0.now = now;
        self.0.depart().map(|pkt| pkt.meta().len)
    }

    fn averages(&self) -> Vec<f64> {
        self.1(&self.0.queue)
    }
}

/// Sends while something waits, 524 288 bit/s: 1024 bytes in 8 ticks. Times are in nanoseconds.
struct Link<W> {
    waiting: W,
    /// Time to send a packet of 1024 bytes.
    packet: u64,
    /// When the packet on the wire has left, if there is one.
    busy_until: Option<u64>,
}

impl<W: Waiting> Link<W> {
    fn new(waiting: W, packet: u64) -> Self {
        Self { waiting, packet, busy_until: None }
    }

    fn next(&mut self, now: u64) {
        let sent = self.waiting.depart(Instant::from_nanos(now));
        self.busy_until = sent.map(|len| now + len.0 * self.packet / 1024);
    }

    fn arrive(&mut self, now: u64, pkt: TestPacket) -> bool {
        // what arrives as a packet ends to be sent comes first, as in ns-2
        while let Some(end) = self.busy_until.filter(|&end| end < now) {
            self.next(end);
        }
        let dropped = self.waiting.arrive(Instant::from_nanos(now), pkt);
        if self.busy_until.is_none() {
            self.next(now);
        }
        dropped
    }
}

fn red(params: RedParams) -> Real<perhop_core::queue::Red<TestPacket>> {
    Real(Lab::new(aqm::red(SITE, params)), |queue| queue.averages().to_vec())
}

fn average_equals(w_q: f64, recording: &str) {
    let params = RedParams {
        limit: QueueSize::Packets(1000),
        thresholds: packets(100_000, 200_000, 0.1),
        w_q,
        mean_packet: Bytes(1024),
        rate: BitRate::new(1_048_576).expect("more than zero"),
        ..RED
    };
    let mut link = Link::new(red(params), 4 * TICK);
    let lines: Vec<&str> = recording.lines().skip(1).collect();
    assert!(lines.len() > 1500, "{} arrivals", lines.len());
    for line in lines {
        let (tick, average) = line.split_once(',').expect("two columns");
        let (tick, average): (u64, f64) = (tick.parse().expect("a tick"), average.parse().expect("a number"));
        link.arrive(tick * TICK / 2, TestPacket::data(0).len(1024));
        // ns-2 prints six digits
        let ours = link.waiting.averages()[0];
        assert!((ours - average).abs() <= 6e-6 * average, "tick {tick}: {ours} and {average}");
    }
}

/// Where no convention moves the average, the paper's is that of ns-2.
#[test]
fn the_average_equals_that_of_ns2() {
    average_equals(0.002, recording!("average_0.002"));
    average_equals(0.125, recording!("average_0.125"));
}

/// A recording of drops and the parameters in it. Of RED `colours` has one, and of RIO two.
#[derive(Clone, Copy)]
struct Recorded {
    name: &'static str,
    lines: &'static str,
    common: RedParams,
    averaging: Averaging,
    curves: [(u64, u64, f64); 2],
    colours: usize,
}

const fn common(w_q: f64, limit: u64, conventions: Conventions) -> RedParams {
    RedParams {
        limit: QueueSize::Packets(limit),
        w_q,
        conventions,
        mean_packet: Bytes(1024),
        rate: BitRate::new(524_288).expect("more than zero"),
        ..RED
    }
}

const RED_WAIT: Recorded = Recorded {
    name: "red_wait",
    lines: recording!("drops_red_wait"),
    common: common(0.03, 20, Conventions::NS2_RED),
    averaging: Averaging::Shared,
    curves: [(5, 15, 0.1); 2],
    colours: 1,
};
const RED_GENTLE: Recorded = Recorded {
    name: "red_gentle",
    lines: recording!("drops_red_gentle"),
    common: RedParams {
        gentle: true,
        ..common(0.06, 12, Conventions { wait: false, ..Conventions::NS2_RED })
    },
    curves: [(3, 7, 0.2); 2],
    ..RED_WAIT
};
const RED_CERTAIN: Recorded = Recorded {
    name: "red_certain",
    lines: recording!("drops_red_certain"),
    common: common(0.1, 8, Conventions { wait: false, ..Conventions::NS2_RED }),
    curves: [(3, 6, 1e-12); 2],
    ..RED_WAIT
};
const RIO_C: Recorded = Recorded {
    name: "rio_c",
    lines: recording!("drops_rio_c"),
    common: common(0.03, 14, Conventions::DSRED),
    averaging: Averaging::Coupled,
    curves: [(5, 12, 0.1), (2, 8, 0.3)],
    colours: 2,
};
const RIO_D: Recorded =
    Recorded { name: "rio_d", lines: recording!("drops_rio_d"), averaging: Averaging::Decoupled, ..RIO_C };
const WRED: Recorded =
    Recorded { name: "wred", lines: recording!("drops_wred"), averaging: Averaging::Shared, ..RIO_C };
const RIO_C_CERTAIN: Recorded = Recorded {
    name: "rio_c_certain",
    lines: recording!("drops_rio_c_certain"),
    common: common(0.1, 10, Conventions::DSRED),
    curves: [(5, 9, 1e-12), (2, 6, 1e-12)],
    ..RIO_C
};
const ALL: [Recorded; 7] = [RED_WAIT, RED_GENTLE, RED_CERTAIN, RIO_C, RIO_D, WRED, RIO_C_CERTAIN];

impl Recorded {
    fn thresholds(&self, colour: usize) -> perhop_core::queue::Thresholds {
        let (min_th, max_th, max_p) = self.curves[colour];
        packets(min_th, max_th, max_p)
    }

    fn pseudocode(&self) -> Pseudocode {
        let queue =
            |colour| VirtualQueue { thresholds: self.thresholds(colour), w_q: self.common.w_q, limit: None };
        let queues = [0, 1].map(queue);
        Pseudocode::new(&self.common, self.averaging, &queues[..self.colours], Draws::Each(1.0))
    }

    /// Drops, or what differs first.
    fn compare<W: Waiting>(&self, waiting: W, draw: impl Fn(&mut W, f64)) -> Result<u32, String> {
        let (mut link, mut drops) = (Link::new(waiting, 8 * TICK), 0);
        for (at, line) in self.lines.lines().enumerate().skip(1) {
            let values: Vec<f64> = line.split(',').map(|value| value.parse().expect("a number")).collect();
            let &[tick, code, len, drawn, ref averages @ .., dropped] = values.as_slice() else {
                panic!("{line}")
            };
            assert_eq!(averages.len(), self.colours, "{line}");
            draw(&mut link.waiting, drawn);
            let dscp = if code < 15.0 { AF11 } else { AF13 };
            let ours = link.arrive(tick as u64 * TICK, TestPacket::data(0).dscp(dscp).len(len as u64));
            // ns-2 prints six digits, or six behind the point; dsRED's averages are floats
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 + 6e-6 * b;
            if !link.waiting.averages().iter().zip(averages).all(near) || ours != (dropped > 0.5) {
                let found = link.waiting.averages();
                return Err(format!(
                    "{} line {}: {found:?}, dropped: {ours}, where ns-2 has {line}",
                    self.name,
                    at + 1
                ));
            }
            drops += u32::from(ours);
        }
        Ok(drops)
    }

    fn decides_alike(&self) -> Result<u32, String> {
        self.compare(self.pseudocode(), |paper, drawn| paper.draws = Draws::Each(drawn))
    }
}

#[test]
fn each_arrival_is_averaged_and_dropped_as_in_ns2() {
    for recorded in ALL {
        let drops = recorded.decides_alike().expect("the same");
        assert!(drops > 300, "{}: {drops} drops", recorded.name);
    }
}

type Flag = fn(&mut Conventions) -> &mut bool;

/// Without it, or with it where ns-2 does not have it, something differs.
#[test]
fn each_convention_is_needed() {
    let flags: [(&str, Flag); 9] = [
        ("wait", |c| &mut c.wait),
        ("spare_short", |c| &mut c.spare_short),
        ("spare_first", |c| &mut c.spare_first),
        ("unclamped", |c| &mut c.unclamped),
        ("skip_full", |c| &mut c.skip_full),
        ("idle_sent", |c| &mut c.idle_sent),
        ("idle_whole", |c| &mut c.idle_whole),
        ("idle_again", |c| &mut c.idle_again),
        ("idle_color", |c| &mut c.idle_color),
    ];
    for (name, flag) in flags {
        let differs = |&recorded: &Recorded| {
            let mut other = recorded;
            *flag(&mut other.common.conventions) ^= true;
            other.decides_alike().is_err()
        };
        let of_red = ALL[..3].iter().filter(|recorded| differs(recorded)).count();
        let of_dsred = ALL[3..].iter().filter(|recorded| differs(recorded)).count();
        // RED drops nothing at an empty queue and has one colour
        let nothing_to_red = ["idle_again", "idle_color"].contains(&name);
        let found = format!("{name}: differs in {of_red} of RED and {of_dsred} of dsRED");
        assert!((of_red == 0) == nothing_to_red && of_dsred > 0, "{found}");
    }
}

#[test]
fn queues_drop_what_ns2_drops_where_nothing_is_left_to_chance() {
    let params = RedParams { thresholds: RED_CERTAIN.thresholds(0), ..RED_CERTAIN.common };
    assert_eq!(RED_CERTAIN.compare(red(params), |_, _| ()), Ok(504));

    let RedParams { limit, w_q, conventions, mean_packet, rate, .. } = RIO_C_CERTAIN.common;
    let (green, red) = (RIO_C_CERTAIN.thresholds(0), RIO_C_CERTAIN.thresholds(1));
    let params = RioParams { limit, green, red, w_q, conventions, mean_packet, rate, ..RIO };
    let rio = Real(Lab::new(aqm::rio(SITE, params)), |queue| queue.averages().to_vec());
    assert_eq!(RIO_C_CERTAIN.compare(rio, |_, _| ()), Ok(493));
}

/// How often each number of packets lies between two drops, where one arrives every seven ticks.
fn gaps(conventions: Conventions) -> [f64; 64] {
    let params = RedParams { thresholds: packets(5, 25, 0.25), ..common(0.002, 60, conventions) };
    let mut link = Link::new(red(params), 8 * TICK);
    let (mut times, mut last) = ([0.0; 64], None);
    for at in 0..120_000 {
        let dropped = link.arrive(7 * TICK * at as u64, TestPacket::data(0).len(1024));
        if dropped
            && at > 20_000
            && let Some(last) = last.replace(at)
        {
            times[(at - last).min(63)] += 1.0;
        }
    }
    times
}

/// How far two counts of the same things are apart, in quantiles: 1 is the 0.999 quantile of chi-square. What is rare in both
/// is counted together.
fn apart(ours: &[f64; 64], recording: &str) -> f64 {
    let mut theirs = [0.0; 64];
    for line in recording.lines().skip(1) {
        let (gap, times) = line.split_once(',').expect("two columns");
        theirs[gap.parse::<usize>().expect("a gap").min(63)] += times.parse::<f64>().expect("a count");
    }
    let ratio = (ours.iter().sum::<f64>() / theirs.iter().sum::<f64>()).sqrt();
    let (mut rare, mut sum, mut kinds) = ((0.0, 0.0), 0.0, 0.0);
    let mut add = |a: f64, b: f64| {
        sum += (a / ratio - b * ratio).powi(2) / (a + b);
        kinds += 1.0;
    };
    for (&a, &b) in ours.iter().zip(&theirs) {
        if a + b < 20.0 { rare = (rare.0 + a, rare.1 + b) } else { add(a, b) }
    }
    if rare.0 + rare.1 > 0.0 {
        add(rare.0, rare.1);
    }
    // Wilson and Hilferty 1931
    let (freedom, normal): (f64, f64) = (kinds - 1.0, 3.09);
    let part = 2.0 / (9.0 * freedom);
    sum / (freedom * (1.0 - part + normal * part.sqrt()).powi(3))
}

#[test]
fn packets_between_drops_are_distributed_as_in_ns2() {
    let plain = Conventions { wait: false, ..Conventions::NS2_RED };
    let recordings = [
        (Conventions::NS2_RED, recording!("gaps_red_wait")),
        (plain, recording!("gaps_red")),
        (Conventions::DSRED, recording!("gaps_dsred")),
    ];
    for (conventions, recording) in recordings {
        let apart = apart(&gaps(conventions), recording);
        assert!(apart < 1.0, "{conventions:?}: {apart}");
    }
    assert!(apart(&gaps(plain), recording!("gaps_red_wait")) > 10.0, "a test that could not fail");
}
