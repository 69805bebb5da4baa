"""Kernel CUBIC and BBR through perhop's queues, the simulator's CUBIC beside them.

perhop campaign run oracles/kernel/queues.toml -o out/kernel-queues -j 3
cd oracles/kernel
python queues.py ../../out/kernel-queues > queues.csv
python queues.py                                 # the table of the README
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from compare import HERE, shown

COLUMNS = {
    "goodput": ("goodput, Mbit/s", 1e-6),
    "loss": ("loss, %", 100),
    "wait": ("wait in the queue, ms", 1e3),
    "delay": ("delay, 95 %, ms", 1e3),
    "fairness": ("fairness", 1),
}
"""Each response: its heading, and what its values are multiplied by."""
QUEUES = {
    "fifo": "FIFO",
    "codel": "CoDel",
    "cobalt": "COBALT",
    "pie": "PIE",
    "fq-codel": "FQ-CoDel",
    "dualpi2": "DualPI2",
    "cake": "CAKE",
}
SENDERS = {
    "simulator-cubic": "simulator, CUBIC",
    "kernel-cubic": "kernel, CUBIC",
    "kernel-bbr": "kernel, BBR",
}
KEYS = ["queue", "flows", "sender", "replication"]


def measured(store: Path) -> pl.DataFrame:
    """Return what a store of `queues.toml` measured, one row for each run."""
    from perhop.experiment.store import Store

    scalars = Store.open(store).scalars()
    return scalars.pivot("response", index=KEYS, values="value").sort(KEYS).select(*KEYS, *COLUMNS)


def table(runs: pl.DataFrame) -> Iterator[str]:
    """Give the lines of the table: means with half their 95 % intervals."""
    head = ["queue", "flows", "sender", *(heading for heading, _ in COLUMNS.values())]
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for queue, called in QUEUES.items():
        for flows in (1, 4):
            for sender, name in SENDERS.items():
                own = runs.filter(queue=queue, flows=flows, sender=sender)
                if own.is_empty():
                    continue
                values = [
                    "–" if response == "fairness" and flows == 1 else shown(own[response].to_numpy() * factor)
                    for response, (_, factor) in COLUMNS.items()
                ]
                yield f"| {' | '.join([called, str(flows), name, *values])} |"


def main() -> None:
    """Print what a store measured as CSV, or the table of what is recorded."""
    if len(sys.argv) > 1:
        sys.stdout.write(measured(Path(sys.argv[1])).write_csv())
        return
    for line in table(pl.read_csv(HERE / "queues.csv")):
        print(line)


if __name__ == "__main__":
    main()
