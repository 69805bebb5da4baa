"""Several runs side by side: classes of flows, series, and the scenarios' differences."""

from __future__ import annotations

import difflib
import shlex
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.plot import cdf, panels, series
from perhop.report import overview, page
from perhop.report.figure import Figure
from perhop.run import summary
from perhop.say import run, run_promises
from perhop.say.document import MOST_ROWS, Table, filled
from perhop.say.run_tables import CALLS, LOADS, VIDEOS
from perhop.scenario.overrides import toml
from perhop.units import bit_rate, duration, percent

if TYPE_CHECKING:
    from perhop.run.record import StoredRun

_NUMBERS = (
    "goodput: goodput_bit_s | lost: {lost:%} | delay 50 %: delay_p50_s | delay 95 %: delay_p95_s | "
    "fairness: {fairness:.4g} | +retransmitted: {retransmitted:%} | +time-outs: timeouts | +srtt: srtt_s"
)
_OF_FLOWS = (
    "goodput: goodput_bit_s | srtt: srtt_s | sent: segments_sent | repeated: retransmissions | "
    "time-outs: timeouts"
)

_OF_APPLICATIONS = {
    "applications": ("Times from request to last byte, of loads asked for after the warm-up", LOADS),
    "videos": ("Video after the warm-up", VIDEOS),
    "calls": ("Calls by the E-model, as the listener of each way has them", CALLS),
}

Arms = tuple[str, Mapping[str, Any] | None]
"""A run's name, and the values of a thing in it."""

MOST_DIFFERENCES = 60
"""Most lines shown of two scenarios' difference."""


@dataclass(frozen=True)
class Arm:
    """A run, and its name beside others."""

    name: str
    run: StoredRun


@dataclass(frozen=True)
class ComparedRow:
    """A class's values in each arm, by column; None for an arm that has no such class."""

    of: str
    arms: tuple[Arms, ...]


