"""Kernel and simulator, cell by cell: differences with intervals, and whether they are equivalent.

    perhop campaign run oracles/kernel/tcp.toml -o out/kernel-tcp -j 5
    python oracles/kernel/compare.py out/kernel-tcp > oracles/kernel/tcp.csv     # what the store measured
    python oracles/kernel/compare.py oracles/kernel/tcp.csv                      # the table of the README

Two arms are independent, so a difference has Welch's interval. It is equivalence (Schuirmann 1987) when the
90 % interval of the difference, as a part of the mean on the kernel, lies within the margin: 3 % of goodput,
15 % of the rate of retransmissions. How many runs of each arm show that with 90 % power, if both are alike,
follows from the spread of those there are.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from scipy import stats

KEYS = ("flows", "queue", "cc")
MARGINS = {"goodput": 0.03, "loss": 0.15}
SCALES = {"goodput": 1e-6, "loss": 100, "timeouts": 1, "srtt": 1e3}
UNITS = {"goodput": "Mbit/s", "loss": "%", "timeouts": "", "srtt": "ms"}


def measured(store: Path) -> pl.DataFrame:
    """Return what a store measured, one row for each run."""
    from perhop.experiment.store import Store

    scalars = Store.open(store).scalars()
    return (
        scalars.pivot("response", index=["clock", *KEYS, "replication"], values="value")
        .sort("clock", *KEYS, "replication")
        .select("clock", *KEYS, "replication", *SCALES)
    )


def rows(runs: pl.DataFrame) -> Iterator[list[str]]:
    """Give the lines of the table: a cell each, with each response on both arms."""
    for cell, own in runs.group_by(KEYS, maintain_order=True):
        line = [*map(str, cell)]
        for response, scale in SCALES.items():
            arms = [own.filter(clock=clock)[response].to_numpy() * scale for clock in ("kernel", "simulator")]
            line += [f"{arm.mean():.3g} ± {_half(arm):.2g}" for arm in arms]
            if response in MARGINS:
                line.append(_verdict(*arms, MARGINS[response]))
        yield line


def _half(values: pl.Series) -> float:
    return float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))


def _verdict(kernel: pl.Series, simulator: pl.Series, margin: float) -> str:
    """Say how far the simulator is from the kernel, and whether that is within the margin."""
    found = stats.ttest_ind(simulator, kernel, equal_var=False).confidence_interval(0.90)
    mean = float(kernel.mean())
    low, high = found.low / mean, found.high / mean
    share = (float(simulator.mean()) - mean) / mean
    spread = math.sqrt((kernel.var(ddof=1) + simulator.var(ddof=1)) / 2) / mean
    needed = math.ceil(2 * ((stats.norm.ppf(0.95) + stats.norm.ppf(0.95)) * spread / margin) ** 2) + 1
    if -margin < low and high < margin:
        word = "equivalent"
    elif low > margin or high < -margin:
        word = "differs"
    else:
        word = f"open (n = {needed})" if needed > len(kernel) else "open, at the margin"
    return f"{share:+.1%} ({low:+.1%} to {high:+.1%}): {word}"


def main() -> None:
    """Print what a store measured as CSV, or the table of a CSV."""
    path = Path(sys.argv[1])
    if path.is_dir():
        sys.stdout.write(measured(path).write_csv())
        return
    head = ["flows", "queue, BDP", "cc"]
    for response, unit in UNITS.items():
        name = f"{response}, {unit}" if unit else response
        head += [f"{name}: kernel", "simulator", *(["difference"] if response in MARGINS else [])]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    runs = pl.read_csv(path, schema_overrides={"flows": pl.String, "queue": pl.String})
    for line in rows(runs.sort(*KEYS)):
        print(f"| {' | '.join(line)} |")


if __name__ == "__main__":
    main()
