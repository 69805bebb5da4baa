"""Means of replications with their confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Interval:
    """A mean with its two-sided interval.

    Attributes
    ----------
    mean
        Sample mean.
    low, high
        Ends of the interval; infinite where one value alone says nothing about the spread.
    n
        Number of values.
    """

    mean: float
    low: float
    high: float
    n: int

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2


def mean_interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Mean of independent values and its two-sided Student t interval.

    Parameters
    ----------
    values
        One value per replication; at least one, all finite.
    level
        Confidence, inside (0, 1).

    Returns
    -------
    Interval
        ``mean +- t(1 - (1 - level) / 2; n - 1) s / sqrt(n)``.

    Notes
    -----
    Assumes independent, roughly normal values. Equal values give an interval of length zero, one value an
    infinite one.

    References
    ----------
    .. [1] R. Jain, "The Art of Computer Systems Performance Analysis", 1991, section 13.2.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level = {level}: must lie inside (0, 1)")
    x = np.asarray(values, dtype=np.float64).ravel()
    if x.size == 0:
        raise ValueError("mean_interval: needs at least one value")
    if not np.all(np.isfinite(x)):
        raise ValueError("mean_interval: every value must be finite")
    n = int(x.size)
    mean = float(np.mean(x))
    if n == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    half = _student_quantile(1.0 - (1.0 - level) / 2.0, n - 1) * float(np.std(x, ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


@lru_cache(maxsize=256)
def _student_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t; SciPy is imported only when one is needed."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))
