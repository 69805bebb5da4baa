"""Goals for candidates: measures of classes, each with a weight, or an expression."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perhop.experiment.response import Response
from perhop.experiment.rules import Goal

if TYPE_CHECKING:
    from perhop.scenario.scenario import Scenario

MEASURES = {
    "goodput": ("goodput_bit_s", "goodput", 1.0),
    "delay_p50": ("delay_p50_s", "median delay", -1.0),
    "delay_p95": ("delay_p95_s", "95 % delay", -1.0),
    "delay_p99": ("delay_p99_s", "99 % delay", -1.0),
    "delay_p999": ("delay_p999_s", "99.9 % delay", -1.0),
    "transfer_mean": ("transfer_mean_s", "mean time of a transfer", -1.0),
    "transfer_p50": ("transfer_p50_s", "median time of a transfer", -1.0),
    "transfer_p95": ("transfer_p95_s", "95 % time of a transfer", -1.0),
    "transfer_p99": ("transfer_p99_s", "99 % time of a transfer", -1.0),
}
"""Column of `classes`, what it is called, and whether more is better (1) or less (-1)."""

ALWAYS = ("goodput", "delay_p99", "transfer_mean")
"""Measures that are told of each class, weighed or not."""

EXPRESSION = "measure"
"""The response of `--measure`."""


class GoalError(ValueError):
    """Invalid weights; the message names them and the reason."""


def usual(scenario: Scenario) -> tuple[Goal, ...]:
    """Return a goal for each class, all with the same weight.

    Of classes with transfers the mean time that one takes, of other classes of TCP their goodput, of classes
    of UDP alone what 99 % of the delays do not exceed.
    """
    resolved = tomllib.loads(scenario.resolve())
    found: dict[str, str] = {}
    for flow in resolved.get("flow", []):
        finite = "arrivals" in flow or "size" in flow["tcp"]
        if finite or flow["class"] not in found:
            found[flow["class"]] = "transfer_mean" if finite else "goodput"
    for udp in resolved.get("udp", []):
        found.setdefault(udp["class"], "delay_p99")
    return tuple(_goal(name, measure, 1.0) for name, measure in found.items())


def weighed(text: str, scenario: Scenario) -> tuple[Goal, ...]:
    """Return the goals of ``CLASS:MEASURE=WEIGHT,...``.

    Raises
    ------
    GoalError
        A part is not written so, or names a class or a measure that there is not.
    """
    classes = sorted({one.group[0] for one in usual(scenario)})
    found: dict[tuple[str, str], float] = {}
    for part in text.split(","):
        what, equals, weight = part.partition("=")
        name, colon, measure = (word.strip() for word in what.partition(":"))
        if not equals or not colon:
            raise GoalError(f"{part!r} is no weight: write CLASS:MEASURE=WEIGHT, such as web:transfer_mean=2")
        if name not in classes:
            raise GoalError(f"{part!r}: no class {name!r}; there are {', '.join(classes)}")
        if measure not in MEASURES:
            raise GoalError(f"{part!r}: no measure {measure!r}; there are {', '.join(MEASURES)}")
        try:
            value = float(weight)
        except ValueError:
            value = -1.0
        if not 0.0 < value < float("inf"):
            raise GoalError(f"{part!r}: {weight.strip()!r} is not a weight above zero")
        if (name, measure) in found:
            raise GoalError(f"{part!r}: {name}:{measure} is weighed twice")
        found[name, measure] = value
    return tuple(_goal(name, measure, value) for (name, measure), value in found.items())


def responses(goals: Sequence[Goal], expression: str | None) -> tuple[Response, ...]:
    """Return the measured responses: measures of classes, and the expression."""
    names = dict.fromkeys([*ALWAYS, *(one.response for one in goals if one.response in MEASURES)])
    found = [Response.parse(name, f"mean(classes.{MEASURES[name][0]}) by class") for name in names]
    if expression is not None:
        found.append(Response.parse(EXPRESSION, expression))
    return tuple(found)


def in_words(goals: Sequence[Goal], expression: str | None) -> str:
    """Describe the goals."""
    if expression is not None:
        return f"{'less' if goals[0].weight < 0 else 'more'} of {expression}"
    parts = [f"{one.group[0]}'s {MEASURES[one.response][1]}" for one in goals]
    weights = {abs(one.weight) for one in goals}
    if len(weights) > 1:
        parts = [f"{part} (weight {abs(one.weight):g})" for part, one in zip(parts, goals, strict=True)]
    return ", ".join(parts) + (", percent for percent alike" if len(weights) == 1 < len(goals) else "")


def _goal(name: str, measure: str, weight: float) -> Goal:
    return Goal(measure, (name,), weight * MEASURES[measure][2])
