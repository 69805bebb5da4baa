//! Scenario files to try things on: those of the repository.

use std::path::Path;

/// Every scenario file of the repository and its text, in the order of their names.
///
/// # Panics
/// When a folder or a file cannot be read.
#[must_use]
pub fn shipped() -> Vec<(String, String)> {
    let top = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let parts = ["papers", "examples", "bench", "oracles", "python/perhop/starters"];
    let mut folders: Vec<_> = parts.map(|name| top.join(name)).to_vec();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries.flatten().map(|entry| entry.path()) {
            if entry.is_dir() && !entry.ends_with("target") {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "toml") {
                let text = std::fs::read_to_string(&entry);
                let text = text.unwrap_or_else(|error| panic!("{}: {error}", entry.display()));
                if text.contains("[[link]]") && text.contains("duration") {
                    files.push((entry.display().to_string(), text));
                }
            }
        }
    }
    files.sort();
    files
}

/// Random numbers that are the same on every machine (SplitMix64).
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// Those of case number `case`; `PROPTEST_RNG_SEED` in the environment gives others.
    #[must_use]
    pub fn of_case(case: u64) -> Self {
        let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok());
        Self(
            seed.unwrap_or(0_u64).wrapping_mul(0x9E6C_63D0_876A_3F6D)
                ^ case.wrapping_mul(0xA076_1D64_78BD_642F),
        )
    }

    /// The next number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    #[expect(clippy::cast_possible_truncation, reason = "it is below n")]
    pub const fn below(&mut self, n: usize) -> usize {
        (self.number() % n as u64) as usize
    }

    /// Yes once in `n` times.
    pub const fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `from`.
    pub const fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// How many cases a test of scenarios tries: a share of `SCENARIO_CASES` in the environment, or of 500.
#[must_use]
pub fn cases(one_in: u64) -> u64 {
    let all = std::env::var("SCENARIO_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(500_u64);
    all.div_ceil(one_in)
}
