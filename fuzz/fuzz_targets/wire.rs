//! Bytes that are anything are read, marked and refused without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perhop_testkit::fuzz::{PacketBytes, wire};

fuzz_target!(|input: PacketBytes| wire(&input));
