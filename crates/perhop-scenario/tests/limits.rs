//! Files that would take for ever or fill the memory: what is told of them, and that it takes no longer than they are.

use std::fs::read_to_string;
use std::time::Duration;

use crate::common::{BASE, lines};
use perhop_scenario::{Diagnostic, load};

fn mistakes(text: &str) -> Vec<Diagnostic> {
    load(text.as_bytes(), "test.toml", &[]).expect_err("mistakes")
}

/// [`BASE`] whose first link drops the same packet `count` times, all in one line.
fn dropped(count: usize) -> String {
    let drops = "[1, 1], ".repeat(count);
    let drop = format!("pure_ack_size = \"28B\"\ndrop = {{ flow = \"up\", packets = [{drops}] }}");
    BASE.replace("pure_ack_size = \"28B\"", &drop)
}

#[test]
fn a_name_has_at_most_64_characters() {
    let named = |name: &str| BASE.replace("slow", name);
    assert!(load(named(&"ä".repeat(64)).as_bytes(), "test.toml", &[]).is_ok());
    let found = lines(load(named(&"n".repeat(65)).as_bytes(), "test.toml", &[]));
    assert!(found.contains("name: 65 characters: 64 are the most (choose a shorter one)"), "{found}");
    for (part, written) in [("a node", "slow[0]"), ("a label", "up"), ("a class", "best-effort")] {
        let long = "x".repeat(5_000);
        let text = match part {
            "a node" => BASE.replace("ends = [\"slow\"", &format!("ends = [\"{long}[0]\"")),
            "a label" => BASE.replace("name = \"up\"", &format!("name = \"{long}\"")),
            _ => BASE.replace("name = \"up\"", &format!("name = \"up\"\nclass = \"{long}\"")),
        };
        let found = lines(load(text.as_bytes(), "test.toml", &[]));
        assert!(found.contains("5000 characters: 64 are the most"), "{written}: {found}");
        assert!(found.len() < 1_000, "a long name is not repeated: {found}");
    }
}

#[test]
fn a_hundred_mistakes_are_told_and_the_others_counted() {
    let found = mistakes(&dropped(101));
    assert_eq!(found.len(), 100);
    assert!(found.iter().all(|d| d.count == 1 && d.rule.contains("listed twice")));
    let found = mistakes(&dropped(5_001));
    assert_eq!(found.len(), 101);
    assert_eq!(found.iter().map(|d| d.count).sum::<usize>(), 5_000);
    let (last, first) = found.split_last().expect("mistakes");
    assert_eq!(last.to_string(), "and 4900 more, from here on");
    assert_eq!((last.line, last.column), (first[99].line, first[99].column + "[1, 1], ".len()));
    assert_eq!(first[99].path, "link.slow-fast.drop.packets[100]");
}

#[test]
fn the_first_mistakes_are_told_in_whichever_order_they_are_found() {
    // Keys are looked at by name: the last written first.
    let keys = (0..3_000).map(|n| format!("k{:04} = 1\n", 3_000 - n)).collect::<String>();
    let found = mistakes(&(keys + BASE));
    assert_eq!((found[0].line, found[0].path.as_str()), (1, "k3000"));
    assert_eq!((found[99].line, found[99].path.as_str()), (100, "k2901"));
    assert_eq!(found[100].count, 2_900);
}

#[test]
fn time_grows_with_the_length_of_a_line_and_no_faster() {
    // as many mistakes in one long line as in sixteen short ones take no more than 40/16 of the time of the processor
    let time = |count: usize, times: usize| {
        let text = dropped(count);
        let once = || {
            let start = processor_time();
            for _ in 0..times {
                assert_eq!(mistakes(&text).len(), 101);
            }
            processor_time() - start
        };
        once().min(once())
    };
    let (short, long) = (time(4_000, 16), time(64_000, 1));
    assert!(short > Duration::ZERO, "the clock of the processor stands still");
    assert!(2 * long < 5 * short, "the mistakes took {long:?} in a line instead of {short:?} in sixteen");
}

/// What this thread has had of a processor: what else runs on the machine is not in it.
fn processor_time() -> Duration {
    let stat = read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = stat.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

#[test]
fn a_file_without_end_to_its_mistakes_is_not_looked_at_any_further() {
    let flows = "[[flow]]\nname = 1\nfrom = \"nowhere\"\nto = \"slow\"\n".repeat(20_000);
    let found = mistakes(&format!("{BASE}\n{flows}"));
    assert!(found.iter().take(100).all(|d| d.path.ends_with("name")), "{}", found[0]);
    assert_eq!(found.iter().map(|d| d.count).sum::<usize>(), 20_000);
}

#[test]
fn of_broken_syntax_a_line_is_told_once() {
    // every carriage return is a mistake of its own
    let found = mistakes(&format!("x = 1 {}", "\r".repeat(200_000)));
    assert_eq!(found.len(), 1, "{}", found[1]);
    let found = mistakes(&format!("x = 1 {}", "\r".repeat(400_000)));
    assert_eq!((found.len(), found[0].line), (1, 1));
    let found = mistakes(&format!("{BASE}\nx = [{}]", "99999999999999999999, ".repeat(50_000)));
    assert_eq!(found.len(), 1, "{}", found[1]);
}
