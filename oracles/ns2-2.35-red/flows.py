"""Two greedy flows through a RED queue, in ns-2.35 and in perhop with its conventions.

``python flows.py [SEEDS]`` prints means and 95 % intervals. It needs `ns` (the Debian package ns2) and
perhop, and takes a minute for four seeds.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from perhop import Scenario

HERE = Path(__file__).parent
SECONDS = 120
SEEDS = 20
#: Student's t, two-sided 95 %, by degrees of freedom.
T = {3: 3.182, 4: 2.776, 7: 2.365, 9: 2.262, 19: 2.093}
RECOVERY = {"Newreno": "newreno", "Reno": "reno"}
CURVE = 'min_th = "5p", max_th = "15p", max_p = 0.1'
RED = f'kind = "red", {CURVE}'
RIO = f'kind = "rio", colors = {{ BE = "green" }}, green = {{ {CURVE} }}, red = {{ {CURVE} }}'
#: What is compared: what ns-2 has, and what perhop has for it.
QUEUES = {
    "RED, wait_ 0": (("RED", "0"), RED, 'like = "ns2-red", wait = false'),
    "RED, wait_ 1": (("RED", "1"), RED, 'like = "ns2-red"'),
    "dsRED": (("dsRED", "0"), RIO, 'like = "dsred"'),
    "the paper's": (None, RED, 'like = "floyd1993"'),
}
TEXT = """
[run]
seed = {seed}
duration = "{seconds}s"
interval = "10ms"
packet_size = "1000B"
{hosts}
[[node]]
name = "left"
kind = "router"
[[node]]
name = "right"
kind = "router"
[[link]]
ends = ["left", "right"]
rate = "1.5Mbit/s"
delay = "20ms"
{links}
[[port]]
at = "left"
to = "right"
[[port.class]]
name = "all"
queue = {{ {queue}, limit = "60p", w_q = 0.002, mean_packet = "1000B", conventions = {{ {conventions} }} }}
{flows}
"""
LINK = '[[link]]\nends = ["{0}", "{1}"]\nrate = "10Mbit/s"\ndelay = "{2}"\n'
FLOW = """
[[flow]]
name = "f{0}"
from = "s{0}"
to = "d{0}"
start_jitter = "1s"
[flow.tcp]
profile = "ns2"
recovery = "{1}"
mss = "960B"
header = "40B"
window = "61440B"
"""


class Run(NamedTuple):
    """What a run gave."""

    waiting: float
    dropped_percent: float
    timeouts: float
    mbit_s: float


def of_ns2(tcp: str, queue: tuple[str, str], seed: int) -> Run:
    """Run ns-2."""
    command = ["ns", str(HERE / "flows.tcl"), tcp, *queue, str(seed), str(SECONDS)]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    waiting, dropped, timeouts, packets = map(float, made.split())
    return Run(waiting, 100 * dropped, timeouts, packets * 8e-3 / SECONDS)


def of_perhop(tcp: str, queue: str, conventions: str, seed: int) -> Run:
    """Run perhop."""
    delays = (("2ms", "4ms"), ("3ms", "5ms"))
    text = TEXT.format(
        seed=seed,
        seconds=SECONDS,
        queue=queue,
        conventions=conventions,
        hosts="".join(f'[[node]]\nname = "{end}{i}"\n' for i in (0, 1) for end in "sd"),
        links="".join(
            LINK.format(f"s{i}", "left", near) + LINK.format("right", f"d{i}", far)
            for i, (near, far) in enumerate(delays)
        ),
        flows="".join(FLOW.format(i, RECOVERY[tcp]) for i in (0, 1)),
    )
    result = Scenario(text.encode(), "flows.py").run()
    path = "port.left-right.class.all"
    queues = result.queues.filter(result.queues["path"] == path)
    series = result.series
    waiting = series.filter((series["path"] == path) & (series["quantity"] == "backlog_packets"))["value"]
    dropped = queues["dropped_packets"].sum() / queues["in_packets"].sum()
    delivered = result.flows["delivered_bytes"].sum() / 960 * 8e-3 / SECONDS
    return Run(float(waiting.mean()), 100 * dropped, float(result.flows["timeouts"].sum()), delivered)


def row(name: str, runs: list[Run]) -> str:
    """Give means and 95 % intervals."""
    cells = []
    for values, digits in zip(zip(*runs, strict=True), (3, 3, 1, 3), strict=True):
        half = T[len(runs) - 1] * statistics.stdev(values) / len(runs) ** 0.5
        cells.append(f"{statistics.mean(values):.{digits}f} ± {half:.{digits}f}")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    seeds = range(1, 1 + (int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS))
    print("| TCP, conventions | in | packets waiting | dropped, % | time-outs | Mbit/s |")
    print("|---|---|---|---|---|---|")
    for tcp in RECOVERY:
        for name, (theirs, queue, conventions) in QUEUES.items():
            if theirs:
                print(row(f"{tcp}, {name} | ns-2", [of_ns2(tcp, theirs, seed) for seed in seeds]))
            ours = [of_perhop(tcp, queue, conventions, seed) for seed in seeds]
            print(row(f"{tcp}, {name} | perhop", ours), flush=True)


if __name__ == "__main__":
    main()
