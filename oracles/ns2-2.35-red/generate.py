"""Make average_*.csv with ns-2.35, the Debian package ns2: ``python generate.py``."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
#: Ticks to send a packet.
PACKET = 8
WEIGHTS = ("0.002", "0.125")


def arrivals(seed: int, busy_periods: int) -> list[int]:
    """Draw times of arrivals, in ticks, such that ns-2 and Figure 2 of the paper see the same idle times.

    A busy period begins a whole number of packet times after the last one ended. The first packet goes to
    the link at once. The second comes as that one ends to be sent, so that the queue has been empty for one
    packet time. After it, packets arrive while others wait, and never as one ends to be sent.
    """
    draw = random.Random(seed)
    times, end = [], PACKET
    for _ in range(busy_periods):
        start = end + PACKET * draw.choice((1, 1, 2, 3, 10, 100, 700))
        burst = draw.choice((1, 2, 5, 30))
        times += [start] + [start + PACKET] * (burst - 1)
        end = start + PACKET * burst
        now = start + PACKET
        while (now := now + draw.randrange(1, 3 * PACKET)) < end - PACKET:
            if (now - start) % PACKET:
                times.append(now)
                end += PACKET
    return times


def main() -> None:
    """Make every file."""
    for seed, weight in enumerate(WEIGHTS):
        given = "".join(f"{tick}\n" for tick in arrivals(seed, 100))
        command = ["ns", str(HERE / "average.tcl"), weight]
        made = subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
        (HERE / f"average_{weight}.csv").write_text(made, encoding="ascii")


if __name__ == "__main__":
    main()
