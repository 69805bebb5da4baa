//! No scenario file panics, and what loads resolves to a text that loads to the same text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perhop_scenario::load;

fuzz_target!(|data: &[u8]| {
    if let Ok(loaded) = load(data, "fuzz.toml", &[]) {
        let text = loaded.resolved_toml();
        let again = load(text.as_bytes(), "resolved.toml", &[]);
        assert_eq!(again.map(|again| again.resolved_toml()).ok(), Some(text));
    }
});
