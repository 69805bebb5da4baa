"""Printed values of a file of claims: tables as CSV, read, checked and found by place."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from perhop import _core
from perhop.experiment.fault import DesignError, Fault
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


def _mistake(key: str, rule: str, hint: str | None = None) -> DesignError:
    """Return the first mistake in a table, at a key of its entry in the file of claims."""
    return DesignError([Fault((key,), rule, hint)])


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
        found, files = list[Fault](), [one.file for one in self.tables]
        for k, one in enumerate(self.tables):
            try:
                self._add(claims.path.parent / one.file, one)
            except DesignError as error:
                found += [replace(fault, at=("published", k, *fault.at)) for fault in error.faults]
        claims.refuse(found)
        self.listed.sort(key=lambda each: (files.index(each.table.file), each.line))

    def _add(self, path: Path, one: Published) -> None:
        """Read a table; a `DesignError` is its first mistake."""
        parts = {*_BRACES.findall(one.response)}
        if not parts:
            self._check_response(one.response, "response")
        if one.unit == 0.0:
            hint = "write what one of the column is, such as 1e3"
            raise _mistake("unit", "every value would be zero", hint)
        try:
            table = csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines())
            lines, columns = list(table), list(table.fieldnames or ())
        except UnicodeDecodeError:
            raise _mistake("file", f"{one.file} is not UTF-8 text", "save it as UTF-8") from None
        except OSError as error:
            raise _mistake("file", f"{one.file}: {error.strerror}", FROM_HERE) from None
        if not lines or one.column not in columns:
            near = _core.suggest(one.column, columns) if lines else "it has no rows"
            raise _mistake("column", f"{one.file} has no column `{one.column}`", near)
        places = [f"{one.file}, line {n}: " for n in range(2, len(lines) + 2)]
        numbers = [_number(line[one.column], one, at) for line, at in zip(lines, places, strict=True)]
        if lacking := parts - {*columns}:
            name = min(lacking)
            raise _mistake("response", f"{one.file} has no column `{name}`", _core.suggest(name, columns))
        named = [_filled(one.response, line) for line in lines]
        for response, at in zip(named, places, strict=True):
            self._check_response(response, "file", at)
        for name, level in one.at.items():
            if level not in (known := self.subject.levels.get(name, ())):
                raise _mistake("at", f"there is no level `{level}` of `{name}`", among(level, known))
        self._check_columns(columns, one, {*named}, parts)
        for n, row in enumerate(zip(lines, named, numbers, places, strict=True), 2):
            self._add_row(one, n, *row)

    def _check_response(self, response: str, key: str, at: str = "") -> None:
        known = self.subject.responses
        if response not in known:
            raise _mistake(key, f"{at}there is no response `{response}`", _core.suggest(response, [*known]))

    def _check_columns(
        self, columns: list[str], one: Published, responses: set[str], parts: set[str]
    ) -> None:
        """Refuse a table's columns, of which some are parts of the response's name."""
        known = {name for response in responses for name in self.subject.known(response)}
        if one.column in known:
            raise _mistake("column", f"`{one.column}` says where a value is", "name the column of values")
        values = {each.column for each in self.tables if each.file == one.file}
        for name in columns:
            if columns.count(name) > 1:
                raise _mistake("file", f"{one.file} has two columns `{name}`", "leave one out")
            if name not in {*known, *values, *parts, *self.stated, *NOTES}:
                rule = f"{one.file}: column `{name}` is no factor and no group of `{one.response}`"
                raise _mistake("file", rule, _core.suggest(name, [*known, *self.stated, *NOTES]))

    def _add_row(
        self, one: Published, n: int, line: Mapping[str, str], response: str, number: float | None, at: str
    ) -> None:
        if None in line:
            raise _mistake("file", f"{at}more cells than columns", "put a cell with a comma in quotes")
        place = dict(one.at)
        for name, own in self.subject.known(response).items():
            if name in line:
                place[name] = level = line[name] or ""
                if not level or (own is not None and level not in own):
                    what = "level" if name in self.subject.levels else "value"
                    raise _mistake("file", f"{at}`{name}` has no {what} `{level}`", among(level, own or ()))
        for name in self.subject.levels.keys() & place.keys():
            found = self.sets.setdefault(name, {}).setdefault(Path(one.file).stem, [])
            found += [] if place[name] in found else [place[name]]
        self._check_run(line, place, at)
        if number is None:
            return
        rows = self.rows.setdefault(response, [])
        if any(all(place.get(name, level) == level for name, level in row.items()) for row, _ in rows):
            raise _mistake("file", f"{at}a second value of `{response}` for this place", "leave one out")
        rows.append((place, number))
        self.listed.append(PrintedValue(one, n, response, place, number))

    def _check_run(self, line: Mapping[str, str], place: Place, at: str) -> None:
        """Refuse a row that states a parameter which no run there has."""
        stated = [name for name in self.stated if name in line]
        scenarios = [*self.references.scenarios(place)] if stated else []
        if stated and not scenarios:
            raise _mistake("file", f"{at}nothing is run for this row")
        for name in stated:
            for scenario in scenarios:
                other = stated_otherwise(line[name], self.stated[name](scenario))
                if other is not None:
                    raise _mistake("file", f"{at}`{name}` is `{line[name]}`, but {other} is run")

    def __call__(self, response: str, at: Place) -> float | None:
        """Return the printed value at a place; None where there is none."""
        rows = self.rows.get(response, [])
        place = self.subject.whole(at) if rows else {}
        return next((value for row, value in rows if row.items() <= place.items()), None)


def _number(text: str, one: Published, at: str) -> float | None:
    """Return a printed number in the response's unit; None of an empty cell."""
    try:
        number = float(text) * one.unit if text else None
    except ValueError:
        raise _mistake("column", f"{at}`{text}` is not a number") from None
    if not math.isfinite(number or 0.0):
        hint = "where nothing is printed, leave the cell empty"
        raise _mistake("column", f"{at}`{text}` is not a finite number", hint)
    return number
