"""A fit to printed cells of a factorial: what `calibration.toml` says of it, and how far cells are off."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from perhop.judge.measured import Measurements
from perhop.judge.quantity import PRINTED, Place, Subject
from perhop.papers import fit
from perhop.papers.error import PackError

Cell = tuple[str, ...]
"""A printed number: response, groups, treatment."""

Off = Mapping[Cell, float]
"""Distance of each cell from the printed one, in the printed one's standard errors."""


@dataclass(frozen=True)
class CellFit(fit.Fit):
    """Settings of the search: the cells to fit, and when a reading fits them.

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
    near
        A reading fits if its error is at most so many times the least.
    hopeless
        One with more than so many times the base's is not searched to the end and has one seed.
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


def load(folder: Path, subject: Subject) -> CellFit:
    """Read the fit of a study.

    Raises
    ------
    PackError
        `calibration.toml` is missing or malformed, or the factorial has not what it names.
    """
    found, path = fit.load_fit(folder, CellFit), folder / fit.FILE
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
    found = {
        cell: subject.reference(PRINTED, response, place, None)
        for cell, response, place in cells_of(subject, own)
    }
    return {cell: value for cell, value in found.items() if value is not None}


def by_seed(
    subject: Subject, own: CellFit, measured: Measurements, treatments: Sequence[str] | None = None
) -> list[dict[Cell, float]]:
    """Return the cells of each replication, of all treatments or of some."""
    values = {
        cell: measured.values(response, **place)
        for cell, response, place in cells_of(subject, own)
        if treatments is None or cell[-1] in treatments
    }
    count = min(len(one) for one in values.values())
    return [{cell: float(one[k]) for cell, one in values.items()} for k in range(count)]


def mean(offs: Sequence[Mapping[Cell, float]]) -> dict[Cell, float]:
    """Return the mean of every cell."""
    return {cell: float(np.mean([one[cell] for one in offs])) for cell in offs[0]}
