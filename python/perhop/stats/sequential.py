"""Intervals that may be looked at after every replication."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from perhop.stats.intervals import Interval, checked

PRIOR_VARIANCE = 2.0
"""Of the standardised distance of a wrong mean, over which the test mixes: narrowest from 5 to 100 values."""


def sequential_interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Compute the mean, and an interval that holds at every number of values at once.

    For each mean that is proposed, the likelihood ratio of the t test, mixed over a normal prior of the
    standardised distance, is a martingale that begins with 1; that it ever exceeds 1 / (1 - level) has at
    most probability 1 - level (Ville). The interval has the means for which it has not. It takes independent
    normal values and nothing else; it is 1.7 times as long as Student's at 10 to 100 values, which is the
    price of looking whenever one likes.

    Sources: T. L. Lai, "On confidence sequences", Annals of Statistics 4, 1976; H. Wang, A. Ramdas,
    "Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance", Sequential
    Analysis 44, 2025.

    Parameters
    ----------
    values
        One value per replication, in their order; at least one, all finite.
    level
        Confidence, inside (0, 1), that the mean is in all the intervals of the sequence.

    Returns
    -------
    Interval
        With s the standard deviation of n values, g = `PRIOR_VARIANCE`, r = 1 / (1 + g n) and
        A = ((1 - level)^2 r)^(-1/n): ``mean +- s sqrt((n - 1) (A - 1) / (n (1 - r A)))``; infinite where
        r A >= 1, which with g = 2 and 95 % is below 4 values.
    """
    x = checked(values, level)
    n, mean = int(x.size), float(np.mean(x))
    half = half_width_over_s(n, level)
    if math.isfinite(half):
        half *= float(np.std(x, ddof=1))
    return Interval(mean, mean - half, mean + half, n)


def half_width_over_s(n: int, level: float) -> float:
    """Return half the length of `sequential_interval` of n values over their standard deviation."""
    shrunk = 1.0 / (1.0 + PRIOR_VARIANCE * n)
    bound = ((1.0 - level) ** 2 * shrunk) ** (-1.0 / n)
    if n < 2 or shrunk * bound >= 1.0:
        return math.inf
    return math.sqrt((n - 1) * (bound - 1.0) / (n * (1.0 - shrunk * bound)))
