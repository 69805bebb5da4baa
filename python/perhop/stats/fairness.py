"""How evenly a resource is shared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def jain(rates: npt.ArrayLike, ideal: npt.ArrayLike = 1.0) -> npt.NDArray[np.float64]:
    """Compute the fairness index of several flows' rates.

    Source: R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource
    Allocation in Shared Computer Systems", DEC-TR-301, 1984.

    Parameters
    ----------
    rates
        What each got, along the last axis; at least one, none negative.
    ideal
        What each should get, or one value for all; above zero.

    Returns
    -------
    array
        ``(sum x)^2 / (n sum x^2)`` of ``x = rates / ideal``: 1 where all are equal, 1/n where one has it all.
        Nothing for everyone is equal: 1.
    """
    x = np.asarray(rates, dtype=np.float64) / np.asarray(ideal, dtype=np.float64)
    if x.size == 0 or not np.all(np.isfinite(x)) or (x < 0.0).any():
        raise ValueError("jain: needs at least one rate, finite and not negative, and ideals above zero")
    squares = np.sum(x * x, axis=-1)
    shared = squares > 0.0
    found = np.sum(x, axis=-1) ** 2 / (x.shape[-1] * np.where(shared, squares, 1.0))
    return np.where(shared, found, 1.0)


def least_jain(smallest_mean: float, sdev: float, flows: int, runs: int) -> float:
    """Give the smallest mean of `jain` over runs that the spread of all flows of all runs permits.

    The variance inside the runs is on average at most the whole variance, and the index of a run is
    ``1 / (1 + c^2)`` with c its coefficient of variation. That is convex in c^2, so the mean index is least
    where all runs are alike and the whole spread lies inside them (Jensen).

    Parameters
    ----------
    smallest_mean
        Mean of the flows in the run where it was smallest.
    sdev
        Of the sample, over all flows of all runs.
    """
    n = flows * runs
    return 1.0 / (1.0 + (n - 1) / n * (sdev / smallest_mean) ** 2)
