"""A fit of settings to printed numbers under each reading, as `calibration.toml` states it, and its error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from perhop.papers.error import PackError
from perhop.papers.pack import Pack
from perhop.papers.readings import Reading
from perhop.papers.search import Point

Cell = tuple[str, str, str]
"""A printed number: response, condition, treatment."""

BASE = "as fitted"
"""What the scenario of the study stands for, among the readings."""


@dataclass(frozen=True)
class Parameter:
    """A table `[[factor]]` of `calibration.toml`.

    Attributes
    ----------
    start
        The level where the search begins.
    levels
        Settings of the scenario, by level.
    under
        The same parameter under readings that have other levels of it, by reading.
    """

    start: str
    levels: Mapping[str, Sequence[str]]
    under: Mapping[str, Parameter] = field(default_factory=dict)


@dataclass(frozen=True)
class Fit:
    """What is searched, on which of the printed numbers, and which readings fit them.

    Attributes
    ----------
    parameters
        By name, in the order of the search.
    treatments
        Those that are fitted, every response under every condition.
    seen
        By response: treatments that earlier searches had seen.
    error
        By response: standard error of a printed number, in the unit of the response.
    seeds
        How many runs the point that was found has; the search has the first alone.
    near
        A reading fits if its error is at most so many times the least.
    hopeless
        One with more than so many times the base's is not searched to the end and has one seed.
    runs
        Settings of all its runs.
    """

    parameters: Mapping[str, Parameter]
    treatments: Sequence[str]
    seen: Mapping[str, Sequence[str]]
    error: Mapping[str, float]
    seeds: int
    near: float
    hopeless: float
    runs: Sequence[str]

    @property
    def in_sample(self) -> frozenset[tuple[str, str]]:
        """Response and treatment of what is fitted or was seen before."""
        fitted = {(response, treatment) for response in self.error for treatment in self.treatments}
        return frozenset(fitted | {(response, one) for response, own in self.seen.items() for one in own})

    def under(self, reading: str) -> Fit:
        """Give the fit with the levels that a reading has of its own."""
        own = {name: one.under.get(reading, one) for name, one in self.parameters.items()}
        return replace(self, parameters=own)

    @property
    def start(self) -> Point:
        """Where the search begins."""
        return {name: one.start for name, one in self.parameters.items()}

    def settings(self, point: Point) -> list[str]:
        """Give the overrides of the scenario at a point."""
        return [one for name, level in point.items() for one in self.parameters[name].levels[str(level)]]

    def off(self, printed: Mapping[Cell, float], measured: Mapping[Cell, float]) -> dict[Cell, float]:
        """How far each number measured lies from the printed one, in the printed one's standard errors."""
        return {cell: (value - printed[cell]) / self.error[cell[0]] for cell, value in measured.items()}

    def rms(self, off: Mapping[Cell, float], fitted: bool = True) -> float:
        """Root mean square over the cells that are fitted, or over the others; NaN where there is none."""
        own = [value for (_, _, treatment), value in off.items() if (treatment in self.treatments) == fitted]
        return math.sqrt(sum(value * value for value in own) / len(own)) if own else math.nan

    def fitting(self, errors: Mapping[str, float]) -> list[str]:
        """Name the readings whose error is near the least."""
        limit = self.near * min(errors.values())
        return [name for name, error in errors.items() if error <= limit]


def load_fit(pack: Pack) -> Fit:
    """Read `calibration.toml` of a pack.

    It has `[search]` with `treatments`, `seeds`, `near` and `hopeless`; `[runs]` with settings of `run`;
    `[seen]` with treatments and `[error]`, by response; and a `[[factor]]` for each parameter, with `name`,
    `start` and `levels`, and `under.READING` where a reading has others.

    Raises
    ------
    PackError
        It is missing or malformed, or lacks one of these.
    """
    path, table = pack.folder / "calibration.toml", pack.toml("calibration.toml")
    try:
        search = table["search"]
        return Fit(
            {one["name"]: _parameter(one) for one in table["factor"]},
            search["treatments"],
            table["seen"],
            table["error"],
            search["seeds"],
            search["near"],
            search["hopeless"],
            [f"run.{name}={value}" for name, value in table["runs"].items()],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise PackError(f"{path}: not what a fit is read from: {error}") from None


def _parameter(table: Mapping[str, Any]) -> Parameter:
    under = {name: _parameter(own) for name, own in table.get("under", {}).items()}
    start, levels = table["start"], table["levels"]
    if start not in levels:
        raise KeyError(start)
    return Parameter(start, levels, under)


def refitted(pack: Pack, readings: Sequence[Reading]) -> tuple[tuple[Reading, ...], tuple[str, ...]]:
    """Give the readings that vote, at the point fitted under each, and say of the others why they do not.

    What each was fitted to is in the record of the calibration. A reading that changes how runs are made, and
    nothing else, is at the point of the study itself.

    Raises
    ------
    PackError
        The record lacks a reading.
    """
    fit, path = load_fit(pack), pack.folder / "calibration.json"
    record = pack.record(path.name, ["readings"])["readings"]
    voting, left_out = list[Reading](), list[str]()
    try:
        least = min(one["fitted"] for one in record.values())
        for one in readings:
            if one.of_runs:
                voting.append(one)
                continue
            found = record[one.id]
            if found["fits"]:
                voting.append(_at(one, found["chosen"], fit.under(one.id)))
            else:
                left_out.append(
                    f"reading {one.id}: does not fit the paper's own cells ({found['fitted']:.1f} against "
                    f"{least:.1f} standard errors), so that it does not vote"
                )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PackError(
            f"{path}: not what a calibration records: {error}",
            f"perhop reproduce {pack.key} --calibrate makes it again",
        ) from None
    return tuple(voting), tuple(left_out)


def _at(reading: Reading, point: Point, fit: Fit) -> Reading:
    """Give a reading at a point of its own."""
    again = ", ".join(f"{name} {level}" for name, level in point.items())
    settings = (*reading.settings, *fit.settings(point))
    return replace(reading, meaning=f"{reading.meaning}; fitted again: {again}", settings=settings)
