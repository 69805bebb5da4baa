"""perhop under the conventions of ns-2.35 does what ns-2.35 did: the same events in the same order.

Compared is everything up to the first ACK of the last packet, where the traces end.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import oracle_ns2 as oracle
from conftest import Cli
from perhop import Scenario
from scripts import script

generate = script(oracle.FOLDER / "generate.py")
scenarios = script(oracle.FOLDER / "scenarios.py")

# Those without a file of their own that go through the command line too: one in eight.
OTHERS = [name for name in oracle.NAMES if name not in scenarios.WRITTEN]
SAMPLE = OTHERS[::8]


_DUPLICATE = "ns-2 delays the ACK of a duplicate of the highest packet in order; here it goes at once"
# Where perhop keeps what ns-2 does not: a window of at least one segment, the guard for the first packet, an
# ACK at once for a duplicate; and where two things happen at one instant, whose order is nobody's rule.
DEPARTS = {
    "nobugfix_Reno_half": "ns-2 halves a cwnd of one; here it is never below one segment",
    "nobugfix_Newreno_floor": "ns-2 halves a cwnd of one; here it is never below one segment",
    "ns235_Newreno_one": "ns-2 has no guard for the first data packet; here a time-out guards it too",
    "nobugfix_Tahoe_duplicate": _DUPLICATE,
    "ns235_Sack1_duplicate": _DUPLICATE,
    "nobugfix_Newreno_tie": "a packet reaches a full queue at the instant at which another leaves it",
    "nobugfix_Reno_tie": "a packet reaches the receiver at the instant at which an ACK is due",
}


def params(names: list[str]) -> list[Any]:
    """Make a test of each name; of one that departs, a test that must fail."""
    marks = {name: pytest.mark.xfail(reason=why, strict=True) for name, why in DEPARTS.items()}
    return [pytest.param(name, marks=marks[name]) if name in marks else name for name in names]


def hold(name: str, table: pl.DataFrame) -> None:
    """Hold the trace of a run against that of ns-2."""
    trace = scenarios.read(name)
    different = oracle.difference(oracle.expected(trace), oracle.observed(table))
    assert different is None, f"{name}: {different}"
    assert oracle.observed_ssthresh(table) == oracle.expected_ssthresh(trace)
    theirs = oracle.expected_rto_s(trace, generate.PROFILES[trace["profile"]])
    different = oracle.different_rto(theirs, table)
    assert different is None, f"{name}: {different}"


def test_the_folder_has_what_it_should() -> None:
    assert len(scenarios.WRITTEN) == 21
    assert set(scenarios.WRITTEN) <= set(oracle.NAMES)
    have = {(trace["profile"], trace["variant"]) for trace in map(scenarios.read, oracle.NAMES)}
    assert have == {(profile, variant) for profile in generate.PROFILES for variant in generate.VARIANTS}
    for profile in generate.PROFILES:
        traces = [trace for trace in map(scenarios.read, oracle.NAMES) if trace["profile"] == profile]
        assert any("delack_s" in trace for trace in traces)
        assert any("limit" in trace and "delack_s" not in trace for trace in traces)
    assert {path.stem for path in scenarios.SCENARIOS.iterdir()} == set(scenarios.WRITTEN)


@pytest.mark.parametrize("name", scenarios.WRITTEN)
def test_scenario_files_are_what_the_script_writes(name: str) -> None:
    file = scenarios.SCENARIOS / f"{name}.toml"
    assert file.read_text() == scenarios.scenario(name, scenarios.read(name))


@pytest.mark.parametrize("name", scenarios.WRITTEN)
def test_a_scenario_file_gives_the_trace(cli: Cli, name: str) -> None:
    done = cli("run", scenarios.SCENARIOS / f"{name}.toml", "--trace", "tcp", "-o", "run")
    assert done.code == 0, done.err
    hold(name, pl.read_csv("run/trace.tcp.csv"))


@pytest.mark.parametrize("name", params(SAMPLE))
def test_the_command_line_gives_the_trace(cli: Cli, name: str) -> None:
    Path("given.toml").write_text(scenarios.scenario(name, scenarios.read(name)))
    done = cli("run", "given.toml", "--trace", "tcp", "-o", "run")
    assert done.code == 0, done.err
    hold(name, pl.read_csv("run/trace.tcp.csv"))


@pytest.mark.parametrize("name", params(OTHERS))
def test_a_run_gives_the_trace(name: str) -> None:
    scenario = Scenario(scenarios.scenario(name, scenarios.read(name)).encode(), name)
    hold(name, scenario.run(trace=["tcp"]).trace["tcp"])


@pytest.mark.skipif(shutil.which("ns") is None, reason="needs ns-2.35 (Debian package ns2)")
@pytest.mark.parametrize(
    "name", ["exact_Reno_d2", "nobugfix_Sack1_d4", "fine_Sack1_overflow", "ns235_Newreno_d3"]
)
def test_ns2_gives_the_recorded_trace_again(name: str) -> None:
    trace = scenarios.read(name)
    assert generate.again(trace)["events"] == trace["events"]


def test_what_differs_is_shown_with_its_neighbours() -> None:
    theirs = oracle.expected(scenarios.read("exact_Reno_d1"))
    assert oracle.difference(theirs, theirs) is None
    ours = list(theirs)
    ours[20] = ours[20]._replace(time_s=ours[20].time_s + 1e-5)
    shown = oracle.difference(theirs, ours)
    assert shown is not None
    lines = shown.splitlines()
    assert lines[0] == "event 20 differs:"
    assert len(lines) == 2 + 11
    assert [line[0] for line in lines[2:]].index(">") == 5
    for wrong in (theirs[:-1], [*theirs[:-1], theirs[-1]._replace(cwnd_packets=1.0)]):
        shown = oracle.difference(theirs, wrong)
        assert shown is not None
        assert shown.startswith(f"event {len(theirs) - 1} differs")
    late = theirs[-1]._replace(time_s=9.0)
    assert oracle.difference(theirs, [*theirs, late]) is None
    assert oracle.difference(theirs, [*theirs, late._replace(kind="send")]) is not None


def test_a_time_out_that_differs_is_shown() -> None:
    theirs = oracle.expected_rto_s(scenarios.read("fine_Reno_forget"), generate.PROFILES["fine"])
    # 0.21 s and four times its half after the first sample; 0.32 s before four time-outs in a row
    assert theirs[:2] == pytest.approx([3, 0.63])
    assert max(theirs[1:]) == pytest.approx(16 * 0.32)
    ours = list(theirs)
    assert oracle.different_rto(theirs, pl.DataFrame({"rto_s": ours})) is None
    ours[40] += 0.01
    shown = oracle.different_rto(theirs, pl.DataFrame({"rto_s": ours}))
    assert shown is not None
    assert shown.startswith("time-out after event 40")


def test_a_trace_is_written_with_a_line_for_each_event() -> None:
    name = "exact_Sack1_d4"
    trace: dict[str, Any] = scenarios.read(name)
    text = generate.text(trace)
    assert json.loads(text) == trace
    assert text.count("\n") == len(trace["events"]) + len(trace["vars"]) + 1
