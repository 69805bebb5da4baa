"""The table of docs/acks.md: treatments of ACKs over how much slower the way up is.

perhop campaign run examples/acks/campaign.toml -o out/acks
python examples/acks/table.py out/acks > examples/acks/acks.csv
python examples/acks/table.py                                     # the table
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from perhop.experiment.store import Store
from perhop.stats.intervals import mean_interval

HERE = Path(__file__).parent
COLUMNS = {"download": ("download", 1e-6), "upload": ("upload", 1e-6), "mos": ("score", 1.0)}
"""Each response: its heading, and what its values are multiplied by."""
RATIOS = {"10": "4 Mbit/s up", "20": "2 Mbit/s up", "50": "0.8 Mbit/s up"}
CALLED = {
    "none": "none",
    "filter, conservative": "ACK filter in the FIFO, `conservative`",
    "filter, aggressive": "ACK filter in the FIFO, `aggressive`",
    "decimation": "a short queue for ACKs, in turns with the rest",
    "ACKs first": "ACKs first",
    "a shorter buffer": "a FIFO of 16 kB",
    "fq": "`fq`",
    "fq and filter": "`fq` and ACK filter",
}
KEYS = ["acks", "ratio", "replication"]


def measured(store: Path) -> pl.DataFrame:
    """Return what a store measured, one row for each run."""
    scalars = Store.open(store).scalars()
    runs = scalars.pivot("response", index=KEYS, values="value").sort(KEYS)
    return runs.select(*KEYS, *COLUMNS, "delay")


def table(runs: pl.DataFrame) -> Iterator[str]:
    """Give the lines of the table: means, with half their 95 % intervals."""
    head = ["", *(f"{ratio}: {COLUMNS[one][0]}" for ratio in RATIOS.values() for one in COLUMNS)]
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for treatment, called in CALLED.items():
        cells = []
        for ratio in RATIOS:
            own = runs.filter(pl.col("acks") == treatment, pl.col("ratio").cast(pl.String) == ratio)
            for response, (_, factor) in COLUMNS.items():
                found = mean_interval(own[response].to_numpy() * factor)
                cells.append(f"{found.mean:.3g} ± {found.half_width:.1g}")
        yield f"| {' | '.join([called, *cells])} |"


def main() -> None:
    """Print what a store measured as CSV, or the table of what is recorded."""
    if len(sys.argv) > 1:
        sys.stdout.write(measured(Path(sys.argv[1])).write_csv())
        return
    print("\n".join(table(pl.read_csv(HERE / "acks.csv"))))


if __name__ == "__main__":
    main()
