//! The fuzz bodies of this crate, replayed.

use perhop_testkit::fuzz;

#[test]
fn queue_ops() {
    fuzz::replay(300, fuzz::queue_ops);
}
