//! Tables of links, queues and conditioners.

use perhop_core::sink::DropReason;

use super::{Table, columns};

/// Links.
pub static LINKS: Table = Table {
    name: "links",
    since: 1,
    doc: "a row for each direction of each link",
    rows: |run| run.results.links.len(),
    columns: columns! { run, i, link = run.results.links[i];
        "name", "", 1, Text(&run.results.link_names[i]), "direction, `slow->fast`";
        "packets", "packets", 1, Count(link.stats.packets), "transmissions begun";
        "bytes", "byte", 1, Count(link.stats.bytes.0), "their length on this link";
        "data_packets", "packets", 1,
            Count(link.stats.packets - link.stats.acks), "other than pure ACKs";
        "ack_packets", "packets", 1, Count(link.stats.acks), "pure ACKs";
        "lost_packets", "packets", 2, Count(link.lost),
            "lost on arrival by `loss` or `drop`, before the queue";
        "utilization", "1", 1,
            Real(link.utilization_data + link.utilization_acks),
            "part of the time spent transmitting; where the rate follows a trace, of the bits it offered";
        "utilization_data", "1", 1, Real(link.utilization_data), "the same, of data";
        "utilization_acks", "1", 1, Real(link.utilization_acks), "the same, of pure ACKs";
    },
};

/// Queues.
pub static QUEUES: Table = Table {
    name: "queues",
    since: 1,
    doc: "a row for each class of each port",
    rows: |run| run.results.queues.len(),
    columns: columns! { run, i, queue = run.results.queues[i];
        "path", "", 1, Text(&queue.path), "`port.slow-fast.class.data`";
        "in_packets", "packets", 1, Count(queue.stats.offered.packets), "offered to the queue";
        "out_packets", "packets", 1, Count(queue.stats.sent.packets), "handed to the link";
        "dropped_packets", "packets", 1, Count(queue.stats.dropped.packets),
            "dropped, at arrival or later";
        "initial_backlog_packets", "packets", 3, Count(queue.initial_backlog.packets),
            "waiting when the measured time began";
        "initial_backlog_bytes", "byte", 3, Count(queue.initial_backlog.bytes.0), "their length";
        "backlog_packets", "packets", 1, Count(queue.backlog.packets), "waiting at the end";
        "in_bytes", "byte", 1, Count(queue.stats.offered.bytes.0), "length of `in_packets`";
        "out_bytes", "byte", 1, Count(queue.stats.sent.bytes.0), "length of `out_packets`";
        "dropped_bytes", "byte", 1, Count(queue.stats.dropped.bytes.0),
            "length of `dropped_packets`";
        "backlog_bytes", "byte", 1, Count(queue.backlog.bytes.0), "length of `backlog_packets`";
        "marked_packets", "packets", 3, Count(queue.drops.marked),
            "marked (CE) by the queue instead of dropped, with `ecn`";
        "dropped_early", "packets", 2, Count(queue.drops.of(DropReason::Early)), "dropped by chance";
        "dropped_forced", "packets", 2, Count(queue.drops.of(DropReason::Forced)),
            "dropped because the average was too high";
        "dropped_overflow", "packets", 2, Count(queue.drops.of(DropReason::Overflow)), "dropped for want of room";
        "dropped_sojourn", "packets", 3, Count(queue.drops.of(DropReason::Sojourn)),
            "dropped for having waited too long";
        "dropped_ack_filter", "packets", 3, Count(queue.drops.of(DropReason::AckFilter)),
            "acknowledgments dropped because a later one made them redundant, with `ack_filter`";
        "dropped_other", "packets", 3, Count(queue.drops.other()),
            "dropped for reasons that only queues from outside have";
        "dropped_green", "packets", 2, Count(queue.drops.by_color[0]),
            "dropped while green; a queue that looks at no colours leaves the meter's, or green";
        "dropped_yellow", "packets", 2, Count(queue.drops.by_color[1]), "dropped while yellow";
        "dropped_red", "packets", 2, Count(queue.drops.by_color[2]), "dropped while red";
        "max_packets", "packets", 1, Count(queue.stats.max_packets),
            "largest backlog, the initial one included; the packet being transmitted is not in the queue";
        "max_data_packets", "packets", 1, Count(queue.stats.max_data_packets),
            "the same, data alone";
        "mean_packets", "packets", 3, Real(queue.mean_backlog.0), "waiting, averaged over time";
        "mean_bytes", "byte", 3, Real(queue.mean_backlog.1), "their length";
        "wait_mean_s", "s", 3, Real(queue.wait_mean_s),
            "from arrival in the queue to transmission, of `out_packets`: the mean, zeros included";
        "wait_max_s", "s", 3, Real(queue.wait_max.as_secs_f64()), "the longest";
    },
};

/// Conditioners.
pub static CONDITIONERS: Table = Table {
    name: "conditioners",
    since: 2,
    doc: "a row for each conditioner",
    rows: |run| run.results.conditioners.len(),
    columns: columns! { run, i, row = run.results.conditioners[i];
        "path", "", 2, Text(&row.path),
            "`conditioner.customer`, or `conditioner.customer[3]` of several";
        "green_packets", "packets", 2, Count(row.stats.green.packets),
            "treated and coloured green; without a meter all are";
        "yellow_packets", "packets", 2, Count(row.stats.yellow.packets),
            "treated and coloured yellow";
        "red_packets", "packets", 2, Count(row.stats.red.packets),
            "treated and coloured red";
        "green_bytes", "byte", 2, Count(row.stats.green.bytes.0),
            "length of `green_packets`";
        "yellow_bytes", "byte", 2, Count(row.stats.yellow.bytes.0),
            "length of `yellow_packets`";
        "red_bytes", "byte", 2, Count(row.stats.red.bytes.0), "length of `red_packets`";
        "dropped_packets", "packets", 2, Count(row.stats.dropped.packets),
            "dropped, or without room in the shaper";
        "shaped_packets", "packets", 2, Count(row.stats.released.packets),
            "let go by the shaper after a wait";
        "held_packets", "packets", 2, Count(row.held.packets),
            "in the shaper at the end";
    },
};
