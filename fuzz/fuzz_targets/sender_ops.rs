//! A sender keeps its books and windows, whatever acknowledgments come.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perhop_testkit::fuzz::{SenderOps, sender_ops};

fuzz_target!(|input: SenderOps| sender_ops(&input));
