//! Tables of flows.

use perhop_core::time::{Instant, Span};

use super::{Table, columns};
use crate::engine::delays::DelayRange;

pub(super) fn secs(span: Option<Span>) -> f64 {
    span.map_or(f64::NAN, Span::as_secs_f64)
}

pub(super) fn mean(delay: Option<DelayRange>) -> f64 {
    delay.map_or(f64::NAN, |delay| delay.mean_s)
}

/// TCP flows.
pub static FLOWS: Table = Table {
    name: "flows",
    since: 1,
    doc: "a row for each TCP flow",
    rows: |run| run.results.flows.len(),
    columns: columns! { run, i, flow = run.results.flows[i];
        "name", "", 1, Text(&run.scenario.flows[i].name), "as in the scenario";
        "class", "", 1, Text(&run.scenario.flows[i].class), "as in the scenario";
        "from", "", 1, Text(run.node(run.scenario.flows[i].from)), "node that sends data";
        "to", "", 1, Text(run.node(run.scenario.flows[i].to)), "node that receives them";
        "start_s", "s", 1, Real(flow.start.as_secs_f64()),
            "when in the run the first segment could leave, jitter drawn; may lie in the warm-up";
        "segments_sent", "segments", 1, Count(flow.stats.segments), "retransmissions included";
        "retransmissions", "segments", 1, Count(flow.stats.retransmissions), "sent again";
        "fast_retransmits", "", 1, Count(flow.stats.fast_retransmits),
            "recoveries begun by duplicate ACKs";
        "timeouts", "", 1, Count(flow.stats.timeouts), "time-outs that cut the window";
        "syn_timeouts", "", 3, Count(flow.stats.syn_timeouts),
            "time-outs of the SYN: it or its answer was lost, or late";
        "spurious_timeouts", "", 2, Count(flow.stats.spurious_timeouts),
            "series of time-outs after which the first ACK of new data answered a segment sent before them: it had \
             arrived; counted when that ACK came, with or without `frto`";
        "rtt_samples", "", 2, Count(flow.rtt_samples), "round trips measured";
        "acks_sent", "", 3, Count(flow.acks), "ACKs that its receiver sent";
        "delivered_bytes", "byte", 1, Count(flow.delivered.0), "payload delivered in order";
        "goodput_bit_s", "bit/s", 1, Real(flow.goodput_bit_s), "the same as a rate";
        "throughput_bit_s", "bit/s", 1, Real(flow.throughput_bit_s),
            "segments that arrived, repeats, SYN and FIN included, with `header` and options";
        "completed_s", "s", 2, Real(flow.stats.completed.map_or(f64::NAN, Instant::as_secs_f64)),
            "when in the run, warm-up included, all of a transfer with a `size` was acknowledged, with `close` its \
             FIN too; null before that, and without a `size`";
        "srtt_s", "s", 1, Real(secs(flow.srtt)), "smoothed round-trip time at the end";
        "rtt_min_s", "s", 1, Real(secs(flow.rtt.map(|r| r.0))), "smallest round-trip sample";
        "rtt_max_s", "s", 1, Real(secs(flow.rtt.map(|r| r.1))), "largest round-trip sample";
        "delay_mean_s", "s", 3, Real(mean(flow.delay)),
            "one way, of each packet with data that arrived, repeats included: from when the sending host queued its \
             first byte until its last was at the receiver; the mean";
        "delay_min_s", "s", 3, Real(secs(flow.delay.map(|d| d.min))), "the shortest";
        "delay_max_s", "s", 3, Real(secs(flow.delay.map(|d| d.max))), "the longest";
    },
};

/// UDP flows.
pub static UDP: Table = Table {
    name: "udp",
    since: 2,
    doc: "a row for each UDP flow",
    rows: |run| run.results.udp.len(),
    columns: columns! { run, i, flow = run.results.udp[i];
        "name", "", 2, Text(&run.scenario.udp[i].name), "as in the scenario";
        "class", "", 2, Text(&run.scenario.udp[i].class), "as in the scenario";
        "from", "", 2, Text(run.node(run.scenario.udp[i].from)), "node that sends";
        "to", "", 2, Text(run.node(run.scenario.udp[i].to)), "node that receives";
        "start_s", "s", 2, Real(flow.start.as_secs_f64()),
            "when the first packet could leave, jitter drawn";
        "sent_packets", "packets", 2, Count(flow.sent.packets), "sent";
        "sent_bytes", "byte", 2, Count(flow.sent.bytes.0), "their length";
        "arrived_packets", "packets", 2, Count(flow.arrived.packets), "arrived";
        "arrived_bytes", "byte", 2, Count(flow.arrived.bytes.0), "their length";
        "throughput_bit_s", "bit/s", 2, Real(flow.throughput_bit_s), "what arrived, as a rate";
        "delay_mean_s", "s", 2, Real(mean(flow.delay)),
            "from host to host, queues and links included, of what arrived: the mean";
        "delay_min_s", "s", 2, Real(secs(flow.delay.map(|d| d.min))), "the shortest";
        "delay_max_s", "s", 2, Real(secs(flow.delay.map(|d| d.max))), "the longest";
    },
};

/// The arrivals by flow and mark.
pub static MARKS: Table = Table {
    name: "marks",
    since: 2,
    doc: "a row for each mark with which packets of a flow arrived",
    rows: |run| run.results.marks.len(),
    columns: columns! { run, i, row = run.results.marks[i];
        "flow", "", 2, Text(run.flow(row.flow)), "TCP or UDP flow";
        "mark", "", 2, Text(run.mark(row.mark)),
            "with which the packets arrived: `AF11`, `BE`, or a number";
        "arrived_packets", "packets", 2, Count(row.arrived.packets), "how many";
        "arrived_bytes", "byte", 2, Count(row.arrived.bytes.0), "their length";
    },
};
