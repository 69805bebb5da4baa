"""A fit of a study's parameters to printed numbers: `calibration.toml`, search, record.

A search takes the value with the least error, one parameter after the other. How far a point is from what
the paper prints, and what is searched under which reading, each study says.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from perhop.judge.measured import Measurements
from perhop.judge.quantity import PRINTED, Place, Subject
from perhop.papers import records
from perhop.papers.error import PackError
from perhop.report.study import Section, Table

FILE, RECORD = "calibration.toml", "calibration.json"

BASE = "as fitted"
"""The fit that the scenario files hold."""

Value = str | int | float
Point = dict[str, Value]
"""A value for each parameter."""

Cell = tuple[str, ...]
"""A printed number: response, groups, treatment."""

Off = Mapping[Cell, float]
"""Distance of each cell from the printed one, in the printed one's standard errors."""

Measure = Callable[[list[Point]], Sequence[float]]
"""Function that returns the error of each of several points."""


@dataclass(frozen=True)
class Parameter:
    """A table `[[parameter]]` of `calibration.toml`.

    Attributes
    ----------
    levels
        Settings of the scenario by value: a table `levels`, or `values` with `set`, texts with the value in
        place of {} and whether there is one in place of {on}.
    before, chosen
        Where the search begins; what it ended with, if that is not in the record alone.
    only_swept
        Values that the search may not take.
    treatment
        With which alone it means something.
    under
        The same parameter under readings that have other levels of it, by reading.
    """

    levels: Mapping[Value, Sequence[str]]
    before: Value
    chosen: Value | None = None
    meaning: str = ""
    only_swept: Sequence[Value] = ()
    treatment: str | None = None
    under: Mapping[str, Parameter] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Self:
        """Read it from a table without its name; errors as the types have them."""
        rest = {key: value for key, value in table.items() if key not in ("values", "set", "under")}
        if "levels" not in rest:
            texts = table.get("set", ())
            rest["levels"] = {
                value: [text.format(value, on=str(bool(value)).lower()) for text in texts]
                for value in table["values"]
            }
        found = cls(**rest, under={name: cls.of(own) for name, own in table.get("under", {}).items()})
        if not {found.before, found.before if found.chosen is None else found.chosen} <= {*found.searched}:
            raise ValueError("a value that is not tried")
        return found

    @property
    def searched(self) -> tuple[Value, ...]:
        """Values that the search may take."""
        return tuple(value for value in self.levels if value not in self.only_swept)


@dataclass(frozen=True)
class Fit:
    """The content of `calibration.toml`: parameters in the order of the search, and its `[search]`.

    A kind of fit that needs some of `[search]` adds fields, which are called so.
    """

    parameters: Mapping[str, Parameter]
    search: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    @property
    def before(self) -> Point:
        """Point where the search begins."""
        return {name: one.before for name, one in self.parameters.items()}

    @property
    def chosen(self) -> Point:
        """Point that the search ended with."""
        ends = {name: one.chosen for name, one in self.parameters.items()}
        return {name: value for name, value in ends.items() if value is not None}

    def settings(self, point: Mapping[str, Value], treatment: str | None = None) -> list[str]:
        """Return the overrides of the scenario at a point, for a treatment."""
        some = {name: one for name, one in self.parameters.items() if one.treatment in (None, treatment)}
        return [text for name, one in some.items() for text in one.levels[point[name]]]

    def under(self, reading: str) -> Self:
        """Return the fit with the levels that a reading has of its own."""
        own = {name: one.under.get(reading, one) for name, one in self.parameters.items()}
        return replace(self, parameters=own)


F = TypeVar("F", bound=Fit)


