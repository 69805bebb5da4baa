"""Three arms, cell by cell: the kernel behind veth and tc (the rig), the simulator, the kernel behind perhop.

    perhop campaign run oracles/kernel/tcp.toml -o out/kernel-tcp -j 5           # simulator and live arm
    python oracles/kernel/compare.py out/kernel-tcp > oracles/kernel/tcp.csv     # what the store measured
    python oracles/kernel/rig/rig.py oracles/kernel/rig.csv                      # the rig
    python oracles/kernel/compare.py                                             # the tables of the README

The rig shares nothing with perhop, so it is what the others are held against. An arm *agrees* in a cell
when its mean lies in the 95 % interval of the rig's, or within 10 % of the rig's mean. Where it does not, it
*differs* if Welch's test tells the two apart at 1 %, and the cell is *open* else. Runs of the rig whose
frames were late are left out.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats

HERE = Path(__file__).resolve().parent
FILES = {"tcp": "rig.csv", "bbr": "bbr-rig.csv"}
"""Each campaign, and what the rig gave in its cells."""
ARMS = {"simulator": "simulator", "kernel": "live arm"}
SCALES = {"goodput": 1e-6, "loss": 100, "timeouts": 1}
UNITS = {"goodput": "Mbit/s", "loss": "%", "timeouts": ""}
NAMES = {"timeouts": "time-outs"}
TABLES = {"steady": ("loss", "timeouts", "goodput"), "start": ("goodput", "loss")}
RIG = {"goodput_bit_s": "goodput", "loss": "loss", "timeouts": "timeouts"}
"""The rig's columns, which begin with ``start_`` where they are of the start."""
TOLERANCE = 0.10
LATE_P99_US, LATE_MAX_US = 500, 100_000
ROUNDING = 1e-12
FEW = 5
"""Where the rig has fewer time-outs on average they are not judged: a share of them says nothing."""


def measured_by_cell(store: Path, factor: str) -> pl.DataFrame:
    """Return the responses of a store, one row for each run, by a factor, part and cell."""
    from perhop.experiment.store import Store

    scalars = Store.open(store).scalars()
    keys = [name for name in (factor, "part", "cell", "replication") if name in scalars.columns]
    return scalars.pivot("response", index=keys, values="value").sort(keys)


def measured(store: Path) -> pl.DataFrame:
    """Return what a store of `tcp.toml` measured, one row for each run."""
    return measured_by_cell(store, "clock").select("clock", "part", "cell", "replication", *SCALES)


def rig(path: Path) -> tuple[pl.DataFrame, int]:
    """Return the rig's runs in the same form, and how many were late and are left out."""
    every = pl.read_csv(path)
    runs = every.filter(pl.col("late_p99_us") <= LATE_P99_US, pl.col("late_max_us") <= LATE_MAX_US)
    parts = []
    for part, before in (("steady", ""), ("start", "start_")):
        columns = {
            f"{before}goodput_bit_s": "goodput",
            f"{before}loss": "loss",
            f"{before}timeouts": "timeouts",
        }
        values = [pl.col(old).cast(pl.Float64).alias(new) for old, new in columns.items()]
        parts.append(runs.select("cell", "replication", *values, part=pl.lit(part)))
    return pl.concat(parts).with_columns(clock=pl.lit("rig")), every.height - runs.height


def arms_of(runs: pl.DataFrame) -> dict[str, str]:
    """Return the arms beside the rig that there are runs of, with their names."""
    return {clock: name for clock, name in ARMS.items() if clock in runs["clock"]}


def rows(runs: pl.DataFrame, part: str) -> Iterator[tuple[list[str], dict[tuple[str, str], str]]]:
    """Give the lines of a table, a cell each, and its verdicts by response and arm."""
    arms = arms_of(runs)
    for (cell,), own in runs.filter(part=part).group_by("cell", maintain_order=True):
        line, verdicts = [str(cell).replace("-", " ")], {}
        for response in TABLES[part]:
            found = {
                clock: own.filter(clock=clock)[response].to_numpy() * SCALES[response]
                for clock in ("rig", *arms)
            }
            line.append(shown(found["rig"]))
            for clock in arms:
                verdict = _verdict(response, found["rig"], found[clock])
                verdicts[response, clock] = verdict
                mark = {"open": " ?", "differs": " **≠**"}.get(verdict, "")
                line.append(f"{shown(found[clock])}{mark}")
        yield line, verdicts


def shown(values: npt.ArrayLike) -> str:
    """Return a mean with half its 95 % interval."""
    return f"{np.mean(values):.3g} ± {half(values):.2g}"


def half(values: npt.ArrayLike) -> float:
    """Return half the 95 % interval of a mean, without what is left of equal values by rounding."""
    from perhop.stats.intervals import mean_interval

    found = mean_interval(values)
    return found.half_width if found.half_width > ROUNDING * abs(found.mean) else 0.0


def _verdict(response: str, rig: np.ndarray, arm: np.ndarray) -> str:
    mean, off = rig.mean(), abs(arm.mean() - rig.mean())
    if response == "timeouts" and mean < FEW:
        return ""
    if off <= max(half(rig), TOLERANCE * mean):
        return "agrees"
    return "differs" if stats.ttest_ind(rig, arm, equal_var=False).pvalue < 0.01 else "open"


def tables(runs: pl.DataFrame) -> Iterator[str]:
    """Give both tables and what they come to."""
    arms = arms_of(runs)
    for part, responses in TABLES.items():
        head = [f"cell, {part}"]
        for response in responses:
            unit = f", {UNITS[response]}" if UNITS[response] else ""
            head += [f"{NAMES.get(response, response)}{unit}: rig", *arms.values()]
        yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
        verdicts = []
        for line, found in rows(runs, part):
            yield f"| {' | '.join(line)} |"
            verdicts.append(found)
        yield ""
        for response in responses:
            for clock, name in arms.items():
                words = [found[response, clock] for found in verdicts if found[response, clock]]
                counts = ", ".join(
                    _counted(words.count(word), word) for word in ("agrees", "open", "differs")
                )
                yield f"- {NAMES.get(response, response)}, {part}, {name}: of {len(words)} cells {counts}"
        yield ""


def _counted(count: int, verdict: str) -> str:
    """Return `1 agrees`, `2 agree`, `1 is open`, `2 are open`."""
    if verdict == "open":
        return f"{count} {'is' if count == 1 else 'are'} open"
    return f"{count} {verdict if count == 1 else verdict.removesuffix('s')}"


def main() -> None:
    """Print what stores measured as CSV, or the tables of what is recorded."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("stores", type=Path, nargs="*")
    asked.add_argument("--of", choices=FILES, default="tcp", help="whose tables")
    words = asked.parse_args()
    if words.stores:
        sys.stdout.write(pl.concat(map(measured, words.stores)).write_csv())
        return
    factors = tomllib.loads((HERE / f"{words.of}.toml").read_text())["factor"]
    order = next(list(factor["levels"]) for factor in factors if factor["name"] == "cell")
    found, late = rig(HERE / FILES[words.of])
    print(f"Runs of the rig that are left out, since frames were late: {late}.\n")
    runs = pl.concat([found, pl.read_csv(HERE / f"{words.of}.csv")], how="diagonal_relaxed")
    for line in tables(runs.sort(pl.col("cell").cast(pl.Enum(order)))):
        print(line)


if __name__ == "__main__":
    main()