def by_class_of(classes: pl.DataFrame, flows: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the values that are compared, by class, from two tables of a run."""
    of_flows = flows.group_by("class").agg(
        retransmitted=pl.col("retransmissions").sum() / pl.col("segments_sent").sum(),
        timeouts=pl.col("timeouts").sum(),
        srtt_s=pl.col("srtt_s").mean(),
    )
    rows = summary.fair(classes, flows).with_columns(lost=summary.LOST)
    rows = rows.join(of_flows, on="class", how="left", maintain_order="left")
    return {row["class"]: row for row in rows.to_dicts()}


def table(arms: Sequence[Arm]) -> list[ComparedRow]:
    """Return the rows of all classes that any of the runs has."""
    found = {one.name: by_class_of(one.run.table("classes"), one.run.table("flows")) for one in arms}
    for arm, promised in promises(arms).items():
        for one in promised:
            found[arm][one["class"]].setdefault("promises", []).append(one)
    names = dict.fromkeys(name for own in found.values() for name in own)
    return [ComparedRow(name, tuple((arm, own.get(name)) for arm, own in found.items())) for name in names]


def promises(arms: Sequence[Arm]) -> dict[str, list[dict[str, Any]]]:
    """Return what each run has of each promise."""
    return {
        one.name: run_promises.measured(one.run.scenario().describe(), one.run.table("classes"))
        for one in arms
    }


def numbers(rows: Sequence[ComparedRow], title: str) -> Table:
    """Return the compared values as a table."""
    return _by_run(title, [(row.of, row.arms) for row in rows], "class", _NUMBERS)


def flows(arms: Sequence[Arm]) -> Table:
    """Return a table of each run's flows, without those that are among many transfers."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for one in arms:
        tcp = summary.single(one.run.table("flows"), one.run.scenario().describe())
        udp = one.run.table("udp").rename({"throughput_bit_s": "goodput_bit_s"})
        for row in (*tcp.to_dicts(), *udp.to_dicts()):
            found.setdefault(row["name"], {})[one.name] = row
    names = pl.DataFrame({"name": list(found)}, {"name": pl.String})
    first = summary.first_of_each(names, MOST_ROWS // len(arms))["name"].to_list()
    rows = [(name, [(one.name, found[name].get(one.name)) for one in arms]) for name in first]
    table = _by_run("Flows after the warm-up", rows, "flow", _OF_FLOWS)
    picked, whole = "the first of each [[flow]] and [[udp]]", "in flows.parquet of each run"
    return replace(table, of=len(found) * len(arms), picked=picked, whole=whole)


def applications(arms: Mapping[str, Callable[[str], pl.DataFrame]]) -> list[Table]:
    """Return tables of what came of applications, from the function by which each run gives its tables."""
    found = []
    for name, (title, columns) in _OF_APPLICATIONS.items():
        own = {arm: {row["name"]: row for row in table(name).to_dicts()} for arm, table in arms.items()}
        rows = [
            (one, [(arm, values.get(one)) for arm, values in own.items()])
            for one in dict.fromkeys(one for values in own.values() for one in values)
        ]
        if rows:
            found.append(_by_run(title, rows, "name", columns))
    return found


def tables(arms: Sequence[Arm], rows: Sequence[ComparedRow]) -> list[Table]:
    """Return all that is compared as tables: promises, applications, classes of `table`, flows."""
    of_applications = applications({one.name: one.run.table for one in arms})
    title = "By class, after the warm-up"
    promised = run_promises.of_runs(promises(arms))
    notes = ((one.name, run.unlike(one.run, one.run.scenario().describe())) for one in arms)
    text = " ".join(f"In {name} {note}" for name, note in notes if note)
    by_class = replace(numbers(rows, title), text=text)
    return [one for one in (promised, *of_applications, by_class, flows(arms)) if one.rows]


def _by_run(title: str, rows: Iterable[tuple[str, Iterable[Arms]]], of: str, columns: str) -> Table:
    """Return a table with a row for each thing in each run."""
    each = [
        defaultdict(type(None), {**(own or {}), of: "" if place else name, "run": arm})
        for name, arms in rows
        for place, (arm, own) in enumerate(arms)
    ]
    return filled(title, [of, "run", columns], each, most=None)


def in_words(arms: Sequence[Arm], rows: Sequence[ComparedRow]) -> list[str]:
    """Describe what came of applications in each run, then goodput, loss and delay of each class."""
    of_applications = [
        f"{one.name}: {'. '.join(parts)}." for one in arms if (parts := run.applications(one.run.table))
    ]
    return of_applications + [sentence for row in rows if (sentence := _sentence(row))]


def _sentence(row: ComparedRow) -> str:
    (first, base), *others = row.arms
    if base is None:
        return ""
    parts = [
        f"no such class in {name}"
        if own is None
        else f"{_got(own, _change(base['goodput_bit_s'], own['goodput_bit_s']))} in {name}"
        for name, own in others
    ]
    return f"{row.of}: {_got(base)} in {first}; {'; '.join(parts)}."


def _got(own: Mapping[str, Any], change: str = "") -> str:
    parts = [bit_rate(own["goodput_bit_s"]) + change]
    if own["lost"] is not None:
        parts.append(f"{percent(own['lost'])} lost")
    if own["delay_p95_s"] is not None:
        parts.append(f"95 % within {duration(own['delay_p95_s'])}")
    return ", ".join(parts)


def _change(base: float | None, value: float | None) -> str:
    if not base or value is None:
        return ""
    change = value / base - 1.0
    return " (the same)" if abs(change) < 5e-4 else f" ({change:+.1%})".replace("%", " %")


def differences(arms: Sequence[Arm]) -> list[tuple[str, list[str], int]]:
    """Return the settings of each run but the first that differ, each with its path, and a count of more."""
    texts = ((one.run.folder / "scenario.resolved.toml").read_text() for one in arms)
    base, *others = (list(_settings("", tomllib.loads(text))) for text in texts)
    found = []
    for arm, lines in zip(arms[1:], others, strict=True):
        changes = difflib.unified_diff(base, lines, lineterm="", n=0)
        kept = [line for line in changes if line[:2] not in ("--", "++", "@@")]
        found.append((arm.name, kept[:MOST_DIFFERENCES], max(0, len(kept) - MOST_DIFFERENCES)))
    return found


def _settings(path: str, value: Any) -> Iterator[str]:
    """Go through the settings of a resolved scenario: `port.a-b.scheduler.share = 0.5`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _settings(f"{path}.{key}" if path else key, inner)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for place, inner in enumerate(value):
            ends = inner.get("ends") or inner.get("between") or [inner.get(end) for end in ("at", "to")]
            name = "-".join(map(str, ends)) if None not in ends else str(place)
            yield from _settings(f"{path}.{inner.get('name', name)}", inner)
    else:
        yield f"{path} = {toml(value, path)}"


def figures(arms: Sequence[Arm]) -> list[Figure]:
    """Return figures of runs side by side: curves over each other, delays as distributions."""

    @cache
    def made() -> panels.Panels:
        own = {one.name: one.run for one in arms}
        drawn = {
            name: overview.whole(run.scenario(), run.table("links"), run.table("series"))
            for name, run in own.items()
        }
        return panels.beside(drawn)

    rows = table(arms)
    many = len(rows) > 1
    delays = [
        curve
        for row in rows
        for name, own in row.arms
        if own and (curve := cdf.curve(f"{name}, {row.of}" if many else name, own))
    ]
    long = max((one.run.tables["series"] for one in arms), key=series.samples_a_point)
    found = [
        Figure(
            "over-time",
            "Over time",
            "Colours tell the runs, dashes the lines of a run. "
            + overview.CAPTION
            + series.thinned_in_words(long),
            lambda: panels.draw(made(), "Over time") if made().panels else None,
            lambda: panels.table(made()),
            "comparison",
            lambda: panels.data(made()),
        )
    ]
    if delays:
        found.append(
            Figure(
                "delays",
                "One-way delay",
                "The share of packets with data that took at most so long, after the warm-up. The marks are "
                "at 0, 50, 95, 99, 99.9 and 100 %; what lies between them is not in the folder of a run.",
                lambda: cdf.draw(delays, "One-way delay"),
                lambda: cdf.table(delays),
                "comparison",
            )
        )
    return found


def render(arms: Sequence[Arm], command: Sequence[str], target: str) -> str:
    """Return the page that compares runs with the first, by the words of `command` with `-o target`."""
    rows = table(arms)
    drawn = [
        one.drawing(shlex.join([*command, "--figure", one.name, "-o", f"{one.name}.svg"]))
        for one in figures(arms)
    ]
    return page.render(
        "comparison.html.j2",
        {
            "title": " and ".join(one.name for one in arms),
            "arms": arms,
            "sentences": in_words(arms, rows),
            "numbers": tables(arms, rows),
            "figures": [one for one in drawn if one is not None],
            "differences": differences(arms),
            "command": shlex.join([*command, "-o", target]),
        },
        scripts=page.PANELS,
    )
