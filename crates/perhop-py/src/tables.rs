//! Results as Python dicts of NumPy columns.

use numpy::{Element, PyArray1};
use perhop_core::packet::{Color, Dscp, Kind};
use perhop_core::sink::DropReason;
use perhop_core::time::{Instant, Span};
use perhop_scenario::model::Scenario;
use perhop_sim::{FlowResult, PacketEvent, Results, Subject, TcpEvent, Trace};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// Everything a run leaves.
pub fn to_python<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    results: &Results,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("flows", flows(py, scenario, results)?)?;
    dict.set_item("links", links(py, results)?)?;
    dict.set_item("queues", queues(py, results)?)?;
    dict.set_item("udp", udp(py, scenario, results)?)?;
    dict.set_item("marks", marks(py, scenario, results)?)?;
    dict.set_item("conditioners", conditioners(py, results)?)?;
    dict.set_item("series", series(py, scenario, results)?)?;
    dict.set_item("trace", trace(py, scenario, results)?)?;
    let counts = PyDict::new(py);
    counts.set_item("events", results.counts.events)?;
    counts.set_item("packet_hops", results.counts.packet_hops)?;
    counts.set_item("packets_created", results.counts.packets_created)?;
    dict.set_item("counts", counts)?;
    dict.set_item("invariants", &results.invariants)?;
    dict.set_item("event_digest", format!("{:016x}", results.event_digest))?;
    Ok(dict)
}

fn secs(span: Option<Span>) -> f64 {
    span.map_or(f64::NAN, Span::as_secs_f64)
}

/// Columns under construction.
struct Columns<'py>(Bound<'py, PyDict>);

impl<'py> Columns<'py> {
    fn new(py: Python<'py>) -> Self {
        Self(PyDict::new(py))
    }

    /// Names recur in long tables: equal ones share one Python object.
    fn text<'a>(&self, name: &str, values: impl Iterator<Item = &'a str>) -> PyResult<()> {
        let py = self.0.py();
        self.0.set_item(name, values.map(|value| PyString::intern(py, value)).collect::<Vec<_>>())
    }

    fn numbers<T: Element>(&self, name: &str, values: impl Iterator<Item = T>) -> PyResult<()> {
        self.0.set_item(name, PyArray1::from_vec(self.0.py(), values.collect()))
    }
}

fn flows<'py>(py: Python<'py>, scenario: &Scenario, results: &Results) -> PyResult<Bound<'py, PyDict>> {
    let c = Columns::new(py);
    let (given, rows) = (&scenario.flows, &results.flows);
    let node = |i: usize| scenario.nodes[i].name.as_str();
    c.text("name", given.iter().map(|f| f.name.as_str()))?;
    c.text("class", given.iter().map(|f| f.class.as_str()))?;
    c.text("from", given.iter().map(|f| node(f.from)))?;
    c.text("to", given.iter().map(|f| node(f.to)))?;
    c.numbers("start_s", rows.iter().map(|f| f.start.as_secs_f64()))?;
    c.numbers("segments_sent", rows.iter().map(|f| f.stats.segments))?;
    c.numbers("retransmissions", rows.iter().map(|f| f.stats.retransmissions))?;
    c.numbers("fast_retransmits", rows.iter().map(|f| f.stats.fast_retransmits))?;
    c.numbers("timeouts", rows.iter().map(|f| f.stats.timeouts))?;
    c.numbers("spurious_timeouts", rows.iter().map(|f| f.stats.spurious_timeouts))?;
    c.numbers("rtt_samples", rows.iter().map(|f| f.rtt_samples))?;
    c.numbers("delivered_bytes", rows.iter().map(|f| f.delivered.0))?;
    c.numbers("goodput_bit_s", rows.iter().map(|f| f.goodput_bit_s))?;
    c.numbers("throughput_bit_s", rows.iter().map(|f| f.throughput_bit_s))?;
    let completed = |f: &FlowResult| f.stats.completed.map_or(f64::NAN, Instant::as_secs_f64);
    c.numbers("completed_s", rows.iter().map(completed))?;
    c.numbers("srtt_s", rows.iter().map(|f| secs(f.srtt)))?;
    c.numbers("rtt_min_s", rows.iter().map(|f| secs(f.rtt.map(|r| r.0))))?;
    c.numbers("rtt_max_s", rows.iter().map(|f| secs(f.rtt.map(|r| r.1))))?;
    Ok(c.0)
}

