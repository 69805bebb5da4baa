"""What a paper leaves open as parameters of its study: `calibration.toml`, and the record of their search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perhop.papers.error import PackError
from perhop.papers.pack import Pack
from perhop.papers.readings import Reading
from perhop.papers.search import Point, Searched, Value, search

Values = Mapping[str, Value]
"""A value for every parameter of `calibration.toml`."""

Errors = Mapping[str, Mapping[str, float]]
"""By table its errors, by their kind."""


@dataclass(frozen=True)
class Parameter:
    """A table `[[parameter]]` of `calibration.toml`.

    Attributes
    ----------
    name, meaning
        What readings and pages call it, and what it is.
    values
        What is tried; a sensitivity section runs them all.
    before, chosen
        Where the search begins, and what it ended with.
    search
        Whether it is searched; others are only swept.
    only_swept
        Values that the search may not take.
    set
        Settings of the scenario, with the value in place of {} and whether there is one in place of {on}.
    treatment
        With which alone it means something.
    """

    name: str
    meaning: str
    values: tuple[Value, ...]
    before: Value
    chosen: Value
    search: bool
    only_swept: tuple[Value, ...] = ()
    set: tuple[str, ...] = ()
    treatment: str | None = None

    @property
    def searched(self) -> tuple[Value, ...]:
        """What the search may take."""
        return tuple(value for value in self.values if value not in self.only_swept)


@dataclass(frozen=True)
class Calibration:
    """`calibration.toml`: each parameter, and `[search]`.

    Attributes
    ----------
    parameters
        In the order of the search.
    fit, predict
        Tables that are fitted, and that are held against the fit.
    replications, seed
        Of the search.
    most_passes, least_gain
        As `perhop.papers.search.search` takes them.
    offset
        By quantity what is added to both sides before logarithms are taken: `perhop.papers.feroz.log_error`.
    """

    parameters: tuple[Parameter, ...]
    fit: tuple[str, ...]
    predict: tuple[str, ...]
    replications: int
    seed: int
    most_passes: int
    least_gain: float
    offset: Mapping[str, float]

    @property
    def before(self) -> dict[str, Value]:
        """Where the search begins."""
        return {one.name: one.before for one in self.parameters}

    @property
    def chosen(self) -> dict[str, Value]:
        """What the search ended with."""
        return {one.name: one.chosen for one in self.parameters}

    def settings(self, values: Values, treatment: str) -> list[str]:
        """Give the overrides of the scenario that parameters state themselves, for a treatment."""
        return [
            text.format(values[one.name], on=str(bool(values[one.name])).lower())
            for one in self.parameters
            if one.treatment in (None, treatment)
            for text in one.set
        ]


def load_calibration(pack: Pack) -> Calibration:
    """Read `calibration.toml`.

    Raises
    ------
    PackError
        The search or a parameter lacks a setting, or a value is none of those that are tried.
    """
    path, text = pack.folder / "calibration.toml", pack.toml("calibration.toml")
    where, parameters = "search", []
    try:
        for table in text.get("parameter", []):
            where = f"parameter {table.get('name', '?')}"
            found = Parameter(**_tuples(table))
            if not {found.before, found.chosen} <= set(found.searched):
                raise PackError(f"{path}: {where}: a value that is not tried")
            parameters.append(found)
        where = "search"
        return Calibration(tuple(parameters), **_tuples(text["search"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise PackError(f"{path}: {where}: {error}") from None


def check_change(pack: Pack, reading: Reading, fit: Calibration) -> None:
    """Refuse a reading that changes what is no parameter, or to a value that is not tried or is chosen."""
    known = {one.name: one for one in fit.parameters}
    where = f"{pack.folder / 'readings.toml'}: reading {reading.id}"
    for name, value in reading.change.items():
        if name not in known or value not in known[name].values:
            raise PackError(f"{where}: {name} = {value!r} is not tried in calibration.toml")
    if reading.change and all(known[name].chosen == value for name, value in reading.change.items()):
        raise PackError(f"{where}: is what calibration.toml chose", "leave the reading out")


def search_record(
    key: str,
    fit: Calibration,
    errors: Callable[[list[Point]], Sequence[float]],
    at_ends: Callable[[Sequence[Values]], Sequence[Errors]],
) -> dict[str, Any]:
    """Search the parameters, once within what the search may take, once within all that is swept.

    Parameters
    ----------
    key
        Of the study.
    fit
        What is searched, and how.
    errors
        Gives the error of each of several points.
    at_ends
        Gives the errors of all tables at each of several points: where the search began, where it ended.

    Returns
    -------
    dict
        The record: how it was searched, every step, the readings before and after, the errors of both.
    """

    def searched(swept_too: bool) -> Searched:
        values = {one.name: one.values if swept_too else one.searched for one in fit.parameters if one.search}
        return search(fit.before, values, errors, fit.most_passes, fit.least_gain)

    found, other = searched(False), searched(True)
    return {
        "paper": key,
        "command": f"perhop reproduce {key} --calibrate",
        "fit": list(fit.fit),
        "replications": fit.replications,
        "seed": fit.seed,
        "least_gain": fit.least_gain,
        "before": fit.before,
        "after": found.best,
        "error": round(found.error, 4),
        "steps": found.steps,
        "other": {"after": other.best, "error": round(other.error, 4), "steps": other.steps},
        "errors": dict(zip(("before", "after"), at_ends([fit.before, found.best]), strict=True)),
    }


def _tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
