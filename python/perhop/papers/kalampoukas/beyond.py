"""Beyond the paper: where each closed form holds and where it fails, by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from perhop.judge.measured import Measurements
from perhop.models import two_way
from perhop.models.two_way_setup import Setup
from perhop.papers.plan import Sweep
from perhop.plot.maps import Axis

TOLERANCE = 0.03
"""Distance from the simulation beyond which a closed form fails."""

_AXES = {
    "asymmetry": "asymmetry",
    "ack": "ACK size in bytes",
    "threshold": "threshold b",
    "share": "share f",
    "delay": "round-trip delay in s",
    "connections": "connections each way",
}
"""Labels of the factors that are axes."""


@dataclass(frozen=True)
class Grid:
    """Efficiencies of one scheme over one parameter or two, a run for each point.

    `closed_form` has the same per form, NaN where there is no such form.
    """

    id: str
    title: str
    axes: tuple[Axis, ...]
    simulated: two_way.Efficiencies
    closed_form: dict[two_way.Form, two_way.Efficiencies]

    def error(self, form: two_way.Form) -> two_way.Floats:
        """Return the larger distance of the efficiencies to a closed form; NaN where none is."""
        sides = zip(self.simulated, self.closed_form[form], strict=True)
        return np.maximum(*(np.abs(ours - closed) for ours, closed in sides))

    def verdict(self, form: two_way.Form) -> str:
        """Return in a sentence where a form fails and by how much."""
        error = self.error(form)
        known = np.isfinite(error)
        if not known.any():
            return f"{form}: there is no such form"
        worst = np.unravel_index(int(np.nanargmax(error)), error.shape)
        at = ", ".join(
            f"{name} {axis.values[int(i)]:g} {unit}".rstrip()
            for axis, i in zip(self.axes, worst, strict=True)
            for name, _, unit in [axis.label.partition(" in ")]
        )
        off = int((error[known] > TOLERANCE).sum())
        outside = int(sum(two_way.outside_unit(side)[known].sum() for side in self.closed_form[form]))
        text = f"{form}: off by more than {TOLERANCE:g} at {off} of {int(known.sum())} points"
        text += f", at most by {float(error[worst]):.3f} ({at})"
        return text + (f"; {outside} values outside [0, 1]" if outside else "")


def grids(sweep: Sweep, measured: Measurements) -> list[Grid]:
    """Return a grid for each scheme of a sweep, with the closed forms."""
    design = sweep.campaign.design
    points: dict[str, list[tuple[Setup, dict[str, str]]]] = {}
    for treatment in design.treatments:
        setup = Setup.of(sweep.campaign.scenario.override(*treatment.overrides))
        levels = dict(zip(design.names, treatment.levels, strict=True))
        points.setdefault(setup.scheme, []).append((setup, levels))
    axes = tuple(
        Axis(_AXES[factor.name], [float(level.name) for level in factor.levels])
        for factor in design.factors
        if factor.name in _AXES
    )
    over = " and ".join(axis.label.partition(" in ")[0] for axis in axes)
    forms = get_args(two_way.Form)
    return [
        Grid(
            f"{sweep.id}-{scheme}" if len(points) > 1 else sweep.id,
            f"{scheme}: efficiencies over {over}",
            axes,
            _arrange(axes, [_simulated(measured, *point) for point in own]),
            {form: _arrange(axes, [_closed(setup, form) for setup, _ in own]) for form in forms},
        )
        for scheme, own in points.items()
    ]


def _simulated(measured: Measurements, setup: Setup, levels: dict[str, str]) -> tuple[float, float]:
    (slow,), (fast,) = measured.values("slow", **levels), measured.values("fast", **levels)
    return float(slow) / setup.slow_rate, float(fast) / setup.fast_rate


def _closed(setup: Setup, form: two_way.Form) -> tuple[float, float]:
    found = setup.closed_form(form)
    return (math.nan, math.nan) if found is None else (float(found.slow), float(found.fast))


def _arrange(axes: Sequence[Axis], pairs: Sequence[tuple[float, float]]) -> two_way.Efficiencies:
    """Arrange points over the axes; the last axis varies fastest."""
    shape = [len(axis.values) for axis in axes]
    return two_way.Efficiencies(*(np.array(side).reshape(shape) for side in zip(*pairs, strict=True)))
