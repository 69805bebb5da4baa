//! The laws of every congestion control and ACK policy: one line for each way to configure an element.

use perhop_core::units::Bytes;
use perhop_tcp::ack::EverySegment;
use perhop_tcp::cc::Reno;
use perhop_testkit::{ack_policy_laws, congestion_control_laws};

congestion_control_laws!(reno, |mss| Box::new(Reno::new(mss, 3)), mss = Bytes(1460));
congestion_control_laws!(reno_of_single_bytes, |mss| Box::new(Reno::new(mss, 1)), mss = Bytes(1));
congestion_control_laws!(reno_of_jumbo_frames, |mss| Box::new(Reno::new(mss, 10)), mss = Bytes(65_000));

ack_policy_laws!(every_segment, || Box::new(EverySegment));
