//! A transfer ends, whatever happens on the way.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perhop_testkit::fuzz::{Connection, connection};

fuzz_target!(|input: Connection| connection(&input));
