"""Figures of classes on a run's page: goodput, delays, and the waits in queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from perhop.plot import by_class, cdf, series
from perhop.report.figure import Figure
from perhop.run import summary
from perhop.say.document import MOST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perhop.run.record import StoredRun
    from perhop.scenario.scenario import Description

_MOST_ROWS = 12
_SHARES = (1, *range(5, 1001, 5))
"""Thousandths at which distributions over members are drawn."""
# what is so many times shorter than the longest would not be seen beside it
_NOT_SEEN = 100.0


def figures(run: StoredRun, meaning: Description) -> Iterator[Figure]:
    """Go through the figures by class, of the quantities that were measured."""
    classes = summary.class_of(meaning)
    if len(set(classes.values())) > 1:

        def table() -> pl.DataFrame:
            return series.by_class(run.tables["series"], classes)

        yield Figure(
            "class-goodput",
            series.CLASSES.title,
            series.CLASSES.caption + series.thinned_in_words(run.tables["series"]),
            lambda: series.draw(table(), series.CLASSES, meaning.run.warmup_s),
            table,
            "classes",
        )
    yield from _delays(run.table("classes"))
    yield from _distributions(run.table("classes"))
    yield from _members(run)
    yield from _waits(run.table("queues"))


def _delays(classes: pl.DataFrame) -> Iterator[Figure]:
    measured = classes.filter(pl.col("delay_p50_s").is_not_null())
    names = ("class", *(f"delay_{name}_s" for name in ("min", "p50", "max", "p95", "p99", "p999")))
    rows = [
        by_class.ClassRow(label, low, middle, high, marks)
        for label, low, middle, high, *marks in measured.select(names).head(_MOST_ROWS).iter_rows()
    ]
    if rows:
        title = "One-way delay by class"
        yield Figure(
            "class-delay",
            title,
            "From sending to receiving host, of every packet with data that arrived after the warm-up: the "
            "line is from the shortest to the longest, the bar ends at the median, the marks are at 95, "
            "99 and 99.9 %.",
            lambda: by_class.draw(rows, title, "delay in ms"),
            lambda: measured.select("class", pl.selectors.starts_with("delay_")),
            "classes",
        )


def _distributions(classes: pl.DataFrame) -> Iterator[Figure]:
    """Go through the figure of the delays of all classes as distributions, if measured."""
    rows = classes.head(_MOST_ROWS).to_dicts()
    curves = [one for row in rows if (one := cdf.curve(row["class"], row))]
    if not curves:
        return
    title = "Distribution of one-way delay by class"
    yield Figure(
        "class-cdf",
        title,
        "Share of the packets with data that took at most so long, after the warm-up. The marks are at 0, "
        "50, 95, 99, 99.9 and 100 %; what lies between them is not in the folder of a run.",
        lambda: cdf.draw(curves, title),
        lambda: cdf.table(curves).select(pl.col("label").alias("class"), "share", "delay_s"),
        "classes",
    )


def _members(run: StoredRun) -> Iterator[Figure]:
    """Go through the figure of the rates that the members of groups of many had, if there are any."""
    found = [one for one in summary.groups(run.tables, MOST_ROWS) if one.key.endswith("_bit_s")]
    if not found:
        return
    title, drawn = "Rates of the members of groups", found[:_MOST_ROWS]

    def table() -> pl.DataFrame:
        rows = [(one.name, one.quantile(share), share / 1000) for one in drawn for share in _SHARES]
        return pl.DataFrame(rows, ["group", "rate_bit_s", "share"], orient="row")

    yield Figure(
        "members",
        title,
        "Share of the members of each group that had at most so much after the warm-up, goodput of TCP and "
        "throughput of UDP: a curve tells how many are below any rate. Flows of a group between the same two "
        "hosts are one member.",
        lambda: cdf.draw_rates(table(), title),
        table,
        "classes",
    )


def _waits(queues: pl.DataFrame) -> Iterator[Figure]:
    """Go through the figure of the queues with the longest mean waits, if packets waited."""
    seen = pl.col("wait_mean_s") > pl.col("wait_mean_s").max() / _NOT_SEEN
    waited = queues.filter(seen).sort("wait_mean_s", descending=True, maintain_order=True)
    waited = waited.select("path", "wait_mean_s", "wait_max_s")
    rows = [
        by_class.ClassRow(path.removeprefix("port."), 0.0, mean, longest)
        for path, mean, longest in waited.head(_MOST_ROWS).iter_rows()
    ]
    if rows:
        title = "Waiting in queues"
        cut = f" The {_MOST_ROWS} longest of {waited.height}." if waited.height > _MOST_ROWS else ""
        yield Figure(
            "queue-wait",
            title,
            "From arrival in the queue to transmission, of every packet that left it after the warm-up: the "
            f"bar ends at the mean, the line at the longest.{cut}",
            lambda: by_class.draw(rows, title, "wait in ms"),
            lambda: waited,
            "classes",
        )
