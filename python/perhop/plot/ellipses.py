"""Two quantities against each other: for each group an ellipse about its mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.patches import Ellipse

from perhop.plot import style

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Group:
    """Pairs of values of a group, one for each run."""

    name: str
    x: Floats
    y: Floats

    @property
    def mean(self) -> tuple[float, float]:
        """The middle of the ellipse."""
        return float(self.x.mean()), float(self.y.mean())

    def axes(self) -> tuple[float, float, float]:
        """Return the width, the height and the angle in degrees of the ellipse of one standard deviation.

        As in Winstein and Balakrishnan 2013, whose ellipses RFC 7928 section 2.7 asks for: with two
        normal quantities 39 % of the runs lie inside.
        """
        if len(self.x) < 2:
            return 0.0, 0.0, 0.0
        squares, along = np.linalg.eigh(np.cov(self.x, self.y))
        short, long = 2 * np.sqrt(np.maximum(squares, 0))
        return float(long), float(short), float(np.degrees(np.arctan2(along[1, 1], along[0, 1])))


def draw(panels: Sequence[tuple[str, Sequence[Group]]], labels: tuple[str, str], title: str) -> str:
    """Return ellipses as SVG, at most three panels side by side: heading and groups of each.

    The axis to the right falls, so that with a wait there what is better lies above and to the right.
    """
    across = min(len(panels), 3)
    rows = -(-len(panels) // across)
    names = list(dict.fromkeys(group.name for _, groups in panels for group in groups))
    split = {"nrows": rows, "ncols": across, "squeeze": False, "sharex": True}
    with style.figure(8.6, 0.9 + 2.6 * rows, **split) as (made, grid):
        for axes, (heading, groups) in zip(grid.flat, panels, strict=False):
            for group in groups:
                place = names.index(group.name)
                color = style.color(place)
                axes.plot(*group.mean, style.marker(place), color=color, markersize=6)
                width, height, angle = group.axes()
                axes.add_patch(Ellipse(group.mean, width, height, angle=angle, facecolor=color, alpha=0.25))
            axes.set_title(heading)
            axes.margins(0.12)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        grid[0, 0].invert_xaxis()
        made.supxlabel(labels[0])
        made.supylabel(labels[1])
        marks = [
            grid[0, 0].plot([], [], style.marker(place), color=style.color(place))[0]
            for place in range(len(names))
        ]
        made.legend(marks, names, loc="outside upper center", ncols=min(len(names), 8), handlelength=1.0)
        said = "; ".join(
            f"{heading}: " + ", ".join(f"{g.name} {g.mean[0]:.4g}, {g.mean[1]:.4g}" for g in groups)
            for heading, groups in panels
        )
        return style.svg(made, title, f"{labels[1]} over {labels[0]}. {said}")
