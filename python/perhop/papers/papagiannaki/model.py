"""The trimmed models (2) and (3), what they leave over, and shares of variation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perhop.papers.papagiannaki.cells import Cells, Floats, cube
from perhop.stats.residuals import NormalQQ, furthest, normal_qq
from perhop.stats.strata import strata

KEPT = {"premium": ("P", "A", "B", "C", "P:A", "P:C"), "assured": ("B", "C", "A:C")}
"""Effects of model (2), for Premium, and model (3), for Assured."""


def shares(cells: Sequence[Cells], response: str) -> dict[str, float]:
    """Give the percentage of variation by component, `P:C`; of a single table's cells without any error."""
    parts = strata(cube(cells, response))
    return {":".join(term): 100.0 * part.squares / parts.total.squares for term, part in parts.terms.items()}


def residuals(cells: Sequence[Cells], response: str) -> tuple[Floats, Floats]:
    """Give what the trimmed model leaves over and what it predicts: an axis for each factor, then the runs.

    Raises
    ------
    KeyError
        There is only one table, and residuals are those of runs.
    """
    if len(cells) < 2:
        raise KeyError("residuals of single runs")
    data = cube(cells, response)
    predicted = data.cells.mean() + sum(data.effect(data.term(term)) for term in KEPT[response])
    every = np.broadcast_to(np.asarray(predicted)[..., None], data.values.shape)
    return data.values - every, every


def straightest(values: Floats, set_aside: float) -> NormalQQ:
    """Give the straightest normal Q-Q plot with at most this part of the values, the farthest, set aside."""
    far = furthest(values, int(set_aside * values.size))
    return max((normal_qq(values, far[:n]) for n in range(len(far) + 1)), key=lambda one: one.correlation)
