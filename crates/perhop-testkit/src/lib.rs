//! Shared parts of the tests of every element: packets, a recording sink, trait laws, exact references, fuzz bodies.
//!
//! Development only. A trait's laws are checked on an element by one macro line, such as
//! `queue_laws!(fifo, |site| Box::new(Fifo::new(site, limit)), limit = limit)`; each law then is a test of its own.
//! Features: `tcp` has what needs `perhop-tcp`, `wire` what needs `perhop-wire`; so a law of a queue compiles neither.
//! The macros are for `tests/`: a unit test inside `perhop-core` sees another copy of that crate than this one.

pub mod aqm;
pub mod channel;
pub mod exact;
pub mod exact_meters;
pub mod exact_schedulers;
pub mod fuzz;
pub mod laws;
pub mod link;
pub mod meter;
#[cfg(feature = "tcp")]
pub mod observed_sender;
pub mod packet;
#[cfg(feature = "tcp")]
pub mod permit;
pub mod prr;
pub mod published;
pub mod queue;
#[cfg(feature = "tcp")]
pub mod rack;
#[cfg(feature = "tcp")]
pub mod sack;
pub mod scenarios;
pub mod sink;
pub mod stats;
#[cfg(feature = "tcp")]
pub mod tcp;
pub mod tsw;

use core::fmt::Debug;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestRunner};

/// Runs `law` on random cases and reports the smallest one that breaks it.
///
/// # Panics
/// When a case breaks the law. `PROPTEST_CASES` sets the number of cases, `PROPTEST_RNG_SEED` which they are.
pub fn check<S: Strategy>(cases: &S, law: impl Fn(S::Value))
where
    S::Value: Debug,
{
    run(cases, &law);
}

/// Compiled once for each kind of case, not for each law and element.
fn run<S: Strategy>(cases: &S, law: &dyn Fn(S::Value))
where
    S::Value: Debug,
{
    // by default as many as four times the cases, which after few cases leaves long ones
    let config = Config { failure_persistence: None, max_shrink_iters: 4096, ..Config::default() };
    let verdict = TestRunner::new(config).run(cases, |case| {
        law(case);
        Ok(())
    });
    if let Err(broken) = verdict {
        panic!("{broken}");
    }
}
