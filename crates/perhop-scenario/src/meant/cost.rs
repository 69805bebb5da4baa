//! How much work a run is, before it is done.

use perhop_core::time::Span;
use perhop_core::units::Bytes;

use crate::meant::model::{Application, Flow, MoreSeries, Scenario, Udp, UdpPattern};
use crate::meant::routes::{Route, routes};

/// Roughly how often packets cross links in a run; 0 where a flow has no way.
///
/// A TCP flow wants its narrowest link, its window in each empty round trip, or its size in the time left, whichever is
/// least; one of an application its loads, with a round trip and the time to think for each. Where flows want more than a link has, each gets the same fraction of what it wants. Every packet of data is
/// acknowledged and none is lost.
#[must_use]
pub fn packet_hops(scenario: &Scenario) -> f64 {
    let Ok(ways) = routes(scenario) else { return 0.0 };
    let (of_tcp, of_udp) = ways.split_at(scenario.flows.len());
    let rates: Vec<f64> =
        scenario.flows.iter().zip(of_tcp).map(|(flow, way)| alone(scenario, flow, way)).collect();
    let mut wanted = vec![0.0; scenario.links.len()];
    for (rate, way) in rates.iter().zip(of_tcp) {
        way.forward.iter().for_each(|link| wanted[*link] += rate);
    }
    let tcp = scenario.flows.iter().zip(of_tcp).zip(rates).map(|((flow, way), rate)| {
        let part = |link: &usize| capacity(scenario, *link) / wanted[*link];
        let part = way.forward.iter().map(part).fold(1.0, f64::min);
        let hops = way.forward.len() + way.reverse.len();
        rate * part * left(scenario, flow.start) / segment(flow) * float(hops as u64)
    });
    let udp = scenario.udp.iter().zip(of_udp);
    let udp = udp.map(|(flow, way)| datagrams(scenario, flow) * float(way.forward.len() as u64));
    tcp.chain(udp).sum()
}

/// The series of a run: samples of each, and how many there are.
#[must_use]
pub fn series(scenario: &Scenario) -> (u64, u64) {
    let samples = scenario.run.duration.as_nanos().checked_div(scenario.run.interval.as_nanos()).unwrap_or(0);
    let classes: usize = scenario.links.iter().map(|link| link.port.classes.len()).sum();
    let columns = 4 * scenario.flows.len() + scenario.udp.len() + 2 * scenario.links.len() + 2 * classes;
    (samples, (columns + more_series(scenario)) as u64)
}

/// The series that are there because they were asked for; those of elements from outside are not known.
fn more_series(scenario: &Scenario) -> usize {
    let mut count = 0;
    if scenario.run.has(MoreSeries::Averages) {
        let classes = scenario.links.iter().flat_map(|link| &link.port.classes);
        // an average and a probability for each, and the length in bytes beside averages in bytes; or one probability
        let columns = classes
            .map(|class| (3 * class.queue.thresholds().len()).max(usize::from(class.queue.drops_early())));
        count += columns.sum::<usize>();
    }
    if scenario.run.has(MoreSeries::Tokens) {
        count += 2 * scenario.conditioners.len();
    }
    count
}

/// Roughly how many bytes of memory a run needs until its tables are written, those of the program apart.
///
/// The numbers are measured: 8 kB for a flow, 4 kB for a direction of a link with a part of its host, 80 B for a value of a
/// series with the names in its row. Packets that wait are left out: nobody knows them beforehand.
#[must_use]
pub fn memory_bytes(scenario: &Scenario) -> u64 {
    let flows = (scenario.flows.len() + scenario.udp.len()) as u64;
    let (samples, columns) = series(scenario);
    let links = scenario.links.len() as u64;
    samples.saturating_mul(columns).saturating_mul(80).saturating_add(8_000 * flows + 4_000 * links)
}

/// The rate in bit/s that `flow` has without any other.
fn alone(scenario: &Scenario, flow: &Flow, way: &Route) -> f64 {
    let params = &flow.tcp.params;
    let narrowest = way.forward.iter().map(|link| capacity(scenario, *link)).fold(f64::INFINITY, f64::min);
    let round_trip: f64 =
        way.forward.iter().chain(&way.reverse).map(|link| scenario.links[*link].delay.as_secs_f64()).sum();
    let within = |bytes: f64, seconds: f64| bytes / float(params.mss.0) * segment(flow) / seconds;
    let of_size = match flow.application {
        // a load cannot take less than a round trip, and its connections share it
        Some(application) => {
            let Application { kind, flows, .. } = &scenario.applications[application];
            let (bytes, pause) = kind.load();
            within(1.0, pause + round_trip) * bytes / float(flows.len() as u64)
        }
        None => params.size.map_or(f64::INFINITY, |size| within(float(size.0), left(scenario, flow.start))),
    };
    narrowest.min(within(float(params.window.0), round_trip)).min(of_size)
}

/// Bits of a full packet of `flow`.
fn segment(flow: &Flow) -> f64 {
    bits(Bytes(flow.tcp.params.mss.0 + flow.tcp.header.0))
}

/// Bits that a link sends in a second.
fn capacity(scenario: &Scenario, link: usize) -> f64 {
    float(scenario.links[link].rate.bits_per_sec())
}

fn datagrams(scenario: &Scenario, flow: &Udp) -> f64 {
    if let Some(capture) = &flow.capture {
        let left = scenario.run.duration.as_nanos().saturating_sub(flow.start.as_nanos());
        return float(capture.count(Span::from_nanos(left)));
    }
    let sending = match flow.pattern {
        UdpPattern::Cbr | UdpPattern::Poisson | UdpPattern::Capture => 1.0,
        UdpPattern::OnOff { on, off } => on.as_secs_f64() / (on.as_secs_f64() + off.as_secs_f64()),
    };
    float(flow.rate.bits_per_sec()) * sending * left(scenario, flow.start) / bits(flow.packet_size)
}

/// Seconds from `start` to the end of the run.
fn left(scenario: &Scenario, start: Span) -> f64 {
    (scenario.run.duration.as_secs_f64() - start.as_secs_f64()).max(0.0)
}

fn bits(size: Bytes) -> f64 {
    8.0 * float(size.0)
}

#[expect(clippy::cast_precision_loss, reason = "a rough number")]
fn float(n: u64) -> f64 {
    n as f64
}
