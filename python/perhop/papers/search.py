"""The search of a calibration: one parameter after the other, again and again, until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Value = str | int | float
Point = dict[str, Value]
"""A value for each parameter."""


@dataclass(frozen=True)
class Searched:
    """What a search found.

    Attributes
    ----------
    best
        The point where it ended.
    error
        There.
    tried
        Every point that was tried, with its error, in the order in which they were.
    steps
        A record of every step: `pass`, `parameter`, `errors` by value, `taken`.
    """

    best: Point
    error: float
    tried: list[tuple[Point, float]]
    steps: list[dict[str, Any]]


def search(
    start: Mapping[str, Value],
    values: Mapping[str, Sequence[Value]],
    measure: Callable[[list[Point]], Sequence[float]],
    passes: int,
    least_gain: float = 0.0,
) -> Searched:
    """Go through the parameters and take the best value of each, where it gains enough.

    Parameters
    ----------
    start
        Where the search begins.
    values
        What is tried of each parameter that is searched, the value of the start among it; the others stay.
    measure
        Gives the error of each of several points, at least one; no point is asked for twice.
    passes
        At most.
    least_gain
        By this part the error must fall for another value to be taken: less may be the luck of a few
        replications.
    """
    here = dict(start)
    known: dict[tuple[Value, ...], float] = {}
    tried: list[tuple[Point, float]] = []
    steps: list[dict[str, Any]] = []
    for number in range(1, passes + 1):
        before = dict(here)
        for name, own in values.items():
            points = [{**here, name: value} for value in own]
            new = [point for point in points if tuple(point.values()) not in known]
            for point, error in zip(new, measure(new) if new else [], strict=True):
                known[tuple(point.values())] = error
                tried.append((point, error))
            errors = [known[tuple(point.values())] for point in points]
            best = min(errors)
            if best < (1.0 - least_gain) * errors[list(own).index(here[name])]:
                here[name] = own[errors.index(best)]
            found = [[value, round(error, 4)] for value, error in zip(own, errors, strict=True)]
            steps.append({"pass": number, "parameter": name, "errors": found, "taken": here[name]})
        if here == before:
            break
    return Searched(here, known[tuple(here.values())], tried, steps)
