//! Cost of the core elements, one operation at a time.

fn main() {}