fn links<'py>(py: Python<'py>, results: &Results) -> PyResult<Bound<'py, PyDict>> {
    let c = Columns::new(py);
    let rows = &results.links;
    c.text("name", results.link_names.iter().map(String::as_str))?;
    c.numbers("packets", rows.iter().map(|l| l.stats.packets))?;
    c.numbers("bytes", rows.iter().map(|l| l.stats.bytes.0))?;
    c.numbers("data_packets", rows.iter().map(|l| l.stats.packets - l.stats.acks))?;
    c.numbers("ack_packets", rows.iter().map(|l| l.stats.acks))?;
    c.numbers("lost_packets", rows.iter().map(|l| l.lost))?;
    c.numbers("utilization", rows.iter().map(|l| l.utilization_data + l.utilization_acks))?;
    c.numbers("utilization_data", rows.iter().map(|l| l.utilization_data))?;
    c.numbers("utilization_acks", rows.iter().map(|l| l.utilization_acks))?;
    Ok(c.0)
}

fn queues<'py>(py: Python<'py>, results: &Results) -> PyResult<Bound<'py, PyDict>> {
    let c = Columns::new(py);
    let rows = &results.queues;
    c.text("path", rows.iter().map(|q| q.path.as_str()))?;
    c.numbers("in_packets", rows.iter().map(|q| q.stats.offered.packets))?;
    c.numbers("out_packets", rows.iter().map(|q| q.stats.sent.packets))?;
    c.numbers("dropped_packets", rows.iter().map(|q| q.stats.dropped.packets))?;
    c.numbers("taken_packets", rows.iter().map(|q| q.stats.taken.packets))?;
    c.numbers("initial_backlog_packets", rows.iter().map(|q| q.initial_backlog.packets))?;
    c.numbers("initial_backlog_bytes", rows.iter().map(|q| q.initial_backlog.bytes.0))?;
    c.numbers("backlog_packets", rows.iter().map(|q| q.backlog.packets))?;
    c.numbers("in_bytes", rows.iter().map(|q| q.stats.offered.bytes.0))?;
    c.numbers("out_bytes", rows.iter().map(|q| q.stats.sent.bytes.0))?;
    c.numbers("dropped_bytes", rows.iter().map(|q| q.stats.dropped.bytes.0))?;
    c.numbers("taken_bytes", rows.iter().map(|q| q.stats.taken.bytes.0))?;
    c.numbers("backlog_bytes", rows.iter().map(|q| q.backlog.bytes.0))?;
    c.numbers("marked_packets", rows.iter().map(|q| q.drops.marked))?;
    c.numbers("dropped_early", rows.iter().map(|q| q.drops.early))?;
    c.numbers("dropped_forced", rows.iter().map(|q| q.drops.forced))?;
    c.numbers("dropped_overflow", rows.iter().map(|q| q.drops.overflow))?;
    for (i, color) in ["green", "yellow", "red"].into_iter().enumerate() {
        c.numbers(&format!("dropped_{color}"), rows.iter().map(|q| q.drops.by_color[i]))?;
    }
    c.numbers("max_packets", rows.iter().map(|q| q.stats.max_packets))?;
    c.numbers("max_data_packets", rows.iter().map(|q| q.stats.max_data_packets))?;
    Ok(c.0)
}

fn udp<'py>(py: Python<'py>, scenario: &Scenario, results: &Results) -> PyResult<Bound<'py, PyDict>> {
    let c = Columns::new(py);
    let (given, rows) = (&scenario.udp, &results.udp);
    let node = |i: usize| scenario.nodes[i].name.as_str();
    c.text("name", given.iter().map(|f| f.name.as_str()))?;
    c.text("class", given.iter().map(|f| f.class.as_str()))?;
    c.text("from", given.iter().map(|f| node(f.from)))?;
    c.text("to", given.iter().map(|f| node(f.to)))?;
    c.numbers("start_s", rows.iter().map(|f| f.start.as_secs_f64()))?;
    c.numbers("sent_packets", rows.iter().map(|f| f.sent.packets))?;
    c.numbers("sent_bytes", rows.iter().map(|f| f.sent.bytes.0))?;
    c.numbers("arrived_packets", rows.iter().map(|f| f.arrived.packets))?;
    c.numbers("arrived_bytes", rows.iter().map(|f| f.arrived.bytes.0))?;
    c.numbers("throughput_bit_s", rows.iter().map(|f| f.throughput_bit_s))?;
    c.numbers("delay_mean_s", rows.iter().map(|f| f.delay_mean_s))?;
    c.numbers("delay_min_s", rows.iter().map(|f| secs(f.delays.map(|d| d.0))))?;
    c.numbers("delay_max_s", rows.iter().map(|f| secs(f.delays.map(|d| d.1))))?;
    Ok(c.0)
}

