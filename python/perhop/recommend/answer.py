"""The answer of a race that has been run, from the table of its store alone."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from perhop.experiment.selecting import Selected, Selecting, race, score, without_any
from perhop.judge.promises import judge_promises
from perhop.recommend.candidates import BEST_EFFORT, COPY, FACTOR
from perhop.recommend.goals import MEASURES
from perhop.stats.sequential import sequential_interval

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt
    import polars as pl

    from perhop.experiment.design import Design
    from perhop.experiment.rules import Goal, Select
    from perhop.experiment.store import Store
    from perhop.judge.promises import Judged


@dataclass(frozen=True)
class Change:
    """A difference in percent over common runs, with an interval that holds at every look.

    In `lost` of these runs only the other candidate has a value above zero, in `gained` only the one taken;
    where there are such, there is no percentage.
    """

    percent: float
    low: float
    high: float
    runs: int
    lost: int = 0
    gained: int = 0


@dataclass(frozen=True)
class MeasureChange(Change):
    """A change of a measure, and what it was in these runs.

    Geometric means, of which `percent` is the difference; where there is none, plain ones of the runs with a
    value.
    """

    other: float = math.nan
    taken: float = math.nan


@dataclass(frozen=True)
class AnswerRow:
    """A measure of a class: its mean with the candidate taken, and the changes over two others."""

    of: str
    response: str
    mean: float
    changes: dict[str, MeasureChange]
    weighed: bool


@dataclass(frozen=True)
class Best:
    """The best candidate for one goal by itself; `sure` where none is better by the margin.

    `others` were not shown to be worse. What is in use is the best as long as none is better by the margin.
    """

    goal: Goal
    treatment: str
    sure: bool
    others: int


@dataclass(frozen=True)
class Answer:
    """The answer of a recommendation.

    Parameters
    ----------
    met
        Nothing tried is better than `taken` by a difference worth having.
    behind
        By how many percent it may be behind the best.
    left
        Treatments that were not dropped.
    over
        Change of the score over best effort, over copying and over what is in use, by their names.
    scores, scored_over
        Change of each treatment's score over the first of these, or over the one taken where that has none;
        no number where a treatment has none. And what that is called.
    impossible
        Treatments that were dropped because something weighed had no value, or zero, in a run.
    promises
        Where they are the goal: judged in each treatment. One that keeps not all is taken only if none does,
        as that which keeps most.
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
    rows: tuple[AnswerRow, ...]
    best: tuple[Best, ...]
    failed: int
    scores: dict[str, Change]
    scored_over: str = ""
    impossible: tuple[str, ...] = ()
    promises: Judged | None = None


class NothingFoundError(ValueError):
    """A finished race in which no candidate has a value; the message is the reason."""


