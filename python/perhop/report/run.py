"""The page about one run."""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.report import answer, figures, live, page, player, tcp
from perhop.run import summary
from perhop.run.record import StoredRun
from perhop.say.document import MOST_ROWS, Verdict
from perhop.say.run_promises import of_run
from perhop.say.run_tables import by_labels, of_groups
from perhop.scenario.scenario import Scenario
from perhop.units import counted, percent

if TYPE_CHECKING:
    from perhop.scenario.scenario import Description

_ROWS_FOLDED = 500
_AS_THEY_ARE = ("applications", "videos", "calls", "conditioners")
_OTHERWISE = pl.col("dropped_packets") - pl.sum_horizontal(
    f"dropped_{why}" for why in ("early", "forced", "overflow", "ack_filter", "policed")
)


def write(run: StoredRun) -> Path:
    """Write the page about a run into its folder, as ``perhop report`` does; return its path."""
    file = run.folder / "report.html"
    page.write_page(file, render(run), page.is_page)
    return file


def render(run: StoredRun, view: tcp.View | None = None) -> str:
    """Return the page about a run as HTML. The same folder gives the same page.

    Of a trace of TCP `view` is drawn; without it, all of the first flows.
    """
    view = view or tcp.View()
    resolved = (run.folder / "scenario.resolved.toml").read_bytes()
    meaning = Scenario(resolved, "scenario.resolved.toml", files=run.scenario().files).describe()
    single = summary.single(run.table("flows"), meaning)
    flows = summary.with_time(single)
    labels = [
        one
        for name, table in (("flows", single), ("udp", run.table("udp")))
        for one in by_labels(name, table, "in the file", _ROWS_FOLDED)
    ]
    classes = summary.fair(run.table("classes"), run.table("flows"))
    links = _with_delay(run.table("links"), meaning)
    counts = ("in_packets", "initial_backlog_packets")
    queues = _busy(_with_balance(run.table("queues")), "max_packets", counts)
    for row in queues["rows"]:
        text = f"{counted(row['balance_packets'], 'packet')}, {row['balance_bytes']} B"
        row["balance"] = Verdict(text, "bad" if row["balance_packets"] or row["balance_bytes"] else "good")
    traced = tcp.part(run, view)
    drawn: dict[str, list[page.Drawing]] = defaultdict(list)
    silent = []
    drawable = list(figures.of_run(run, meaning, view))
    first = answer.of_figures(run, meaning, drawable, view.options())
    alive = live.part(run)
    if alive is not None and "figure" in alive:
        first = replace(first, figure=alive["figure"])
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
            "promises": of_run(meaning, run.table("classes")),
            "classes": _listing(classes.with_columns(dropped_otherwise=_OTHERWISE)),
            "groups": list(of_groups(summary.groups(run.tables, MOST_ROWS))),
            "flows": _listing(flows, first="[[flow]]"),
            "labels": labels,
            "transfer": bool(flows["took_s"].is_not_null().any()),
            "transfers": _listing(summary.transfers(run.table("flows"), meaning)),
            "links": _busy(links, "utilization", ("packets", "lost_packets")),
            "queues": queues,
            "unsettled": first.unsettled,
            "phase": first.phase,
            "colors": summary.drops_have_colors(run.table("queues"), meaning),
            **{name: _listing(run.table(name)) for name in _AS_THEY_ARE},
            "udp": _listing(run.table("udp"), first="[[udp]]"),
            "marks": _listing(_by_mark(run.table("marks"), meaning), first="[[flow]] and [[udp]]"),
            "silent": silent,
            "averages": figures.hint(run, meaning),
            "tcp": traced,
            "live": alive,
            "commands": _commands(run, view),
        },
        scripts=("player.js", *page.PANELS),
    )


def _listing(table: pl.DataFrame, largest: str = "", first: str = "") -> dict[str, Any]:
    """Return the fields of a table of the page, with at most `_ROWS_FOLDED` rows.

    A table too long to be shown is ordered by the column `largest` first, or shows the first rows of each
    table `first` of the scenario.
    """
    picked = "the first"
    if largest and len(table) > MOST_ROWS:
        picked = f"the largest by {largest.replace('_', ' ')}"
        table = table.sort(largest, descending=True, maintain_order=True)
    elif first and len(table) > MOST_ROWS:
        picked = f"the first of each {first}"
        shown = summary.first_of_each(table, MOST_ROWS)
        table = pl.concat([shown, table.join(shown, on="name", how="anti", maintain_order="left")])
    rows = table.head(_ROWS_FOLDED).to_dicts()
    return {"rows": rows, "of": len(table), "whole": "in the file", "picked": picked}


def _busy(table: pl.DataFrame, largest: str, counts: tuple[str, ...]) -> dict[str, Any]:
    """Return a table as `_listing` does, without idle rows, whose number its text has."""
    busy = table.filter(pl.any_horizontal(pl.col(count) > 0 for count in counts))
    idle = table.height - busy.height
    text = f"{idle} through which nothing went {'is' if idle == 1 else 'are'} left out." if idle else ""
    return _listing(busy, largest) | {"text": text}


def _by_mark(table: pl.DataFrame, meaning: Description) -> pl.DataFrame:
    """Return for each flow with marks a text: mark, packets, share of the flow's bytes."""
    marks = summary.marks(table, meaning, MOST_ROWS)
    if marks.is_empty() or (marks["mark"] == "BE").all():
        return pl.DataFrame()
    share = pl.col("arrived_bytes") / pl.col("arrived_bytes").sum().over("flow")
    rows = marks.with_columns(share.map_elements(percent, pl.String).alias("share"))
    each = pl.format("{}: {}, {}", "mark", "arrived_packets", "share")
    has_mark = (pl.col("mark") != "BE").any()
    found = rows.group_by(pl.col("flow").alias("name"), maintain_order=True)
    return found.agg(marks=each.str.join("; "), has_mark=has_mark).filter("has_mark")


def _with_delay(links: pl.DataFrame, meaning: Description) -> pl.DataFrame:
    """Return the links with rate and delay of each."""
    own = {link.name: link for link in meaning.links}
    return links.with_columns(
        pl.Series("rate_bit_s", [float(own[name].rate_bit_s) for name in links["name"]]),
        pl.Series("delay_s", [own[name].delay_s for name in links["name"]]),
    )


def _with_balance(queues: pl.DataFrame) -> pl.DataFrame:
    """Return the queues with their balance, in less out, dropped and left, which must be 0."""

    def total(unit: str, *counts: str) -> pl.Expr:
        return pl.sum_horizontal(pl.col(f"{count}_{unit}").cast(pl.Int64) for count in counts)

    units = ("packets", "bytes")
    came = {unit: total(unit, "initial_backlog", "in") for unit in units}
    gone = {unit: total(unit, "out", "dropped", "backlog") for unit in units}
    return queues.with_columns(**{f"balance_{unit}": came[unit] - gone[unit] for unit in units})


def _commands(run: StoredRun, view: tcp.View) -> dict[str, str]:
    """Return the commands that make the run, its tables and this page again."""
    folder = shlex.quote(str(run.folder))
    return {
        "run": run.record.command,
        "replay": f"perhop replay {folder}",
        "report": f"perhop report {folder} {view.options()}".rstrip(),
        **{name: f"perhop table {folder} {name}" for name in run.tables},
    }
