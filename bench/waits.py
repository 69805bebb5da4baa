"""What a user waits for: processor seconds of whole commands, each beside its goal.

Run it as `.venv/bin/python bench/waits.py [--json]`. The least of several tries: what else the machine does
can only add. It writes nothing but its table. The store of 10,000 runs is made by running them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from perhop import Campaign, Scenario

ROOT = Path(__file__).resolve().parents[1]
PERHOP = str(Path(sys.executable).with_name("perhop"))
TRIES = 7
RUNS = 10_000
SMALL = ROOT / "examples" / "three-losses.toml"
MANY_FLOWS = [
    *("run", str(ROOT / "bench" / "cases" / "growth.toml"), "-s", "node.s.count=10000"),
    *("-s", "node.d.count=10000", "-s", "link.r1-r2.rate=1Gbit/s", "-s", "run.duration=3.5s"),
    *("-s", "port.r1-r2.class.all.queue.limit=40000p", "-s", "run.interval=3.5s"),
]
TINY = """
[run]
duration = "2s"
interval = "100ms"
[[node]]
name = "a"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"
[[link]]
ends = ["a", "r"]
rate = "10Mbit/s"
delay = "1ms"
[[link]]
ends = ["r", "b"]
rate = "1Mbit/s"
delay = "10ms"
[[port]]
at = "r"
to = "b"
class = [{ name = "all", queue = { kind = "fifo", limit = "20p" } }]
[[flow]]
name = "up"
from = "a"
to = "b"
count = 2
start_jitter = "500ms"
"""
TREATMENTS = 4
CAMPAIGN = """
scenario = "tiny.toml"
replications = {}
[[factor]]
name = "rate"
path = "link.r-b.rate"
levels = ["1Mbit/s", "2Mbit/s"]
[[factor]]
name = "limit"
path = "port.r-b.class.all.queue.limit"
levels = ["10p", "20p"]
[[response]]
name = "goodput"
measure = "sum(flows.goodput_bit_s)"
[[response]]
name = "drops"
measure = "sum(queues.dropped_packets)"
"""


class Wait(NamedTuple):
    """Something that is waited for: how long, and how long it may be."""

    what: str
    unit: str
    found: float
    goal: float | None = None


class Spent(NamedTuple):
    """What a command took, its children counted: processor time and time of day, s."""

    cpu_s: float
    wall_s: float


def spent(*arguments: str) -> Spent:
    """Run `perhop`, and return what it took."""
    program = [PERHOP, *arguments]
    began = time.perf_counter()
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as made:
        assert made.stderr is not None
        said = made.stderr.read()
        _, status, used = os.wait4(made.pid, 0)
        made.returncode = os.waitstatus_to_exitcode(status)
    if made.returncode:
        raise SystemExit(f"perhop {' '.join(arguments)}: status {made.returncode}\n{said.decode()}")
    return Spent(used.ru_utime + used.ru_stime, time.perf_counter() - began)


def least(*arguments: str, tries: int = TRIES) -> float:
    """Return the least processor time of some tries."""
    return min(spent(*arguments).cpu_s for _ in range(tries))


def commands(place: Path) -> Iterator[Wait]:
    """Measure commands about one run."""
    run, page = str(place / "run"), str(place / "page.html")
    for words in ("--help", "--version", "run --help"):
        yield Wait(f"perhop {words}", "s", least(*words.split()), 0.15)
    yield Wait("perhop check, a scenario", "s", least("check", str(SMALL)), 0.25)
    yield Wait("perhop run, three small flows", "s", least("run", str(SMALL), "-o", run, "--force"), 0.35)
    yield Wait("perhop report of it", "s", least("report", run, "-o", page, "--force"), 0.6)
    spent(*MANY_FLOWS, "-o", str(place / "many"))
    took = least("report", str(place / "many"), "-o", page, "--force", tries=3)
    yield Wait("perhop report of 10,000 flows", "s", took, 3.0)
    yield Wait("its page", "MB", Path(page).stat().st_size / 1e6, 2.0)


def engine_s(scenario: Scenario) -> float:
    """Return the least processor time that the engine takes for a run."""
    found = []
    for _ in range(200):
        began = time.process_time()
        simulation = scenario.core.simulate([])
        simulation.keep_endless_goodputs_only()
        simulation.advance_to(simulation.duration_s)
        found.append(time.process_time() - began)
    return min(found)


def campaigns(place: Path, runs: int) -> Iterator[Wait]:
    """Measure campaigns of tiny runs, and the store that they leave."""
    (place / "tiny.toml").write_text(TINY)

    def campaign(runs: int) -> str:
        file = place / f"{runs}.toml"
        file.write_text(CAMPAIGN.format(runs // TREATMENTS))
        return str(file)

    store, few, some, many = str(place / "store"), campaign(100), campaign(500), campaign(runs)
    took = {}
    for file in (few, some):
        made = [spent("campaign", "run", file, "-j", "1", "-o", f"{store}-{file[-8:]}{n}") for n in range(3)]
        took[file] = min(one.cpu_s for one in made)
    each = (took[some] - took[few]) / 400
    design = Campaign.load(few).design
    engine = fmean(engine_s(Scenario.from_text(TINY).override(*one.overrides)) for one in design.treatments)
    yield Wait("the engine, a tiny run of a campaign", "ms", 1e3 * engine)
    yield Wait("beyond the engine, a tiny run", "ms", 1e3 * (each - engine), 2.0)
    plan = [PERHOP, "campaign", "plan", many, "-j", "2", "--json"]
    planned = subprocess.run(plan, capture_output=True, check=True)
    whole = spent("campaign", "run", many, "-j", "2", "-o", store)
    about = 2 * json.loads(planned.stdout)["about_s"] / whole.cpu_s
    yield Wait(f"campaign run -j 2, {runs:,} tiny runs", "s", whole.cpu_s)
    yield Wait("what campaign plan said of it, as a share", "", about)
    for words in ("campaign status", "analyze", "report"):
        force = ["--force"] if words == "report" else []
        took_s = least(*words.split(), store, *force, tries=3)
        yield Wait(f"{words}, a store of {runs:,} runs", "s", took_s, 3.0)
    alone = spent("campaign", "run", many, "-j", "1", "-o", f"{store}-alone")
    yield Wait("efficiency of -j 2, start to page", "", alone.wall_s / whole.wall_s / 2)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help="runs of the large store")
    given = parser.parse_args()
    if given.runs < 100:
        parser.error(f"--runs {given.runs}: a store of fewer than 100 runs says nothing")
    with tempfile.TemporaryDirectory(prefix="perhop-waits-") as name:
        place = Path(name)
        found = [*commands(place), *campaigns(place, given.runs)]
    if given.json:
        print(json.dumps([one._asdict() for one in found], indent=2))
        return
    print("| what | found | goal |\n|---|---|---|")
    for what, unit, value, goal in found:
        wanted = "" if goal is None else f"{goal:g} {unit}"
        print(f"| {what} | {f'{value:.3g} {unit}'.strip()} | {wanted} |")


if __name__ == "__main__":
    main()
