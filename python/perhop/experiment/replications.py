"""How many replications a half-width, or a difference of two treatments, takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from perhop.experiment.analysis import AnalysisRequest
from perhop.experiment.comparisons import MOST, Margin, Own, values
from perhop.stats.power import replications_for_difference, replications_for_mean, replications_until
from perhop.units import counted

FOUND = 0.8
"""How often a difference is to be found."""

_UPPER = 0.95


@dataclass(frozen=True)
class Needed:
    """Replications that one treatment, or a pair of them, needs in a response or a group of it."""

    response: str
    unit: str | None
    of: Mapping[str, str]
    """The group: value by column."""
    treatment: str
    second: str | None
    """Of a pair the other treatment."""
    mean: float
    """Of the values that there are; of a pair, of those of the first."""
    deviation: float
    """Standard deviation of the values; of a pair, of the differences."""
    runs: int
    width: float
    """Half-width or difference that is wanted, in the unit of the response."""
    replications: int | None
    """Replications that give it, if the deviation is as it was; None beyond 100,000."""
    up_to: int | None
    """The same with the upper end of a one-sided 95 % interval of the deviation."""
    until: int | None = None
    """Replications at which an interval that holds at every look is so narrow; None of a pair."""


class TooManyError(ValueError):
    """More treatments than pairs are made of."""


def for_half_width(
    scalars: pl.DataFrame, asked: AnalysisRequest, wanted: Margin, responses: Sequence[str] = ()
) -> list[Needed]:
    """Return the replications that each treatment needs for the half-width of its mean's interval.

    A treatment with fewer than two values is left out; without names of responses all are meant.
    """
    found = []
    for own in values(scalars, asked, responses):
        for treatment, x in _arms(own).items():
            width = _width(wanted, x)
            spread, upper = _spread(x)
            needed, most = (replications_for_mean(width, s, asked.level) for s in (spread, upper))
            until = replications_until(width, spread, asked.level)
            about = (own.response, own.unit, own.of, treatment, None)
            found.append(Needed(*about, float(x.mean()), spread, x.size, width, needed, most, until))
    return found


def for_difference(
    scalars: pl.DataFrame, asked: AnalysisRequest, wanted: Margin, responses: Sequence[str] = ()
) -> list[Needed]:
    """Return the replications with which a difference between two treatments is found, of all pairs.

    A share is of the first treatment's mean. With common seeds a pair is compared replication by replication.
    """
    if asked.planned > MOST:
        raise TooManyError(f"{counted(asked.planned, 'treatment')} make too many pairs; at most {MOST} do")
    return [one for own in values(scalars, asked, responses) for one in _pairs(own, asked, wanted)]


def _pairs(own: Own, asked: AnalysisRequest, wanted: Margin) -> Iterator[Needed]:
    for first, second in combinations(_arms(own), 2):
        both = own.shared((first, second))
        x, y = own.arm(first, both), own.arm(second, both)
        if len(both) < 2:
            continue
        if asked.common_seeds:
            spread, upper = _spread(y - x)
        else:
            spread, upper = (math.hypot(*each) for each in zip(_spread(x), _spread(y), strict=True))
        width = _width(wanted, x)
        needed, most = (
            replications_for_difference(width, s**2, paired=asked.common_seeds, wanted=FOUND)
            if width
            else None
            for s in (spread, upper)
        )
        about = (own.response, own.unit, own.of, first, second)
        yield Needed(*about, float(x.mean()), spread, len(both), width, needed, most)


def _width(wanted: Margin, x: npt.NDArray[np.float64]) -> float:
    return wanted.value * (abs(float(x.mean())) if wanted.relative else 1.0)


def _arms(own: Own) -> dict[str, npt.NDArray[np.float64]]:
    """Return the values of each treatment that has two or more."""
    parts = own.rows.group_by("treatment", maintain_order=True)
    found = {str(name): rows["value"].to_numpy() for (name,), rows in parts}
    return {name: x for name, x in found.items() if x.size > 1}


def _spread(x: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the standard deviation of values, and the upper end of its interval."""
    s = float(np.std(x, ddof=1))
    return s, s * math.sqrt((x.size - 1) / float(scipy.special.chdtri(x.size - 1, _UPPER)))
