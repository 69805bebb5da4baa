"""Kernel CUBIC and BBR through perhop's queues, the simulator's beside them.

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
from compare import HERE, half, shown

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
    "simulator-bbr": "simulator, BBR",
    "kernel-bbr": "kernel, BBR",
}
BOUNDS = {
    "goodput": (0.03, 0),
    "loss": (0.2, 0.2),
    "wait": (0.15, 1),
    "delay": (0.1, 2),
    "fairness": (0, 0.05),
}
"""Up to which part of the kernel's mean, and which difference, simulated BBR agrees (decision 0116)."""
FLOWS = (1, 4)
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
        for flows in FLOWS:
            for sender, name in SENDERS.items():
                own = runs.filter(queue=queue, flows=flows, sender=sender)
                if own.is_empty():
                    continue
                values = [
                    "–" if response == "fairness" and flows == 1 else shown(own[response].to_numpy() * factor)
                    for response, (_, factor) in COLUMNS.items()
                ]
                yield f"| {' | '.join([called, str(flows), name, *values])} |"


def agreement(runs: pl.DataFrame) -> Iterator[str]:
    """Say in how many cells simulated BBR agrees with the kernel's, and in which not, by response."""
    agreed, total = 0, 0
    for response, (heading, _) in COLUMNS.items():
        # one flow alone is always fair
        cells = [(queue, flows) for queue in QUEUES for flows in FLOWS if response != "fairness" or flows > 1]
        found = [_disagreement(runs, response, *cell) for cell in cells]
        others = [one for one in found if one]
        agreed, total = agreed + len(cells) - len(others), total + len(cells)
        line = f"- {heading.split(',')[0]}: {len(cells) - len(others)} of {len(cells)} agree"
        yield line + "".join(f"; not {one}" for one in others)
    yield ""
    yield f"- **{agreed} of {total} means agree**"


def _disagreement(runs: pl.DataFrame, response: str, queue: str, flows: int) -> str:
    """Name a cell with both arms' means where these do not agree."""
    own = runs.filter(queue=queue, flows=flows)
    kernel, simulator = (
        own.filter(sender=f"{arm}-bbr")[response].to_numpy() * COLUMNS[response][1]
        for arm in ("kernel", "simulator")
    )
    part, least = BOUNDS[response]
    apart = abs(float(kernel.mean() - simulator.mean()))
    if apart <= max(half(kernel), part * float(kernel.mean()), least):
        return ""
    return f"{QUEUES[queue]} with {flows} ({shown(simulator)}, kernel {shown(kernel)})"


def main() -> None:
    """Print what a store measured as CSV, or the table of what is recorded."""
    if len(sys.argv) > 1:
        sys.stdout.write(measured(Path(sys.argv[1])).write_csv())
        return
    recorded = pl.read_csv(HERE / "queues.csv")
    for line in table(recorded):
        print(line)
    print()
    for line in agreement(recorded):
        print(line)


if __name__ == "__main__":
    main()
