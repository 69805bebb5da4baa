//! The fuzz bodies of this crate, replayed.

use perhop_testkit::fuzz;

#[test]
fn sender_ops() {
    fuzz::replay(300, fuzz::sender_ops);
}

#[test]
fn connection() {
    fuzz::replay(300, fuzz::connection);
}
