"""Make the recordings with ns-2.35, the Debian package ns2: ``python generate.py``."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
#: What is recorded: name, policer and numbers of ``tsw.tcl``, seed of the arrivals.
RUNS = (
    ("two", ("TSW2CM", "300000"), 1),
    ("two_quarter", ("TSW2CM", "300000", "0.25"), 2),
    ("three", ("TSW3CM", "200000", "450000"), 3),
)


def arrivals(seed: int, number: int) -> list[str]:
    """Draw arrivals of four lengths in phases from 0.2 to 3 Mbit/s, with some idle times of up to 10 s."""
    draw = random.Random(seed)
    lines, now = [], 0
    for arrival in range(number):
        mean = (4, 16, 6, 2, 9, 1)[arrival // 150 % 6]
        now += draw.randrange(2 * mean + 1) if draw.random() > 0.004 else draw.randrange(5000)
        lines.append(f"{now} {draw.choice((40, 512, 1024, 1500))} {draw.randrange(1, 2**31 - 1)}")
    return lines


def main() -> None:
    """Make every file."""
    for name, settings, seed in RUNS:
        given = "\n".join(arrivals(seed, 3000)) + "\n"
        command = ["ns", str(HERE / "tsw.tcl"), *settings]
        made = subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
        (HERE / f"{name}.csv").write_text("tick,length,draw,code_point\n" + made, encoding="ascii")


if __name__ == "__main__":
    main()
