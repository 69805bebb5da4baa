//! A queue obeys its laws, whatever is done to it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perhop_testkit::fuzz::{QueueOps, queue_ops};

fuzz_target!(|input: QueueOps| queue_ops(&input));
