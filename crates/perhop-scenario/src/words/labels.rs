//! Labels: what a flow is called beside its name and its class.

use std::collections::BTreeMap;

/// Labels of a flow: text by name.
pub type Labels = BTreeMap<String, String>;

/// The columns that the tables of TCP and of UDP flows have of their own: a label needs another name.
pub const OWN_COLUMNS: [&str; 27] = [
    "acks_sent",
    "arrived_bytes",
    "arrived_packets",
    "class",
    "completed_s",
    "delay_max_s",
    "delay_mean_s",
    "delay_min_s",
    "delivered_bytes",
    "fast_retransmits",
    "from",
    "goodput_bit_s",
    "name",
    "retransmissions",
    "rtt_max_s",
    "rtt_min_s",
    "rtt_samples",
    "segments_sent",
    "sent_bytes",
    "sent_packets",
    "spurious_timeouts",
    "srtt_s",
    "start_s",
    "syn_timeouts",
    "throughput_bit_s",
    "timeouts",
    "to",
];
