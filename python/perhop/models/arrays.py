"""Arguments of closed forms as arrays, refused where they are out of range."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def inside(name: str, value: npt.ArrayLike) -> Floats:
    """Return values that must lie inside (0, 1)."""
    values = np.asarray(value, dtype=np.float64)
    if not np.all((values > 0.0) & (values < 1.0)):
        raise ValueError(f"{name} = {values}: must lie inside (0, 1)")
    return values


def positive(name: str, value: npt.ArrayLike) -> Floats:
    """Return values that must be above zero."""
    values = np.asarray(value, dtype=np.float64)
    if not np.all(values > 0.0):
        raise ValueError(f"{name} = {values}: must be positive")
    return values
