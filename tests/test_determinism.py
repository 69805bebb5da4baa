"""The release build of the engine against the digest that the Rust tests hold another build profile to."""

from pathlib import Path

import perhop
from perhop import Scenario

ENGINE_TESTS = Path(__file__).parents[1] / "crates" / "perhop-sim" / "tests"


def test_debug_and_release_builds_give_the_same_events() -> None:
    source = (ENGINE_TESTS / "scenarios" / "dumbbell.toml").read_bytes()
    result = Scenario(source, "dumbbell.toml").run()
    golden = (ENGINE_TESTS / "golden" / "dumbbell.digest").read_text().strip()
    assert result.event_digest == golden
    assert result.invariants == []


def test_the_same_with_everything_that_draws() -> None:
    starter = Path(perhop.__file__).parent / "starters" / "diffserv" / "diffserv.toml"
    # as SHORT in crates/perhop-sim/tests/determinism.rs
    overrides = (
        "run.duration=15s",
        "run.warmup=5s",
        'udp.voice.pattern={ kind = "on-off", on = "500ms", off = "200ms" }',
        "udp.voice.rate=400kbit/s",
        "udp.voice.start_jitter=1s",
    )
    result = Scenario(starter.read_bytes(), "diffserv.toml", overrides).run()
    assert result.event_digest == (ENGINE_TESTS / "golden" / "diffserv.digest").read_text().strip()
    assert result.invariants == []
