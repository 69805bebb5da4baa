"""Where the transient at the beginning of a series ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

BATCH = 5
"""Values in a batch."""

LEAST_BATCHES = 20
"""Fewer batches than this are not judged: with 5 values in each, 100 values."""


@dataclass(frozen=True)
class Truncation:
    """Where a series is to be cut."""

    values: int
    """Values to leave out at the beginning."""
    settled: bool
    """Whether less than half of the series is left out. If not, no end of the transient has been seen: the
    series is too short, or it has no steady state.
    """


def mser(series: npt.ArrayLike, batch: int = BATCH) -> Truncation | None:
    """Return the cut with the least marginal standard error (MSER; MSER-5 with batches of five).

    Of n batch means the first d are left out, where the sum of squared deviations of the others from
    their mean, divided by (n - d) squared, is least; of several such d the smallest. Looked at are the d up
    to n/2: beyond, a few last values that are alike by chance would make anything look settled.

    Sources: K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
    Simulation 69, 1997; K. P. White, M. J. Cobb and S. C. Spratt, "A comparison of five steady-state
    truncation heuristics for simulation", Winter Simulation Conference, 2000: batches of five; no cut in the
    second half.

    Parameters
    ----------
    series
        Values of equal intervals, in order. What does not fill a batch at the end is not looked at.

    Returns
    -------
    Truncation or None
        ``None`` where there are fewer than `LEAST_BATCHES` batches.

    Raises
    ------
    ValueError
        If a value is not finite or a batch has no values.
    """
    if batch < 1:
        raise ValueError(f"mser: a batch has at least one value, not {batch}")
    values = np.asarray(series, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("mser: values must be finite")
    n = len(values) // batch
    if n < LEAST_BATCHES:
        return None
    cut = int(_cut(values[: n * batch].reshape(n, batch).mean(axis=1)))
    return Truncation(cut * batch, cut < n // 2)


def _cut(means: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Return the batches to leave out, of each series along the last axis."""
    left = means - means[..., -1:]  # equal values give exactly zero
    # of what is left without the first d, for each d
    sums, squares = (np.cumsum(part[..., ::-1], axis=-1)[..., ::-1] for part in (left, left**2))
    n = np.arange(means.shape[-1], 0, -1.0)
    error = np.maximum(0.0, squares - sums**2 / n) / n**2
    return np.asarray(np.argmin(error[..., : means.shape[-1] // 2 + 1], axis=-1))


LEAST_RATE = 0.1
"""Share of runs that chance is taken to make MSER-5 object to at the least, for series that swing slowly."""

_SERIES, _CORRELATION, _LONGEST = 4000, 0.5, 500


@cache
def objection_rate(values: int, warmup: int) -> float:
    """Estimate how often MSER-5 objects to a warm-up though a series is stationary from its first value on.

    The shorter a series and its warm-up, the oftener: of 100 values with 5 of warm-up one in five. Estimated
    from 4,000 made series, each value half of that before plus noise; `LEAST_RATE` where that is more.

    Parameters
    ----------
    values, warmup
        Of the series, and those at its beginning that are left out; the objection is a cut more than a batch
        beyond them.
    """
    if values // BATCH < LEAST_BATCHES:
        return 0.0
    if values > _LONGEST:  # the rate is far below
        return LEAST_RATE
    made = np.random.default_rng(5).standard_normal((values + 50, _SERIES))
    for before, value in pairwise(made):
        value += _CORRELATION * before
    n = values // BATCH
    # without the first 50, which are not stationary yet
    cuts = _cut(made[50:][: n * BATCH].T.reshape(_SERIES, n, BATCH).mean(axis=-1))
    return max(LEAST_RATE, float(np.mean(cuts * BATCH > warmup + BATCH)))
