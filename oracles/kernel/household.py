"""A household on the kernel's TCP, the simulator's beside it.

perhop campaign run oracles/kernel/household.toml -o out/household -j 2
cd oracles/kernel
python household.py ../../out/household > household.csv
python household.py                                 # the table of the README
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from compare import HERE, half, shown

COLUMNS = {
    "pages": ("median page, s", 1.0, (0.2, 0.1)),
    "chat": ("median reply, s", 1.0, (0.2, 0.1)),
    "film": ("rate of the film, Mbit/s", 1e-6, (0.1, 0.0)),
    "stood": ("it stood still, s", 1.0, (0.0, 1.0)),
    "mos_down": ("MOS down", 1.0, (0.0, 0.2)),
    "mos_up": ("MOS up", 1.0, (0.0, 0.2)),
    "download": ("download, Mbit/s", 1e-6, (0.1, 0.0)),
    "upload": ("upload, Mbit/s", 1e-6, (0.1, 0.0)),
}
"""Each response: its heading, what its values are multiplied by, and its bounds (decision 0120): the part of
the kernel's mean, and the difference, within which the simulator agrees."""
QUEUES = {"fifo": "a FIFO of 256 kB", "fq": "`fq`"}
ARMS = ("kernel", "simulator")
KEYS = ["queue", "clock", "replication"]


def measured(store: Path) -> pl.DataFrame:
    """Return what a store of `household.toml` measured, one row for each run."""
    from perhop.experiment.store import Store

    scalars = Store.open(store).scalars()
    return scalars.pivot("response", index=KEYS, values="value").sort(KEYS).select(*KEYS, *COLUMNS)


def table(runs: pl.DataFrame) -> Iterator[str]:
    """Give the lines of the table, means with half their 95 % intervals, and how many agree."""
    head = ["", *(f"{called}, {arm}" for called in QUEUES.values() for arm in ARMS)]
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    agreed = 0
    for response, (heading, factor, bounds) in COLUMNS.items():
        cells = []
        for queue in QUEUES:
            kernel, simulator = (
                runs.filter(queue=queue, clock=arm)[response].drop_nulls().to_numpy() * factor for arm in ARMS
            )
            alike = abs(kernel.mean() - simulator.mean()) <= max(
                half(kernel), bounds[0] * kernel.mean(), bounds[1]
            )
            agreed += alike
            cells += [shown(kernel), shown(simulator) + ("" if alike else " **≠**")]
        yield f"| {' | '.join([heading, *cells])} |"
    yield ""
    yield f"- **{agreed} of {len(COLUMNS) * len(QUEUES)} means agree**"


def main() -> None:
    """Print what a store measured as CSV, or the table of what is recorded."""
    if len(sys.argv) > 1:
        sys.stdout.write(measured(Path(sys.argv[1])).write_csv())
        return
    print("\n".join(table(pl.read_csv(HERE / "household.csv"))))


if __name__ == "__main__":
    main()
