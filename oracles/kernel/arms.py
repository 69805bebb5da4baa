"""The same scenario on the kernel's TCP and in virtual time: a household, and ACKs on an asymmetric line.

perhop campaign run oracles/kernel/household.toml -o out/household -j 2
perhop campaign run oracles/kernel/acks.toml -o out/kernel-acks -j 2
cd oracles/kernel
python arms.py household ../../out/household > household.csv
python arms.py acks ../../out/kernel-acks > acks.csv
python arms.py household                                 # the tables of the README
python arms.py acks
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from compare import HERE, half, shown

HOUSEHOLD = {
    "pages": ("median page, s", 1.0, (0.2, 0.1)),
    "chat": ("median reply, s", 1.0, (0.2, 0.1)),
    "film": ("rate of the film, Mbit/s", 1e-6, (0.1, 0.0)),
    "stood": ("it stood still, s", 1.0, (0.0, 1.0)),
    "mos_down": ("MOS down", 1.0, (0.0, 0.2)),
    "mos_up": ("MOS up", 1.0, (0.0, 0.2)),
    "download": ("download, Mbit/s", 1e-6, (0.1, 0.0)),
    "upload": ("upload, Mbit/s", 1e-6, (0.1, 0.0)),
}
"""Each response: its heading, what its values are multiplied by, and the part of the kernel's mean and the
difference within which the simulator agrees (decision 0120)."""
ACKS = {
    "download": ("download, Mbit/s", 1e-6, (0.1, 0.0)),
    "upload": ("upload, Mbit/s", 1e-6, (0.1, 0.0)),
    "each": ("segments an ACK, download", 1.0, (0.05, 0.0)),
    "each_up": ("segments an ACK, upload", 1.0, (0.05, 0.0)),
}
CAMPAIGNS = {"household": (["queue"], HOUSEHOLD), "acks": (["ratio", "way"], ACKS)}
"""By campaign: its factors beside the arms, and its responses."""
ARMS = ("kernel", "simulator")


def measured(campaign: str, store: Path) -> pl.DataFrame:
    """Return what a store measured, one row for each run."""
    from perhop.experiment.store import Store

    factors, responses = CAMPAIGNS[campaign]
    keys = [*factors, "clock", "replication"]
    scalars = Store.open(store).scalars()
    return scalars.pivot("response", index=keys, values="value").sort(keys).select(*keys, *responses)


def table(campaign: str, runs: pl.DataFrame) -> Iterator[str]:
    """Give the lines of the table, means with half their 95 % intervals, and how many agree."""
    factors, responses = CAMPAIGNS[campaign]
    head = [*factors, "", *ARMS]
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    agreed = total = 0
    for cell, own in runs.group_by(factors, maintain_order=True):
        for place, (response, (heading, factor, (part, least))) in enumerate(responses.items()):
            kernel, simulator = (
                own.filter(clock=arm)[response].drop_nulls().to_numpy() * factor for arm in ARMS
            )
            apart = abs(kernel.mean() - simulator.mean())
            alike = apart <= max(half(kernel), part * kernel.mean(), least)
            agreed, total = agreed + alike, total + 1
            named = map(str, cell) if place == 0 else [""] * len(factors)
            means = [shown(kernel), shown(simulator) + ("" if alike else " **≠**")]
            yield f"| {' | '.join([*named, heading, *means])} |"
    yield ""
    yield f"- **{agreed} of {total} means agree**"


def main() -> None:
    """Print what a store measured as CSV, or the table of what is recorded."""
    campaign, *store = sys.argv[1:]
    if store:
        sys.stdout.write(measured(campaign, Path(store[0])).write_csv())
        return
    print("\n".join(table(campaign, pl.read_csv(HERE / f"{campaign}.csv"))))


if __name__ == "__main__":
    main()
