"""The fit to some cells of Tables 2 and 4 under each reading, and the readings that vote."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perhop.papers import fit
from perhop.papers.error import PackError
from perhop.papers.pack import Pack
from perhop.papers.readings import Reading

Cell = tuple[str, str, str]
"""A printed number: class, congestion, marking."""


@dataclass(frozen=True)
class CellFit(fit.Fit):
    """Settings of the search: the cells to fit, and when a reading fits them.

    Attributes
    ----------
    treatments
        Markings that are fitted, every class under every congestion.
    seen
        By class: markings that earlier searches had seen.
    error
        By class: standard error of a printed number, Mbit/s.
    seeds
        How many runs the point that was found has; the search has the first alone.
    near
        A reading fits if its error is at most so many times the least.
    hopeless
        One with more than so many times the base's is not searched to the end and has one seed.
    runs
        What all its runs have in `run`.
    """

    treatments: Sequence[str]
    seen: Mapping[str, Sequence[str]]
    error: Mapping[str, float]
    seeds: int
    near: float
    hopeless: float
    runs: Mapping[str, object]

    @property
    def in_sample(self) -> frozenset[tuple[str, str]]:
        """Class and marking of what is fitted or was seen before."""
        fitted = {(response, treatment) for response in self.error for treatment in self.treatments}
        return frozenset(fitted | {(response, one) for response, own in self.seen.items() for one in own})

    def off(self, printed: Mapping[Cell, float], measured: Mapping[Cell, float]) -> dict[Cell, float]:
        """Return the distance of each number from the printed one, in its standard errors."""
        return {cell: (value - printed[cell]) / self.error[cell[0]] for cell, value in measured.items()}

    def rms(self, off: Mapping[Cell, float], fitted: bool = True) -> float:
        """Return the root mean square over the fitted cells, or the others; NaN without any."""
        own = [value for (_, _, treatment), value in off.items() if (treatment in self.treatments) == fitted]
        return math.sqrt(sum(value * value for value in own) / len(own)) if own else math.nan

    def fitting(self, errors: Mapping[str, float]) -> list[str]:
        """Return the readings whose error is near the least."""
        limit = self.near * min(errors.values())
        return [name for name, error in errors.items() if error <= limit]


def load_fit(pack: Pack) -> CellFit:
    """Read `calibration.toml`; errors as of `perhop.papers.fit.load_fit`."""
    return fit.load_fit(pack, CellFit)


def refitted(pack: Pack, readings: Sequence[Reading]) -> tuple[tuple[Reading, ...], tuple[str, ...]]:
    """Return the voting readings at their fitted points, and why the others do not vote.

    What each was fitted to is in the record of the calibration. A reading that changes how runs are made, and
    nothing else, is at the point of the study itself.

    Raises
    ------
    PackError
        The record lacks a reading.
    """
    own, record = load_fit(pack), fit.read_record(pack)["fits"]
    voting, left_out = list[Reading](), list[str]()
    try:
        least = min(one["error"] for one in record.values())
        for one in readings:
            if one.of_runs:
                voting.append(one)
                continue
            found = record[one.id]
            if found["fits"]:
                again = ", ".join(f"{name} {level}" for name, level in found["chosen"].items())
                settings = (*one.settings, *own.under(one.id).settings(found["chosen"]))
                voting.append(
                    replace(one, meaning=f"{one.meaning}; fitted again: {again}", settings=settings)
                )
            else:
                left_out.append(
                    f"reading {one.id}: does not fit the paper's own cells ({found['error']:.1f} against "
                    f"{least:.1f} standard errors), so that it does not vote"
                )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PackError(
            f"{pack.folder / fit.RECORD}: not what a calibration records: {error}",
            f"perhop reproduce {pack.key} --calibrate makes it again",
        ) from None
    return tuple(voting), tuple(left_out)