Runs = dict[int, dict[str, dict[tuple[str, ...], float | None]] | None]
"""By replication, response and group; None of a run that failed."""

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

    Raises
    ------
    NothingFoundError
        The race is over, and none can be taken: runs failed, or what is weighed has no value.
    """
    select = store.campaign.select
    assert select is not None
    names = [one.name for one in store.campaign.design.treatments]
    runs = store.runs()
    found = _found(store, names, runs)
    asked = sorted((number, k) for k, of in found.items() for number in of)
    # in a store of an earlier perhop what is in use has no runs once it was dropped
    for runs_on in (True, False):
        rule = Selecting(select, len(names), runs_on=runs_on)
        for replication, treatment in [] if runs.filter(state="missing").height else asked:
            rule.add(treatment, replication, found[treatment][replication])
        if rule.decided is not None:
            break
    decided = rule.decided
    if decided is None:
        return None
    place = decided.treatment
    if place is None:
        raise NothingFoundError(_why_nothing(select, found))
    promises = judge_promises(store) if select.bounds else None
    if promises and not promises.treatments[place].all_kept:
        place = promises.nearest()
    called, first = next(((word, names.index(name)) for word, name in references.items()), ("", place))
    if rule.race.hopeless[first]:
        called, first = "what is taken", place
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
        rows=_rows(select, found, place, {called: names.index(name) for called, name in references.items()}),
        best=tuple(_best(select, goal, found, names, rule.race.hopeless) for goal in select.goals)
        if select.logarithms
        else (),
        failed=runs.filter(state="failed").height,
        scores={one: _scored(rule, select, k, first, found) for k, one in enumerate(names)} if called else {},
        scored_over=called,
        impossible=tuple(names[k] for k in np.flatnonzero(rule.race.hopeless)),
        promises=promises,
    )


def references(design: Design, factor: str, in_use: int | None) -> dict[str, str]:
    """Return the treatments that the answer is held against, by name.

    Parameters
    ----------
    factor
        Name of the factor of the candidates: that of ACK markings, or another, held against what is in use.
    in_use
        Number of the treatment that is the scenario as it is; other factors are left at its levels.
    """
    treatments = design.treatments
    if factor != FACTOR:
        return {} if in_use is None else {"what is in use": treatments[in_use].name}
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


def _found(store: Store, names: list[str], runs: pl.DataFrame) -> Found:
    found: Found = defaultdict(dict)
    by = {one.name: one.by for one in store.campaign.responses}
    places = {name: place for place, name in enumerate(names)}
    for treatment, number, state in runs.select("treatment", "replication", "state").rows():
        found[places[treatment]][number] = {} if state == "done" else None
    for row in store.scalars().iter_rows(named=True):
        of = found[places[row["treatment"]]][row["replication"]]
        assert of is not None, "a run that failed has no values"
        group = tuple(row[column] for column in by[row["response"]])
        of.setdefault(row["response"], {})[group] = row["value"]
    return found


def _why_nothing(select: Select, found: Found) -> str:
    done = [one for runs in found.values() for one in runs.values() if one is not None]
    if not done:
        return "every run failed, so that nothing can be recommended"
    none = [":".join((*goal.group, goal.response)) for goal in without_any(select.goals, done)]
    if none:
        has = "has" if len(none) == 1 else "have"
        return f"{', '.join(none)} {has} no value in any run, so that nothing can be chosen by it"
    lacking = {
        ":".join((*goal.group, goal.response)): sum(
            not one.get(goal.response, {}).get(goal.group) for one in done
        )
        for goal in select.goals
    }
    some = ", ".join(f"{name} in {count} of {len(done)}" for name, count in lacking.items() if count)
    return (
        "every candidate failed, or had a run without a value, or with zero, of something that is weighed"
        + (f": {some} runs. Make run.duration longer, or weigh something else" if some else "")
    )


def _behind(select: Select, decided: Selected, runs: Runs) -> float:
    if select.logarithms:
        return 100 * math.expm1(decided.behind)
    scores = [score(select, one) for one in runs.values()]
    return 100 * decided.behind / abs(float(np.nanmean(scores)) or math.nan)


def _over(rule: Selecting, select: Select, taken: int, other: int, found: Found) -> Change:
    mean, half = float(rule.race.mean[taken, other]), float(rule.race.half_width()[taken, other])
    runs = int(rule.race.n[taken, other])
    if runs == 0 or rule.race.hopeless[other]:
        return Change(math.inf, math.nan, math.inf, 0)
    if taken == other:
        return Change(0.0, 0.0, 0.0, runs)
    if other == select.baseline and not rule.race.left[other]:
        # it ran on, of which the race knows nothing
        pairs = _apart(select, found, taken, other)
        over = sequential_interval(pairs, rule.race.level)
        mean, half, runs = over.mean, (over.high - over.low) / 2, len(pairs)
    ends = (mean, mean - half, mean + half)
    if select.logarithms:
        return Change(*_percent(ends), runs)
    scale = abs(float(np.nanmean([score(select, one) for one in found[other].values()]))) or math.nan
    return Change(100 * mean / scale, 100 * (mean - half) / scale, 100 * (mean + half) / scale, runs)


def _apart(select: Select, found: Found, one: int, other: int) -> list[float]:
    """Return the differences of two candidates' scores, in the order of replications."""
    both = (
        (score(select, found[k].get(number)) for k in (one, other)) for number in _shared(found, one, other)
    )
    return [x - y for x, y in both if math.isfinite(x) and math.isfinite(y)]


