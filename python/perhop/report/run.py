"""The page about one run."""

from __future__ import annotations

import shlex
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.report import answer, figures, live, page, player, tcp
from perhop.run import summary
from perhop.run.record import StoredRun
from perhop.run.tables import labels_of
from perhop.scenario.scenario import Scenario

if TYPE_CHECKING:
    from perhop.scenario.scenario import Description

_ROWS_SHOWN = 20
_ROWS_FOLDED = 500


def write(run: StoredRun) -> Path:
    """Write the page about a run into its folder, as ``perhop report`` does; return its path."""
    file = run.folder / "report.html"
    page.write_page(file, render(run), page.is_page)
    return file


def render(run: StoredRun, view: tcp.View | None = None) -> str:
    """Return the page about a run as HTML. The same folder gives the same page.

    Parameters
    ----------
    run
        A run read back from its folder.
    view
        What of a trace of TCP is drawn; without it, all of the first flows.
    """
    view = view or tcp.View()
    resolved = (run.folder / "scenario.resolved.toml").read_bytes()
    meaning = Scenario(resolved, "scenario.resolved.toml").describe()
    flows = summary.with_time(summary.single(run.table("flows"), meaning))
    traced = tcp.part(run, view)
    drawn: dict[str, list[page.Drawing]] = defaultdict(list)
    silent = []
    drawable = list(figures.of_run(run, meaning, view))
    first = answer.of_figures(run, meaning, drawable, view.options())
    for one in drawable:
        if first.figure is not None and one.name == first.figure.id:
            continue
        drawing = one.draw(run.folder, view.options())
        if drawing is None:
            silent.append(one.title.lower())
        else:
            drawn[one.part].append(drawing)
    return page.render(
        "run.html.j2",
        {
            "title": f"{Path(run.record.scenario).name}, seed {run.record.seed}",
            "record": run.record,
            "answer": first,
            "play": player.data(run, meaning),
            "most_packets": player.MOST_PACKETS,
            "meaning": meaning,
            "resolved": resolved.decode(),
            "drawn": drawn,
            "classes": run.table("classes").to_dicts(),
            "flows": _listing(flows, first="[[flow]]"),
            "labels": _by_labels(run, meaning),
            "transfer": bool(flows["took_s"].is_not_null().any()),
            "transfers": summary.transfers(run.table("flows"), meaning).to_dicts(),
            "links": _busy(run.table("links"), "utilization", ("packets", "lost_packets")),
            "queues": _busy(
                _with_balance(run.table("queues")), "max_packets", ("in_packets", "initial_backlog_packets")
            ),
            "unsettled": summary.unsettled(run.tables["series"], meaning),
            "phase": answer.phase_effect(run, meaning),
            "colors": summary.drops_have_colors(run.table("queues"), meaning),
            "conditioners": _listing(run.table("conditioners")),
            "udp": _listing(run.table("udp"), first="[[udp]]"),
            "marks": _listing(_by_mark(run.table("marks"), meaning), first="[[flow]] and [[udp]]"),
            "link_views": {link.name: link for link in meaning.links},
            "silent": silent,
            "averages": figures.hint(run, meaning),
            "tcp": traced,
            "live": live.part(run, meaning),
            "commands": _commands(run, view),
        },
        scripts=("player.js",),
    )


def _by_labels(run: StoredRun, meaning: Description) -> list[dict[str, Any]]:
    """Return for TCP and for UDP what flows of one class with the same labels had, where there are labels."""
    flows = summary.single(run.table("flows"), meaning)
    kinds = (("TCP flows", "flows", flows, "goodput"), ("UDP flows", "udp", run.table("udp"), "throughput"))
    return [
        {
            "title": title,
            "rate": rate,
            "words": ["class", *labels_of(name, table)],
            "rows": rows.head(_ROWS_FOLDED).to_dicts(),
            "more": max(rows.height - _ROWS_FOLDED, 0),
        }
        for title, name, table, rate in kinds
        if (rows := summary.by_labels(name, table, f"{rate}_bit_s")).height
    ]


def _listing(table: pl.DataFrame, largest: str = "", first: str = "") -> dict[str, Any]:
    """Split a table into rows shown, rows folded away, and the number left to the file.

    A table too long to be shown is ordered by the column `largest` first, or shows the first rows of each
    table `first` of the scenario.
    """
    if largest and len(table) > _ROWS_SHOWN:
        table = table.sort(largest, descending=True, maintain_order=True)
    shown, rest = table[:_ROWS_SHOWN], table[_ROWS_SHOWN:]
    if first and len(rest):
        shown = summary.first_of_each(table, _ROWS_SHOWN)
        rest = table.join(shown, on="name", how="anti", maintain_order="left")
    return {
        "shown": shown.to_dicts(),
        "folded": rest.head(_ROWS_FOLDED - _ROWS_SHOWN).to_dicts(),
        "more": max(0, len(table) - _ROWS_FOLDED),
        "ordered": largest,
        "first": first,
        "idle": 0,
    }


def _busy(table: pl.DataFrame, largest: str, counts: tuple[str, ...]) -> dict[str, Any]:
    """Split a table as `_listing` does, without the rows that counted nothing, and how many these are."""
    busy = table.filter(pl.any_horizontal(pl.col(count) > 0 for count in counts))
    return _listing(busy, largest) | {"idle": table.height - busy.height}


def _by_mark(table: pl.DataFrame, meaning: Description) -> pl.DataFrame:
    """Return for each flow with marks a list of them: mark, packets, share of the flow's bytes."""
    marks = summary.marks(table, meaning)
    if marks.is_empty() or (marks["mark"] == "BE").all():
        return pl.DataFrame()
    share = (pl.col("arrived_bytes") / pl.col("arrived_bytes").sum().over("flow")).alias("share")
    rows = marks.with_columns(share).group_by(pl.col("flow").alias("name"), maintain_order=True)
    return rows.agg(marks=pl.struct("mark", "arrived_packets", "share")).filter(
        pl.col("marks").list.eval(pl.element().struct.field("mark") != "BE").list.any()
    )


def _with_balance(queues: pl.DataFrame) -> pl.DataFrame:
    """Return the queues, each with what waited and came minus all that became of it, which must be 0."""

    def balance(unit: str) -> pl.Expr:
        def total(*counts: str) -> pl.Expr:
            return pl.sum_horizontal(pl.col(f"{count}_{unit}").cast(pl.Int64) for count in counts)

        came, gone = total("initial_backlog", "in"), total("out", "dropped", "backlog")
        return (came - gone).alias(f"balance_{unit}")

    return queues.with_columns(balance("packets"), balance("bytes"))


def _commands(run: StoredRun, view: tcp.View) -> dict[str, str]:
    """Return the commands that make the run, its tables and this page again."""
    folder = shlex.quote(str(run.folder))
    return {
        "run": run.record.command,
        "replay": f"perhop replay {folder}",
        "report": f"perhop report {folder} {view.options()}".rstrip(),
        **{name: f"perhop table {folder} {name}" for name in run.tables},
    }
