"""Ways to mark ACKs that a scenario can be given, as levels of a factor."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from perhop.experiment.factors import Factor, Level
from perhop.experiment.fault import HintedError
from perhop.scenario.overrides import toml

if TYPE_CHECKING:
    from perhop.experiment.design import Design
    from perhop.experiment.factors import Treatment
    from perhop.scenario.scenario import Scenario

BEST_EFFORT, COPY, AS_IT_IS = "best-effort", "copy", "as it is"
FACTOR = "acks"
"""What the factor of the candidates is called."""

MOST_CROSSED = 16
"""Candidates up to which every class is given every mark; beyond, one class at a time, and all alike."""

KINDS_OF_PACKETS = ("any", "data", "pure-ack")
"""Words of a `match` that are no marks."""


class NothingToTryError(HintedError, ValueError):
    """A scenario in which no mark of an ACK can matter."""


@dataclass(frozen=True)
class Candidates:
    """The candidates of a recommendation.

    Parameters
    ----------
    factor
        Its levels are the candidates.
    in_use
        The level that is the scenario as it is.
    places
        Paths of the settings that mark ACKs.
    left_out
        Candidates that the scenario does not allow, each with the reason.
    """

    factor: Factor
    in_use: str
    places: tuple[str, ...]
    left_out: tuple[str, ...]


def candidates(scenario: Scenario) -> Candidates:
    """Return the ACK markings to try: best effort, copying, and marks of the ports by class.

    ACKs are marked at the conditioners that have an `ack_marking`, all alike; without one, at the hosts.
    Marks are the first of each class of a port that tells packets apart by their marks.

    Raises
    ------
    NothingToTryError
        No port looks at marks, or no TCP flow has ACKs.
    ScenarioError
        The scenario has mistakes.
    """
    resolved = tomllib.loads(scenario.resolve())
    flows = resolved.get("flow", [])
    if not flows:
        raise NothingToTryError(f"{scenario.name}: no TCP flow, so that there are no ACKs", "add a [[flow]]")
    marks = list(dict.fromkeys(mark for port in resolved.get("port", []) for mark in first_marks(port)))
    if not marks:
        raise NothingToTryError(
            f"{scenario.name}: no port tells packets apart by their mark, so that no mark of an ACK matters",
            "for the best queues of a line: --goal household, gaming or bulk; for marks of ACKs: "
            'give a [[port]] classes with match = ["EF"] and so on, or begin with perhop init --pack access',
        )
    places = _places(resolved)
    classes = list(dict.fromkeys(flow["class"] for flow in flows))
    made = {
        BEST_EFFORT: {"kind": "best-effort"},
        COPY: {"kind": "copy"},
        **{_name(given, classes): {"kind": "per-class", "marks": given} for given in _given(classes, marks)},
    }
    sets = {
        name: tuple(f"{place}={toml(marking, place)}" for place in places) for name, marking in made.items()
    }
    levels, left_out = checked(scenario, sets)
    now = scenario.key().treatment
    in_use = next(
        (one.name for one in levels if scenario.override(*one.set).key().treatment == now), AS_IT_IS
    )
    if in_use == AS_IT_IS:
        levels.insert(0, Level(AS_IT_IS))
    return Candidates(Factor(FACTOR, tuple(levels)), in_use, places, tuple(left_out))


def checked(scenario: Scenario, sets: Mapping[str, tuple[str, ...]]) -> tuple[list[Level], list[str]]:
    """Return the candidates that the scenario allows, and the others, each with the reason."""
    levels, left_out = [], []
    for name, of in sets.items():
        mistakes = scenario.unread(*of).check()
        if mistakes:
            left_out.append(f"{name}: {mistakes[0]['path']}: {mistakes[0]['rule']}")
        else:
            levels.append(Level(name, of))
    return levels, left_out


def fitting(design: Design, scenario: Scenario) -> tuple[Design, int | None, list[str]]:
    """Return a design of candidates that are scenarios, each another.

    Returns
    -------
    design
        The first factor has the candidates, others are crossed with it. Mistakes that no candidate avoids are
        left in.
    in_use
        Number of the treatment that is the scenario as it is; None if none is.
    left_out
        Treatments that are not in it, each with the reason.
    """
    now, in_use = scenario.key().treatment, None
    made = [scenario.unread(*one.overrides) for one in design.treatments]
    mistakes = [one.check() for one in made]
    crossed = {one.levels[1:] for one, wrong in zip(design.treatments, mistakes, strict=True) if not wrong}
    kept: list[Treatment] = []
    first: dict[str, str] = {}
    left_out = []
    for one, changed, wrong in zip(design.treatments, made, mistakes, strict=True):
        if wrong and one.levels[1:] in crossed:
            left_out.append(f"{one.name}: {wrong[0]['path']}: {wrong[0]['rule']}")
            continue
        key = one.name if wrong else changed.key().treatment
        if key in first:
            left_out.append(f"{one.name}: the same scenario as {first[key]}")
            continue
        if key == now:
            in_use = len(kept)
        first[key] = one.name
        kept.append(one)
    used = [{one.levels[place] for one in kept} for place in range(len(design.factors))]
    factors = tuple(
        replace(factor, levels=tuple(level for level in factor.levels if level.name in own))
        for factor, own in zip(design.factors, used, strict=True)
    )
    return replace(design, factors=factors, treatments=tuple(kept)), in_use, left_out


def first_marks(port: Mapping[str, Any]) -> list[str]:
    """Return the first mark of each class of a port, best effort left out."""
    found = [
        next((word for word in one["match"] if word not in KINDS_OF_PACKETS), "BE")
        for one in port.get("class", [])
    ]
    return [mark for mark in dict.fromkeys(found) if mark != "BE"]


def _places(resolved: dict[str, Any]) -> tuple[str, ...]:
    edges = [one["name"] for one in resolved.get("conditioner", []) if "ack_marking" in one]
    if edges:
        return tuple(f"conditioner.{name}.ack_marking" for name in edges)
    return tuple(f"flow.{flow['name']}.ack.marking" for flow in resolved["flow"])


def _given(classes: Sequence[str], marks: Sequence[str]) -> list[dict[str, str]]:
    """Return marks by class, without best effort for all; a class not named has best effort."""
    if (len(marks) + 1) ** len(classes) + 1 <= MOST_CROSSED:
        rows = itertools.product(("", *marks), repeat=len(classes))
        found = [dict(zip(classes, row, strict=True)) for row in rows]
        named = [{name: mark for name, mark in one.items() if mark} for one in found]
        return [one for one in named if one]
    alike = [dict.fromkeys(classes, mark) for mark in marks]
    alone = [{name: mark} for mark in marks for name in classes]
    return [*alike, *(one for one in alone if one not in alike)]


def _name(given: dict[str, str], classes: Sequence[str]) -> str:
    if set(given) == set(classes) and len(set(given.values())) == 1:
        return f"{next(iter(given.values()))} for all"
    by_mark: dict[str, list[str]] = {}
    for name, mark in given.items():
        by_mark.setdefault(mark, []).append(name)
    return "; ".join(f"{mark} for {', '.join(names)}" for mark, names in by_mark.items())
