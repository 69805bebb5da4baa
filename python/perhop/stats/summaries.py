"""Two samples of which means, standard deviations and sizes are known, as papers print them."""

from __future__ import annotations

import math

import scipy


def welch(means: tuple[float, float], sdevs: tuple[float, float], n: int) -> tuple[float, float]:
    """Compare two means of n values each by their standard deviations.

    Source: B. L. Welch, "The generalization of Student's problem when several different population variances
    are involved", Biometrika 34, 1947.

    Returns
    -------
    tuple of float
        Student's t, and the probability of one as far from zero if there is no difference.
    """
    a, b = (sdev**2 / n for sdev in sdevs)
    t = (means[0] - means[1]) / math.sqrt(a + b)
    degrees = (a + b) ** 2 / ((a**2 + b**2) / (n - 1))
    return t, 2.0 * float(scipy.special.stdtr(degrees, -abs(t)))


def variance_ratio(sdev: float, n: int, against: float, m: int) -> tuple[float, float]:
    """Compare the standard deviations of n and of m values.

    Returns
    -------
    tuple of float
        The ratio of variances, and the probability of one as large if they are the same (F test).
    """
    ratio = (sdev / against) ** 2
    return ratio, float(scipy.special.fdtrc(n - 1, m - 1, ratio))
