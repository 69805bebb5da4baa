"""The answer of a race that has been run, from the table of its store alone."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from perhop.experiment.selecting import Selected, Selecting, race, score
from perhop.recommend.candidates import BEST_EFFORT, COPY
from perhop.stats.sequential import sequential_interval

if TYPE_CHECKING:
    from perhop.experiment.definition import Goal, Select
    from perhop.experiment.design import Design
    from perhop.experiment.store import Store


@dataclass(frozen=True)
class Change:
    """A difference in percent, with an interval that holds at every look; runs are those both have."""

    percent: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class Row:
    """A measure of a class: its means, and what the candidate taken changes over two others."""

    of: str
    response: str
    means: dict[str, float]
    changes: dict[str, Change]
    weighed: bool


@dataclass(frozen=True)
class Best:
    """The best candidate for one goal by itself; `sure` where none is better by a difference worth having."""

    goal: Goal
    treatment: str
    sure: bool


@dataclass(frozen=True)
class Answer:
    """What came out.

    Parameters
    ----------
    taken, in_use
        Names of treatments.
    met
        Nothing tried is better than `taken` by a difference worth having.
    behind
        By how many percent it may be behind the best.
    left
        Treatments that were not dropped.
    runs, treatments, replications
        How many.
    over
        Change of the score over best effort, over copying and over what is in use, by their names.
    rows, best
        Measures by class, and the best for each goal.
    failed
        Runs that failed.
    """

    taken: str
    in_use: str
    met: bool
    behind: float
    left: tuple[str, ...]
    runs: int
    treatments: int
    replications: int
    over: dict[str, Change]
    rows: tuple[Row, ...]
    best: tuple[Best, ...]
    failed: int


Runs = dict[int, dict[str, dict[tuple[str, ...], float | None]]]
"""By replication, response and group."""

Found = dict[int, Runs]
"""By treatment."""


def answer(store: Store, references: dict[str, str]) -> Answer | None:
    """Return the answer; None where the race is not over.

    Parameters
    ----------
    store
        Of a campaign with a selection.
    references
        Treatments to compare with: their names by what they are called.
    """
    select = store.campaign.select
    assert select is not None
    names = [one.name for one in store.campaign.design.treatments]
    runs = store.runs()
    found = _found(store, names)
    asked = [(names.index(row[0]), row[1]) for row in runs.select("treatment", "replication").rows()]
    rule = Selecting(select, len(names))
    missing = runs.filter(state="missing").height
    for treatment, replication in sorted(asked if not missing else [], key=lambda one: one[::-1]):
        rule.add(treatment, replication, found[treatment].get(replication, {}))
    decided = rule.decided
    if decided is None:
        return None
    place = decided.treatment
    return Answer(
        taken=names[place],
        in_use="" if select.baseline is None else names[select.baseline],
        met=decided.met,
        behind=_behind(select, decided, found[place]),
        left=tuple(names[k] for k in np.flatnonzero(rule.race.left)),
        runs=runs["key"].n_unique(),
        treatments=len(names),
        replications=max(decided.replications),
        over={
            called: _over(rule, select, place, names.index(name), found)
            for called, name in references.items()
        },
        rows=_rows(store, found, place, {called: names.index(name) for called, name in references.items()}),
        best=tuple(_best(select, goal, found, names) for goal in select.goals) if select.logarithms else (),
        failed=runs.filter(state="failed").height,
    )


def references(design: Design, factor: str, in_use: int | None) -> dict[str, str]:
    """Return the treatments that the answer is held against, by what they are called.

    Parameters
    ----------
    design
        Of the candidates.
    factor
        Name of the factor of ACK markings.
    in_use
        Number of the treatment that is the scenario as it is; other factors are left at its levels.
    """
    treatments = design.treatments
    place = design.names.index(factor)
    rest = _rest(treatments[in_use or 0].levels, place)
    by_level = {one.levels[place]: one.name for one in treatments if _rest(one.levels, place) == rest}
    called = {"best effort": BEST_EFFORT, "copying": COPY}
    found = {word: by_level[level] for word, level in called.items() if level in by_level}
    if in_use is not None and treatments[in_use].name not in found.values():
        found = {"what is in use": treatments[in_use].name} | found
    return found


def _rest(levels: tuple[str, ...], place: int) -> tuple[str, ...]:
    return (*levels[:place], *levels[place + 1 :])


def _found(store: Store, names: list[str]) -> Found:
    found: Found = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    by = {one.name: one.by for one in store.campaign.responses}
    places = {name: place for place, name in enumerate(names)}
    for row in store.scalars().iter_rows(named=True):
        group = tuple(row[column] for column in by[row["response"]])
        found[places[row["treatment"]]][row["replication"]][row["response"]][group] = row["value"]
    return found


def _behind(select: Select, decided: Selected, runs: Runs) -> float:
    if select.logarithms:
        return 100 * math.expm1(decided.behind)
    scores = [score(select, one) for one in runs.values()]
    return 100 * decided.behind / abs(float(np.nanmean(scores)) or math.nan)


def _over(rule: Selecting, select: Select, taken: int, other: int, found: Found) -> Change:
    mean, half = float(rule.race.mean[taken, other]), float(rule.race.half_width()[taken, other])
    runs = int(rule.race.n[taken, other])
    if runs == 0:
        return Change(math.inf, math.nan, math.inf, 0)
    if taken == other:
        return Change(0.0, 0.0, 0.0, runs)
    ends = (mean, mean - half, mean + half)
    if select.logarithms:
        return Change(*_percent(ends), runs)
    scale = abs(float(np.nanmean([score(select, one) for one in found[other].values()]))) or math.nan
    return Change(100 * mean / scale, 100 * (mean - half) / scale, 100 * (mean + half) / scale, runs)


def _percent(logarithms: tuple[float, float, float]) -> tuple[float, float, float]:
    one, two, three = (100 * _grown(each) for each in logarithms)
    return one, two, three


def _grown(logarithm: float) -> float:
    return math.expm1(logarithm) if logarithm < 700 else math.inf


def _rows(store: Store, found: Found, taken: int, against: dict[str, int]) -> tuple[Row, ...]:
    select = store.campaign.select
    assert select is not None
    goals = {(one.response, one.group) for one in select.goals}
    keys = dict.fromkeys(
        (group, response)
        for one in found[taken].values()
        for response, values in one.items()
        for group in values
    )
    rows = []
    for group, response in sorted(keys):
        series = {k: _series(found[k], response, group) for k in {taken, *against.values()}}
        if not any(value for value in series[taken].values()):
            continue
        # over the replications that all of them have, or those of the longest would be of other draws
        both = set.intersection(*(set(one) for one in series.values()))
        means = {
            word: _mean({number: series[k][number] for number in both})
            for word, k in {**against, "taken": taken}.items()
        }
        changes = {word: _change(series[taken], series[k], select.level) for word, k in against.items()}
        rows.append(Row(", ".join(group), response, means, changes, (response, group) in goals))
    return tuple(rows)


def _series(
    runs: dict[int, dict[str, dict[tuple[str, ...], float | None]]], response: str, group: tuple[str, ...]
) -> dict[int, float]:
    values = {number: one.get(response, {}).get(group) for number, one in runs.items()}
    return {number: value for number, value in values.items() if value is not None}


def _mean(values: dict[int, float]) -> float:
    return math.fsum(values.values()) / len(values) if values else math.nan


def _change(taken: dict[int, float], other: dict[int, float], level: float) -> Change:
    """Return the change of a measure, by the logarithms of pairs."""
    pairs = [(taken[one], other[one]) for one in sorted(taken.keys() & other.keys())]
    usable = [math.log(x / y) for x, y in pairs if x > 0 and y > 0]
    if not usable or len(usable) < len(pairs):
        return Change(math.nan, math.nan, math.nan, len(pairs))
    found = sequential_interval(usable, level)
    return Change(*_percent((found.mean, found.low, found.high)), len(pairs))


def _best(select: Select, goal: Goal, found: Found, names: list[str]) -> Best:
    """Run the race once more by one goal alone, with the runs that there are."""
    alone = replace(select, goals=(goal,), baseline=None)
    own = race(alone, len(names))
    for number in range(max(max(runs, default=0) for runs in found.values()) + 1):
        runs = [found[k].get(number) for k in range(len(names))]
        own.add([math.nan if one is None else score(alone, one) for one in runs])
    choice = own.choice()
    return Best(goal, names[int(choice.system)], bool(choice.decided))
