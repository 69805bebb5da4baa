"""Intervals for statistics that are not means, by leaving out one replication at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from perhop.stats.intervals import Interval, mean_interval

T = TypeVar("T")


def jackknife_interval(
    samples: Sequence[T], statistic: Callable[[Sequence[T]], float], level: float = 0.95
) -> Interval:
    """Jackknife estimate of a statistic and its two-sided interval.

    Parameters
    ----------
    samples
        One per replication, independent; at least three, so that what is left has two.
    statistic
        A smooth function of all samples, for example a ratio of two standard deviations.
    level
        Confidence, inside (0, 1).

    Returns
    -------
    Interval
        Of the pseudo-values ``n S - (n - 1) S_i``, with ``S_i`` the statistic without sample i.

    References
    ----------
    .. [1] R. G. Miller, "The jackknife - a review", Biometrika 61, 1974.
    """
    n = len(samples)
    if n < 3:
        raise ValueError(f"jackknife_interval: needs at least three samples, not {n}")
    whole = statistic(samples)
    without = [statistic([*samples[:i], *samples[i + 1 :]]) for i in range(n)]
    return mean_interval([n * whole - (n - 1) * one for one in without], level)
