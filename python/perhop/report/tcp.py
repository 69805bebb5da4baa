"""The part of a run's page that shows TCP event by event, where it was traced."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from perhop.plot import time_sequence
from perhop.report.figure import Figure
from perhop.units import counted, duration

if TYPE_CHECKING:
    from perhop.run.record import StoredRun

MOST_FLOWS = 6
"""Flows drawn when none is asked for by name."""

MOST_EVENTS = 4000
"""Events of one flow in a figure; more would hide each other."""

_MOST_BESIDE = 4


@dataclass(frozen=True)
class View:
    """The part of a traced run that is shown: flows by name, the first `MOST_FLOWS` if none is, and times."""

    flows: tuple[str, ...] = ()
    begin_s: float = 0.0
    end_s: float = float("inf")

    def options(self) -> str:
        """Return the options of `perhop report` that show this."""
        words = [word for name in self.flows for word in ("--flow", name)]
        if self.begin_s > 0.0:
            words += ["--from", seconds(self.begin_s)]
        if self.end_s < float("inf"):
            words += ["--to", seconds(self.end_s)]
        return shlex.join(words)


def seconds(time_s: float) -> str:
    """Write a time as the command line reads it: all its nanoseconds, and no exponent."""
    return f"{time_s:.9f}".rstrip("0").rstrip(".") + "s"


@dataclass(frozen=True)
class TcpPart:
    """Figures, and sentences about what they leave out."""

    figures: Sequence[Figure]
    left_out: Sequence[str]


def part(run: StoredRun, view: View) -> TcpPart | None:
    """Return the time-sequence graphs of a run, or None where TCP was not traced.

    The flows of `view` must exist.
    """
    trace = run.trace("tcp")
    if trace is None:
        return None
    names = run.tables["flows"]["name"].to_list()
    shown = list(view.flows) or names[:MOST_FLOWS]
    report = f"perhop report {shlex.quote(str(run.folder))}"
    connections = [
        time_sequence.Connection(name, trace.filter(pl.col("flow") == name).collect()) for name in shown
    ]
    left_out = []
    if not view.flows and len(names) > len(shown):
        left_out.append(
            f"The first {len(shown)} of {len(names)} flows are drawn; for another: "
            f"{report} --flow {shlex.quote(names[-1])}"
        )
    drawn = [one for one in connections if len(one.events)]
    if len(drawn) < len(connections):
        silent = ", ".join(one.name for one in connections if not len(one.events))
        left_out.append(f"No events, so not drawn: {silent}")
    if not drawn:
        return TcpPart([], left_out)
    span, crowded = _span(drawn, view)
    if crowded:
        left_out.append(
            f"The figures end at {duration(span[1])}, after {MOST_EVENTS} events of {crowded}; later parts: "
            f"{report} --flow {shlex.quote(crowded)} --from {seconds(span[1])}"
        )
    return TcpPart(_figures(run, drawn, span), left_out)


def _span(drawn: Sequence[time_sequence.Connection], view: View) -> tuple[tuple[float, float], str]:
    """Return the time span of all figures, and the flow whose events were too many for more."""
    crowded, end = "", view.end_s
    for one in drawn:
        inside = one.events.filter(pl.col("time_s").is_between(view.begin_s, end))
        if len(inside) > MOST_EVENTS:
            crowded, end = one.name, inside["time_s"][MOST_EVENTS - 1]
    last = max(float(one.events["time_s"][-1]) for one in drawn)
    return (view.begin_s, max(view.begin_s, min(end, last))), crowded


def _figures(
    run: StoredRun, drawn: Sequence[time_sequence.Connection], span: tuple[float, float]
) -> list[Figure]:
    flows = run.tables["flows"]
    finished = flows["completed_s"] if "completed_s" in flows.columns else [None] * len(flows)
    completed = dict(zip(flows["name"], finished, strict=True))

    def figure(name: str, title: str, caption: str, shown: Sequence[time_sequence.Connection]) -> Figure:
        def data() -> pl.DataFrame:
            return pl.concat(one.events for one in shown).filter(pl.col("time_s").is_between(*span))

        return Figure(name, title, caption, lambda: time_sequence.draw(shown, span), data, "tcp")

    figures = []
    if 1 < len(drawn) <= _MOST_BESIDE:
        counts = "; ".join(_counts(one) + _finish(completed[one.name]) for one in drawn)
        figures.append(
            figure("time-sequence", "Side by side", f"The same axes for each flow. {counts}.", drawn)
        )
    for one in drawn:
        counts = f"In the whole run {_counts(one).partition(': ')[2]}{_finish(completed[one.name])}."
        figures.append(figure(f"time-sequence-{one.name}", one.name, counts, [one]))
    return figures


def _counts(one: time_sequence.Connection) -> str:
    by_kind = {kind: one.events.filter(pl.col("event") == kind) for kind in ("send", "drop", "timeout")}
    again = by_kind["send"].filter(~pl.col("packet").is_first_distinct())
    return (
        f"{one.name}: {counted(len(again), 'packet')} sent again, {len(by_kind['drop'])} dropped, "
        f"{counted(len(by_kind['timeout']), 'time-out')}"
    )


def _finish(completed_s: float | None) -> str:
    return "" if completed_s is None else f", complete at {duration(completed_s)}"
