"""Efficiencies over a grid of set-ups: a map over two parameters, or a curve over one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.colors import BoundaryNorm
from matplotlib.ticker import FixedLocator, NullLocator

from perhop.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

TOLERANCE = 0.03
"""A closed form is said to fail where it is further than this from the simulation."""

_LEVELS = np.linspace(0.0, 1.0, 11)
_ERROR_LEVELS = np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0])


@dataclass(frozen=True)
class Axis:
    """What varies along one dimension, and through which values."""

    label: str
    values: Sequence[float]


def draw_map(axes: tuple[Axis, Axis], slow: Floats, fast: Floats, error: Floats, title: str) -> str:
    """Return three maps as SVG: both simulated efficiencies, and how far the closed form is from them.

    Parameters
    ----------
    axes
        The first runs to the right, the second upwards.
    slow, fast, error
        Arrays of shape (len(axes[0].values), len(axes[1].values)); an error of NaN is left blank.
    title
        Told to those who cannot see the figure.
    """
    with style.figure(8.6, 3.7, ncols=3, sharey=True) as (made, panels):
        parts = (
            ("slow, simulated", slow, "cividis", _LEVELS),
            ("fast, simulated", fast, "cividis", _LEVELS),
            ("distance to closed form", error, "magma_r", _ERROR_LEVELS),
        )
        for panel, (heading, values, colors, levels) in zip(panels, parts, strict=True):
            _cells(made, panel, axes, values, heading, (colors, levels))
        panels[0].set_ylabel(axes[1].label)
        across, up = np.meshgrid(np.arange(error.shape[0]), np.arange(error.shape[1]), indexing="ij")
        off = np.nan_to_num(error) > TOLERANCE
        panels[2].plot(across[off], up[off], "x", color="#ffffff", markersize=4, markeredgewidth=1.2)
        spoken = (
            f"{title}: simulated efficiency of the slow connection {slow.min():.2f} to {slow.max():.2f}, "
            f"of the fast one {fast.min():.2f} to {fast.max():.2f}; the closed form is off by more than "
            f"{TOLERANCE} at {int(off.sum())} of {off.size} points"
        )
        return style.svg(made, title, spoken)


def _cells(
    made: Figure,
    panel: Axes,
    axes: tuple[Axis, Axis],
    values: Floats,
    heading: str,
    scale: tuple[str, Floats],
) -> None:
    colors, levels = scale
    mesh = panel.pcolormesh(
        np.arange(values.shape[0] + 1) - 0.5,
        np.arange(values.shape[1] + 1) - 0.5,
        values.T,
        cmap=colors,
        norm=BoundaryNorm(levels, 256),
    )
    ticks = levels[::5] if len(levels) > 8 else levels[[0, 2, 3, 5, 7]]
    bar = made.colorbar(mesh, ax=panel, location="bottom", ticks=ticks, aspect=28)
    bar.ax.set_xticklabels([f"{tick:g}" for tick in ticks])
    panel.set_title(heading)
    panel.grid(False)
    panel.set_xlabel(axes[0].label)
    panel.set_xticks(range(len(axes[0].values)), [f"{value:g}" for value in axes[0].values], rotation=60)
    panel.set_yticks(range(len(axes[1].values)), [f"{value:g}" for value in axes[1].values])


def draw_curve(
    axis: Axis,
    simulated: tuple[Floats, Floats],
    closed: Mapping[str, tuple[Floats, Floats]],
    title: str,
) -> str:
    """Return both efficiencies over one parameter as SVG: simulated points, closed forms as lines.

    Parameters
    ----------
    axis
        Horizontal; logarithmic where its values span more than a factor of twenty.
    simulated
        Slow and fast.
    closed
        Slow and fast by form; NaN where there is none.
    title
        Told to those who cannot see the figure.
    """
    x = np.asarray(axis.values, dtype=float)
    with style.figure(5.6, 3.2) as (made, axes):
        for side, (name, color) in enumerate((("slow", style.COLORS[0]), ("fast", style.COLORS[1]))):
            for place, (form, values) in enumerate(closed.items()):
                if np.isfinite(values[side]).sum() > 1:
                    axes.plot(
                        x,
                        values[side],
                        color=color,
                        linestyle=style.DASHES[1 - place % 2],
                        linewidth=1.2,
                        label=f"{name}, {form}",
                    )
            axes.plot(x, simulated[side], "os"[side], color=color, markersize=5, label=f"{name}, simulated")
        axes.set(xlabel=axis.label, ylabel="efficiency", ylim=(-0.03, 1.1))
        if x.min() > 0 and x.max() / x.min() > 20:
            style.logarithmic(axes, "x")
            axes.xaxis.set_major_locator(FixedLocator(list(x)))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, columnspacing=1.2)
        told = ", ".join(
            f"{value:g}: {slow:.2f} slow and {fast:.2f} fast"
            for value, slow, fast in zip(x, *simulated, strict=True)
        )
        return style.svg(made, title, f"simulated efficiencies over {axis.label}: {told}")
