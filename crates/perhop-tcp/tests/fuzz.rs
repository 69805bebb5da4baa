//! The fuzz bodies of this crate, replayed.

use perhop_testkit::fuzz::{self, Connection, SenderOps};

#[test]
fn sender_ops() {
    fuzz::replay(300, fuzz::sender_ops);
}

#[test]
fn connection() {
    fuzz::replay(300, fuzz::connection);
}

#[test]
fn an_input_has_many_operations_and_effects() {
    assert!(fuzz::reached(300, |input: &SenderOps| input.ops.len()) > 200);
    let effects = |input: &Connection| input.network.there.len() + input.network.back.len();
    assert!(fuzz::reached(300, effects) > 100);
}
