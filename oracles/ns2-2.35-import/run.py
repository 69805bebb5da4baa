"""Run the scripts in ns-2.35, and what `perhop import ns2` makes of them in perhop.

``python run.py`` prints both; ``python run.py ns2`` writes results.json anew, and needs `ns` (the Debian
package ns2).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from perhop import Scenario
from perhop.import_ns2 import imported
from perhop.stats.intervals import mean_interval

HERE = Path(__file__).parent
#: Scripts, and how many seeds each runs with: 1, 2, ...
SEEDS = {"red": 16, "token-bucket": 16, "meters": 16, "tsw": 16, "queues": 16}
NS = os.environ.get("NS2", "ns")
#: Queues whose drops a script counts: ports from the node that the pattern names.
COUNTED = {
    "red": "left-right",
    "token-bucket": "r2-r3",
    "meters": "c-e2",
    "tsw": "r2-r3",
    "queues": r"a(_2)?-b(_2)?",
}

#: ns-2's bytes for each of perhop's payload: without `useHeaders_` ns-2 calls the whole packet data.
WIRE = {"red": 1000 / 960, "token-bucket": 1024 / 984, "tsw": 1024 / 984}


def of_ns2(name: str, seed: int) -> dict[str, float]:
    """Run a script in ns-2 with a seed: bytes that arrived by flow, time-outs, drops."""
    text = (HERE / f"{name}.tcl").read_text()
    assert text.count("\nns-random 1\n") == 1
    # the script itself, with another seed
    script = Path(f"/tmp/perhop-{os.getpid()}-{name}.tcl")
    script.write_text(text.replace("\nns-random 1\n", f"\nns-random {seed}\n"))
    try:
        made = subprocess.run([NS, str(script)], capture_output=True, text=True, check=True).stdout
    finally:
        script.unlink()
    found: dict[str, float] = {"timeouts": 0}
    for line in made.splitlines():
        words = line.split()
        if words[0] == "flow":
            found[words[1]] = float(words[2])
            found["timeouts"] += float(words[3])
        else:
            found["drops"] = float(words[1])
    return found


def scenario(name: str) -> Scenario:
    """Import a script."""
    made = imported((HERE / f"{name}.tcl").read_text(), f"{name}.tcl")
    assert not made.refused, made.refused
    return Scenario(made.text.encode(), f"{name}.toml")


def of_perhop(name: str, given: Scenario, seed: int) -> dict[str, float]:
    """Run the imported scenario with a seed and count the same."""
    result = given.override(f"run.seed={seed}").run()
    found: dict[str, float] = {"timeouts": 0, "drops": 0}
    for row in result.flows.iter_rows(named=True):
        found[row["name"]] = row["delivered_bytes"] * WIRE.get(name, 1.0)
        found["timeouts"] += row["timeouts"]
    for row in result.udp.iter_rows(named=True):
        found[row["name"]] = row["arrived_bytes"]
    for row in result.queues.iter_rows(named=True):
        if re.fullmatch(rf"port\.{COUNTED[name]}\.class\..*", row["path"]):
            found["drops"] += row["dropped_packets"]
    return found


def summary(runs: list[dict[str, float]]) -> dict[str, list[float]]:
    """Return mean and half of the 95 % interval of each quantity."""
    found = {}
    for what in runs[0]:
        interval = mean_interval([run[what] for run in runs])
        found[what] = [round(interval.mean, 1), round(interval.half_width, 1)]
    return found


def main() -> None:
    """Do what the command line says."""
    file = HERE / "results.json"
    if sys.argv[1:] == ["ns2"]:
        made: dict[str, Any] = {
            name: {"seeds": seeds, **summary([of_ns2(name, seed) for seed in range(1, seeds + 1)])}
            for name, seeds in SEEDS.items()
        }
        file.write_text(json.dumps(made, indent=1) + "\n")
    recorded = json.loads(file.read_text())
    print("| script | quantity | ns-2 | perhop |\n|---|---|---|---|")
    for name, seeds in SEEDS.items():
        given = scenario(name)
        ours = summary([of_perhop(name, given, seed) for seed in range(1, seeds + 1)])
        for what, (mean, half) in ours.items():
            theirs = recorded[name][what]
            print(f"| {name} | {what} | {theirs[0]:g} ± {theirs[1]:g} | {mean:g} ± {half:g} |", flush=True)


if __name__ == "__main__":
    main()
