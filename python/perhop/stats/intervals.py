"""Means of replications with their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy


@dataclass(frozen=True)
class Interval:
    """A mean with its two-sided interval, infinite where one value alone says nothing about the spread."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def within(self, low: float, high: float) -> bool | None:
        """Return whether all of it lies in [low, high], False if none does, None if an end lies in it."""
        if low <= self.low and self.high <= high:
            return True
        return False if self.high < low or self.low > high else None


def mean_interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Compute the mean of independent values and its two-sided Student t interval.

    This is ``mean +- t(1 - (1 - level) / 2; n - 1) s / sqrt(n)``, for independent, roughly normal values.
    Equal values give an interval of length zero, one value an infinite one.

    Source: R. Jain, "The Art of Computer Systems Performance Analysis", 1991, section 13.2.

    Parameters
    ----------
    values
        One value per replication; at least one, all finite.
    level
        Confidence, inside (0, 1).
    """
    return _student(values, level, lambda n: 1.0 / n)


def deviation_behind(interval: Interval, level: float = 0.95) -> float:
    """Give the sample standard deviation that Student's interval of a mean was made of."""
    return interval.half_width * math.sqrt(interval.n) / student_quantile(level, interval.n - 1)


def prediction_interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Compute the mean and the two-sided interval that one more value of the same kind lies in.

    This is ``mean +- t(1 - (1 - level) / 2; n - 1) s sqrt(1 + 1 / n)``, for values as of `mean_interval`; it
    does not narrow to nothing as values are added.

    Source: D. C. Montgomery, G. C. Runger, "Applied Statistics and Probability for Engineers", section 8.6.

    Parameters
    ----------
    values
        As of `mean_interval`.
    level
        Probability, inside (0, 1), that the new value lies inside.
    """
    return _student(values, level, lambda n: 1.0 + 1.0 / n)


def checked(values: npt.ArrayLike, level: float) -> npt.NDArray[np.float64]:
    """Return values in a row.

    Raises
    ------
    ValueError
        There is none, one is not finite, or the level is not inside (0, 1).
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level = {level}: must lie inside (0, 1)")
    x = np.asarray(values, dtype=np.float64).ravel()
    if x.size == 0:
        raise ValueError("an interval needs at least one value")
    if not np.all(np.isfinite(x)):
        raise ValueError("an interval needs finite values")
    return x


def _student(values: npt.ArrayLike, level: float, variance: Callable[[int], float]) -> Interval:
    """Compute the mean, and an interval about it with so many times the variance of one value."""
    x = checked(values, level)
    n, mean = int(x.size), float(np.mean(x))
    if n == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    spread = float(np.std(x, ddof=1)) * math.sqrt(variance(n))
    half = student_quantile(level, n - 1) * spread
    return Interval(mean, mean - half, mean + half, n)


@lru_cache(maxsize=256)
def student_quantile(level: float, df: float) -> float:
    """Return the quantile of Student's t for a two-sided interval."""
    return float(scipy.special.stdtrit(df, 1.0 - (1.0 - level) / 2.0))
