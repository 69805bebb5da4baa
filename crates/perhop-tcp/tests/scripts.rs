//! Runs every script below `scripts/`, or those whose path contains `$SCRIPT`. The notation: `docs/scripts.md`.

use std::fs;
use std::path::{Path, PathBuf};

/// Scripts below `folder`, sorted.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        if path.is_dir() {
            found.extend(scripts(&path));
        } else if path.extension().is_some_and(|ending| ending == "pkt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_script_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let wanted = std::env::var("SCRIPT").unwrap_or_default();
    let mut ran = 0;
    let mut wrong = Vec::new();
    for path in scripts(&folder) {
        let name = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
        if name.contains(&wanted) {
            ran += 1;
            wrong.extend(
                fs::read_to_string(&path)
                    .map_err(|e| e.to_string())
                    .and_then(|text| crate::script::run(&name, &text))
                    .err(),
            );
        }
    }
    assert!(ran > 0, "no script has {wanted:?} in its path");
    assert!(wrong.is_empty(), "{} of {ran} scripts fail:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is said about a script of these lines.
fn verdict(lines: &[&str]) -> String {
    crate::script::run("a.pkt", &lines.join("\n")).err().unwrap_or_default()
}

#[test]
fn a_mistake_is_told_with_its_line() {
    assert_eq!(verdict(&["# two segments", "tcp: initial_window = 2", "+0 > 0-1"]), "");
    for (line, what) in [
        ("+0 > 0", "1 has left, too"),
        ("+0 > 0-2", "nothing more has left, but 2 should have"),
        ("+0 > 0, 2", "1 has left, not 2"),
        ("+0 > 0-1 again", "again is no flag of a segment"),
        ("+0 * cwnd 3", "cwnd is 2, not 3"),
        ("+0 * colour 3", "there is no colour"),
        ("+soon > 0-1", "+soon is no time"),
        ("+5 < ack 1", "0 has left, which was not said"),
        ("+0 ! rto", "0 has left, which was not said"),
        ("initial_window = 2", "initial_window is no event"),
    ] {
        let message = verdict(&["tcp: initial_window = 2", line]);
        assert!(message.starts_with("a.pkt:") && message.contains(what), "{line}: {message}");
    }
    for (line, what) in [
        ("+0 < nack", "nack is not part of an acknowledgment"),
        ("+0 < win 3", "an acknowledgment has a number"),
        ("+0 jump", "jump is no event"),
        ("+0 write", "write has no value"),
        ("+0 write some", "some is neither a number of segments nor of bytes"),
        ("+0 ! delay", "the timer of this end is called rto"),
    ] {
        let message = verdict(&["tcp: initial_window = 2", "+0 > 0-1", line]);
        assert!(message.starts_with("a.pkt:3: ") && message.contains(what), "{line}: {message}");
    }
    let message = verdict(&["tcp: initial_window = 2.5", "+0 > 0-1"]);
    assert!(message.starts_with("a.pkt:2: ") && message.contains("initial_window"), "{message}");
    let late = verdict(&["tcp: initial_window = 2", "+0 > 0-1", "+5 < ack 1"]);
    assert_eq!(late, "a.pkt:3: the timer expires at 1, which was not said");
    let early = verdict(&["tcp: initial_window = 2", "+0 > 0-1", "+0.5 ! rto"]);
    assert_eq!(early, "a.pkt:3: the timer does not expire at 0.5 but at 1");
}
