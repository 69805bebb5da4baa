"""The record of a study, read: what is shown of it, and the values that its claims follow from."""

from __future__ import annotations

import csv
import io
import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from perhop import _core
from perhop.experiment.campaign import plan as planned
from perhop.experiment.definition import Campaign
from perhop.experiment.fault import HintedError
from perhop.experiment.ledger import MEASURES_VERSION
from perhop.papers import recorded, records
from perhop.papers.behind import judged, runs_behind
from perhop.papers.error import PackError
from perhop.papers.plan import Plan
from perhop.papers.recorded import FIRST
from perhop.papers.study import Study
from perhop.units import counted

Line = Mapping[str, str]
"""A run on record as text, by name: `of`, treatment, replication, seed, digest, values."""


_KINDS: Mapping[str, tuple[Callable[[str], object], str]] = {
    **dict.fromkeys(FIRST, (str, "a text")),
    **dict.fromkeys(("replication", "seed"), (int, "a whole number")),
}
"""Of the first columns of a table of runs; the others hold numbers."""

BEYOND = "the sweeps beyond the paper, whose runs are not on record: --verify all makes them"


class _Made(msgspec.Struct):
    """Making of a record: at which commit of the source, None outside one, when, of how many runs."""

    commit: str | None
    date: str
    runs: int


class _Head(msgspec.Struct):
    """Types of a record's keys; its rows, claims and runs are held to those of the study's files."""

    results_version: int
    measures_version: int
    command: str
    made: _Made
    rows: list[Any]
    claims: list[Any]
    runs: list[Any]
    treatments: list[Any]


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
msgspec.json.Decoder(_Head)


class StaleRecordError(HintedError):
    """A record that is not of this perhop and these files: nothing of it is shown as current."""

    def __init__(self, message: str, plan: Plan, command: str) -> None:
        hint = f"{command} --verify all makes every run and judges anew"
        super().__init__(f"{plan.study.folder / recorded.FOLDER}: {message}", hint)


@dataclass(frozen=True)
class Record:
    """A study's record: its document, and a line for each run behind its claims."""

    document: dict[str, Any]
    lines: tuple[Line, ...]

    @property
    def runs(self) -> int:
        """Number of different runs on record."""
        return int(self.document["made"]["runs"])


def read(study: Study) -> Record | None:
    """Read the record of a study, None where it has none; a `PackError` if half of it is missing."""
    folder = study.folder / recorded.FOLDER
    if not (folder / recorded.RESULTS).exists() and not (folder / recorded.RUNS).exists():
        return None
    document = records.read(folder / recorded.RESULTS, ("paper",))
    try:
        msgspec.convert(document, _Head)
    except msgspec.ValidationError as error:
        raise PackError(f"{folder / recorded.RESULTS}: {error}") from None
    return Record(document, tuple(_lines(folder / recorded.RUNS)))


def _lines(path: Path) -> Iterator[Line]:
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise PackError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PackError(f"{path}: not UTF-8 at byte {error.start}") from None
    names, *rows = [*csv.reader(io.StringIO(text))] or [[]]
    if tuple(names[: len(FIRST)]) != FIRST:
        raise PackError(f"{path}: line 1: begins with {', '.join(names)!r}, not {', '.join(FIRST)}")
    for place, row in enumerate(rows, start=2):
        if len(row) != len(names):
            values, asked = counted(len(row), "value"), counted(len(names), "name")
            raise PackError(f"{path}: line {place}: has {values}, the first line {asked}")
        line = {name: value for name, value in zip(names, row, strict=True) if value}
        if lacking := [name for name in FIRST if name not in line]:
            raise PackError(f"{path}: line {place}: has no {lacking[0]}")
        for name, text in line.items():
            kind, words = _KINDS.get(name, (float, "a number"))
            try:
                kind(text)
            except ValueError:
                raise PackError(f"{path}: line {place}: {name} is {text!r}, not {words}") from None
        yield line


def current(plan: Plan, record: Record, command: str) -> Record:
    """Return a record with the commands of now, if it is of this version and of the runs of a plan."""
    if other := _other_version(plan, record.document):
        raise StaleRecordError(f"{other}: its verdicts are not current and not shown", plan, command)
    behind = msgspec.json.decode(msgspec.json.encode(runs_behind(plan)))
    if not same_runs(record.document, behind):
        other = f"the files of {plan.study.key} ask for other runs than are on record"
        raise StaleRecordError(f"{other}: its verdicts are not current and not shown", plan, command)
    return replace(record, document={**record.document, **behind, "command": command})


