"""Hold today's queues to their targets: how long packets of long flows wait, how much of a link is used.

.venv/bin/python docs/laws_queue.py            the runs: docs/queue-laws.json; then docs/generate.py
.venv/bin/python docs/laws_queue.py --check    the runs; fail where a number differs from docs/queue-laws.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl

from perhop import RESULTS_VERSION
from perhop.run.run import AnyJob, Result, run_jobs

RESULTS = Path(__file__).resolve().parent / "queue-laws.json"
COMMAND = ".venv/bin/python docs/laws_queue.py"
THREADS = 2
RATES_MBIT_S = (1, 10, 100, 1000)
RTTS_MS = (5, 20, 100, 300)
MANY = 16
# with a limit that a slow start does not reach: it is the policies that are asked
QUEUES = {
    "codel": '{ kind = "codel", limit = "100000p" }',
    "pie": '{ kind = "pie", limit = "100000p" }',
    "cobalt": '{ kind = "cobalt", limit = "100000p" }',
    "fq": '{ kind = "fq", limit = "100000p" }',
    "dualpi2": '{ kind = "dualpi2", limit = "100000p" }',
    # a third of it must wait before anything is dropped: a tenth of a second, as in a modem
    "docsis-pie": '{{ kind = "docsis-pie", limit = "{tenth}B" }}',
    # what the path holds, at least ten packets
    "fifo": '{{ kind = "fifo", limit = "{path}B" }}',
}
BOTH = ("codel", "pie")
ASIDE: dict[str, tuple[str, int, int, dict[str, str]]] = {
    "`codel`, default `limit`": ('{ kind = "codel" }', 1000, 300, {}),
    "`pie`, default `limit`": ('{ kind = "pie" }', 1000, 100, {}),
    '`dualpi2`, `like = "linux"`': (
        '{ kind = "dualpi2", limit = "100000p", conventions = { like = "linux" } }',
        1,
        300,
        {},
    ),
    "`dualpi2`, from 200 s to 280 s": ("dualpi2", 1000, 300, {"warmup": "200s", "duration": "280s"}),
    "`docsis-pie`, from 200 s to 280 s": ("docsis-pie", 100, 300, {"warmup": "200s", "duration": "280s"}),
    "`docsis-pie`, from 200 s to 400 s": ("docsis-pie", 100, 300, {"warmup": "200s", "duration": "400s"}),
    "`codel`, profile `default` at 10 Mbit/s": ("codel", 10, 300, {"profile": "default"}),
    "`codel`, profile `default` at 100 Mbit/s": ("codel", 100, 300, {"profile": "default"}),
    "`codel`, profile `default` at 1 Gbit/s": ("codel", 1000, 300, {"profile": "default"}),
}
"""One flow under other settings, by what differs: queue, rate in Mbit/s, round trip in ms, the rest."""
PAGES = {"docsis-pie": "pie.md#docsis-pie"}

SCENARIO = """
[run]
duration = "{duration}"
warmup = "{warmup}"
[[node]]
name = "a"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"
[[link]]
ends = ["a", "r"]
rate = "10Gbit/s"
delay = "100us"
[[link]]
ends = ["r", "b"]
rate = "{rate}Mbit/s"
delay = "{delay_us}us"
[[port]]
at = "r"
to = "b"
[[port.class]]
name = "all"
queue = {queue}
[[flow]]
name = "long"
from = "a"
to = "b"
count = {flows}
start_jitter = "1s"
tcp = {{ profile = "{profile}", window = "256MiB" }}
"""


def scenario(queue: str, flows: int, rate: int, rtt: int, **changed: str) -> bytes:
    """Return the scenario of a cell: rate in Mbit/s, round trip of the empty path in ms."""
    rest = {"duration": "120s", "warmup": "40s", "profile": "linux"} | changed
    template = QUEUES.get(queue, queue)
    sizes = {"tenth": max(15_000, rate * 12_500), "path": max(15_000, rate * rtt * 125)}
    written = template.format(**sizes) if "{{" in template else template
    return SCENARIO.format(rate=rate, delay_us=rtt * 500 - 100, queue=written, flows=flows, **rest).encode()


def measure() -> list[dict[str, Any]]:
    """Run every cell: the mean wait in ms, and the part of the link that carries data."""
    cells = [
        (queue, flows, rate, rtt)
        for queue in QUEUES
        for flows in ((1, MANY) if queue in BOTH else (1,))
        for rate in RATES_MBIT_S
        for rtt in RTTS_MS
    ]
    jobs: list[AnyJob] = [(scenario(*cell), "laws_queue.toml", []) for cell in cells]
    found = run_jobs(jobs, THREADS, keep=_kept_of)
    names = ("queue", "flows", "rate_mbit_s", "rtt_ms")
    return [{**dict(zip(names, cell, strict=True)), **one} for cell, one in zip(cells, found, strict=True)]


def measure_aside() -> dict[str, dict[str, float]]:
    """Run one flow under other settings."""
    jobs: list[AnyJob] = [
        (scenario(queue, 1, rate, rtt, **rest), "laws_queue.toml", [])
        for queue, rate, rtt, rest in ASIDE.values()
    ]
    return dict(zip(ASIDE, run_jobs(jobs, THREADS, keep=_kept_of), strict=True))


def _kept_of(job: Any, result: Result) -> dict[str, float]:
    if result.invariants:
        raise RuntimeError(f"{job}: {result.invariants}")
    [wait] = result.queues.filter(pl.col("path") == "port.r-b.class.all")["wait_mean_s"]
    [used] = result.links.filter(pl.col("name") == "r->b")["utilization_data"]
    return {"wait_ms": _rounded(1000 * wait), "used": _rounded(used)}


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def waits(queue: str) -> list[tuple[str, ...]]:
    """Give the table of a queue: use of the link and mean wait, by flows and round trip over rates."""
    cells = [cell for cell in _kept()["cells"] if cell["queue"] == queue]
    return [
        ("Flows", "Round trip", *map(_rate, RATES_MBIT_S)),
        *(
            (str(flows), f"{rtt} ms", *(_cell(cells, flows, rate, rtt) for rate in RATES_MBIT_S))
            for flows in (1, MANY)
            for rtt in RTTS_MS
        ),
    ]


def fills(_: str) -> list[tuple[str, ...]]:
    """Give the table of all queues: by round trip over rates, what one flow makes of its link."""
    cells = _kept()["cells"]
    return [
        ("Queue", "Round trip", *map(_rate, RATES_MBIT_S)),
        *(
            (
                f"[{queue}](elements/{PAGES.get(queue, queue + '.md')})",
                f"{rtt} ms",
                *(
                    _cell([cell for cell in cells if cell["queue"] == queue], 1, rate, rtt)
                    for rate in RATES_MBIT_S
                ),
            )
            for queue in QUEUES
            for rtt in RTTS_MS
        ),
    ]


def aside(_: str) -> list[tuple[str, ...]]:
    """Give the table of one flow under other settings."""
    found = _kept()["aside"]
    return [
        ("What differs", "Rate", "Round trip", "Use and wait"),
        *(
            (name, _rate(rate), f"{rtt} ms", _used(found[name]))
            for name, (_queue, rate, rtt, _rest) in ASIDE.items()
        ),
    ]


def _cell(cells: list[dict[str, Any]], flows: int, rate: int, rtt: int) -> str:
    [cell] = [one for one in cells if (one["flows"], one["rate_mbit_s"], one["rtt_ms"]) == (flows, rate, rtt)]
    return _used(cell)


def _used(cell: dict[str, float]) -> str:
    return f"{100 * cell['used']:.1f} %, {_short(cell['wait_ms'])} ms"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _rate(rate: int) -> str:
    return f"{rate / 1000:g} Gbit/s" if rate >= 1000 else f"{rate} Mbit/s"


def _kept() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return kept


def main(arguments: list[str]) -> int:
    """Write the numbers, or compare them."""
    made = {
        "command": COMMAND,
        "results_version": RESULTS_VERSION,
        "cells": measure(),
        "aside": measure_aside(),
    }
    if "--check" in arguments:
        same = made == _kept()
        print(f"{RESULTS.name}: {'the same numbers' if same else 'other numbers came out'}")
        return 0 if same else 1
    RESULTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
