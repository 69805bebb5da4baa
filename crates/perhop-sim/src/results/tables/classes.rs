//! The table of classes of flows.

use perhop_core::histogram::nearest_rank;
use perhop_core::sink::DropReason;
use perhop_core::time::Span;

use super::flows::secs;
use super::{Table, columns};
use crate::engine::delays::ClassDelays;
use crate::results::by_class::ClassResult;

impl ClassResult {
    fn delay(&self, of: impl Fn(&ClassDelays) -> Span) -> f64 {
        secs(self.delays.as_ref().map(of))
    }

    /// How long completed transfers took: the value that so many thousandths of them did not exceed.
    fn transfer_s(&self, permille: u64) -> f64 {
        let rank = nearest_rank(self.completed.len() as u64, permille) - 1;
        secs(usize::try_from(rank).ok().and_then(|at| self.completed.get(at).copied()))
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean for people and tables")]
    fn transfer_mean_s(&self) -> f64 {
        let sum: f64 = self.completed.iter().map(|took| took.as_secs_f64()).sum();
        sum / self.completed.len() as f64
    }
}

/// Classes of flows.
pub static CLASSES: Table = Table {
    name: "classes",
    since: 3,
    doc: "a row for each class of flows, as they were contracted",
    rows: |run| run.results.classes.len(),
    columns: columns! { run, i, class = run.results.classes[i];
        "class", "", 3, Text(&class.name), "as in the scenario";
        "flows", "", 3, Count(class.flows), "of TCP and of UDP, transfers included";
        "offered_packets", "packets", 3, Count(class.offered_packets),
            "sent by its senders, repeats, SYN and FIN included";
        "arrived_packets", "packets", 3, Count(class.arrived.packets),
            "of those that reached its receivers";
        "arrived_bytes", "byte", 3, Count(class.arrived.bytes.0), "their length";
        "goodput_bit_s", "bit/s", 3, Real(class.goodput_bit_s),
            "payload of TCP delivered in order, and all that arrived of UDP";
        "throughput_bit_s", "bit/s", 3, Real(class.throughput_bit_s), "`arrived_bytes` as a rate";
        "fairness", "1", 3, Real(class.fairness.unwrap_or(f64::NAN)),
            "Jain's index of the goodputs of its flows without a `size` or an application: 1 if all are equal, 1/n if one of n has all; \
             null for fewer than two";
        "dropped_packets", "packets", 3, Count(class.drops.dropped()),
            "dropped between sender and receiver, wherever that was";
        "dropped_green", "packets", 3, Count(class.drops.by_color[0]),
            "while green, or before any meter";
        "dropped_yellow", "packets", 3, Count(class.drops.by_color[1]), "while yellow";
        "dropped_red", "packets", 3, Count(class.drops.by_color[2]), "while red";
        "dropped_early", "packets", 3, Count(class.drops.of(DropReason::Early)), "by chance";
        "dropped_forced", "packets", 3, Count(class.drops.of(DropReason::Forced)),
            "because an average was too high";
        "dropped_overflow", "packets", 3, Count(class.drops.of(DropReason::Overflow)),
            "for want of room in a queue";
        "dropped_sojourn", "packets", 3, Count(class.drops.of(DropReason::Sojourn)),
            "for having waited too long";
        "dropped_ack_filter", "packets", 3, Count(class.drops.of(DropReason::AckFilter)),
            "acknowledgments that a later one made redundant";
        "dropped_policed", "packets", 3, Count(class.drops.of(DropReason::Policed)),
            "out of profile at a policer";
        "dropped_shaper", "packets", 3, Count(class.drops.of(DropReason::Shaper)),
            "for want of room in a shaper";
        "dropped_lost", "packets", 3,
            Count(class.drops.of(DropReason::Loss) + class.drops.of(DropReason::LossList)),
            "by `loss` or `drop` of a link";
        "dropped_unclassified", "packets", 3, Count(class.drops.of(DropReason::Unclassified)),
            "because no class of a port took them";
        "marked_packets", "packets", 3, Count(class.drops.marked), "marked (CE) by queues";
        "transfers", "", 3, Count(class.transfers), "flows with a `size` that began in the whole run, warm-up included";
        "transfers_completed", "", 3, Count(class.completed.len() as u64),
            "of those, completed by the end of the run";
        "transfers_unfinished", "", 3, Count(class.transfers - class.completed.len() as u64),
            "of those, the others";
        "transfer_mean_s", "s", 3, Real(class.transfer_mean_s()),
            "from start to end, of `transfers_completed`: those of the warm-up count, and those that were not completed, mostly \
             the slowest, are left out; the mean";
        "transfer_p50_s", "s", 3, Real(class.transfer_s(500)), "the median";
        "transfer_p95_s", "s", 3, Real(class.transfer_s(950)), "what 95 % do not exceed";
        "delay_mean_s", "s", 3, Real(class.delays.map_or(f64::NAN, |d| d.range.mean_s)),
            "one way, of each packet with data that arrived, as for a flow: the mean";
        "delay_min_s", "s", 3, Real(class.delay(|d| d.range.min)), "the shortest";
        "delay_p50_s", "s", 3, Real(class.delay(|d| d.quantiles[0])), "the median";
        "delay_p95_s", "s", 3, Real(class.delay(|d| d.quantiles[1])), "what 95 % do not exceed";
        "delay_p99_s", "s", 3, Real(class.delay(|d| d.quantiles[2])), "99 %";
        "delay_p999_s", "s", 3, Real(class.delay(|d| d.quantiles[3])), "99.9 %";
        "delay_max_s", "s", 3, Real(class.delay(|d| d.range.max)), "the longest";
        "pdv_p50_s", "s", 3, Real(class.delay(|d| d.pdv[0])),
            "packet delay variation (RFC 5481 section 4.2): the delay beyond the least of the class over links of the \
             same delay; the median";
        "pdv_p95_s", "s", 3, Real(class.delay(|d| d.pdv[1])), "what 95 % do not exceed";
        "pdv_p999_s", "s", 3, Real(class.delay(|d| d.pdv[2])), "99.9 %";
        "ipdv_mean_s", "s", 3, Real(class.delays.and_then(|d| d.ipdv).map_or(f64::NAN, |v| v.0)),
            "inter-packet delay variation (RFC 5481 section 4.1): how far the delay of a packet is from that of the one \
             of its flow that arrived before it; the mean, without sign";
        "ipdv_p95_s", "s", 3, Real(secs(class.delays.and_then(|d| d.ipdv).map(|v| v.1))),
            "what 95 % do not exceed";
    },
};
