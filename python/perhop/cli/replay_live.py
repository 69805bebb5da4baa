"""Compare a live run with another of the same scenario: by intervals, for no two are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.cli.exit import ExitCode, UsageError
from perhop.cli.output import print_json
from perhop.cli.progress import Progress
from perhop.run import summary
from perhop.say.document import MOST_ROWS, Table
from perhop.say.terminal import show
from perhop.stats.intervals import Interval, mean_interval

if TYPE_CHECKING:
    from pathlib import Path

    from perhop.run.record import StoredRun
    from perhop.scenario.scenario import Description

_BATCHES = 10
"""Parts of equal length, whose means are taken for independent values."""
_LEVEL = 0.99
_SILENT = Interval(0.0, 0.0, 0.0, _BATCHES)
"""The rate of a class or link that carried nothing."""
_ALIKE = 1e-3
"""Share of the first mean within which two agree, however narrow their intervals."""
_QUANTITIES = {"goodput_bit_s": "goodput", "throughput_bit_s": "throughput", "utilization": "utilization"}


def compare(run: Path, stored: StoredRun, as_json: bool) -> int:
    """Run again on real packets, print both with their intervals, and return the exit status."""
    from perhop.run.run import run as again

    meaning = stored.scenario().describe()
    recorded = _intervals(stored.table("series"), meaning)
    if not recorded:
        hint = f"after the warm-up there must be {_BATCHES} intervals at least (run.duration, run.interval)"
        raise UsageError(f"{run}: too short to be compared", hint)
    with Progress(f"running {run} again") as progress:
        result = again(stored.scenario(), progress=progress.update)
    replayed = _intervals(result.series, meaning)
    every = sorted(recorded.keys() | replayed.keys())
    rows = [(what, recorded.get(what, _SILENT), replayed.get(what, _SILENT)) for what in every]
    agree = all(_meet(one, other) for _, one, other in rows) and not result.invariants
    if as_json:
        compared: list[dict[str, Any]] = [
            {"what": what, "recorded": vars(one), "replayed": vars(other), "agree": _meet(one, other)}
            for what, one, other in rows
        ]
        print_json({"run": str(run), "agree": agree, "compared": compared, "invariants": result.invariants})
    else:
        title = f"{run} and a run of now, after the warm-up: 99 % intervals, of {_BATCHES} parts of the time"
        cells = [
            (what, _interval(one), _interval(other), "yes" if _meet(one, other) else "no")
            for what, one, other in rows
        ]
        show(Table(title, ("what", "recorded", "now", "agree"), cells, most=MOST_ROWS))
        for law in result.invariants:
            print(f"the run of now is not valid: {law}")
    return ExitCode.DONE if agree else ExitCode.DIFFERS


def _intervals(series: pl.DataFrame, meaning: Description) -> dict[str, Interval]:
    """Return the rate of each class and the utilization of each used link, with intervals."""
    class_of = summary.class_of(meaning)
    of = pl.col("path").replace_strict(class_of, default=pl.col("path"))
    rows = series.filter(
        pl.col("quantity").is_in(list(_QUANTITIES)), pl.col("time_s") > meaning.run.warmup_s
    ).with_columns(of=of)
    sums = rows.group_by("of", "quantity", "time_s", maintain_order=True).agg(pl.col("value").sum())
    found = {}
    for (name, quantity), own in sums.sort("time_s").group_by("of", "quantity", maintain_order=True):
        values = own["value"].to_numpy()
        size = len(values) // _BATCHES
        if size and values.mean() > 0:
            batches = values[: size * _BATCHES].reshape(_BATCHES, size).mean(axis=1)
            found[f"{name}, {_QUANTITIES[str(quantity)]}"] = mean_interval(batches, _LEVEL)
    return dict(sorted(found.items()))


def _meet(one: Interval, other: Interval) -> bool:
    alike = abs(one.mean - other.mean) <= _ALIKE * one.mean
    return alike or (one.low <= other.high and other.low <= one.high)


def _interval(interval: Interval) -> str:
    return f"{interval.mean:.4g} ± {interval.half_width:.2g}"
