"""Intervals for statistics that are not means, by leaving out one replication at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from perhop.stats.intervals import Interval, mean_interval

T = TypeVar("T")


class UndefinedRatioError(ValueError):
    """A ratio with a denominator of zero, in all replications together or with one left out."""


def jackknife_interval(
    samples: Sequence[T], statistic: Callable[[Sequence[T]], float], level: float = 0.95
) -> Interval:
    """Jackknife estimate of a statistic and its two-sided interval.

    It is that of the pseudo-values ``n S - (n - 1) S_i``, with ``S_i`` the statistic without sample i.

    Source: R. G. Miller, "The jackknife - a review", Biometrika 61, 1974.

    Parameters
    ----------
    samples
        One per replication, independent; at least three, so that what is left has two.
    statistic
        A smooth function of all samples, for example a ratio of two standard deviations.
    level
        Confidence, inside (0, 1).
    """
    n = len(samples)
    if n < 3:
        raise ValueError(f"jackknife_interval: needs at least three samples, not {n}")
    whole = statistic(samples)
    without = [statistic([*samples[:i], *samples[i + 1 :]]) for i in range(n)]
    return mean_interval([n * whole - (n - 1) * one for one in without], level)


def ratio_of_sums(over: npt.ArrayLike, under: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Compute the ratio of two sums over paired replications, with the jackknife's interval.

    The mean of the replications' own ratios is at least the ratio of the means, and has no value as soon as
    one denominator is zero; this is neither. With fewer than three pairs the interval has no ends.

    Raises
    ------
    UndefinedRatioError
        The sum of the denominators is zero, or is zero without one of them.
    ValueError
        A value is not finite, or the two are not equally long.
    """
    x, y = np.asarray(over, dtype=np.float64).ravel(), np.asarray(under, dtype=np.float64).ravel()
    if x.size != y.size or x.size == 0:
        raise ValueError(f"ratio_of_sums: {x.size} values over {y.size}")
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        raise ValueError("ratio_of_sums: every value must be finite")
    n = int(x.size)
    rest = y.sum() - y if n > 2 else np.array([y.sum()])
    zeros = int(np.count_nonzero(y == 0.0))
    if y.sum() == 0.0 or np.any(rest == 0.0) or n - zeros < min(n, 2):
        raise UndefinedRatioError(f"the denominator is 0 in {zeros} of {n} replications")
    if n < 3:
        return Interval(float(x.sum() / y.sum()), -math.inf, math.inf, n)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    return jackknife_interval(pairs, _ratio_of_pairs, level)


def _ratio_of_pairs(pairs: Sequence[tuple[float, float]]) -> float:
    return sum(a for a, _ in pairs) / sum(b for _, b in pairs)
