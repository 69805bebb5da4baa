//! All tests of the crate in one program: it is linked once.

mod ack_marking;
mod behavior_aggregate;
mod cbq;
mod conditioner;
mod conformance_rfc2697;
mod conformance_rfc2698;
mod drr;
mod early_detection;
mod fifo;
mod fuzz;
mod kind_classifier;
mod laws;
mod laws_edge;
mod laws_meters;
mod laws_node;
mod laws_queues;
mod laws_schedulers;
mod meter_bank;
mod meters_exact;
mod multi_field;
mod paired_counter;
mod port;
mod shaper;
mod strict_priority;
mod tcp_friendly;
mod wrr;
