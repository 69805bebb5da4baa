#!/usr/bin/env python3
"""Memory of `perhop run` for a subscriber of bench/cases/access.toml, beyond that for a network of three.

bench/subscribers.py [SUBSCRIBERS]

Of so many (10,000 if nothing is said) one in ten is idle, of four times as many each. The median of three
runs of each.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

CASE = Path(__file__).with_name("cases") / "access.toml"
RUNS = 3


def peak_kb(loaders: int, surfers: int, idle: int) -> float:
    """Run the case with so many subscribers of each kind; return the most memory it had, kB of 1000 B."""
    counts = {"loader": loaders, "surfer": surfers, "idle": idle}
    settings = [word for name, count in counts.items() for word in ("-s", f"node.{name}.count={count}")]
    peaks = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "perhop.cli", "run", str(CASE), *settings, "-o", f"{folder}/run"]
            # a process of its own for each: getrusage knows the largest child only
            with open(os.devnull, "w") as nowhere:
                streams = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), stream) for stream in (1, 2)]
                child = os.posix_spawn(sys.executable, command, os.environ, file_actions=streams)
            _, status, used = os.wait4(child, 0)
        if status:
            sys.exit(f"{' '.join(command)} failed")
        peaks.append(used.ru_maxrss * 1.024)
    return statistics.median(peaks)


def main() -> None:
    """Measure and print a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    few = peak_kb(1, 1, 1)
    active = count * 9 // 20
    print(f"| subscribers | kB each |\n|---|---|\n| three | {few:.0f} with the program, together |")
    for total, idle in ((count, count - 2 * active), (4 * count, 4 * count)):
        users = (total - idle) // 2
        each = (peak_kb(max(users, 1), max(users, 1), idle) - few) / total
        print(f"| {total}, of them {idle} idle | {each:.1f} |")


if __name__ == "__main__":
    main()
