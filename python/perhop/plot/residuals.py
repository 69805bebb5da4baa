"""Residuals of a model: against a normal distribution, and against predictions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perhop.plot import style
from perhop.stats.residuals import NormalQQ

Floats = npt.NDArray[np.float64]

_MOST = 2000
"""Of more points than this only the outermost tenth and an even choice of the others are drawn."""


def draw_qq(whole: NormalQQ, label: str, title: str, without: NormalQQ | None = None) -> str:
    """Draw normal Q-Q plots: of all residuals, and of those `without` outliers, if some are set aside."""
    parts = [whole] if without is None else [whole, without]
    with style.figure(5.6 if without is None else 8.6, 3.4, ncols=len(parts), squeeze=False) as (made, grid):
        for axes, part in zip(grid[0], parts, strict=True):
            slope, middle = np.polyfit(part.theoretical, part.ordered, 1)
            ends = part.theoretical[[0, -1]]
            axes.plot(ends, middle + slope * ends, color=style.INK, linewidth=0.9, linestyle=style.DASHES[1])
            drawn = _drawn(np.abs(part.theoretical))
            axes.plot(
                part.theoretical[drawn], part.ordered[drawn], "o", color=style.COLORS[0], markersize=3.2
            )
            heading = f"{part.ordered.size} residuals"
            if part.left_out.size:
                heading += f", {part.left_out.size} set aside"
            axes.set_title(f"{heading}: correlation {part.correlation:.3f}")
            axes.set_xlabel("quantile of a normal distribution")
            axes.set_ylabel(f"residual in {label}" if label else "residual")
        description = "; ".join(
            f"{part.ordered.size} residuals, {part.left_out.size} set aside, "
            f"correlation {part.correlation:.3f} (1 % of normal samples have less than {part.critical:.3f})"
            for part in parts
        )
        return style.svg(made, title, description)


def draw_residuals(predicted: Floats, residual: Floats, label: str, title: str) -> str:
    """Return residuals against predictions, as many and in the same unit, as SVG."""
    unit = f" in {label}" if label else ""
    with style.figure(5.6, 3.4) as (made, axes):
        axes.axhline(0.0, color=style.INK, linewidth=0.8)
        drawn = _drawn(np.abs(residual))
        axes.plot(predicted[drawn], residual[drawn], "o", color=style.COLORS[0], markersize=3.4, alpha=0.8)
        axes.set_xlabel(f"predicted{unit}")
        axes.set_ylabel(f"residual{unit}")
        description = (
            f"{residual.size} residuals from {residual.min():.3g} to {residual.max():.3g}{unit}, "
            f"predictions from {predicted.min():.4g} to {predicted.max():.4g}"
        )
        return style.svg(made, title, description)


def _drawn(distance: Floats) -> npt.NDArray[np.int64]:
    """Choose the points to draw, those far out among them."""
    if distance.size <= _MOST:
        return np.arange(distance.size)
    far = np.argsort(-distance, kind="stable")[: _MOST // 10]
    even = np.linspace(0, distance.size - 1, _MOST - far.size).astype(np.int64)
    return np.union1d(far, even)
