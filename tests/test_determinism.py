"""The release build of the engine against the digest that the Rust tests hold another build profile to."""

from pathlib import Path

from perhop import _core

ENGINE_TESTS = Path(__file__).parents[1] / "crates" / "perhop-sim" / "tests"


def test_debug_and_release_builds_give_the_same_events() -> None:
    source = (ENGINE_TESTS / "scenarios" / "dumbbell.toml").read_bytes()
    (result,) = _core.run_batch([(source, "dumbbell.toml", [])], 1)
    golden = (ENGINE_TESTS / "golden" / "dumbbell.digest").read_text().strip()
    assert result["event_digest"] == golden
    assert result["invariants"] == []