def _other_version(plan: Plan, document: Mapping[str, Any]) -> str | None:
    """Return by which version a record does not hold, None where it holds.

    It holds where no version since has changed what a scenario of the study gives.
    """
    then, now = document["results_version"], _core.RESULTS_VERSION
    since = now if then >= now else max(_since(campaign) for _, campaign in judged(plan))
    if then > now:
        return f"recorded under results_version {then}, this perhop has {now}"
    if then < since:
        return f"recorded under results_version {then}, and {since} changed what its scenarios give"
    if (then := document["measures_version"]) != MEASURES_VERSION:
        return f"recorded under measures_version {then}, this perhop has {MEASURES_VERSION}"
    return None


def _since(campaign: Campaign) -> int:
    """Return the results version since which all scenarios of a campaign give what they give now."""
    treatments = campaign.design.treatments
    return max(campaign.scenario.override(*one.overrides).core.results_since for one in treatments)


def same_runs(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two documents have the same runs behind them, wherever the folder of the study is."""

    def runs(of: Mapping[str, Any]) -> list[Any]:
        found = []
        for entry in of["runs"]:
            *_, file = (words := shlex.split(entry["command"]))[:3]
            found.append({**entry, "store": "", "command": [Path(file).name, *words[3:]]})
        return found

    try:
        return runs(one) == runs(other) and one["treatments"] == other["treatments"]
    except (TypeError, KeyError, ValueError, AttributeError):
        return False  # a record that somebody has written in


def check_verdicts(plan: Plan, record: Record, document: Mapping[str, Any]) -> None:
    """Refuse a record whose rows and verdicts are not those that follow from its values now.

    Last digits may be others: they hang on the processor.
    """
    now, then = msgspec.json.decode(records.encode(document)), record.document
    if _same(then["claims"], now["claims"]) and _same(then["rows"], now["rows"]):
        return
    by_id = {one["id"]: one for one in then["claims"] if isinstance(one, dict) and "id" in one}
    differ = [one["id"] for one in now["claims"] if not _same(by_id.get(one["id"]), one)]
    others = f"other {'verdicts' if differ else 'rows'} than {recorded.RESULTS} has"
    what = f"{others}{': ' if differ else ''}{', '.join(differ)}; nothing of it is shown"
    rule = f"by the files of {plan.study.key} as they are, the values on record give {what}"
    raise StaleRecordError(rule, plan, then["command"])


def _same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal but for last digits."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    return bool(one == other)


def less(plan: Plan) -> Plan:
    """Return a plan without the sweeps beyond the paper, whose runs are not on record."""
    return replace(plan, beyond=(), left_out=(*plan.left_out, BEYOND)) if plan.beyond else plan


def scalars_of(plan: Plan, record: Record) -> list[pl.DataFrame]:
    """Return the values on record of each campaign of a plan without sweeps, as its store has them.

    A `PackError`: a run has no line, or two.
    """
    lines: dict[str, list[Line]] = {one["of"]: [] for one in record.document["runs"]}
    for line in record.lines:
        lines.setdefault(line["of"], []).append(line)
    frames = []
    for one, (of, campaign) in zip(record.document["runs"], judged(plan), strict=True):
        found = Counter(map(_place, lines[of]))
        asked = Counter((name, k) for name in one["treatments"] for k in range(one["replications"]))
        if wrong := [*(asked - found), *(found - asked)]:
            (name, k), path = wrong[0], plan.study.folder / recorded.FOLDER / recorded.RUNS
            many = f"{counted(found[name, k], 'line')}, not {asked[name, k]}"
            raise PackError(f"{path}: {of}, {name}, replication {k} has {many}")
        frames.append(_scalars(campaign, one["treatments"], {_place(line): line for line in lines[of]}))
    return frames


def _place(line: Line) -> tuple[str, int]:
    return line["treatment"], int(line["replication"])


def _scalars(campaign: Campaign, names: Sequence[str], lines: Mapping[tuple[str, int], Line]) -> pl.DataFrame:
    """Return the values of a campaign; `names` are those of treatments on record."""
    design, by = campaign.design, {one.name: one.by for one in campaign.responses}
    groups = {column: pl.String for columns in by.values() for column in columns}
    rows = []
    for run in planned(campaign):
        one = design.treatments[run.treatment]
        levels = dict(zip(design.names, one.levels, strict=True))
        first = {"key": run.key, "treatment": one.name, **levels, "replication": run.replication}
        for name, text in lines[names[run.treatment], run.replication].items():
            response, group = response_of(name)
            if response in by:
                value = None if text == "nan" else float(text)
                own = dict(zip(by[response], group, strict=True))
                rows.append({**first, "response": response, **own, "value": value})
    texts = dict.fromkeys(("key", "treatment", *design.names), pl.String)
    rest = {"replication": pl.Int64, "response": pl.String, **groups, "value": pl.Float64}
    return pl.DataFrame(rows, schema={**texts, **rest})


def response_of(name: str) -> tuple[str, tuple[str, ...]]:
    """Split the name of a value, `response` or `response[group,group]`."""
    response, _, groups = name.removesuffix("]").partition("[") if name.endswith("]") else (name, "", "")
    return response, tuple(groups.split(",")) if groups else ()
