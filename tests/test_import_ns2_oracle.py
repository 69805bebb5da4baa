"""Imported scripts do in perhop what they did in ns-2.35: event by event, or means within intervals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

import oracle_ns2 as oracle
from perhop import Scenario
from perhop.import_ns2 import imported
from scripts import script

ORACLES = Path(__file__).parents[1] / "oracles"
FOLDER = ORACLES / "ns2-2.35-import"
SEEDS = 8
#: Half of a 99 % interval by that of 95 %, for means of sixteen runs and of eight.
WIDER = 1.45

scenarios = script(oracle.FOLDER / "scenarios.py")

TRANSFER = """\
set ns [new Simulator]
set sender [$ns node]
set router [$ns node]
set receiver [$ns node]
$ns duplex-link $sender $router 8Mb 0.1ms DropTail
$ns duplex-link $router $receiver 0.8Mb 100ms DropTail
foreach {from to} [list $sender $router $router $sender $router $receiver $receiver $router] {
    $ns queue-limit $from $to 100
}
$ns queue-limit $router $receiver LIMIT
Agent/TCP set window_ 28
SETTINGS
set f [new Agent/TCP/VARIANT]
set sink [new Agent/SINK]
$ns attach-agent $sender $f
$ns attach-agent $receiver $sink
$ns connect $f $sink
$ns at 0.0 "$f advance 120"
$ns at STOP "exit 0"
$ns run
"""
EXACT = """\
Agent/TCP set tcpTick_ 0.0001
Agent/TCP set minrto_ 1.0
Agent/TCP set windowInit_ 1
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set singledup_ 0
Agent/TCP set useHeaders_ false"""


@pytest.fixture
def run() -> ModuleType:
    return script(FOLDER / "run.py")


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("exact_Reno_nodrop", EXACT),
        ("exact_Newreno_nodrop", EXACT),
        ("exact_Reno_overflow", EXACT),
        ("exact_Sack1_overflow", EXACT),
        ("ns235_Reno_nodrop", ""),
        ("ns235_Reno_overflow", ""),
    ],
)
def test_a_transfer_is_that_of_ns2_event_by_event(name: str, settings: str) -> None:
    trace = scenarios.read(name)
    assert trace["drops"] == []
    variant = trace["variant"]
    text = TRANSFER.replace("SETTINGS", settings).replace("VARIANT", variant)
    text = text.replace("SINK", "TCPSink/Sack1" if variant == "Sack1" else "TCPSink")
    text = text.replace("LIMIT", str(trace.get("limit", 100)))
    made = imported(text.replace("STOP", f"{trace['events'][-1][0] + 1:.3f}"), f"{name}.tcl")
    assert made.refused == ()
    # the recordings say the phase of the clock, which a run draws
    phase = trace.get("phase_s", 0.5559 * (1e-4 if settings else 0.01))
    given = Scenario(made.text.encode(), name)
    (profile,) = (line for line in made.text.splitlines() if line.startswith('name = "ns2-'))
    path = f"profile.{profile.split(chr(34))[1]}.clock_phase"
    table = given.override(f"{path}={round(phase * 1e9)}ns").run(trace=["tcp"]).trace["tcp"]
    different = oracle.difference(oracle.expected(trace), oracle.observed(table))
    assert different is None, f"{name}: {different}"


def apart(ours: dict[str, list[float]], theirs: dict[str, list[float]]) -> list[str]:
    """Give the quantities whose means differ at 99 %."""
    found = []
    for what, (mean, half) in ours.items():
        other, other_half = theirs[what]
        if abs(mean - other) > WIDER * (half**2 + other_half**2) ** 0.5:
            found.append(f"{what}: ns-2 {other:g} ± {other_half:g}, perhop {mean:g} ± {half:g}")
    return found


@pytest.mark.parametrize("name", ["red", "token-bucket", "meters", "tsw", "queues"])
def test_means_are_those_of_ns2(run: ModuleType, name: str) -> None:
    given = run.scenario(name)
    ours = run.summary([run.of_perhop(name, given, seed) for seed in range(1, SEEDS + 1)])
    assert apart(ours, json.loads((FOLDER / "results.json").read_text())[name]) == []


@pytest.mark.parametrize(
    ("name", "override"),
    [
        ("red", "port.left-right.class.all.queue.conventions={ like = \"floyd1993\" }"),
        ("token-bucket", "port.r2-r3.class.q0.queue.averaging=coupled"),
        ("meters", "conditioner.e1-c-1.meter.cir=400kbit/s"),
        ("tsw", "conditioner.e0-r2-1.meter.cir=200kbit/s"),
        ("queues", "port.a-b.class.q0.weight=2"),
    ],
)  # fmt: skip
def test_another_setting_is_told_apart(run: ModuleType, name: str, override: str) -> None:
    given = run.scenario(name).override(override)
    ours = run.summary([run.of_perhop(name, given, seed) for seed in range(1, SEEDS + 1)])
    assert apart(ours, json.loads((FOLDER / "results.json").read_text())[name]) != []


@pytest.mark.parametrize("marking", ["flow", "aggregate"])
def test_the_study_of_meters_reads_as_it_stands(marking: str) -> None:
    # the script itself, with what its command line would say
    text = (ORACLES / "ns2-2.35-laatu" / "laatu.tcl").read_text()
    text = text.replace("foreach word $argv {", "foreach word {} {").replace(
        "marking flow", f"marking {marking}"
    )
    made = imported(text, "laatu.tcl")
    assert made.refused == ()
    given = Scenario(made.text.encode(), "laatu.tcl").override("run.warmup=10s")
    theirs = json.loads((ORACLES / "ns2-2.35-laatu" / "results.json").read_text())["shared-300"][marking]
    found = []
    for seed in range(1, 5):
        result = given.override(f"run.seed={seed}").run()
        flows = result.flows.filter(result.flows["from"].str.starts_with("s"))
        marks = result.marks.filter(result.marks["flow"].is_in(flows["name"].to_list()))
        green = marks.filter(marks["mark"] == "AF11")["arrived_bytes"].sum()
        found.append(green * 8 / 1000 / 110 / 800)
    assert sum(found) / 4 == pytest.approx(theirs["cir"][0], abs=0.02)


@pytest.mark.skipif(shutil.which("ns") is None, reason="needs ns-2.35 (Debian package ns2)")
def test_ns2_gives_the_recorded_means_again(run: ModuleType) -> None:
    recorded = json.loads((FOLDER / "results.json").read_text())["queues"]
    again = run.summary([run.of_ns2("queues", seed) for seed in range(1, recorded["seeds"] + 1)])
    assert again == {what: recorded[what] for what in again}