def load_fit(folder: Path, kind: type[F]) -> F:
    """Read the `calibration.toml` of a study, with the fields that `kind` adds; else a `PackError`."""
    path, where, parameters = folder / FILE, "", dict[str, Parameter]()
    try:
        table = tomllib.loads(path.read_bytes().decode())
        where = "search: "
        search = table["search"]
        names = [one.name for one in fields(kind) if one.name not in ("parameters", "search")]
        stated = {name: search[name] for name in names}
        where = "parameter: "
        for one in table["parameter"]:
            where = f"parameter {one.get('name', '?')}: "
            parameters[one["name"]] = Parameter.of({key: own for key, own in one.items() if key != "name"})
    except OSError as error:
        raise PackError(f"{path}: {error.strerror}") from None
    except KeyError as error:
        raise PackError(f"{path}: {where}has no {error}") from None
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise PackError(f"{path}: {where}{error}") from None
    return kind(parameters, search=search, **stated)


@dataclass(frozen=True)
class CellFit(Fit):
    """A fit to printed cells of a factorial: those to fit, and when a reading fits them.

    Attributes
    ----------
    called
        Name of a treatment, a template of its levels.
    treatments
        Those that are fitted, every response in every group.
    error
        By response: standard error of a printed number, in its unit.
    seeds
        How many runs the point that was found has; the search has the first alone.
    near, hopeless
        A reading fits if its error is at most so many times the least. One with more than so many times the
        base's is not searched to the end and has one seed.
    runs
        What all its runs have in `run`.
    """

    called: str
    treatments: Sequence[str]
    error: Mapping[str, float]
    seeds: int
    near: float
    hopeless: float
    runs: Mapping[str, object]

    def off(self, printed: Mapping[Cell, float], measured: Mapping[Cell, float]) -> Off:
        """Return the distance of each number from the printed one, in its standard errors."""
        return {cell: (value - printed[cell]) / self.error[cell[0]] for cell, value in measured.items()}

    def rms(self, off: Off, fitted: bool = True) -> float:
        """Return the root mean square over the fitted cells, or the others; NaN without any."""
        own = [value for cell, value in off.items() if (cell[-1] in self.treatments) == fitted]
        return math.sqrt(sum(value * value for value in own) / len(own)) if own else math.nan

    def fitting(self, errors: Mapping[str, float]) -> list[str]:
        """Return the readings whose error is near the least."""
        limit = self.near * min(errors.values())
        return [name for name, error in errors.items() if error <= limit]


def load_cell_fit(folder: Path, subject: Subject) -> CellFit:
    """Read the fit of a study; a `PackError` too if the factorial has not what it names."""
    found, path = load_fit(folder, CellFit), folder / FILE
    if subject.factorial is None:
        raise PackError(f"{path}: fits cells, and the claims have no [factorial]")
    try:
        cells = [cell for cell, *_ in cells_of(subject, found)]
        if lacking := {*found.treatments} - {cell[-1] for cell in cells}:
            raise KeyError(f"there is no treatment {', '.join(sorted(lacking))}")
        if lacking := {cell[0] for cell in cells} - {cell[0] for cell in printed_of(subject, found)}:
            raise KeyError(f"nothing is printed of {', '.join(sorted(lacking))}")
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise PackError(f"{path}: search: {error}") from None
    return found


def cells_of(subject: Subject, own: CellFit) -> Iterator[tuple[Cell, str, Place]]:
    """Yield each cell of the factorial, with its response and its place."""
    layout = subject.factorial
    assert layout is not None
    groups = [name for name in layout.factors if name not in subject.levels]
    for place in layout.places():
        for response in own.error:
            cell = (response, *(place[name] for name in groups), own.called.format(**place))
            yield cell, response, {**layout.at, **place}


def printed_of(subject: Subject, own: CellFit) -> dict[Cell, float]:
    """Return what is printed of each cell."""
    of = subject.reference
    found = {cell: of(PRINTED, name, place, None) for cell, name, place in cells_of(subject, own)}
    return {cell: value for cell, value in found.items() if value is not None}


def by_seed(
    subject: Subject, own: CellFit, measured: Measurements, treatments: Sequence[str] | None = None
) -> list[dict[Cell, float]]:
    """Return the cells of each replication, of all treatments or of some."""
    cells = [cell for cell in cells_of(subject, own) if treatments is None or cell[0][-1] in treatments]
    values = {cell: measured.values(response, **place) for cell, response, place in cells}
    count = min(len(one) for one in values.values())
    return [{cell: float(one[k]) for cell, one in values.items()} for k in range(count)]


