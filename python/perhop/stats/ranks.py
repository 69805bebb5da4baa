"""Whether two quantities rise together, whatever their shape."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy


class RankCorrelation(NamedTuple):
    """Spearman's correlation, inside [-1, 1], and the probability of one so far from 0 by chance."""

    r: float
    p: float


def rank_correlation(x: npt.ArrayLike, y: npt.ArrayLike) -> RankCorrelation:
    """Correlate the ranks of paired values; equal values share their mean rank.

    Source: C. Spearman, "The proof and measurement of association between two things", 1904.

    Parameters
    ----------
    x, y
        Equally long, at least three.

    Returns
    -------
    RankCorrelation
        p by Student's t, ``r sqrt((n - 2) / (1 - r^2))``; both NaN where one does not vary.
    """
    ranks = [pl.Series(np.asarray(one, dtype=np.float64)).rank("average").to_numpy() for one in (x, y)]
    n = ranks[0].size
    if n < 3 or any(np.ptp(rank) == 0.0 for rank in ranks):
        return RankCorrelation(math.nan, math.nan)
    r = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    rest = 1.0 - min(1.0, r * r)
    p = 2.0 * float(scipy.special.stdtr(n - 2, -abs(r) * math.sqrt((n - 2) / rest))) if rest > 1e-15 else 0.0
    return RankCorrelation(r, p)
