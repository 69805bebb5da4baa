//! Scenarios that nobody wrote: files of the repository changed at random, and valid ones made up.

mod generate;
mod mutate;
mod mutated;
mod valid;

/// Says which case and which file it was when a test panics.
struct Case<'a>(u64, &'a str);

impl Drop for Case<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("case {} (PROPTEST_RNG_SEED as set):\n{}", self.0, self.1);
        }
    }
}