/// Name of a flow by its number: TCP flows first, then UDP flows.
fn flow_name(scenario: &Scenario, flow: usize) -> &str {
    match flow.checked_sub(scenario.flows.len()) {
        None => scenario.flows[flow].name.as_str(),
        Some(k) => scenario.udp[k].name.as_str(),
    }
}

fn marks<'py>(py: Python<'py>, scenario: &Scenario, results: &Results) -> PyResult<Bound<'py, PyDict>> {
    let c = Columns::new(py);
    let rows = &results.marks;
    let names: Vec<String> = rows.iter().map(|row| row.mark.to_string()).collect();
    c.text("flow", rows.iter().map(|row| flow_name(scenario, row.flow)))?;
    c.text("mark", names.iter().map(String::as_str))?;
    c.numbers("arrived_packets", rows.iter().map(|row| row.arrived.packets))?;
    c.numbers("arrived_bytes", rows.iter().map(|row| row.arrived.bytes.0))?;
    Ok(c.0)
}

fn conditioners<'py>(py: Python<'py>, results: &Results) -> PyResult<Bound<'py, PyDict>> {
    let c = Columns::new(py);
    let rows = &results.conditioners;
    c.text("path", rows.iter().map(|row| row.path.as_str()))?;
    c.numbers("green_packets", rows.iter().map(|row| row.stats.green.packets))?;
    c.numbers("yellow_packets", rows.iter().map(|row| row.stats.yellow.packets))?;
    c.numbers("red_packets", rows.iter().map(|row| row.stats.red.packets))?;
    c.numbers("green_bytes", rows.iter().map(|row| row.stats.green.bytes.0))?;
    c.numbers("yellow_bytes", rows.iter().map(|row| row.stats.yellow.bytes.0))?;
    c.numbers("red_bytes", rows.iter().map(|row| row.stats.red.bytes.0))?;
    c.numbers("dropped_packets", rows.iter().map(|row| row.stats.dropped.packets))?;
    c.numbers("shaped_packets", rows.iter().map(|row| row.stats.released.packets))?;
    c.numbers("held_packets", rows.iter().map(|row| row.held.packets))?;
    Ok(c.0)
}

fn series<'py>(py: Python<'py>, scenario: &Scenario, results: &Results) -> PyResult<Bound<'py, PyDict>> {
    let c = Columns::new(py);
    let series = &results.series;
    let times: Vec<f64> = series.times.iter().map(|t| t.as_secs_f64()).collect();
    let path = |subject: Subject| match subject {
        Subject::Flow(i) => format!("flow.{}", scenario.flows[i].name),
        Subject::Udp(i) => format!("udp.{}", scenario.udp[i].name),
        Subject::Link(i) => format!("link.{}", results.link_names[i]),
        Subject::Queue(i) => results.queues[i].path.clone(),
    };
    let paths: Vec<String> = series.columns.iter().map(|column| path(column.0)).collect();
    let rows = |at: usize| std::iter::repeat_n(at, times.len());
    let columns = || (0..series.columns.len()).flat_map(rows);
    c.numbers("time_s", series.columns.iter().flat_map(|_| times.iter().copied()))?;
    c.text("path", columns().map(|at| paths[at].as_str()))?;
    c.text("quantity", columns().map(|at| series.columns[at].1.name()))?;
    c.numbers("value", series.columns.iter().flat_map(|column| column.2.iter().copied()))?;
    Ok(c.0)
}

