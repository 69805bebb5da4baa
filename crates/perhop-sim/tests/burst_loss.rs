//! Losses in bursts in a run: a chain of its own for each direction, moved by no other draw.

use perhop_sim::{Results, TraceKinds};

use crate::common::run;

const PATH: &str = r#"
[run]
duration = "100s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
ends = ["a", "b"]
rate = "100Mbit/s"
delay = "5ms"
burst_loss = { p = 0.02, r = 0.25 }
[[udp]]
name = "there"
from = "a"
to = "b"
rate = "8Mbit/s"
[[udp]]
name = "back"
from = "b"
to = "a"
rate = "8Mbit/s"
"#;

fn lost(results: &Results) -> [u64; 2] {
    [0, 1].map(|link| results.links[link].lost)
}

#[test]
fn each_direction_loses_its_mean_from_a_stream_of_its_own() {
    let mut sum = 0;
    for seed in 1..=10 {
        let results = run(PATH, &[&format!("run.seed={seed}")], TraceKinds::default());
        assert!(results.udp.iter().all(|udp| udp.sent.packets == 100_000));
        sum += lost(&results).iter().sum::<u64>();
    }
    // 0.02 / 0.27 of 20 times 100,000 packets; the deviation of one is 210, for the states last 3.7 packets
    assert!((sum as f64 / 20.0 - 7407.4).abs() < 3.3 * 210.0 / 20.0_f64.sqrt(), "{sum}");
    let [there, back] = lost(&run(PATH, &[], TraceKinds::default()));
    assert_ne!(there, back);
    // the other direction's chain is not moved
    let one = PATH.replace("{ p", "{ direction = \"a->b\", p");
    assert_eq!(lost(&run(&one, &[], TraceKinds::default())), [there, 0]);
    // and neither by losses at random, which come on top
    let more = lost(&run(PATH, &["link.a-b.loss=0.01"], TraceKinds::default()))[0] as f64 - there as f64;
    assert!((more - 925.9).abs() < 3.3 * 31.0, "{more}");
}
