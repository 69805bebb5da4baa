//! The data plane of perhop: classifiers, meters, markers, queues, schedulers and the ports and conditioners that join
//! them.
//!
//! Elements are plain values with `now` passed in. They own no clock, no thread and no file, so the event engine
//! and a live forwarding loop can drive the very same code. Configuration comes in through constructors;
//! observations leave through a [`sink::Sink`]; nothing can be read back by an element.

pub mod ack_marking;
pub mod classify;
mod color;
pub mod conditioner;
pub mod dscp;
pub mod framing;
pub mod gilbert_elliott;
pub mod histogram;
pub mod inline_list;
pub mod inline_queue;
pub mod losses;
pub mod marker;
pub mod meter;
pub mod node;
pub mod outgoing;
pub mod packet;
pub mod param_error;
pub mod port;
pub mod queue;
pub mod range_table;
pub mod rate_trace;
pub mod rng;
pub mod router;
pub mod sched;
pub mod serializer;
pub mod shaper;
pub mod sink;
pub mod time;
pub mod timed;
pub mod units;
pub mod variate;
pub mod waits;