fn trace<'py>(py: Python<'py>, scenario: &Scenario, results: &Results) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let Trace { packets, queue, cwnd, tcp } = &results.trace;
    let flow = |f: perhop_core::packet::FlowId| flow_name(scenario, f.0 as usize);
    let site = |s: perhop_core::sink::SiteId| results.sites[s.0 as usize].as_str();
    let time = |t: Instant| t.as_secs_f64();
    if !packets.is_empty() {
        let c = Columns::new(py);
        c.numbers("time_s", packets.iter().map(|r| time(r.time)))?;
        c.text("path", packets.iter().map(|r| site(r.site)))?;
        c.text("event", packets.iter().map(|r| event_name(r.event)))?;
        c.text("reason", packets.iter().map(|r| reason(r.event)))?;
        c.text("flow", packets.iter().map(|r| flow(r.flow)))?;
        c.text("kind", packets.iter().map(|r| if r.kind == Kind::PureAck { "pure-ack" } else { "data" }))?;
        c.numbers("packet", packets.iter().map(|r| r.number))?;
        c.numbers("bytes", packets.iter().map(|r| r.len.0))?;
        let marks: Vec<String> = (0..64).filter_map(Dscp::new).map(|mark| mark.to_string()).collect();
        c.text("mark", packets.iter().map(|r| marks[r.mark.index()].as_str()))?;
        c.text("color", packets.iter().map(|r| color_name(r.color)))?;
        dict.set_item("packets", c.0)?;
    }
    if !queue.is_empty() {
        let c = Columns::new(py);
        c.numbers("time_s", queue.iter().map(|r| time(r.time)))?;
        c.text("path", queue.iter().map(|r| site(r.site)))?;
        c.numbers("packets", queue.iter().map(|r| r.backlog.packets))?;
        c.numbers("bytes", queue.iter().map(|r| r.backlog.bytes.0))?;
        dict.set_item("queue", c.0)?;
    }
    if !cwnd.is_empty() {
        let c = Columns::new(py);
        c.numbers("time_s", cwnd.iter().map(|r| time(r.time)))?;
        c.text("flow", cwnd.iter().map(|r| flow(r.flow)))?;
        c.numbers("cwnd_bytes", cwnd.iter().map(|r| r.cwnd.0))?;
        c.numbers("ssthresh_bytes", cwnd.iter().map(|r| r.ssthresh.0))?;
        c.numbers("flight_bytes", cwnd.iter().map(|r| r.in_flight.0))?;
        c.numbers("rto_s", cwnd.iter().map(|r| r.rto_s))?;
        dict.set_item("cwnd", c.0)?;
    }
    if !tcp.is_empty() {
        let c = Columns::new(py);
        c.numbers("time_s", tcp.iter().map(|r| time(r.time)))?;
        c.text("flow", tcp.iter().map(|r| flow(r.flow)))?;
        c.text("event", tcp.iter().map(|r| tcp_event_name(r.event)))?;
        c.numbers("packet", tcp.iter().map(|r| r.packet))?;
        c.numbers("cwnd_packets", tcp.iter().map(|r| r.cwnd))?;
        c.numbers("ssthresh_packets", tcp.iter().map(|r| r.ssthresh))?;
        c.numbers("rto_s", tcp.iter().map(|r| r.rto_s))?;
        dict.set_item("tcp", c.0)?;
    }
    Ok(dict)
}

const fn tcp_event_name(event: TcpEvent) -> &'static str {
    match event {
        TcpEvent::Send => "send",
        TcpEvent::Ack => "ack",
        TcpEvent::Drop => "drop",
        TcpEvent::Timeout => "timeout",
    }
}

const fn event_name(event: PacketEvent) -> &'static str {
    match event {
        PacketEvent::Coloured => "coloured",
        PacketEvent::Enqueued => "enqueued",
        PacketEvent::Sent => "sent",
        PacketEvent::Dropped(_) => "dropped",
        PacketEvent::Delivered => "delivered",
    }
}

const fn color_name(color: Color) -> &'static str {
    match color {
        Color::Green => "green",
        Color::Yellow => "yellow",
        Color::Red => "red",
    }
}

/// Why a packet was dropped; empty for anything else.
const fn reason(event: PacketEvent) -> &'static str {
    let PacketEvent::Dropped(why) = event else { return "" };
    match why {
        DropReason::Overflow => "overflow",
        DropReason::Early => "early",
        DropReason::Forced => "forced",
        DropReason::Sojourn => "sojourn",
        DropReason::Policed => "policed",
        DropReason::Unclassified => "unclassified",
        DropReason::Filtered => "filtered",
        DropReason::LossList => "loss-list",
        DropReason::Loss => "loss",
        DropReason::Shaper => "shaper",
    }
}
