"""Goals for candidates: measures of classes, each with a weight, or an expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perhop.experiment.response import Response
from perhop.experiment.rules import Bound, Goal
from perhop.run.promises import CALLED, promises_of

if TYPE_CHECKING:
    from perhop.scenario.scenario import Description, Scenario


@dataclass(frozen=True)
class Measure:
    """A measure of a class, an application or a call.

    Attributes
    ----------
    column
        With its table, of the run.
    called
        Its name in sentences.
    sign
        1 where more is better, -1 where less is.
    by
        The column that names what it is of.
    """

    column: str
    called: str
    sign: float
    by: str = "class"


MEASURES = {
    "goodput": Measure("classes.goodput_bit_s", CALLED["goodput"], 1.0),
    **{
        name: Measure(f"classes.{name}_s", called, -1.0)
        for name, called in CALLED.items()
        if name.startswith(("delay_", "transfer_"))
    },
    "load_p50": Measure("applications.load_p50_s", "median load time", -1.0, "name"),
    "load_p95": Measure("applications.load_p95_s", "95 % load time", -1.0, "name"),
    "rate": Measure("videos.rate_mean_bit_s", "rate of video", 1.0, "name"),
    "mos": Measure("calls.mos", "mean opinion score", 1.0, "name"),
}
"""What can be weighed."""

ALWAYS = ("goodput", "delay_p99", "transfer_mean")
"""Measures of classes that are told, weighed or not."""

TOLD = ("load_p50", "load_p95", "rate", "mos")
"""Measures that are told of applications and calls, weighed or not."""

PROMISES = "promises"
"""The goal that a scenario's promises are kept; its measures are of what keeps all."""

GOALS = {
    "household": ("mos",),
    "gaming": ("delay_p99", "mos"),
    "bulk": ("goodput", "transfer_mean"),
    PROMISES: (),
}
"""What `--goal` takes, and the measures with three times the weight of the others."""

_WHAT = {"class": "class", "name": "application or way of a call"}

EXPRESSION = "measure"
"""The response of `--measure`."""


class GoalError(ValueError):
    """Invalid weights; the message names them and the reason."""


def usual(scenario: Scenario) -> tuple[Goal, ...]:
    """Return a goal for each class, application and call, all with the same weight.

    Of classes with transfers the mean time that one takes, of other classes of TCP their goodput, of classes
    of UDP alone what 99 % of the delays do not exceed. What an application sends is judged by what comes of
    it: load times that 95 % do not exceed, the rate of video, the score of each way of a call.
    """
    meaning = scenario.describe()
    found: dict[str, str] = {}
    for flow in meaning.flows:
        if not flow.has_application and (flow.is_transfer or flow.class_ not in found):
            found[flow.class_] = "transfer_mean" if flow.is_transfer else "goodput"
    ways = {name for one in meaning.calls for name in _ways(meaning, one.name)}
    for udp in meaning.udp:
        if udp.name not in ways:
            found.setdefault(udp.class_, "delay_p99")
    goals = [_goal(name, measure, 1.0) for name, measure in found.items()]
    for one in meaning.applications:
        goals.append(_goal(one.name, "rate" if one.kind == "video" else "load_p95", 1.0))
    return (*goals, *(_goal(name, "mos", 1.0) for name in sorted(ways)))


def _ways(meaning: Description, call: str) -> list[str]:
    """Return the names of both flows of a call: ``call[0]`` of `call`, ``call[2]`` of `call[1]`."""
    first = next(
        place for place, udp in enumerate(meaning.udp) if udp.name.partition("[")[0] == call.partition("[")[0]
    )
    number = int(call.partition("[")[2].rstrip("]") or 0)
    return [udp.name for udp in meaning.udp[first + 2 * number : first + 2 * number + 2]]


def of_goal(name: str, scenario: Scenario) -> tuple[Goal, ...]:
    """Return the usual measures, and that UDP arrives, with the weights of a key of `GOALS`.

    Delays are of packets that arrived: a queue that drops them must not look short.
    """
    usually = usual(scenario)
    arrive = [_goal(one.group[0], "goodput", 1.0) for one in usually if one.response == "delay_p99"]
    return tuple(
        replace(one, weight=3.0 * one.weight) if one.response in GOALS[name] else one for one in usually
    ) + tuple(arrive)


def weighed(text: str, scenario: Scenario) -> tuple[Goal, ...]:
    """Return the goals of ``CLASS:MEASURE=WEIGHT,...``.

    Raises
    ------
    GoalError
        A part is not written so, or names a class or a measure that there is not.
    """
    meaning = scenario.describe()
    names = {
        "class": sorted({one.class_ for one in meaning.flows} | {one.class_ for one in meaning.udp}),
        "name": [one.group[0] for one in usual(scenario) if MEASURES[one.response].by == "name"],
    }
    found: dict[tuple[str, str], float] = {}
    for part in text.split(","):
        of, equals, weight = part.partition("=")
        name, colon, measure = (word.strip() for word in of.partition(":"))
        if not equals or not colon:
            raise GoalError(f"{part!r} is no weight: write CLASS:MEASURE=WEIGHT, such as web:transfer_mean=2")
        if measure not in MEASURES:
            raise GoalError(f"{part!r}: no measure {measure!r}; there are {', '.join(MEASURES)}")
        known, what = names[MEASURES[measure].by], _WHAT[MEASURES[measure].by]
        if name not in known:
            raise GoalError(f"{part!r}: no {what} {name!r}; there are {', '.join(known) or 'none'}")
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


def bounds(scenario: Scenario) -> tuple[Bound, ...]:
    """Return what the scenario promises as bounds of the responses that measure it."""
    return tuple(Bound(one.name, one.low, one.high) for one in promises_of(scenario.describe()))


def responses(goals: Sequence[Goal], expression: str | None, scenario: Scenario) -> tuple[Response, ...]:
    """Return the measured responses: measures of classes, applications and calls, and the expression."""
    meaning = scenario.describe()
    videos = any(one.kind == "video" for one in meaning.applications)
    there = {"applications": bool(meaning.applications), "videos": videos, "calls": bool(meaning.calls)}
    told = [name for name in TOLD if there[MEASURES[name].column.partition(".")[0]]]
    names = dict.fromkeys([*ALWAYS, *told, *(one.response for one in goals if one.response in MEASURES)])
    found = [Response.parse(name, f"mean({MEASURES[name].column}) by {MEASURES[name].by}") for name in names]
    if expression is not None:
        found.append(Response.parse(EXPRESSION, expression))
    return tuple(found)


def in_words(goals: Sequence[Goal], expression: str | None) -> str:
    """Describe the goals."""
    if expression is not None:
        return f"{'less' if goals[0].weight < 0 else 'more'} of {expression}"
    by_weight: dict[float, list[str]] = {}
    for one in goals:
        names = by_weight.setdefault(abs(one.weight), [])
        names.append(f"{of(one.group[0])} {MEASURES[one.response].called}")
    if len(by_weight) > 1:
        weights = sorted(by_weight, reverse=True)
        return "; ".join(f"{', '.join(by_weight[weight])} (weight {weight:g})" for weight in weights)
    (names,) = by_weight.values()
    return ", ".join(names) + (", percent for percent alike" if len(names) > 1 else "")


def of(name: str) -> str:
    """Return the genitive of a name."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _goal(name: str, measure: str, weight: float) -> Goal:
    return Goal(measure, (name,), weight * MEASURES[measure].sign)
