"""The choice of the best treatment, decided in the order of replications."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perhop.experiment.rules import MIN_REPLICATIONS, Bound, Goal, Select
from perhop.experiment.stopping import LEVEL, Values
from perhop.stats.selection import Race
from perhop.stats.sequential import sequential_interval


@dataclass(frozen=True)
class Selected:
    """The decision of a selection."""

    treatment: int | None
    """Number of the one to take; None where none has a value, or none was without minus infinity."""
    met: bool
    """Nothing is better than it by a difference worth having; else the cap was reached."""
    behind: float
    """By how much it may be behind the best, in the unit of the score."""
    replications: tuple[int, ...]
    """Of each treatment, fewer of those that were dropped."""


class Keeping:
    """Whether a treatment keeps bounds: the rule for verdicts, with intervals that hold at every look."""

    def __init__(self, bounds: Sequence[Bound]) -> None:
        self._values: dict[Bound, list[float]] = {one: [] for one in bounds}

    def add(self, values: Mapping[str, Values] | None) -> None:
        """Take in the values of a run; None of one that failed, which says nothing."""
        if values is None:
            return
        for bound, own in self._values.items():
            value = values.get(bound.response, {}).get(())
            own.append(math.nan if value is None else value)

    @property
    def kept(self) -> bool | None:
        """Whether all are kept; False if one is broken or cannot be judged; None where that is open."""
        each = {_within(bound, own) for bound, own in self._values.items()}
        return False if False in each else None if None in each else True


def _within(bound: Bound, values: Sequence[float]) -> bool | None:
    if not all(map(math.isfinite, values)):
        return False
    if len(values) < MIN_REPLICATIONS:
        return None
    return sequential_interval(values, LEVEL).within(bound.low, bound.high)


class Selecting:
    """Gives each replication to a race once all runs are there that it asks for.

    A treatment that breaks a bound leaves the race; only one that is known to keep all is taken, and drops
    others that are worse. Where there are bounds, each treatment has as many runs as judging them takes.
    Otherwise the baseline has runs as long as the race goes on, also once it is dropped, unless
    `runs_on` says no: they count for the comparison with it alone.
    """

    def __init__(self, select: Select, treatments: int, *, runs_on: bool = True) -> None:
        self._select = select
        self._runs_on = None if select.bounds or not runs_on else select.baseline
        self._treatments = treatments
        self.race = race(select, treatments)
        self._looked = 0
        self._least = min(MIN_REPLICATIONS, select.most) if select.bounds else 0
        self._asked = np.zeros(treatments, int)
        self._waiting: dict[int, dict[int, Mapping[str, Values] | None]] = {}
        self._keeping = [Keeping(select.bounds) for _ in range(treatments)]
        self.decided: Selected | None = None

    def add(self, treatment: int, replication: int, values: Mapping[str, Values] | None) -> None:
        """Take in the values of a run; None of one that failed, which counts for no difference."""
        self._waiting.setdefault(replication, {})[treatment] = values
        while self.decided is None and self._is_complete():
            found = self._waiting.pop(self._looked, {})
            self._asked += self._wanted()
            self._looked += 1
            for each in map(int, np.flatnonzero(self.race.left)):
                self._keeping[each].add(found[each])
            kept = [one.kept for one in self._keeping]
            proven, out = (np.array([one is whether for one in kept]) for whether in (True, False))
            scores = [score(self._select, found.get(each)) for each in range(self._treatments)]
            self.race.add(scores, proven, out)
            self._look(out)

    def asks_for(self, treatment: int, replication: int) -> bool:
        """Return whether a run is still wanted."""
        if self.decided is None and (self.race.left[treatment] or treatment == self._runs_on):
            return True
        return replication < max(self._least, int(self._asked[treatment]))

    @property
    def left(self) -> int:
        """How many treatments are still in the race."""
        return int(self.race.left.sum())

    def _wanted(self) -> npt.NDArray[np.bool_]:
        """Return whose runs the next look needs: also what is in use, against which the answer is held."""
        wanted = self.race.left | (self._looked < self._least)
        if self._runs_on is not None:
            wanted[self._runs_on] = True
        return wanted

    def _is_complete(self) -> bool:
        found = self._waiting.get(self._looked, {})
        return all(each in found for each in np.flatnonzero(self._wanted()))

    def _look(self, out: npt.NDArray[np.bool_]) -> None:
        choice = self.race.choice()
        hopeless = not (self.race.left & ~self.race.hopeless & ~out).any()
        if self._looked < self._least:
            return
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
    relative, level, baseline = not select.logarithms, select.level, select.baseline
    return Race(treatments, delta, relative=relative, level=level, baseline=baseline)


def score(select: Select, values: Mapping[str, Values] | None) -> float:
    """Return the weighted sum of goals in a run: NaN of one that failed.

    With logarithms sum(weight log value) / sum(abs(weight)). A value that is not there, or zero, is minus
    infinity whichever sign its weight has: nothing was delivered, nothing was completed.
    """
    if values is None:
        return math.nan
    known = []
    for goal in select.goals:
        value = values.get(goal.response, {}).get(goal.group)
        if value is None or (select.logarithms and value <= 0.0):
            return -math.inf
        known.append(goal.weight * (math.log(value) if select.logarithms else value))
    total = math.fsum(abs(goal.weight) for goal in select.goals) if select.logarithms else 1.0
    return math.fsum(known) / total


def without_any(goals: Sequence[Goal], values: Sequence[Mapping[str, Values]]) -> list[Goal]:
    """Return the goals that have a value other than zero in none of some runs."""
    return [goal for goal in goals if not any(of.get(goal.response, {}).get(goal.group) for of in values)]
