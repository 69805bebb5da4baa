"""Make the recordings with ns-2.35, the Debian package ns2: ``python generate.py``."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
#: Ticks to send a packet of 1024 bytes.
PACKET = 8
WEIGHTS = ("0.002", "0.125")
STEADY = ("thresh=5", "maxthresh=25", "linterm=4", "gentle=0", "weight=0.002", "limit=60")
RIO = ("in=5,12,0.1", "out=2,8,0.3", "weight=0.03", "limit=14")


def red(values: str) -> tuple[str, ...]:
    """Give the settings of RED for `drops.tcl`."""
    names = ("thresh", "maxthresh", "linterm", "wait", "gentle", "weight", "limit")
    return ("RED", *(f"{name}={value}" for name, value in zip(names, values.split(), strict=True)))


#: What is recorded arrival by arrival: name, queue and settings of ``drops.tcl``, seed of the arrivals.
DROPS = (
    ("red_wait", red("5 15 10 1 0 0.03 20"), 1),
    ("red_gentle", red("3 7 5 0 1 0.06 12"), 2),
    ("red_certain", red("3 6 1e12 0 0 0.1 8"), 3),
    ("rio_c", ("RIO-C", *RIO), 4),
    ("rio_d", ("RIO-D", *RIO), 5),
    ("wred", ("WRED", *RIO), 6),
    ("rio_c_certain", ("RIO-C", "in=5,9,1e-12", "out=2,6,1e-12", "weight=0.1", "limit=10"), 7),
)
#: Of what only the arrivals between two drops are counted: they come at a constant pace.
GAPS = (
    ("red", ("RED", "wait=0", *STEADY)),
    ("red_wait", ("RED", "wait=1", *STEADY)),
    ("dsred", ("RIO-C", "in=5,25,0.25", "out=5,25,0.25", "weight=0.002", "limit=60")),
)


def ns(script: str, settings: tuple[str, ...], given: list[str]) -> str:
    """Run a script of ns-2 on lines of input."""
    command = ["ns", str(HERE / script), *settings]
    made = subprocess.run(command, input="\n".join(given) + "\n", capture_output=True, text=True, check=True)
    return made.stdout


def average_arrivals(seed: int, busy_periods: int) -> list[int]:
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


def drop_arrivals(seed: int, arrivals: int) -> list[str]:
    """Draw arrivals of two code points and three lengths, in phases of light to heavy load and idle times."""
    draw = random.Random(seed)
    lines, now = [], 0
    for arrival in range(arrivals):
        mean = (4, 9, 7, 16, 2, 30)[arrival // 60 % 6]
        now += draw.randrange(2 * mean + 1) if draw.random() > 0.01 else draw.randrange(40 * PACKET)
        code, length = draw.choice((10, 20)), draw.choice((512, 1024, 1024, 2048))
        lines.append(f"{now} {code} {length} {draw.randrange(1, 2**31 - 1)}")
    return lines


def gaps(settings: tuple[str, ...]) -> str:
    """Count the packets between two drops, where one of 1024 bytes arrives every seven ticks."""
    draw = random.Random(0)
    given = [f"{7 * arrival} 20 1024 {draw.randrange(1, 2**31 - 1)}" for arrival in range(120_000)]
    lines = ns("drops.tcl", settings, given).splitlines()
    late = [at for at, line in enumerate(lines) if line.endswith("1") and at > 20_000]
    counted = Counter(b - a for a, b in pairwise(late))
    return "gap,times\n" + "".join(f"{gap},{counted[gap]}\n" for gap in sorted(counted))


def main() -> None:
    """Make every file."""
    for seed, weight in enumerate(WEIGHTS):
        given = [str(tick) for tick in average_arrivals(seed, 100)]
        (HERE / f"average_{weight}.csv").write_text(ns("average.tcl", (weight,), given), encoding="ascii")
    for name, settings, seed in DROPS:
        averages = "average" if settings[0] == "RED" else "in_average,out_average"
        made = ns("drops.tcl", settings, drop_arrivals(seed, 2400))
        header = f"tick,code_point,length,draw,{averages},dropped\n"
        (HERE / f"drops_{name}.csv").write_text(header + made, encoding="ascii")
    for name, settings in GAPS:
        (HERE / f"gaps_{name}.csv").write_text(gaps(settings), encoding="ascii")


if __name__ == "__main__":
    main()
