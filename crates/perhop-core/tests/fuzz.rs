//! The fuzz bodies of this crate, replayed.

use perhop_testkit::fuzz::{self, QueueOps};

#[test]
fn queue_ops() {
    fuzz::replay(300, fuzz::queue_ops);
}

#[test]
fn an_input_has_hundreds_of_operations() {
    assert!(fuzz::reached(300, |input: &QueueOps| input.ops.len()) > 200);
}
