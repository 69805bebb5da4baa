"""Several runs side by side: what each class of flows got, over time, and in what the scenarios differ."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.plot import cdf, overlay
from perhop.report import page
from perhop.report.figure import Figure
from perhop.run import summary
from perhop.units import bit_rate, duration, percent

if TYPE_CHECKING:
    from perhop.run.record import StoredRun

COLUMNS = (
    ("goodput", "goodput_bit_s", "bit_rate"),
    ("lost", "lost", "percent"),
    ("delay 50 %", "delay_p50_s", "duration"),
    ("delay 95 %", "delay_p95_s", "duration"),
    ("fairness", "fairness", "number"),
    ("retransmitted", "retransmitted", "percent"),
    ("time-outs", "timeouts", "number"),
    ("srtt", "srtt_s", "duration"),
)
"""What is compared of each class: name, column, how it is written."""

MOST_DIFFERENCES = 60
"""Lines shown of how two scenarios differ."""


@dataclass(frozen=True)
class Arm:
    """A run, and what it is called beside others."""

    name: str
    run: StoredRun


@dataclass(frozen=True)
class ComparedRow:
    """What a class got in each arm, by column; None for an arm that has no such class."""

    of: str
    arms: tuple[tuple[str, Mapping[str, Any] | None], ...]


def by_class_of(classes: pl.DataFrame, flows: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return what is compared, by class; the columns are those of `COLUMNS`.

    Parameters
    ----------
    classes, flows
        Tables of a run.
    """
    of_flows = flows.group_by("class").agg(
        retransmitted=pl.col("retransmissions").sum() / pl.col("segments_sent").sum(),
        timeouts=pl.col("timeouts").sum(),
        srtt_s=pl.col("srtt_s").mean(),
    )
    lost = pl.col("dropped_packets") / pl.col("offered_packets")
    rows = classes.with_columns(lost=lost).join(of_flows, on="class", how="left", maintain_order="left")
    return {row["class"]: row for row in rows.to_dicts()}


def table(arms: Sequence[Arm]) -> list[ComparedRow]:
    """Return the rows of all classes that any of the runs has."""
    found = {one.name: by_class_of(one.run.table("classes"), one.run.table("flows")) for one in arms}
    names = dict.fromkeys(name for own in found.values() for name in own)
    return [ComparedRow(name, tuple((arm, own.get(name)) for arm, own in found.items())) for name in names]


def in_words(rows: Sequence[ComparedRow]) -> list[str]:
    """Say for each class goodput, loss and delay in the first run, and in the others beside it."""
    return [sentence for row in rows if (sentence := _sentence(row))]


def _sentence(row: ComparedRow) -> str:
    (first, base), *others = row.arms
    if base is None:
        return ""
    parts = []
    for name, own in others:
        if own is None:
            parts.append(f"no such class in {name}")
            continue
        told = [f"{bit_rate(own['goodput_bit_s'])}{_change(base['goodput_bit_s'], own['goodput_bit_s'])}"]
        if own["lost"] is not None:
            told.append(f"{percent(own['lost'])} lost")
        if own["delay_p95_s"] is not None:
            told.append(f"95 % within {duration(own['delay_p95_s'])}")
        parts.append(f"{', '.join(told)} in {name}")
    begin = [bit_rate(base["goodput_bit_s"])]
    if base["lost"] is not None:
        begin.append(f"{percent(base['lost'])} lost")
    if base["delay_p95_s"] is not None:
        begin.append(f"95 % within {duration(base['delay_p95_s'])}")
    return f"{row.of}: {', '.join(begin)} in {first}; {'; '.join(parts)}."


def _change(base: float | None, value: float | None) -> str:
    if not base or value is None:
        return ""
    change = value / base - 1.0
    return " (the same)" if abs(change) < 5e-4 else f" ({change:+.1%})".replace("%", " %")


def differences(arms: Sequence[Arm]) -> list[tuple[str, list[str], int]]:
    """Return for each run but the first the lines of its scenario that differ, and how many more do."""
    base, *others = ((one.run.folder / "scenario.resolved.toml").read_text().splitlines() for one in arms)
    found = []
    for arm, lines in zip(arms[1:], others, strict=True):
        changed = [
            line
            for line in difflib.unified_diff(base, lines, lineterm="", n=0)
            if line[:2] not in ("--", "++", "@@")
        ]
        found.append((arm.name, changed[:MOST_DIFFERENCES], max(0, len(changed) - MOST_DIFFERENCES)))
    return found


def figures(arms: Sequence[Arm]) -> list[Figure]:
    """Return what is drawn of runs side by side: curves over each other, and delays as distributions.

    Parameters
    ----------
    arms
        Two or more.
    """
    curves = [
        overlay.Curves(
            one.name,
            one.run.tables["series"],
            summary.class_of(meaning, transfers=False),
            meaning.run.warmup_s,
        )
        for one in arms
        for meaning in (one.run.scenario().describe(),)
    ]
    rows = table(arms)
    many = len(rows) > 1
    delays = [
        curve
        for row in rows
        for name, _ in row.arms
        for own in next(one for one in arms if one.name == name).run.table("classes").to_dicts()
        if own["class"] == row.of
        if (curve := cdf.curve(f"{name}, {row.of}" if many else name, own)) is not None
    ]
    found = [
        Figure(
            "over-time",
            "Over time",
            "Colours tell the runs, lines the classes.",
            lambda: overlay.draw(curves),
            lambda: overlay.table(curves),
            "comparison",
        )
    ]
    if delays:
        found.append(
            Figure(
                "delays",
                "One-way delay",
                "The share of packets with data that took at most so long, after the warm-up. The marks were "
                "measured (least, 50, 95, 99, 99.9 %, most); the lines join them.",
                lambda: cdf.draw(delays, "One-way delay"),
                lambda: cdf.table(delays),
                "comparison",
            )
        )
    return found


def render(arms: Sequence[Arm], command: Sequence[str], target: str) -> str:
    """Return the page that compares runs.

    Parameters
    ----------
    arms
        Two or more, the first is what the others are compared with.
    command
        Words that compare them.
    target
        The page, as `-o` of the command names it.
    """
    rows = table(arms)
    drawn = [
        page.drawing(
            one.name,
            one.title,
            picture,
            one.caption,
            shlex.join([*command, "--figure", one.name, "-o", f"{one.name}.svg"]),
            one.data().write_csv().encode(),
        )
        for one in figures(arms)
        if (picture := one.svg()) is not None
    ]
    return page.render(
        "comparison.html.j2",
        {
            "title": " and ".join(one.name for one in arms),
            "arms": arms,
            "sentences": in_words(rows),
            "rows": rows,
            "columns": COLUMNS,
            "figures": drawn,
            "differences": differences(arms),
            "command": shlex.join([*command, "-o", target]),
        },
    )
