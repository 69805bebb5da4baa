"""Measure single elements and print a table: `bench/elements/record.py > bench/runs/NAME/elements.md`.

Instructions and cache misses of an operation, by valgrind's cachegrind, which are the same on every
machine and in every hour: the difference of two runs, so what comes before the operations is not in it.
With `--times` also least and median of criterion's samples, in six rounds over all elements. On a machine
that others share the least is what an element costs; a round may fall into a busy time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
SAMPLES = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "criterion"
BENCH = ["cargo", "bench", "--quiet", "--locked", "-p", "perhop-bench-elements"]
ROUNDS = 6
# the caches of perhop-bench (bench/src/cachegrind.rs)
CACHEGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"]
CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,8,64"]
TIMES = 20_000
# what the engine did in a ns at 100 flows, at its slowest on record: dumbbell-100 in 2026-11-22-xeon-2core
PER_NS = 7
# an operation, what it takes beyond which other, at most how many ns
TARGETS = [
    ("codel: dequeue and enqueue, 4 packets of each of 1000 flows", "fifo", 25),
    ("codel: dequeue and enqueue, 100 packets that waited for 20 ms", "fifo", 25),
    ("pie: enqueue and dequeue, about 100 packets waiting", "fifo", 25),
    ("fq of codel: dequeue and enqueue, 4 packets of each of 1000 flows", None, 80),
    ("dualpi2: dequeue and enqueue, L4S and classic, 100 packets waiting", None, 40),
    ("dualpi2, above its target: dequeue and enqueue, L4S and classic, 100 packets waiting", None, 40),
]


def main() -> None:
    """Count and, where that is asked for, time every operation, then print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", action="store_true", help="also times, which need a quiet machine")
    rows = {name: counts(program, name) for program, name in operations()}
    found: dict[str, list[float]] = {}
    for _ in range(ROUNDS if parser.parse_args().times else 0):
        for name, samples in measure():
            found.setdefault(name, []).extend(samples)
    heads = ["Operation", "Instructions", "D1 misses", "L2 misses", *(["Least", "Median"] if found else [])]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name, (instructions, first, second) in sorted(rows.items()):
        times = [show(of(found[name])) for of in (min, median)] if found else []
        print(f"| {' | '.join([name, f'{instructions:.0f}', f'{first:.1f}', f'{second:.1f}', *times])} |")
    print(f"\nTargets, at {PER_NS} instructions a ns:\n")
    print("| Operation | Beyond | Instructions | Target | |\n|---|---|---|---|---|")
    for name, base, ns in TARGETS:
        other = name.replace(name.split(":")[0], base, 1) if base else None
        spent = rows[name][0] - (rows[other][0] if other else 0)
        verdict = "met" if spent <= ns * PER_NS else "NOT met"
        print(f"| {name} | {base or ''} | {spent:.0f} | {ns} ns: {ns * PER_NS} | {verdict} |")


def operations() -> Iterator[tuple[str, str]]:
    """Every operation, and the program that has it."""
    built = subprocess.run(
        [*BENCH, "--no-run", "--message-format=json"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    messages = map(json.loads, built.stdout.splitlines())
    for program in filter(None, (message.get("executable") for message in messages)):
        listed = subprocess.run([program, "--bench", "--list"], check=True, capture_output=True, text=True)
        for line in listed.stdout.splitlines():
            if line.endswith(": benchmark"):
                yield program, line.removesuffix(": benchmark")


def counts(program: str, name: str) -> list[float]:
    """Instructions, misses of the first cache and of the second, of an operation."""
    few, many = (cachegrind(program, name, times) for times in (TIMES, 2 * TIMES))
    return [(more - less) / TIMES for less, more in zip(few, many, strict=True)]


def cachegrind(program: str, name: str, times: int) -> list[int]:
    """Run an operation so many times, and return the same for all of it."""
    command = [*CACHEGRIND, *CACHES, program, "--count", name, str(times)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    found = (re.search(rf"{what}:\s+([\d,]+)", said) for what in ("I +refs", "D1 +misses", "LL misses"))
    return [int(match[1].replace(",", "")) for match in found if match]


def measure() -> Iterator[tuple[str, list[float]]]:
    """Run every bench once; give the name of each and its samples, in ns for each operation."""
    started = time.time()
    command = [*BENCH, "--", "--warm-up-time", "0.5", "--measurement-time", "1.5"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    for file in SAMPLES.rglob("new/sample.json"):
        if file.stat().st_mtime < started:
            continue
        bench = json.loads(file.with_name("benchmark.json").read_text())
        sample = json.loads(file.read_text())
        each = zip(sample["times"], sample["iters"], strict=True)
        yield bench["full_id"], [spent / n for spent, n in each]


def show(ns: float) -> str:
    """Write a time with three digits."""
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


if __name__ == "__main__":
    main()
