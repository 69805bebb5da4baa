"""`Scenario`: read once, overridden with values of Python, told apart by what its results depend on."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from conftest import Cli
from perhop import Scenario, ScenarioError, _core
from perhop.scenario import overrides
from perhop.scenario.scenario import KEPT_SINCE

TEXT = """
[run]
duration = "1s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
ends = ["a", "b"]
rate = "1Mbit/s"
[[flow]]
name = "up"
from = "a"
to = "b"
"""


@pytest.fixture
def scenario() -> Scenario:
    return Scenario.from_text(TEXT, "small.toml")


def test_it_says_briefly_what_it_is(scenario: Scenario) -> None:
    assert repr(scenario) == f"<Scenario 'small.toml', {len(TEXT)} bytes>"
    assert repr(scenario.override("run.seed=2")).endswith("bytes, overrides=('run.seed=2',)>")


def test_it_is_read_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("small.toml").write_text(TEXT)
    read = []

    class Counted:
        def __new__(cls, *given: object) -> object:
            read.append(given)
            return original(*given)

    original = _core.Scenario
    monkeypatch.setattr(_core, "Scenario", Counted)
    assert cli("run", "small.toml", "-o", "run").code == 0
    assert len(read) == 1
    assert cli("replay", "run").code == 0
    assert len(read) == 2


def test_it_can_be_sent_to_another_process(scenario: Scenario) -> None:
    changed = scenario.override("run.seed=5")
    assert changed.seed == 5
    copied = pickle.loads(pickle.dumps(changed))
    assert copied == changed
    assert hash(copied) == hash(changed)
    assert copied.run().event_digest == changed.run().event_digest


def test_its_key_is_what_results_depend_on(scenario: Scenario) -> None:
    key = scenario.key()
    assert (key.seed, key.replication, key.results_since) == (1, 0, KEPT_SINCE)
    assert len(key.treatment) == 64
    written = f"# the same\n{TEXT.replace('1Mbit/s', '1000 kbit/s')}"
    assert Scenario.from_text(written, "other.toml").key() == key
    again = scenario.override(run__seed=2, run__replication=7).key()
    assert again == (key.treatment, 2, 7, KEPT_SINCE)
    other = scenario.override({"link.a-b.rate": "2Mbit/s"}).key()
    assert other.treatment != key.treatment
    # what is resolved is the same scenario
    assert Scenario.from_text(scenario.resolve(), "resolved.toml").key() == key


def test_overrides_take_values_of_python(scenario: Scenario) -> None:
    loss = {"kind": "random", "rate": np.float64(0.25)}
    given = {"run.seed": np.int64(3), "flow.up.tcp.window": "64KiB", "link.a-b.loss": loss}
    values = {"run__replication": 4, "flow__up__tcp": {"sack": True, "names": ["x", 'quoted "y"', "\x7f"]}}
    assert tuple(overrides.assignments(("run.duration=2s", given), values)) == (
        "run.duration=2s",
        "run.seed=3",
        'flow.up.tcp.window="64KiB"',
        'link.a-b.loss={ "kind" = "random", "rate" = 0.25 }',
        "run.replication=4",
        'flow.up.tcp={ "sack" = true, "names" = ["x", "quoted \\"y\\"", "\\u007f"] }',
    )
    run = scenario.override("run.duration=2s", run__seed=3).override({"flow.up.tcp.mss": "500B"}).describe()
    assert (run.run.seed, run.run.duration_s, run.flows[0].mss_bytes) == (3, 2.0, 500)


def test_an_override_of_another_type_is_refused_at_once(scenario: Scenario) -> None:
    with pytest.raises(TypeError, match=r"not \('run.seed', 3\).*override\(\{'run.seed': 3\}\)"):
        scenario.override(("run.seed", 3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"run.seed: None is of type NoneType"):
        scenario.override(run__seed=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a path of an override is text, not 3"):
        scenario.override({3: 4})  # type: ignore[dict-item]


def test_a_mistake_is_raised_at_the_call(scenario: Scenario) -> None:
    for call in (
        lambda: scenario.override("run.sed=3"),
        lambda: scenario.override(run__sed=3),
        lambda: Scenario.from_text(TEXT.replace("duration", "duratoin")),
        lambda: Scenario.from_dict({"run": {"duration": "1"}}),
    ):
        with pytest.raises(ScenarioError, match=r"did you mean|needs a unit"):
            call()


def test_mistakes_of_a_file_come_from_whatever_is_asked(scenario: Scenario, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(TEXT)
    wrong = Scenario.load(path, ("run.sed=3",))
    assert [one["path"] for one in wrong.check()] == ["run.sed"]
    assert wrong.warnings() == []
    for ask in (wrong.run, wrong.key, wrong.resolve, wrong.describe, wrong.work, lambda: wrong.seed):
        with pytest.raises(ScenarioError, match=r"run.sed"):
            ask()


@pytest.mark.usefixtures("undrawn")
def test_a_result_is_kept_and_told(scenario: Scenario, tmp_path: Path) -> None:
    result = scenario.override(run__seed=4).run(trace="cwnd")
    stored = result.save(tmp_path / "run")
    assert stored.record.command == "perhop run small.toml -s run.seed=4 --trace cwnd"
    assert stored.record.seed == 4
    assert stored.table("flows").equals(result.flows)
    cwnd = stored.trace("cwnd")
    assert cwnd is not None
    assert cwnd.collect().equals(result.trace["cwnd"])
    assert stored.scenario().key() == result.scenario.key()
    with pytest.raises(FileExistsError):
        result.save(tmp_path / "run")
    page = result.report(tmp_path / "run", replace=True)
    assert page == tmp_path / "run" / "report.html"
    assert "small" in page.read_text()
    assert result.save(tmp_path / "run", replace=True).report() == page


def test_results_are_compared_by_what_they_hold(scenario: Scenario) -> None:
    one, again, other = scenario.run(), scenario.run(), scenario.override("run.seed=7").run()
    assert one == again
    assert one != other
    assert len({one, again}) == 1


def test_one_trace_may_be_named_without_a_list(scenario: Scenario) -> None:
    assert set(scenario.run(trace="tcp").trace) == {"tcp"}
    with pytest.raises(ValueError, match=r'trace "tpc" is not one of packets, queue, cwnd, tcp'):
        scenario.run(trace="tpc")
