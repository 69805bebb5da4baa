"""The kernel's TCP over veth and tc: an arm that shares nothing with perhop but the cells in ``tcp.toml``.

``python oracles/kernel/rig/rig.py [OUT.csv] [--jobs 4] [--replications 10] [--cells 10M-20ms]`` runs every
cell and appends a row for each run; rows that are there are not made again. It needs root, a C compiler,
iproute2 and ethtool.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

HERE = Path(__file__).resolve().parent
CELLS = HERE.parent / "tcp.toml"
START_S = 5
"""What is called the start of a run."""
JITTER_S = 0.5
"""Flows open within it, as ``start_jitter`` of the scenario says."""
BURST = (44, 1512)
"""Packets and octets of a burst: what a window of 65,535 octets holds."""
NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
COLUMNS = (
    "cell", "replication", "goodput_bit_s", "loss", "timeouts", "srtt_s", "fairness", "start_goodput_bit_s",
    "start_loss", "start_timeouts", "first_ssthresh", "dropped", "forwarded", "late_p50_us", "late_p99_us",
    "late_p999_us", "late_max_us",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A bottleneck, the flows that share it, and how long they are watched."""

    name: str
    rate_bit_s: int
    round_trip_us: int
    queue_packets: int
    flows: int
    control: str
    warmup_s: float
    duration_s: float


def cells(path: Path = CELLS) -> list[Cell]:
    """Return the cells: the levels of the factor ``cell``, whose overrides say all."""
    factors = tomllib.loads(path.read_text())["factor"]
    levels = next(factor["levels"] for factor in factors if factor["name"] == "cell")
    return [_cell(name, dict(one.split("=", 1) for one in overrides)) for name, overrides in levels.items()]


def _cell(name: str, said: dict[str, str]) -> Cell:
    def number(path: str, unit: str) -> float:
        return float(said[path].removesuffix(unit))

    return Cell(
        name=name,
        rate_bit_s=round(number("link.r-d.rate", "Mbit/s") * 1e6),
        round_trip_us=round(2000 * number("link.r-d.delay", "ms")),
        queue_packets=round(number("port.r-d.class.all.queue.limit", "p")),
        flows=round(number("flow.bulk.count", "")),
        control=said["flow.bulk.tcp.cc"],
        warmup_s=number("run.warmup", "s"),
        duration_s=number("run.duration", "s"),
    )


def compiled(folder: Path) -> Path:
    """Compile the two programs into a folder, and return it."""
    for name in ("flows", "delay"):
        subprocess.run(["cc", "-O2", "-o", folder / name, HERE / f"{name}.c"], check=True)
    return folder


def _bed(cell: Cell, programs: Path, *words: object) -> list[Any]:
    """Send over a cell's network; return what the sender, the wire and the bottleneck's queue say."""
    bottleneck = (cell.rate_bit_s, cell.queue_packets, cell.round_trip_us)
    done = subprocess.run(
        [*NAMESPACES, "bash", *map(str, (HERE / "bed.sh", programs, *bottleneck, *words))],
        capture_output=True, text=True, check=False, timeout=cell.duration_s + 60,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{cell.name}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def dropped_of_burst(cell: Cell, programs: Path) -> int:
    """Return how many packets of a burst find no place in a cell's queue."""
    _, _, queues = _bed(cell, programs, "burst", *BURST)
    return int(queues[0]["drops"])


def run(cell: Cell, replication: int, programs: Path) -> dict[str, Any]:
    """Run a cell once, and return its row; flows open at other moments in each replication."""
    times = (START_S, cell.warmup_s, cell.duration_s, JITTER_S)
    words = ("send", cell.flows, cell.control, *times, 1000 + replication)
    flows, wire, queues = _bed(cell, programs, *words)
    row = {"cell": cell.name, "replication": replication, **_measures(cell, flows)}
    row["first_ssthresh"] = min(flow["start"]["ssthresh"] for flow in flows)
    row["dropped"] = queues[0]["drops"]
    row["forwarded"] = wire["forward"]
    return row | {name: wire[name] for name in COLUMNS if name in wire}


def _measures(cell: Cell, flows: list[dict[str, Any]]) -> dict[str, float]:
    zero = dict.fromkeys(flows[0]["end"], 0)
    started = [(zero, flow["start"]) for flow in flows]
    steady = [(flow["warmup"], flow["end"]) for flow in flows]

    def gained(parts: list[tuple[dict[str, int], dict[str, int]]], name: str) -> int:
        return sum(after[name] - before[name] for before, after in parts)

    def part(parts: list[tuple[dict[str, int], dict[str, int]]], span_s: float) -> tuple[float, float, int]:
        loss = gained(parts, "retransmissions") / max(1, gained(parts, "segments"))
        return 8 * gained(parts, "acked") / span_s, loss, gained(parts, "timeouts")

    goodput, loss, timeouts = part(steady, cell.duration_s - cell.warmup_s)
    each = [after["acked"] - before["acked"] for before, after in steady]
    start = part(started, START_S)
    return {
        "goodput_bit_s": goodput,
        "loss": loss,
        "timeouts": timeouts,
        "srtt_s": sum(flow["srtt_s"] for flow in flows) / len(flows),
        "fairness": sum(each) ** 2 / (len(each) * sum(one * one for one in each)),
        "start_goodput_bit_s": start[0],
        "start_loss": start[1],
        "start_timeouts": start[2],
    }


def _there(path: Path) -> set[tuple[str, int]]:
    if not path.exists():
        return set()
    with path.open() as file:
        return {(row["cell"], int(row["replication"])) for row in csv.DictReader(file)}


def print_bursts() -> None:
    """Print what each queue among the cells drops of a burst, as CSV."""
    bottlenecks = {(cell.rate_bit_s, cell.queue_packets): cell for cell in cells()}
    print("rate_bit_s,queue_packets,dropped")
    with tempfile.TemporaryDirectory() as folder:
        programs = compiled(Path(folder))
        for bottleneck, cell in sorted(bottlenecks.items()):
            print(*bottleneck, dropped_of_burst(cell, programs), sep=",")


def main() -> int:
    """Run what is missing."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("out", type=Path, nargs="?", default=HERE.parent / "rig.csv")
    asked.add_argument("--jobs", type=int, default=4, help="how many run side by side")
    asked.add_argument("--replications", type=int, default=10)
    asked.add_argument("--campaign", type=Path, default=CELLS, help="the file that has the cells")
    asked.add_argument("--cells", default="", help="a regular expression that their names match")
    asked.add_argument("--bursts", action="store_true", help="print what queues drop of a burst, no more")
    words = asked.parse_args()
    if words.bursts:
        print_bursts()
        return 0
    done = _there(words.out)
    todo = [
        (cell, replication)
        for replication in range(words.replications)
        for cell in cells(words.campaign)
        if re.search(words.cells, cell.name) and (cell.name, replication) not in done
    ]
    # cells side by side are others each time, so that none is always beside the same
    random.Random(len(todo)).shuffle(todo)
    lock = Lock()
    failed = 0
    with tempfile.TemporaryDirectory() as folder, words.out.open("a", newline="") as file:
        programs = compiled(Path(folder))
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if file.tell() == 0:
            writer.writeheader()

        def one(asked: tuple[Cell, int]) -> None:
            nonlocal failed
            try:
                row = run(*asked, programs)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(error, file=sys.stderr, flush=True)
                return
            with lock:
                writer.writerow(row)
                file.flush()

        with ThreadPoolExecutor(words.jobs) as pool:
            list(pool.map(one, todo))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
