//! Captures that are anything are read or refused without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perhop_testkit::fuzz::{CaptureBytes, capture};

fuzz_target!(|input: CaptureBytes| capture(&input));
