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
    """Replicate until the intervals of a response are narrow enough."""

    response: str
    half_width: float
    """To reach in every treatment and group: in the response's unit, or a part of the mean."""
    relative: bool
    most: int
    """Replications after which it ends in any case."""
    each: bool = False
    """Whether a treatment ends by itself; otherwise all end together, with as many replications."""


@dataclass(frozen=True)
class Goal:
    """One measure by which treatments are chosen."""

    response: str
    group: tuple[str, ...]
    """Of the response; empty of one without groups."""
    weight: float
    """Below zero where less is better."""


@dataclass(frozen=True)
class Bound:
    """The range that a response without groups is promised to lie in; infinite where it has no end."""

    response: str
    low: float
    high: float


@dataclass(frozen=True)
class Select:
    """Replicate until the best treatment is known; those that cannot be it get no more runs."""

    goals: tuple[Goal, ...]
    """At least one; what they add up to is to be large."""
    logarithms: bool
    """A value counts by its logarithm, so that a weight is of percents, and no value or one of zero is minus
    infinity. Otherwise values count as they are.
    """
    delta: float
    """A difference worth having, as a part: of the value that logarithms stand for, or of the sum."""
    level: float
    """Confidence that the best is better than the one taken by less than that."""
    baseline: int | None
    """Number of the treatment that is in use."""
    most: int
    """Replications after which it ends in any case."""
    bounds: tuple[Bound, ...] = ()
    """Only what keeps all of them is taken."""
