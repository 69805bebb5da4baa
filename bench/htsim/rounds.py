"""`dumbbell-100` in perhop and in htsim, in turn, and what a packet-hop costs in each.

    git clone https://github.com/Broadcom/csg-htsim
    bench/htsim/rounds.py csg-htsim            # builds both; a minute
    bench/htsim/rounds.py csg-htsim --rounds 20 --seconds 60

htsim is built with g++ -O3 for any x86-64, as perhop is, in its own folder `sim`. What is counted:
`docs/benchmarks.md`, ns-2. Exit status: 0, or 2 where something is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FLAGS = "-w -std=c++11 -O3"
VALGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--branch-sim=yes"]
COUNTED_S = 2.6
"""Counts are those of twice this time less those of this time, without set-up."""
BITS_PER_SECOND = 150e6


def commands(htsim: Path, folder: Path) -> dict[str, Any]:
    """Build both and return what runs each for a number of seconds."""
    sim = htsim / "sim"
    subprocess.run(["make", "-s", f"CFLAGS={FLAGS}", "libhtsim.a"], cwd=sim, check=True, stdout=2)
    driver = folder / "dumbbell"
    compiler = ["g++", *FLAGS.split(), "-I", str(sim), str(HERE / "dumbbell.cpp"), str(sim / "libhtsim.a")]
    subprocess.run([*compiler, "-o", str(driver)], check=True)
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--quiet", "-p", "perhop-bench"], cwd=ROOT, check=True
    )
    bench = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/perhop-bench"
    perhop = [str(bench), "--once", "--case", "dumbbell-100", "--until"]
    return {
        "perhop": lambda seconds: [*perhop, str(round(seconds * 1e9))],
        "htsim": lambda seconds: [str(driver), str(seconds)],
    }


def run(command: list[str]) -> dict[str, Any]:
    """Return the figures of a run."""
    figures: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return figures


def costs(command: Any) -> tuple[float, float]:
    """Return instructions and mispredicted branches of a packet-hop."""

    def count(seconds: float) -> list[int]:
        words = [*VALGRIND, "--cachegrind-out-file=/dev/null", *command(seconds)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        found = [re.search(name + r":\s+([\d,]+)", done.stderr) for name in ("I\\s+refs", "Mispredicts")]
        counted = [int(one[1].replace(",", "")) for one in found if one is not None]
        return [json.loads(done.stdout)["packet_hops"], *counted]

    hops, instructions, missed = (
        more - less for more, less in zip(count(2 * COUNTED_S), count(COUNTED_S), strict=True)
    )
    return instructions / hops, missed / hops


def used(name: str, figures: dict[str, Any], seconds: float) -> float:
    """Return the part of the time in which the bottleneck transmits."""
    if name == "perhop":
        part: float = figures["load"]["used"]
        return part
    share: float = 8 * figures["bytes"] / (BITS_PER_SECOND * seconds)
    return share


def main() -> int:
    """Run both in turn and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("htsim", type=Path, help="folder of a clone of csg-htsim")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=25, help="simulated time")
    options = parser.parse_args()
    if absent := [name for name in ("g++", "make", "cargo") if shutil.which(name) is None]:
        print(f"{absent[0]} is not installed", file=sys.stderr)
        return 2
    if not (options.htsim / "sim/eventlist.h").exists():
        print(f"{options.htsim}: no clone of csg-htsim, for it has no sim/eventlist.h", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        both = commands(options.htsim.resolve(), Path(folder))
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in both}
        for _ in range(options.rounds):
            for name, command in both.items():
                runs[name].append(run(command(options.seconds)))
        counted = {name: costs(both[name]) for name in both} if shutil.which("valgrind") else {}
    print("|  | M packet-hops a CPU-s, best | median | instructions a hop | mispredicted | used | drops |")
    print("|---|---|---|---|---|---|---|")
    for name, made in runs.items():
        speeds = [one["packet_hops"] / one["user_cpu_s"] / 1e6 for one in made]
        drops = made[0]["load"]["drops"] if name == "perhop" else made[0]["drops"]
        cost = "{:,.0f} | {:.1f}".format(*counted[name]) if counted else "no valgrind | no valgrind"
        share = used(name, made[0], options.seconds)
        print(f"| {name} | {max(speeds):.2f} | {median(speeds):.2f} | {cost} | {share:.0%} | {drops:,} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
