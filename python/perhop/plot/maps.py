"""Maps of quantities over two parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.colors import BoundaryNorm

from perhop.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """A dimension of a map: its setting, and its values as they are written."""

    label: str
    ticks: Sequence[str]


@dataclass(frozen=True)
class Map:
    """One quantity over the grid: first index to the right, second upwards; NaN is left blank.

    At a level a colour ends and the next begins; what is `crossed` gets a cross.
    """

    heading: str
    values: Floats
    levels: Floats
    colors: str = "cividis"
    crossed: npt.NDArray[np.bool_] | None = None


def draw(axes: tuple[Axis, Axis], maps: Sequence[Map], title: str, description: str) -> str:
    """Return a row of maps as SVG, with the same axes, to the right and upwards."""
    with style.figure(8.6, 3.7, ncols=len(maps), sharey=True, squeeze=False) as (made, grid):
        for panel, one in zip(grid[0], maps, strict=True):
            _cells(made, panel, axes, one)
        grid[0, 0].set_ylabel(axes[1].label)
        return style.svg(made, title, f"{title}: {description}")


def _cells(made: Figure, panel: Axes, axes: tuple[Axis, Axis], one: Map) -> None:
    across, up = one.values.shape
    edges = np.arange(across + 1) - 0.5, np.arange(up + 1) - 0.5
    mesh = panel.pcolormesh(*edges, one.values.T, cmap=one.colors, norm=BoundaryNorm(one.levels, 256))
    ticks = one.levels[:: max(1, len(one.levels) // 4)]
    bar = made.colorbar(mesh, ax=panel, location="bottom", ticks=ticks, aspect=28)
    bar.ax.set_xticklabels([f"{tick:.3g}" for tick in ticks])
    panel.set_title(one.heading)
    panel.grid(False)
    panel.set_xlabel(axes[0].label)
    panel.set_xticks(range(across), axes[0].ticks, rotation=60, ha="right", rotation_mode="anchor")
    panel.set_yticks(range(up), axes[1].ticks)
    if one.crossed is not None:
        panel.plot(*np.nonzero(one.crossed), "x", color="#ffffff", markersize=4, markeredgewidth=1.2)
