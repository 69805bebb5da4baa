"""Figures beyond a paper: sweeps of its parameters, simulation against closed form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from perhop.plot import sweep as drawn
from perhop.report import page

if TYPE_CHECKING:
    from perhop.papers.kalampoukas.sweeps import SweepResult


def maps(results: Iterable[SweepResult], command: str) -> list[page.Drawing]:
    """Return a figure for each sweep over two parameters."""
    return [_map(result, command) for result in results if len(result.sweep.axes) == 2]


def curves(results: Iterable[SweepResult], command: str) -> list[page.Drawing]:
    """Return a figure for each sweep over one parameter."""
    return [_curve(result, command) for result in results if len(result.sweep.axes) == 1]


def _map(result: SweepResult, command: str) -> page.Drawing:
    across, up = _axes(result)
    simulated = result.simulated
    picture = drawn.draw_map(
        (across, up), simulated.slow, simulated.fast, result.error("bounded"), result.sweep.title
    )
    return _drawing(result, picture, command, "The third map shows the bounded form. ")


def _curve(result: SweepResult, command: str) -> page.Drawing:
    (axis,) = _axes(result)
    closed = {str(form): (found.slow, found.fast) for form, found in result.closed_form.items()}
    picture = drawn.draw_curve(
        axis, (result.simulated.slow, result.simulated.fast), closed, result.sweep.title
    )
    return _drawing(result, picture, command)


def _axes(result: SweepResult) -> list[drawn.Axis]:
    return [
        drawn.Axis(f"{axis.name} in {axis.unit}" if axis.unit else axis.name, axis.values)
        for axis in result.sweep.axes
    ]


def _drawing(result: SweepResult, picture: str, command: str, first: str = "") -> page.Drawing:
    verdicts = "; ".join(result.verdict(form) for form in result.closed_form)
    return page.drawing(
        f"sweep-{result.sweep.id}", result.sweep.title, picture, f"{first}{verdicts}.", command
    )
