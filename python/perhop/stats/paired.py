"""Two arms under common random numbers: their difference, and whether they are equivalent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from perhop.stats.intervals import Interval, mean_interval


@dataclass(frozen=True)
class Paired:
    """A paired comparison."""

    difference: Interval
    p: float
    """Probability of a difference so far from zero where there is none; NaN of one pair."""
    correlation: float
    """Of the arms over the replications; NaN where one does not vary."""
    saved: float
    """How many times more replications arms with seeds of their own would need for the same interval; below 1
    the pairs harm. NaN where it cannot be told.
    """


def paired_difference(first: npt.ArrayLike, second: npt.ArrayLike, level: float = 0.95) -> Paired:
    """Compare two arms by the differences of their replications.

    Source: A. M. Law, "Simulation Modeling and Analysis", sections 10.2.1, 11.2.

    Parameters
    ----------
    first, second
        One value per replication, replication i of both under the same seed.
    level
        Confidence, inside (0, 1).

    Raises
    ------
    ValueError
        The arms are not equally long, or have no or no finite values.
    """
    x, y = _pairs(first, second)
    found = mean_interval(y - x, level)
    if x.size < 2:
        return Paired(found, math.nan, math.nan, math.nan)
    apart = float(np.var(x, ddof=1) + np.var(y, ddof=1))
    variance = float(np.var(y - x, ddof=1))
    varies = bool(np.ptp(x) > 0 and np.ptp(y) > 0)
    correlation = float(np.corrcoef(x, y)[0, 1]) if varies else math.nan
    if variance == 0.0:
        return Paired(found, 0.0 if found.mean else 1.0, correlation, math.inf if apart else math.nan)
    t = found.mean / math.sqrt(variance / x.size)
    return Paired(found, 2.0 * float(scipy.special.stdtr(x.size - 1, -abs(t))), correlation, apart / variance)


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests."""

    mean: Interval
    """With the interval of level ``1 - 2 significance``."""
    p_low: float
    """Of the hypothesis that the true mean is at or below the lower bound."""
    p_high: float
    """Of the hypothesis that the true mean is at or above the upper bound."""
    equivalent: bool
    """Whether both are rejected: the interval lies inside the bounds."""

    @property
    def p(self) -> float:
        """The larger of both."""
        return max(self.p_low, self.p_high)


def tost(values: npt.ArrayLike, low: float, high: float, significance: float = 0.05) -> Equivalence:
    """Test whether a mean lies inside bounds, as for the equivalence of two arms.

    Source: D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach",
    1987.

    Parameters
    ----------
    values
        At least two independent values, such as the differences of two arms.
    low, high
        What counts as the same, in the unit of the values.
    significance
        Probability of calling equivalent what is not.
    """
    if not low < high:
        raise ValueError(f"bounds {low}, {high}: the lower must lie below the upper")
    found = mean_interval(values, 1.0 - 2.0 * significance)
    if found.n < 2:
        raise ValueError("equivalence needs at least two values")
    spread = float(np.std(np.asarray(values, dtype=np.float64), ddof=1)) / math.sqrt(found.n)
    p_low, p_high = (
        float(scipy.special.stdtr(found.n - 1, beyond / spread) if spread else beyond >= 0.0)
        for beyond in (low - found.mean, found.mean - high)
    )
    return Equivalence(found, p_low, p_high, max(p_low, p_high) < significance)


def tost_share(
    first: npt.ArrayLike, second: npt.ArrayLike, share: float, significance: float = 0.05
) -> Equivalence:
    """Test whether the mean of one arm is that of another, give or take a share of it.

    The bounds are not known but a part of what was measured: tested are the means of ``second - (1 - share)
    first`` and of ``second - (1 + share) first`` against zero, so that what the first arm's mean is unsure
    by is in the test. A share of 0 says nothing: of a first arm that is 0 throughout, nothing is called
    equivalent, another such arm neither; `tost` with a margin in the response's unit can.

    Sources: S. Sasabuchi, "A test of a multivariate normal mean with composite hypotheses determined by
    linear inequalities", Biometrika 67, 1980; D. Hauschke et al., "Sample size determination for proving
    equivalence based on the ratio of two means", 1999.

    Parameters
    ----------
    first, second
        As of `paired_difference`; at least two values each.
    share
        What counts as the same, as a part of the mean of the first arm, above zero.
    significance
        As of `tost`.

    Returns
    -------
    Equivalence
        `mean` is that of second less first.
    """
    if not share > 0.0:
        raise ValueError(f"share {share}: must lie above zero")
    x, y = _pairs(first, second)
    sign = -1.0 if x.mean() < 0.0 else 1.0
    low = tost(sign * (y - (1.0 - share) * x), 0.0, math.inf, significance).p_low
    high = tost(sign * (y - (1.0 + share) * x), -math.inf, 0.0, significance).p_high
    found = mean_interval(y - x, 1.0 - 2.0 * significance)
    return Equivalence(found, low, high, max(low, high) < significance)


def _pairs(
    first: npt.ArrayLike, second: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    x, y = (np.asarray(one, dtype=np.float64).ravel() for one in (first, second))
    if x.size != y.size:
        raise ValueError(f"{x.size} values of the first arm and {y.size} of the second are no pairs")
    return x, y
