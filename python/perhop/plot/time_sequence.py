"""Events of a TCP sender: packets and ACKs over time, and the window below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.plot import style
from perhop.units import counted

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SENT, _REPEATED, _ACKED, _LIMIT = style.COLORS[0], style.COLORS[1], style.COLORS[2], style.COLORS[3]


@dataclass(frozen=True)
class Connection:
    """The events of one flow: its rows of the trace ``tcp``, from the start of the run."""

    name: str
    events: pl.DataFrame


def draw(connections: Sequence[Connection], span: tuple[float, float]) -> str:
    """Return the graphs of some flows as SVG, side by side with the same axes; `span` is in s."""
    names = ", ".join(one.name for one in connections)
    with composed(connections, span) as made:
        description = "; ".join(_described(one, span) for one in connections)
        return style.svg(made, f"Time-sequence graph of {names}", description)


@contextmanager
def composed(connections: Sequence[Connection], span: tuple[float, float]) -> Iterator[Figure]:
    """Give the figure that `draw` turns into SVG, in the common style."""
    alone = len(connections) == 1
    width = 7.6 if alone else 1.2 + 2.9 * len(connections)
    split = {"nrows": 2, "ncols": len(connections), "squeeze": False, "height_ratios": (5, 2)}
    with style.figure(width, 5.0, sharex=True, sharey="row", **split) as (made, grid):
        for (above, below), connection in zip(grid.T, connections, strict=True):
            _packets(above, connection, span)
            _windows(below, connection, span)
            below.set_xlabel("time in s")
            if not alone:
                above.set_title(connection.name)
        grid[0, 0].set_ylabel("packet")
        grid[1, 0].set_ylabel("window in packets")
        grid[1, 0].set_ylim(bottom=0)
        margin = 0.02 * (span[1] - span[0]) or 0.5
        grid[0, 0].set_xlim(span[0] - margin, span[1] + margin)
        _legends(made, grid, alone)
        yield made


def _packets(axes: Axes, connection: Connection, span: tuple[float, float]) -> None:
    events = connection.events
    sent = _sent(events)
    acks = events.filter(event="ack").with_columns(news=pl.col("packet").diff().fill_null(1) != 0)
    line = _with_state_before(acks.filter("news"), span)
    look: dict[str, Any] = {"color": _ACKED, "linewidth": 1.2, "drawstyle": "steps-post"}
    axes.plot(line["time_s"], line["packet"], label="acknowledged", **look)

    def mark(table: pl.DataFrame, label: str, marker: str, color: str, size: float, **more: Any) -> None:
        inside = _inside(table, span)
        if len(inside):
            look: dict[str, Any] = {"marker": marker, "color": color, "markersize": size, "linestyle": "none"}
            axes.plot(inside["time_s"], inside["packet"], label=label, **look, **more)

    mark(acks.filter(~pl.col("news")), "duplicate ACK", "|", _ACKED, 5)
    mark(sent.filter(~pl.col("again")), "sent", "o", _SENT, 2.4)
    hollow = {"markerfacecolor": style.PAPER, "markeredgewidth": 1.4}
    mark(sent.filter("again"), "sent again", "D", _REPEATED, 5, **hollow)
    mark(events.filter(event="drop"), "dropped", "x", style.INK, 6, markeredgewidth=1.4)
    _timeouts(axes, events, span, "time-out")


def _windows(axes: Axes, connection: Connection, span: tuple[float, float]) -> None:
    # a drop is not the sender's doing, and happens when its window may be another
    events = connection.events.filter(pl.col("event") != "drop")
    line = _with_state_before(events, span)
    for label, color, dashes in (("ssthresh", _LIMIT, style.DASHES[1]), ("cwnd", _SENT, style.DASHES[0])):
        window = line[f"{label}_packets"].cast(pl.Float64).fill_null(float("nan"))
        if not window.is_nan().all():
            look = {"color": color, "linestyle": dashes, "drawstyle": "steps-post"}
            axes.plot(line["time_s"], window, label=label, **look)
    _timeouts(axes, events, span)


def _timeouts(axes: Axes, events: pl.DataFrame, span: tuple[float, float], label: str = "_") -> None:
    for time in _inside(events.filter(event="timeout"), span)["time_s"]:
        axes.axvline(time, color=style.INK, linewidth=0.9, linestyle=style.DASHES[3], label=label)
        label = "_"


def _legends(made: Figure, grid: Sequence[Sequence[Axes]], alone: bool) -> None:
    """Explain each mark once: beside the panels of one flow, below those of several."""
    if alone:
        for (axes,) in grid:
            style.legend_beside(axes)
        return
    found: dict[str, Artist] = {}
    for axes in (axes for row in grid for axes in row):
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    made.legend(found.values(), found.keys(), loc="outside lower center", ncols=4, handlelength=2.2)


def _sent(events: pl.DataFrame) -> pl.DataFrame:
    """Return the packets that were sent, and whether each was sent before."""
    return events.filter(event="send").with_columns(again=~pl.col("packet").is_first_distinct())


def _inside(table: pl.DataFrame, span: tuple[float, float]) -> pl.DataFrame:
    return table.filter(pl.col("time_s").is_between(*span))


def _with_state_before(table: pl.DataFrame, span: tuple[float, float]) -> pl.DataFrame:
    """Return the rows inside the span, and the last one before it."""
    before = table.filter(pl.col("time_s") < span[0]).tail(1).with_columns(time_s=pl.lit(span[0]))
    return pl.concat([before, _inside(table, span)])


def _described(connection: Connection, span: tuple[float, float]) -> str:
    sent = _inside(_sent(connection.events), span)
    inside = _inside(connection.events, span)
    dropped, timeouts = (inside.filter(event=kind).height for kind in ("drop", "timeout"))
    return (
        f"{connection.name} from {span[0]:.4g} to {span[1]:.4g} s: {counted(len(sent), 'packet')} sent, "
        f"{sent['again'].sum()} of them again; {dropped} dropped; {counted(timeouts, 'time-out')}"
    )