def mean(offs: Sequence[Mapping[Cell, float]]) -> dict[Cell, float]:
    """Return the mean of every cell."""
    return {cell: float(np.mean([one[cell] for one in offs])) for cell in offs[0]}


class Search:
    """A search for the point with the least error; `measure` is asked for no point twice.

    By the part `least_gain` the error must fall for another value to be taken: less may be the luck of a few
    replications. `tried` has every point in order, with its error, `last` the values of each parameter with
    their errors when it was last gone through.
    """

    def __init__(self, start: Mapping[str, Value], measure: Measure, least_gain: float = 0.0) -> None:
        self.best = dict(start)
        self.tried: list[tuple[Point, float]] = []
        self.last: dict[str, list[tuple[Value, float]]] = {}
        self._known: dict[tuple[Value, ...], float] = {}
        self._measure, self._least_gain = measure, least_gain

    @property
    def error(self) -> float:
        """Error at the best point."""
        return self._known[tuple(self.best.values())]

    def found(self) -> dict[str, Any]:
        """Return for the record the best point, its error, and what was last tried."""
        last = {name: [[value, round(error, 4)] for value, error in own] for name, own in self.last.items()}
        return {"chosen": self.best, "error": round(self.error, 4), "tried": last}

    def points(self, fit: str) -> list[dict[str, Any]]:
        """Return every point tried, for the record, under the name of the fit."""
        every = ((list(point.values()), round(error, 4)) for point, error in self.tried)
        return [{"fit": fit, "levels": levels, "error": error} for levels, error in every]

    def go_through(self, values: Mapping[str, Sequence[Value]]) -> bool:
        """Take the best of some values of each of some parameters, the present one among them.

        Return whether that is another point than before.
        """
        before = dict(self.best)
        for name, own in values.items():
            points = [{**self.best, name: value} for value in own]
            new = [point for point in points if tuple(point.values()) not in self._known]
            for point, error in zip(new, self._measure(new) if new else [], strict=True):
                self._known[tuple(point.values())] = error
                self.tried.append((point, error))
            errors = [self._known[tuple(point.values())] for point in points]
            self.last[name] = list(zip(own, errors, strict=True))
            if min(errors) < (1.0 - self._least_gain) * self.error:
                self.best = points[errors.index(min(errors))]
        return self.best != before


def fit_record(
    key: str,
    fitted: Sequence[str],
    fits: Mapping[str, Mapping[str, Any]],
    points: Sequence[Mapping[str, Any]],
    **more: Any,
) -> dict[str, Any]:
    """Return the record of a study's calibration to some of the printed numbers, with what else it records.

    Of each fit, `BASE` among them, the point that was `chosen`, its `error`, what was `tried` last of each
    parameter, and what else is known of it; of every point its `fit`, `levels` and `error`.
    """
    command = f"perhop reproduce {key} --calibrate"
    own = {"paper": key, "command": command, "fitted": list(fitted)}
    return {**own, **more, "fits": fits, "points": points}


def read_record(folder: Path) -> dict[str, Any]:
    """Read the record of a study's calibration."""
    return records.read(folder / RECORD, ("command", "fitted", "fits", "points"))


def fit_section(fit: Fit, record: Mapping[str, Any], text: Sequence[str], tables: Sequence[Table]) -> Section:
    """Return the section on a calibration: the study's own tables, then what was tried."""
    base, rows = record["fits"][BASE], []
    for name, one in fit.parameters.items():
        tried = ", ".join(f"{value} ({error:.3f})" for value, error in base["tried"][name])
        called = f"{name}: {one.meaning}" if one.meaning else name
        rows.append((called, tried, str(one.before), str(base["chosen"][name])))
    title = "What was tried, with the error of the fit when it was last searched"
    every = Table(title, ("parameter", "tried", "before", "chosen"), rows, 4, command=record["command"])
    return Section("calibration", "Calibration", text, [*tables, every])
