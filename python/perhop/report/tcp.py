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
    completed = dict(run.tables["flows"].select("name", "completed_s").iter_rows())

    def figure(name: str, title: str, caption: str, shown: Sequence[time_sequence.Connection]) -> Figure:
        def data() -> pl.DataFrame:
            return pl.concat(one.events for one in shown).filter(pl.col("time_s").is_between(*span))

        return Figure(name, title, caption, lambda: time_sequence.draw(shown, span), data, "tcp")

    counts = {one.name: _counts(one.events, completed[one.name]) for one in drawn}
    figures = []
    if 1 < len(drawn) <= _MOST_BESIDE:
        each = "; ".join(f"{name}: {own}" for name, own in counts.items())
        caption = f"The same axes for each flow. {each}."
        figures.append(figure("time-sequence", "Side by side", caption, drawn))
    for one in drawn:
        caption = f"In the whole run {counts[one.name]}."
        figures.append(figure(f"time-sequence-{one.name}", one.name, caption, [one]))
    return figures


def _counts(events: pl.DataFrame, completed_s: float | None) -> str:
    sent, drops, timeouts = (events.filter(event=kind) for kind in ("send", "drop", "timeout"))
    again = sent.filter(~pl.col("packet").is_first_distinct())
    end = "" if completed_s is None else f", complete at {duration(completed_s)}"
    return (
        f"{counted(len(again), 'packet')} sent again, {len(drops)} dropped, "
        f"{counted(len(timeouts), 'time-out')}{end}"
    )
