"""Treatments in which a response sums or counts rows that none of them has: a zero without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from perhop.experiment.design_check import levels_of
from perhop.experiment.expression import Comparison, Condition, Junction, Not, Statistic
from perhop.experiment.fault import Fault
from perhop.experiment.vocabulary import Vocabulary, words

if TYPE_CHECKING:
    from perhop.experiment.factors import Treatments
    from perhop.experiment.response import Response
    from perhop.scenario.scenario import Scenario

_NAMING = ("flow", "udp", "link", "node")
"""Tables of a scenario whose settings make names, classes and labels."""


def unseen(design: Treatments, scenario: Scenario, responses: Sequence[Response]) -> Iterator[Fault]:
    """Yield a warning for each sum or count of a response that is of no row in some treatments.

    Where a treatment has no row, other statistics have no value, which is seen. What neither the scenario nor
    any treatment has is for `Response.doubts`.
    """
    asking = [
        (response.name, one)
        for response in responses
        for one in response.statistics
        if one.where is not None and one.name.text in ("sum", "count")
    ]
    if not asking:
        return
    known, plain = _words(design, scenario), words(scenario)
    tables = {*plain}.union(*known)
    for name, one in asking:
        empty = [index for index, own in enumerate(known) if _is_empty(one, own, tables)]
        if empty and not (len(empty) == len(known) and _is_empty(one, plain, tables)):
            at, where = levels_of(design, empty)
            rule = f"no row of `{one.table}` will have {one.where}, so that `{name}` counts 0 for it"
            hint = "a zero there means nothing: leave the treatment out, or measure what it has"
            yield Fault(at, f"{where or 'every treatment'}: {rule}", hint)


def _is_empty(one: Statistic, known: Vocabulary, tables: Set[str]) -> bool:
    """Return whether a statistic with a condition is of no row; `tables` have rows in some treatment."""
    table = one.table.text
    if table in tables and table not in known:
        return True
    return one.where is not None and not _may_hold(one.where, known.get(table, {}))


def _may_hold(one: Condition, known: Mapping[str, Set[str]]) -> bool:
    """Return whether rows may fulfil a condition, by the words that they will have."""
    match one:
        case Comparison():
            words_of = known.get(one.column.text)
            return (
                words_of is None or one.operator not in ("=", "in") or not words_of.isdisjoint(one.constants)
            )
        case Junction(operator="and"):
            return _may_hold(one.left, known) and _may_hold(one.right, known)
        case Junction():
            return _may_hold(one.left, known) or _may_hold(one.right, known)
        case Not():
            return True


def _words(design: Treatments, scenario: Scenario) -> list[Vocabulary]:
    """Return the words of each treatment."""
    found: list[Vocabulary] = []
    made: dict[tuple[str, ...], Vocabulary] = {}
    for one in design.treatments:
        naming = tuple(each for each in one.overrides if each.strip().startswith(_NAMING))
        if naming not in made:
            made[naming] = words(scenario.unread(*one.overrides))
        found.append(made[naming])
    return found
