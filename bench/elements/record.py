"""Measure single elements and print a table: `bench/elements/record.py > bench/runs/NAME/elements.md`.

Least and median of criterion's samples: on a machine that others share, the least is what an element costs.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLES = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "criterion"
BENCH = ["cargo", "bench", "--quiet", "--locked", "-p", "perhop-bench-elements", "--"]


def main() -> None:
    """Run every bench, then print what its samples say."""
    started = time.time()
    command = [*BENCH, "--warm-up-time", "1", "--measurement-time", "2"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    print("| Operation | Least | Median |\n|---|---|---|")
    for file in sorted(SAMPLES.rglob("new/sample.json")):
        if file.stat().st_mtime < started:
            continue
        name = json.loads(file.with_name("benchmark.json").read_text())["full_id"]
        sample = json.loads(file.read_text())
        each = sorted(spent / n for spent, n in zip(sample["times"], sample["iters"], strict=True))
        print(f"| {name} | {show(each[0])} | {show(each[len(each) // 2])} |")


def show(ns: float) -> str:
    """Write a time with three digits."""
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


if __name__ == "__main__":
    main()
