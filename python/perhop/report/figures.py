"""Figures of a run by name: each can be drawn alone, and has its table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import polars as pl

from perhop.plot import early, series, topology
from perhop.report import by_class, overview, tcp
from perhop.report.figure import Figure
from perhop.run import summary

if TYPE_CHECKING:
    from perhop.run.record import StoredRun
    from perhop.scenario.scenario import Description, ThresholdsView

ALIASES = {
    "cwnd": "cwnd_bytes",
    "goodput": "goodput_bit_s",
    "throughput": "throughput_bit_s",
    "srtt": "srtt_s",
    "queue": "backlog_packets",
    "drops": "dropped_packets",
    "delay": "class-delay",
    "cdf": "class-cdf",
    "wait": "queue-wait",
    "classes": "class-goodput",
    "red": "early-0",
    "tcp": "time-sequence",
}
"""Short names of figures that are asked for often."""

_QUEUES_DRAWN = 4

TIMED = ("series", "early", "tcp")
"""Parts whose figures have time as their axis."""


def of_run(
    run: StoredRun, meaning: Description, view: tcp.View | None = None, *, cut: bool = False
) -> Iterator[Figure]:
    """Go through the figures that a run has, in the order of its page. Nothing is drawn yet.

    Of a trace of TCP `view` is drawn, without it all of the first flows; `cut` to its times are series, too.
    """
    span = view if cut and view is not None else tcp.View()
    yield Figure(
        "topology",
        "Topology",
        "Rate and one-way delay of each link, by direction where they differ.",
        lambda: topology.draw(meaning),
        lambda: _links(meaning),
        "topology",
    )
    table = _within(run.tables["series"], span)
    yield overview.figure(run, meaning, table, _warmup_s(meaning, span))
    yield from by_class.figures(run, meaning)
    yield from _series(run, meaning, span)
    yield from _early(run, meaning, span)
    part = tcp.part(run, view or tcp.View())
    yield from part.figures if part is not None else ()


def find(run: StoredRun, name: str, view: tcp.View | None = None) -> Figure:
    """Return a figure of a run by its name or one of `ALIASES`, within `view` alone.

    A `KeyError` of a name that the run has no figure of has the names that there are.
    """
    own = {one.name: one for one in of_run(run, run.scenario().describe(), view, cut=True)}
    found = own.get(name) or own.get(ALIASES.get(name, ""))
    if found is None:
        raise KeyError(name, list(own))
    return found


def called(names: Iterable[str]) -> list[str]:
    """Return the short name of each figure, or its name where it has none."""
    short = {full: alias for alias, full in ALIASES.items()}
    return [short.get(name, name) for name in names]


def names(run: StoredRun) -> dict[str, str]:
    """Return name and title of each figure of a run, in the order of its page."""
    return {one.name: one.title for one in of_run(run, run.scenario().describe())}


def hint(run: StoredRun, meaning: Description) -> str:
    """Return the command that records averages of early detection, where these are missing."""
    detects = any(own.thresholds for link in meaning.links for own in link.port.classes)
    if not detects or run.tables["series"]["quantity"].str.starts_with("average_").any():
        return ""
    return f"{run.record.command} -s 'run.series=[\"averages\"]'"


def _links(meaning: Description) -> pl.DataFrame:
    rows = [(one.source, one.target, float(one.rate_bit_s), one.delay_s) for one in meaning.links]
    return pl.DataFrame(rows, ["from", "to", "rate_bit_s", "delay_s"], orient="row")


def _within(table: pl.DataFrame, span: tcp.View) -> pl.DataFrame:
    return table.filter(pl.col("time_s").is_between(span.begin_s, span.end_s))


def _warmup_s(meaning: Description, span: tcp.View) -> float:
    """Return the end of the warm-up, or 0 where it is not in the span."""
    end_s = meaning.run.warmup_s
    return end_s if span.begin_s < end_s < span.end_s else 0.0


def _series(run: StoredRun, meaning: Description, span: tcp.View) -> Iterator[Figure]:
    """Go through the figures of quantities over time, also of those that are zero."""
    class_of = summary.class_of(meaning, transfers=False)
    table = _within(run.tables["series"], span)
    paths = table["path"].unique()
    for quantity in series.QUANTITIES:
        if paths.str.starts_with(quantity.prefix).any():

            def svg(quantity: series.Quantity = quantity) -> str | None:
                return series.draw(table, quantity, _warmup_s(meaning, span), class_of)

            def data(name: str = quantity.name) -> pl.DataFrame:
                return table.filter(pl.col("quantity") == name)

            caption = quantity.caption
            if quantity.per_interval:
                caption += series.thinned_in_words(data())
            yield Figure(quantity.name, quantity.title, caption, svg, data, "series")


def _early(run: StoredRun, meaning: Description, span: tcp.View) -> Iterator[Figure]:
    """Go through figures of the averages of early detection, the largest first."""
    averages = run.tables["series"].filter(pl.col("quantity").str.starts_with("average_"))
    largest = dict(averages.group_by("path").agg(pl.col("value").max()).iter_rows())
    queues = []
    for link in meaning.links:
        for own in link.port.classes:
            path = f"{link.port.path}.class.{own.name}"
            paths = [f"{path}.{one.color}" if one.color else path for one in own.thresholds]
            queues.append((max((largest.get(one, 0.0) for one in paths), default=0.0), path, own.thresholds))
    drawn = [one for one in sorted(queues, key=lambda queue: -queue[0]) if one[0] > 0][:_QUEUES_DRAWN]
    table = _within(run.tables["series"], span)
    for place, (_, path, thresholds) in enumerate(drawn):

        def svg(path: str = path, thresholds: list[ThresholdsView] = thresholds) -> str | None:
            return early.draw(table, path, thresholds, _warmup_s(meaning, span))

        def data(path: str = path) -> pl.DataFrame:
            return table.filter(pl.col("path").str.starts_with(path))

        yield Figure(
            f"early-{place}",
            f"Early detection at {path}",
            "What waits, the average as the latest arrival left it, and the thresholds between which chance "
            "drops; below, the probability of a drop at this average, before it is spread.",
            svg,
            data,
            "early",
        )
