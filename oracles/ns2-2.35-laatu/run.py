"""Run the cases of the marking study in ns-2.35 and write results.json.

``python run.py`` makes everything again; ``python run.py NAME ...`` those cases alone, and keeps the others.
Needs ``ns``, of the Debian package ns2, and the packages of perhop. A run takes about a second.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import stdev
from typing import Any

from perhop.stats.intervals import mean_interval

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
MARKINGS = ("flow", "aggregate")
SACK = {"tcp": "Sack1"}
EVERY = {"ack": "every"}
#: What a case changes of laatu.tcl's defaults, and its seeds.
CASES: dict[str, tuple[dict[str, Any], int]] = {
    "shared-300": ({}, 20),
    "shared-150": ({"rtt_ms": 150}, 20),
    "coupled-300": ({"averaging": "RIO-C"}, 20),
    "decoupled-300": ({"averaging": "RIO-D"}, 20),
    "every-300": (EVERY, 8),
    "newreno-300": ({"tcp": "Newreno"}, 8),
    "sack-300": (SACK, 8),
    "sack-every-300": (SACK | EVERY, 8),
    "sack-every-150": (SACK | EVERY | {"rtt_ms": 150}, 8),
    "deep-300": ({"cbs": 60, "pbs": 72}, 8),
    "no-timestamps-300": ({"stamps": 0}, 8),
}
#: What is kept of a run, in this order.
QUANTITIES = (
    "cir",
    "excess_kbit",
    "wire_kbit",
    "goodput_kbit",
    "jain",
    "timeouts",
    "queue",
    "drops_green",
    "drops_yellow",
    "drops_red",
)
CIR_KBIT = 800


def jain(values: list[float]) -> float:
    """Give Jain's index of fairness."""
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def measure(settings: dict[str, Any], marking: str, seed: int) -> dict[str, Any]:
    """Run ns-2 once and give what is kept of it."""
    words = [f"{key}={value}" for key, value in (settings | {"marking": marking, "seed": seed}).items()]
    command = ["ns", str(HERE / "laatu.tcl"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    flows = [[float(word) for word in row[2:]] for row in rows if row[0] == "flow"]
    drops = {row[1]: float(row[3]) + float(row[4]) for row in rows if row[0] == "color"}
    wire = [green + excess for green, excess, _, _ in flows]
    return {
        "cir": sum(flow[0] for flow in flows) / CIR_KBIT,
        "excess_kbit": sum(flow[1] for flow in flows),
        "wire_kbit": sum(wire),
        "goodput_kbit": sum(flow[2] for flow in flows),
        "jain": jain(wire),
        "timeouts": sum(flow[3] for flow in flows),
        "queue": next(float(row[1]) for row in rows if row[0] == "queue"),
        "drops_green": drops["10"],
        "drops_yellow": drops["20"],
        "drops_red": drops["30"],
        "flows": wire,
    }


def interval(values: list[float]) -> list[float]:
    """Give the mean and half of its 95 % interval."""
    found = mean_interval(values)
    return [round(found.mean, 4), round(found.half_width, 4)]


def summary(runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Give means and intervals of each marking, and of the differences, paired by seed."""
    rows: dict[str, Any] = {
        marking: {name: interval([run[name] for run in runs[marking]]) for name in QUANTITIES}
        | {"flow_sd_kbit": round(stdev(value for run in runs[marking] for value in run["flows"]), 2)}
        for marking in MARKINGS
    }
    pairs = list(zip(runs["flow"], runs["aggregate"], strict=True))
    rows["difference"] = {
        name: interval([one[name] - all_[name] for one, all_ in pairs]) for name in QUANTITIES
    }
    return rows


def run(name: str, workers: ThreadPoolExecutor) -> dict[str, Any]:
    """Run a case."""
    settings, seeds = CASES[name]
    jobs = [(marking, seed) for marking in MARKINGS for seed in range(1, seeds + 1)]
    done = list(workers.map(lambda job: measure(settings, *job), jobs))
    runs = {
        marking: [one for one, job in zip(done, jobs, strict=True) if job[0] == marking]
        for marking in MARKINGS
    }
    return {"settings": settings, "seeds": seeds} | summary(runs)


def text(results: dict[str, Any]) -> str:
    """Give the file: JSON with a line for each case."""
    rows = (f"{json.dumps(name)}: {json.dumps(results[name])}" for name in CASES if name in results)
    return "{\n" + ",\n".join(rows) + "\n}\n"


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Run the marking study in ns-2.35.")
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], metavar="NAME", help="cases (default: all)")
    parser.add_argument("--workers", type=int, default=2, help="runs at once (default 2)")
    given = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with ThreadPoolExecutor(given.workers) as workers:
        for name in given.cases or CASES:
            results[name] = run(name, workers)
            RESULTS.write_text(text(results))
            print(
                name, results[name]["difference"]["cir"], results[name]["difference"]["wire_kbit"], flush=True
            )


if __name__ == "__main__":
    main()
