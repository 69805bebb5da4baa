"""A campaign's name, and rules that end its replications."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MIN_REPLICATIONS = 10
"""Replications below which nothing is judged."""


def name_of(file: Path) -> str:
    """Return the name of a campaign, that of its file; ``campaign.toml`` has the folder's."""
    folder = file.resolve().parent.name
    return folder if file.stem == "campaign" and folder else file.stem


def half_width(text: str) -> tuple[float, bool]:
    """Read a half-width: its value, NaN where not above zero, and whether it is relative."""
    relative = text.endswith("%")
    try:
        value = float(text.removesuffix("%")) / (100 if relative else 1)
    except ValueError:
        value = math.nan
    return value if 0.0 < value < math.inf else math.nan, relative


@dataclass(frozen=True)
class Stop:
    """Replicate until the intervals of a response are narrow enough.

    Parameters
    ----------
    half_width
        To reach in every treatment and group: in the response's unit, or a part of the mean.
    most
        Replications after which it ends in any case.
    each
        Whether a treatment ends by itself; otherwise all end together, with as many replications.
    """

    response: str
    half_width: float
    relative: bool
    most: int
    each: bool = False


@dataclass(frozen=True)
class Goal:
    """One measure by which treatments are chosen.

    Parameters
    ----------
    group
        Of the response; empty of one without groups.
    weight
        Below zero where less is better.
    """

    response: str
    group: tuple[str, ...]
    weight: float


@dataclass(frozen=True)
class Bound:
    """The range that a response without groups is promised to lie in; infinite where it has no end."""

    response: str
    low: float
    high: float


@dataclass(frozen=True)
class Select:
    """Replicate until the best treatment is known; those that cannot be it get no more runs.

    Parameters
    ----------
    goals
        At least one; what they add up to is to be large.
    logarithms
        A value counts by its logarithm, so that a weight is of percents, and no value or one of zero is
        minus infinity. Otherwise values count as they are.
    delta
        A difference worth having, as a part: of the value that logarithms stand for, or of the sum.
    level
        Confidence that the best is better than the one taken by less than that.
    baseline
        Number of the treatment that is in use.
    most
        Replications after which it ends in any case.
    bounds
        Only what keeps all of them is taken.
    """

    goals: tuple[Goal, ...]
    logarithms: bool
    delta: float
    level: float
    baseline: int | None
    most: int
    bounds: tuple[Bound, ...] = ()