def _scored(rule: Selecting, select: Select, one: int, first: int, found: Found) -> Change:
    if not rule.race.n[one, first] or rule.race.hopeless[[one, first]].any():
        return Change(math.nan, math.nan, math.nan, 0)
    return _over(rule, select, one, first, found)


def _percent(logarithms: tuple[float, float, float]) -> tuple[float, float, float]:
    one, two, three = (100 * _grown(each) for each in logarithms)
    return one, two, three


def _grown(logarithm: float) -> float:
    return math.expm1(logarithm) if logarithm < 700 else math.inf


def _rows(select: Select, found: Found, taken: int, against: dict[str, int]) -> tuple[AnswerRow, ...]:
    """Return the measures with a value in any of these candidates."""
    goals = {(one.response, one.group) for one in select.goals}
    promised = {one.response for one in select.bounds}
    keys = dict.fromkeys(
        (group, response)
        for k in (taken, *against.values())
        for one in found[k].values()
        for response, values in (one or {}).items()
        for group in values
        if response not in promised
    )
    rows = []
    for group, response in sorted(keys):
        series = {k: _series(found[k], response, group) for k in {taken, *against.values()}}
        if not any(value for one in series.values() for value in one.values()):
            continue
        changes = {
            word: _change(
                [(series[taken].get(number), series[k].get(number)) for number in _shared(found, taken, k)],
                select.level,
                zero_is_none=response in MEASURES,
            )
            for word, k in against.items()
        }
        mean, weighed = _mean(series[taken].values()), (response, group) in goals
        rows.append(AnswerRow(", ".join(group), response, mean, changes, weighed))
    return tuple(rows)


def _shared(found: Found, one: int, other: int) -> list[int]:
    """Return the replications of which both have a run that did not fail."""
    sound = [{number for number, of in found[k].items() if of is not None} for k in (one, other)]
    return sorted(sound[0] & sound[1])


def _series(runs: Runs, response: str, group: tuple[str, ...]) -> dict[int, float]:
    values = {number: (one or {}).get(response, {}).get(group) for number, one in runs.items()}
    return {number: value for number, value in values.items() if value is not None}


def _mean(values: Iterable[float | None]) -> float:
    known = [one for one in values if one is not None]
    return math.fsum(known) / len(known) if known else math.nan


def _change(
    pairs: list[tuple[float | None, float | None]], level: float, *, zero_is_none: bool
) -> MeasureChange:
    """Return the change of a measure, by the logarithms of pairs of runs: first the candidate taken."""
    none = (None, 0.0) if zero_is_none else (None,)
    lost = sum(x in none and y not in none for x, y in pairs)
    gained = sum(y in none and x not in none for x, y in pairs)
    pairs = [(x, y) for x, y in pairs if x not in none or y not in none]
    usable = [(math.log(x), math.log(y)) for x, y in pairs if x and y and x > 0 and y > 0]
    if not usable or len(usable) < len(pairs):
        taken, other = (_mean(pair[k] for pair in pairs) for k in (0, 1))
        return MeasureChange(math.nan, math.nan, math.nan, len(pairs), lost, gained, other, taken)
    found = sequential_interval([x - y for x, y in usable], level)
    taken, other = (math.exp(_mean(pair[k] for pair in usable)) for k in (0, 1))
    percent = _percent((found.mean, found.low, found.high))
    return MeasureChange(*percent, len(pairs), other=other, taken=taken)


def _best(
    select: Select, goal: Goal, found: Found, names: list[str], hopeless: npt.NDArray[np.bool_]
) -> Best:
    """Run the race once more by one goal alone, with the runs there are of candidates that could be taken."""
    alone = replace(select, goals=(goal,))
    own = race(alone, len(names))
    for number in range(max(max(runs, default=0) for runs in found.values()) + 1):
        runs = [found[k].get(number) for k in range(len(names))]
        own.add([score(alone, one) for one in runs], out=hopeless)
    choice = own.choice()
    return Best(goal, names[int(choice.system)], bool(choice.decided), int(own.sound.sum()) - 1)
