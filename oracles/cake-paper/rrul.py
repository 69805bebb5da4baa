"""The authors' measurements of CAKE and FQ-CoDel beside perhop's, quantity by quantity.

    perhop campaign run oracles/cake-paper/campaign.toml -o out/cake-paper
    python oracles/cake-paper/rrul.py out/cake-paper > oracles/cake-paper/simulated.csv
    python oracles/cake-paper/rrul.py                    # the tables of the README

Theirs are medians of runs, ours means with half their 95 % intervals.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl

HERE = Path(__file__).resolve().parent
KEYS = ["rates", "queue", "quantity"]
SCALES = {"ping": 1e3, "up": 1e-6, "down": 1e-6}
"""What perhop's units are multiplied by, by the first word of a quantity: to ms and Mbit/s."""


def simulated(store: Path) -> pl.DataFrame:
    """Return what each run of the campaign gave, in the units of `measured.csv`."""
    from perhop.experiment.store import Store

    line = pl.col("line").str.split(" ")
    scale = pl.col("response").str.split(" ").list.first().replace_strict(SCALES)
    return (
        Store.open(store)
        .scalars()
        .select(
            line.list.first().alias("rates"),
            line.list.last().alias("queue"),
            pl.col("response").alias("quantity"),
            "replication",
            (pl.col("value") * scale).round(6).alias("value"),
        )
        .sort(*KEYS, "replication")
    )


def together() -> pl.DataFrame:
    """Return both, a row for each quantity: `median`, and `mean` with `half` of its interval."""
    from perhop.stats.intervals import mean_interval

    runs = pl.read_csv(HERE / "simulated.csv").group_by(KEYS, maintain_order=True)
    found = [(*key, mean_interval(own["value"])) for key, own in runs]
    rows = [(*key, one.mean, one.half_width) for *key, one in found]
    ours = pl.DataFrame(rows, [*KEYS, "mean", "half"], orient="row")
    return pl.read_csv(HERE / "measured.csv").join(ours, on=KEYS, how="left", maintain_order="left")


def tables() -> Iterator[str]:
    """Give a table for each pair of rates: a row for each quantity, theirs and ours for each queue."""
    for (rates,), rows in together().group_by("rates", maintain_order=True):
        queues = rows["queue"].unique(maintain_order=True).to_list()
        up, down = str(rates).split("-")
        heads = " | ".join(f"{queue}: Linux | perhop" for queue in queues)
        lines = [f"| {up} Mbit/s up, {down} down | {heads} |"]
        lines.append(f"|{'---|' * (1 + 2 * len(queues))}")
        for (quantity, unit), own in rows.group_by("quantity", "unit", maintain_order=True):
            cells = []
            for queue in queues:
                if (row := own.filter(queue=queue)).is_empty():
                    cells += ["–", "–"]
                    continue
                (found,) = row.to_dicts()
                cells += [f"{found['median']:.3g}", f"{found['mean']:.3g} ± {found['half']:.1g}"]
            lines.append(f"| {quantity}, {unit} | {' | '.join(cells)} |")
        yield "\n".join(lines)


def summary() -> Iterator[str]:
    """Say for each cell how far ours is from theirs at most, in goodput and in round-trip times."""
    off = together().with_columns(
        (pl.col("mean") / pl.col("median") - 1).alias("share"),
        (pl.col("mean") - pl.col("median")).alias("off"),
    )
    for (rates, queue), rows in off.group_by("rates", "queue", maintain_order=True):
        up, down = str(rates).split("-")
        pings = rows.filter(unit="ms")["off"].abs().max()
        goodput = rows.filter(unit="Mbit/s")["share"].abs().max()
        yield f"| {up} up, {down} down | {queue} | {100 * goodput:.1f} % | {pings:.1f} ms |"


def main() -> None:
    """Print what a store measured as CSV, or the tables of what is recorded."""
    if len(sys.argv) > 1:
        sys.stdout.write(simulated(Path(sys.argv[1])).write_csv())
        return
    print("\n\n".join(tables()))
    print("\n| line, Mbit/s | queue | goodput differs by at most | ping by at most |\n|---|---|---|---|")
    print("\n".join(summary()))


if __name__ == "__main__":
    main()
