"""Printed values of a file of claims: tables as CSV, read, checked and found by place."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from pathlib import Path

from perhop import _core
from perhop.experiment.fault import Fault
from perhop.judge.forms import PrintedValue, References, Stated, stated_otherwise
from perhop.judge.grammar import Claims, Published
from perhop.judge.quantity import Place, among

FROM_HERE = "the path begins at the folder of this file"
"""The hint where a file that a file of claims names is not there."""

NOTES = ("note", "where")
"""Columns of a printed table that are for its readers."""


_BRACES = re.compile(r"\{([^{}]*)\}")


def _filled(text: str, cells: Mapping[str, str]) -> str:
    """Return a text with cells in place of their columns in braces."""
    return _BRACES.sub(lambda found: cells[found[1]] or "", text)


class Printed:
    """Printed values, by response and place.

    `listed` has them in the order of the tables' lines; `sets` by factor the levels that each table has.
    """

    def __init__(self, claims: Claims, references: References, stated: Stated) -> None:
        self.rows: dict[str, list[tuple[Place, float]]] = {}
        self.listed: list[PrintedValue] = []
        self.sets: dict[str, dict[str, list[str]]] = {}
        self.references, self.stated = references, stated
        self.subject, self.tables = references.subject, claims.file.published
        found, files = [], [one.file for one in self.tables]
        for k, one in enumerate(self.tables):
            wrong = self.add(claims.path.parent / one.file, one)
            found += [] if wrong is None else [Fault(("published", k, wrong[0]), *wrong[1:])]
        claims.refuse(found)
        self.listed.sort(key=lambda each: (files.index(each.table.file), each.line))

    def add(self, path: Path, one: Published) -> tuple[str, str, str | None] | None:
        """Read a table, and return its first mistake: a key, a rule, a hint."""
        parts = {*_BRACES.findall(one.response)}
        if not parts and (unknown := self.unknown(one.response)):
            return "response", *unknown
        if one.unit == 0.0:
            return "unit", "every value would be zero", "write what one of the column is, such as 1e3"
        try:
            table = csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines())
            lines, columns = list(table), list(table.fieldnames or ())
        except (OSError, UnicodeDecodeError) as error:
            if isinstance(error, UnicodeDecodeError):
                return "file", f"{one.file} is not UTF-8 text", "save it as UTF-8"
            return "file", f"{one.file}: {error.strerror}", FROM_HERE
        if not lines or one.column not in columns:
            near = _core.suggest(one.column, columns) if lines else "it has no rows"
            return "column", f"{one.file} has no column `{one.column}`", near
        numbers: list[float | None] = []
        for n, line in enumerate(lines, 2):
            try:
                numbers.append(float(line[one.column]) * one.unit if line[one.column] else None)
            except ValueError:
                return "column", f"{one.file}, line {n}: `{line[one.column]}` is not a number", None
            if not math.isfinite(numbers[-1] or 0.0):
                rule = f"{one.file}, line {n}: `{line[one.column]}` is not a finite number"
                return "column", rule, "where nothing is printed, leave the cell empty"
        if not parts <= {*columns}:
            lacking = min(parts - {*columns})
            return "response", f"{one.file} has no column `{lacking}`", _core.suggest(lacking, columns)
        named = [_filled(one.response, line) for line in lines]
        for n, response in enumerate(named, 2):
            if unknown := self.unknown(response):
                return "file", f"{one.file}, line {n}: {unknown[0]}", unknown[1]
        for name, level in one.at.items():
            if level not in (known := self.subject.levels.get(name, ())):
                return "at", f"there is no level `{level}` of `{name}`", among(level, known)
        wrong = self.columns_wrong(columns, one, {*named}, parts)
        if wrong is not None:
            return wrong
        for n, (line, response, number) in enumerate(zip(lines, named, numbers, strict=True), 2):
            row = self.add_row(line, response, number, one, n)
            if row is not None:
                return "file", f"{one.file}, line {n}: {row[0]}", row[1]
        return None

    def unknown(self, response: str) -> tuple[str, str | None] | None:
        """Return the mistake in a response that is not there: a rule, a hint."""
        known = self.subject.responses
        if response in known:
            return None
        return f"there is no response `{response}`", _core.suggest(response, list(known))

    def columns_wrong(
        self, columns: list[str], one: Published, responses: set[str], parts: set[str]
    ) -> tuple[str, str, str | None] | None:
        """Return the first mistake in a table's columns, of which some are parts of the response's name."""
        known = {name for response in responses for name in self.subject.known(response)}
        if one.column in known:
            return "column", f"`{one.column}` says where a value is", "name the column of values"
        values = {each.column for each in self.tables if each.file == one.file}
        for name in columns:
            if columns.count(name) > 1:
                return "file", f"{one.file} has two columns `{name}`", "leave one out"
            if name not in {*known, *values, *parts, *self.stated, *NOTES}:
                rule = f"{one.file}: column `{name}` is no factor and no group of `{one.response}`"
                return "file", rule, _core.suggest(name, [*known, *self.stated, *NOTES])
        return None

    def add_row(
        self, line: Mapping[str, str], response: str, number: float | None, one: Published, n: int
    ) -> tuple[str, str | None] | None:
        """Take a row of a table, and return its first mistake: a rule, a hint."""
        if None in line:
            return "more cells than columns", "put a cell with a comma in quotes"
        place = dict(one.at)
        for name, own in self.subject.known(response).items():
            if name in line:
                place[name] = level = line[name] or ""
                if not level or (own is not None and level not in own):
                    what = "level" if name in self.subject.levels else "value"
                    return f"`{name}` has no {what} `{level}`", among(level, own or ())
        for name in self.subject.levels.keys() & place.keys():
            found = self.sets.setdefault(name, {}).setdefault(Path(one.file).stem, [])
            found += [] if place[name] in found else [place[name]]
        if (other := self.not_run(line, place)) is not None or number is None:
            return other
        rows = self.rows.setdefault(response, [])
        if any(all(place.get(name, level) == level for name, level in row.items()) for row, _ in rows):
            return f"a second value of `{response}` for this place", "leave one out"
        rows.append((place, number))
        self.listed.append(PrintedValue(one, n, response, place, number))
        return None

    def not_run(self, line: Mapping[str, str], place: Place) -> tuple[str, str | None] | None:
        """Return the first parameter that a row states and no run there has: a rule, no hint."""
        scenarios = [*self.references.scenarios(place)] if self.stated.keys() & line.keys() else []
        if self.stated.keys() & line.keys() and not scenarios:
            return "nothing is run for this row", None
        for name in (name for name in self.stated if name in line):
            for scenario in scenarios:
                other = stated_otherwise(line[name], self.stated[name](scenario))
                if other is not None:
                    return f"`{name}` is `{line[name]}`, but {other} is run", None
        return None

    def __call__(self, response: str, at: Place) -> float | None:
        """Return the printed value at a place; None where there is none."""
        rows = self.rows.get(response, [])
        if not rows:
            return None
        # with the factors that `at` may leave out, since they do not vary there
        place = {**next(iter(self.subject.fitting(at)), {}), **at}
        return next((value for row, value in rows if row.items() <= place.items()), None)
