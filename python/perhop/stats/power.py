"""The power of a design, and the replications that a question needs.

Differences, half-widths and deviations are in the unit of the response, variances in its square. `level`, a
confidence, and `wanted`, a power, lie inside (0, 1). Replications are None beyond `most`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

import numpy as np
import scipy

from perhop.stats.intervals import student_quantile
from perhop.stats.sequential import half_width_over_s

_SPREADS = 1000
"""Of how many equally likely sample deviations a probability is the mean."""


def power(
    difference: float,
    error_variance: float,
    levels: int,
    each: float,
    error_df: float,
    significance: float = 0.05,
) -> float:
    """Compute the probability that the F test of a main effect finds a difference.

    F has the noncentrality ``each difference^2 / (2 error_variance)``: the least there is for that
    difference.

    Source: D. C. Montgomery, "Design and Analysis of Experiments", section 3.7.

    Parameters
    ----------
    difference
        Between the two levels that differ most; the others lie half way.
    error_variance
        Mean square of the error; positive.
    each
        Observations of a level.
    significance
        Probability of finding a difference that is none.
    """
    if error_df < 1 or levels < 2:
        return math.nan
    if error_variance <= 0.0:
        return 1.0 if difference else significance
    limit = scipy.special.fdtri(levels - 1, error_df, 1.0 - significance)
    noncentral = each * difference**2 / (2.0 * error_variance)
    return float(1.0 - scipy.special.ncfdtr(levels - 1, error_df, noncentral, limit))


def detectable(
    error_variance: float,
    levels: int,
    each: float,
    error_df: float,
    wanted: float = 0.8,
    significance: float = 0.05,
) -> float:
    """Compute the least difference that the F test of a main effect finds so often; see `power`.

    NaN without degrees of freedom.
    """
    if error_df < 1 or levels < 2:
        return math.nan
    low, high = 0.0, math.sqrt(error_variance)
    while power(high, error_variance, levels, each, error_df, significance) < wanted:
        low, high = high, 2.0 * high
    for _ in range(50):
        middle = (low + high) / 2.0
        found = power(middle, error_variance, levels, each, error_df, significance) >= wanted
        low, high = (low, middle) if found else (middle, high)
    return high


def replications_needed(
    difference: float,
    error_variance: float,
    levels: int,
    treatments: int,
    *,
    blocked: bool = False,
    wanted: float = 0.8,
    significance: float = 0.05,
    most: int = 100_000,
) -> int | None:
    """Compute the replications with which a main effect's difference is found; see `power`.

    Parameters
    ----------
    treatments
        Of the whole design.
    blocked
        Whether a replication is a block.
    """

    def enough(replications: int) -> bool:
        df = (treatments - blocked) * (replications - 1)
        each = treatments * replications / levels
        return power(difference, error_variance, levels, each, df, significance) >= wanted

    return _least(enough, most)


def replications_for_half_width(
    half_width: float,
    error_variance: float,
    levels: int,
    treatments: int,
    *,
    blocked: bool = False,
    level: float = 0.95,
    most: int = 100_000,
) -> int | None:
    """Compute the replications at which the interval of a main effect has a half-width.

    This is the least r with ``t sqrt(error_variance (levels - 1) / (treatments r)) <= half_width``, of a
    design as for `replications_needed`.
    """

    def enough(replications: int) -> bool:
        df = (treatments - blocked) * (replications - 1)
        spread = math.sqrt(error_variance * (levels - 1) / (treatments * replications))
        return df > 0 and student_quantile(level, df) * spread <= half_width

    return _least(enough, most)


def replications_for_mean(
    half_width: float, deviation: float, level: float = 0.95, most: int = 100_000
) -> int | None:
    """Compute the replications at which the interval of a mean has a half-width.

    This is the least n with ``t(n - 1) deviation / sqrt(n) <= half_width``; the standard deviation is that
    between runs.
    """
    # a design of two levels whose half-width is that of a single mean
    return replications_for_half_width(half_width, deviation**2, 2, 1, level=level, most=most)


def replications_until(
    half_width: float, deviation: float, level: float = 0.95, most: int = 100_000
) -> int | None:
    """Compute the replications at which an interval that holds at every look has a half-width.

    As `replications_for_mean`, of `perhop.stats.sequential.sequential_interval`.
    """
    return _least(lambda n: half_width_over_s(n, level) * deviation <= half_width, most)


def replications_for_difference(
    difference: float, variance: float, *, paired: bool, wanted: float = 0.8, most: int = 100_000
) -> int | None:
    """Compute the replications with which the t test finds a difference of two arms.

    Parameters
    ----------
    difference
        Of the means.
    variance
        Of the differences between the arms, replication by replication; of arms with seeds of their own the
        sum of both variances.
    paired
        Whether replication i of both has the same seed.
    """
    return replications_needed(difference, variance / 2.0, 2, 2, blocked=paired, wanted=wanted, most=most)


def interval_inside(
    mean: float, deviation: float, n: int, low: float, high: float, level: float = 0.95
) -> float:
    """Compute the probability that Student's interval of a mean lies wholly inside a range.

    With one end it is one minus the noncentral t distribution with ``(mean - low) sqrt(n) / deviation``. Here
    the normal mean is integrated exactly, and the sample deviation over equally likely values of its chi
    distribution.

    Parameters
    ----------
    mean, deviation
        Of the values, which are independent and normal.
    n
        How many there are; at least two.
    low, high
        Ends of the range; infinite where there is none.
    """
    if deviation == 0.0:
        return float(low <= mean <= high)
    tail = (np.arange(_SPREADS) + 0.5) / _SPREADS
    half = student_quantile(level, n - 1) * np.sqrt(scipy.special.chdtri(n - 1, tail) / (n - 1))
    scale = deviation / math.sqrt(n)
    least, most = (low - mean) / scale + half, (high - mean) / scale - half
    inside = scipy.special.ndtr(most) - scipy.special.ndtr(least)
    return float(np.mean(np.maximum(inside, 0.0)))


def _least(enough: Callable[[int], bool], most: int) -> int | None:
    """Return the least number from 2 that is enough, where every larger one is."""
    high = 2
    while not enough(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    return bisect_left(range(high), True, lo=high // 2 + 1, key=enough)
