"""The choice of the best treatment, decided in the order of replications."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perhop.experiment.rules import Goal, Select
from perhop.experiment.stopping import Values
from perhop.stats.selection import Race


@dataclass(frozen=True)
class Selected:
    """The decision of a selection.

    Parameters
    ----------
    treatment
        Number of the one to take; None where none has a value, or none was without minus infinity.
    met
        Nothing is better than it by a difference worth having; else the cap was reached.
    behind
        By how much it may be behind the best, in the unit of the score.
    replications
        Of each treatment, fewer of those that were dropped.
    """

    treatment: int | None
    met: bool
    behind: float
    replications: tuple[int, ...]


class Selecting:
    """Gives each replication to a race once all runs are there that it asks for."""

    def __init__(self, select: Select, treatments: int) -> None:
        self._select = select
        self._treatments = treatments
        self.race = race(select, treatments)
        self._looked = 0
        self._asked = np.zeros(treatments, int)
        self._waiting: dict[int, dict[int, float]] = {}
        self.decided: Selected | None = None

    def add(self, treatment: int, replication: int, values: Mapping[str, Values] | None) -> None:
        """Take in the values of a run.

        Parameters
        ----------
        values
            By response and group; None of a run that failed, which counts for no difference.
        """
        self._waiting.setdefault(replication, {})[treatment] = score(self._select, values)
        while self.decided is None and self._is_complete():
            found = self._waiting.pop(self._looked, {})
            self._asked += self.race.left
            self._looked += 1
            self.race.add([found.get(each, math.nan) for each in range(self._treatments)])
            self._look()

    def asks_for(self, treatment: int, replication: int) -> bool:
        """Return whether a run is still wanted."""
        if self.decided is None and self.race.left[treatment]:
            return True
        return replication < int(self._asked[treatment])

    @property
    def left(self) -> int:
        """How many treatments are still in the race."""
        return int(self.race.left.sum())

    def _is_complete(self) -> bool:
        found = self._waiting.get(self._looked, {})
        return all(each in found for each in np.flatnonzero(self.race.left))

    def _look(self) -> None:
        choice = self.race.choice()
        hopeless = not (self.race.left & ~self.race.hopeless).any()
        if bool(choice.decided) or hopeless or self._looked >= self._select.most:
            found = bool(self.race.sound.any())
            self.decided = Selected(
                int(choice.system) if found else None,
                bool(choice.decided),
                float(choice.behind) if found else math.inf,
                tuple(int(count) for count in self._asked),
            )


def race(select: Select, treatments: int) -> Race:
    """Return the race of treatments that a rule asks for."""
    delta = math.log1p(select.delta) if select.logarithms else select.delta
    return Race(
        treatments,
        delta,
        relative=not select.logarithms,
        level=select.level,
        baseline=select.baseline,
    )


def score(select: Select, values: Mapping[str, Values] | None) -> float:
    """Return the weighted sum of goals in a run: NaN of one that failed.

    With logarithms sum(weight log value) / sum(abs(weight)). A value that is not there, or zero, is minus
    infinity whichever sign its weight has: nothing was delivered, nothing was completed.

    Parameters
    ----------
    values
        By response and group; None of a run that failed.
    """
    if values is None:
        return math.nan
    found = [(goal.weight, values.get(goal.response, {}).get(goal.group)) for goal in select.goals]
    if any(value is None for _, value in found):
        return -math.inf
    known = [(weight, value) for weight, value in found if value is not None]
    if not select.logarithms:
        return math.fsum(weight * value for weight, value in known)
    if any(value <= 0.0 for _, value in known):
        return -math.inf
    total = math.fsum(abs(weight) for weight, _ in known)
    return math.fsum(weight * math.log(value) for weight, value in known) / total


def without_any(goals: Sequence[Goal], values: Sequence[Mapping[str, Values]]) -> list[Goal]:
    """Return the goals that have a value in none of some runs."""
    return [
        goal
        for goal in goals
        if not any((of.get(goal.response, {}).get(goal.group) or 0.0) != 0.0 for of in values)
    ]
