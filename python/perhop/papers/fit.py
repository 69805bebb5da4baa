"""A fit of settings to printed numbers, as a study's `calibration.toml` states it, and its error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perhop.papers.error import PackError
from perhop.papers.pack import Pack
from perhop.papers.search import Point

Cell = tuple[str, str, str]
"""A printed number: response, condition, treatment."""


@dataclass(frozen=True)
class Fit:
    """What is searched, and on which of the printed numbers.

    Attributes
    ----------
    levels
        By parameter and level: settings of the scenario.
    start
        Where the search begins.
    cells
        By response: treatments that are fitted, under every condition.
    seen
        As `cells`, of what a search by hand for the start had seen.
    error
        By response: standard error of a printed number, in the unit of the response.
    passes
        Of the search, at most.
    runs
        Settings of all its runs.
    """

    levels: Mapping[str, Mapping[str, Sequence[str]]]
    start: Point
    cells: Mapping[str, Sequence[str]]
    seen: Mapping[str, Sequence[str]]
    error: Mapping[str, float]
    passes: int
    runs: Sequence[str]

    @property
    def fitted(self) -> frozenset[tuple[str, str]]:
        """Response and treatment of what is fitted."""
        return _pairs(self.cells)

    @property
    def in_sample(self) -> frozenset[tuple[str, str]]:
        """Response and treatment of what is fitted or was seen before."""
        return self.fitted | _pairs(self.seen)

    def settings(self, point: Point) -> list[str]:
        """Give the overrides of the scenario at a point."""
        return [one for name, level in point.items() for one in self.levels[name][str(level)]]

    def off(self, printed: Mapping[Cell, float], measured: Mapping[Cell, float]) -> dict[Cell, float]:
        """How far each number measured lies from the printed one, in the printed one's standard errors."""
        return {cell: (value - printed[cell]) / self.error[cell[0]] for cell, value in measured.items()}

    def rms(self, off: Mapping[Cell, float], fitted: bool = True) -> float:
        """Root mean square over the cells that are fitted, or over the others; NaN where there is none."""
        own = [
            value
            for (response, _, treatment), value in off.items()
            if ((response, treatment) in self.fitted) == fitted
        ]
        return math.sqrt(sum(value * value for value in own) / len(own)) if own else math.nan


def load_fit(pack: Pack) -> Fit:
    """Read `calibration.toml` of a pack.

    It has `[search]` with `passes`, `seed` and `duration` of the runs; `[fit]` and `[seen]` with treatments,
    and `[error]`, by response; and a `[[factor]]` for each parameter, with `name`, `start` and `levels`.

    Raises
    ------
    PackError
        It is missing or malformed, or lacks one of these.
    """
    table = pack.toml("calibration.toml")
    try:
        factors = table["factor"]
        return Fit(
            {one["name"]: one["levels"] for one in factors},
            {one["name"]: one["start"] for one in factors},
            table["fit"],
            table["seen"],
            table["error"],
            table["search"]["passes"],
            [f"run.{name}={table['search'][name]}" for name in ("seed", "duration")],
        )
    except KeyError as error:
        raise PackError(f"{pack.folder / 'calibration.toml'}: has no {error}") from None


def _pairs(cells: Mapping[str, Sequence[str]]) -> frozenset[tuple[str, str]]:
    return frozenset((response, treatment) for response, own in cells.items() for treatment in own)
