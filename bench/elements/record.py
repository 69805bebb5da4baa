"""Measure single elements and print a table: `bench/elements/record.py > bench/runs/NAME/elements.md`.

Least and median of criterion's samples, in six rounds over all elements. On a machine that others share the
least is what an element costs; a round may fall into a busy time.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
SAMPLES = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "criterion"
BENCH = ["cargo", "bench", "--quiet", "--locked", "-p", "perhop-bench-elements", "--"]
ROUNDS = 6


def main() -> None:
    """Run every bench, then print what its samples say."""
    found: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, samples in measure():
            found.setdefault(name, []).extend(samples)
    print("| Operation | Least | Median |\n|---|---|---|")
    for name, samples in sorted(found.items()):
        print(f"| {name} | {show(min(samples))} | {show(median(samples))} |")


def measure() -> Iterator[tuple[str, list[float]]]:
    """Run every bench once; give the name of each and its samples, in ns for each operation."""
    started = time.time()
    command = [*BENCH, "--warm-up-time", "0.5", "--measurement-time", "1.5"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    for file in SAMPLES.rglob("new/sample.json"):
        if file.stat().st_mtime < started:
            continue
        bench = json.loads(file.with_name("benchmark.json").read_text())
        operations = (bench["throughput"] or {}).get("Elements", 1)
        sample = json.loads(file.read_text())
        each = zip(sample["times"], sample["iters"], strict=True)
        yield bench["full_id"], [spent / (n * operations) for spent, n in each]


def show(ns: float) -> str:
    """Write a time with three digits."""
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


if __name__ == "__main__":
    main()
