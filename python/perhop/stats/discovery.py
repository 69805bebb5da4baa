"""Many tests at once: the share of false discoveries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def benjamini_hochberg(p: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Adjust p values so that, of those below q, a share of at most q is expected to be false.

    Holds for tests that are independent or positively dependent; `benjamini_yekutieli` for any.

    Source: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", 1995.

    Parameters
    ----------
    p
        One a test, inside [0, 1]; NaN for a test that could not be made, which is not counted.

    Returns
    -------
    array
        In the same order: the least over all p at least as large of ``p n / rank``, at most 1.
    """
    return _adjusted(p, 1.0)


def benjamini_yekutieli(p: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Adjust p values as `benjamini_hochberg`, for tests that depend on each other in any way.

    Source: Y. Benjamini and D. Yekutieli, "The control of the false discovery rate under dependency", 2001.
    """
    counted = int(np.count_nonzero(~np.isnan(np.asarray(p, dtype=np.float64))))
    return _adjusted(p, float(np.sum(1.0 / np.arange(1, counted + 1))))


def _adjusted(p: npt.ArrayLike, factor: float) -> npt.NDArray[np.float64]:
    values = np.asarray(p, dtype=np.float64).ravel()
    known = ~np.isnan(values)
    if np.any((values[known] < 0.0) | (values[known] > 1.0)):
        raise ValueError("p values lie inside [0, 1]")
    found = np.full(values.shape, np.nan)
    n = int(known.sum())
    order = np.argsort(values[known], kind="stable")[::-1]
    scaled = values[known][order] * factor * n / np.arange(n, 0, -1)
    inner = np.empty(n)
    inner[order] = np.minimum(np.minimum.accumulate(scaled), 1.0) if n else scaled
    found[known] = inner
    return found
