"""An answer in sentences: advice, gains, costs, and their certainty."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perhop.deploy import tc
from perhop.recommend import goals, line
from perhop.recommend.answer import NothingFoundError, answer, references
from perhop.recommend.candidates import AS_IT_IS, FACTOR
from perhop.recommend.goals import MEASURES
from perhop.say import promised
from perhop.say.candidates import PARTS, between, named, short
from perhop.say.document import MOST_ROWS, Cell, Table
from perhop.units import bit_rate, counted, duration

if TYPE_CHECKING:
    from perhop.experiment.rules import Select
    from perhop.experiment.store import Store
    from perhop.recommend.answer import Answer, AnswerRow
    from perhop.recommend.forms import ClosedForm
    from perhop.scenario.scenario import Scenario

LEAD = 3
"""Sentences of an answer that stand before its first table or figure."""

_EF = (
    "EF is for traffic that is admitted and policed (RFC 3246, RFC 4594 section 4.1): ACKs with it need a "
    "policer, or a class of their own."
)


def described(store: Store) -> tuple[Answer | None, list[str]] | None:
    """Return a store's answer in words; None of other campaigns and of unfinished races.

    Where no candidate has a value there is no answer, and the words say why.
    """
    campaign = store.campaign
    factor = next((one for one in (FACTOR, line.FACTOR) if one in campaign.design.names), None)
    if campaign.select is None or factor is None:
        return None
    try:
        found = answer(store, references(campaign.design, factor, campaign.select.baseline))
    except NothingFoundError as error:
        return None, [str(error)]
    if found is None:
        return None
    expression = next((one.text for one in campaign.responses if one.name == goals.EXPRESSION), None)
    weighed = goals.in_words(campaign.select.goals, expression)
    sentences = in_words(found, campaign.select, weighed)
    if factor == line.FACTOR:
        place = 1 if found.promises is None else LEAD
        sentences[place:place] = of_line(found, campaign.scenario)
    return found, sentences


def in_words(found: Answer, select: Select, weighed: str) -> list[str]:
    """Return the answer as sentences, the advice first."""
    if found.promises is None:
        sentences = [_advice(found, select), _sure(found, select), f"Weighed: {weighed}."]
    else:
        sentences = promised.in_words(found, found.promises, select)
        sentences.append(f"Weighed, of those that keep all: {weighed}.")
    for name, change in found.over.items():
        if change.runs and not (change.percent == change.low == change.high == 0.0):
            pairs = counted(change.runs, "pair")
            sentences.append(f"Over {name}: {between(change)} by these weights, {pairs} of runs.")
    sentences += [_cost(found, name) for name in found.over]
    sentences += _best(found, select) if found.promises is None else []
    if re.search(r"\bEF for ", found.taken):
        sentences.append(_EF)
    dropped = found.treatments - len(found.left)
    sentences.append(
        f"It took {counted(found.runs, 'run')}: {counted(found.treatments, 'candidate')}, "
        f"up to {counted(found.replications, 'replication')}, {dropped} dropped on the way."
    )
    return [one for one in sentences if one]


def of_line(found: Answer, scenario: Scenario) -> list[str]:
    """Return what the line holds as it is, and what the best marking of ACKs does beside the answer."""
    holds = [f"{one.link.name} {duration(one.held_s)}" for one in line.slow_links(scenario)]
    sentences = [f"As it is, a full buffer keeps the line busy for: {', '.join(holds)}."]
    if found.promises is None:
        sentences[0] += " Probes each way measure the delay of a light sender."
    marks = {
        name: change
        for name, change in found.scores.items()
        if short(name).startswith(line.MARKS) and math.isfinite(change.percent)
    }
    if marks and found.taken not in marks and found.promises is None:
        best = max(marks, key=lambda name: marks[name].percent)
        gain = f"{between(marks[best])} over {found.scored_over}"
        sentences.append(f"The best by marks alone is {short(best)}: {gain}.")
    if cake := nearest(found):
        gain = f"{between(found.scores[cake])} over {found.scored_over}"
        filters = "Linux's fq_codel filters no ACKs; what comes nearest there is"
        sentences.append(f"{filters} {short(cake)}: {gain}.")
    return sentences


def nearest(found: Answer) -> str | None:
    """Return what to type in where Linux has not what is taken: a CAKE for an FQ that filters ACKs."""
    taken, cake = short(found.taken), found.taken.replace("=fq", "=cake")
    has_none = taken.startswith("fq") and taken.endswith("that filters ACKs")
    return cake if has_none and cake in found.scores else None


def value(response: str, number: float) -> str:
    """Return a measure with its unit; an expression of the user's has none."""
    if not math.isfinite(number):
        return "-"
    if response not in MEASURES:
        return f"{number:.4g}"
    if response == "mos":
        return f"{number:.2f}"
    return bit_rate(number) if response in {"goodput", "rate"} else duration(number)


def called(row: AnswerRow) -> str:
    """Return the name of a measure."""
    return MEASURES[row.response].called if row.response in MEASURES else row.response


def _advice(found: Answer, select: Select) -> str:
    worth = f"{100 * select.delta:g} %"
    name = short(found.taken)
    in_use = found.taken == found.in_use
    if not found.met:
        now = ", which is in use," if in_use else ""
        others = named([one for one in found.left if one != found.taken])
        leads = f"Not settled after {counted(found.runs, 'run')}: {name}{now} leads"
        return f"{leads}, and these cannot be told apart from it: {others}."
    alone = len(PARTS.split(found.taken)) == 1
    marks = alone and found.taken.startswith(f"{FACTOR}=")
    if in_use:
        what = "ACKs as they are" if marks else "all as it is"
        called = f" ({name})" if name != AS_IT_IS else ""
        return f"Leave {what}{called}: no difference worth having, which is {worth}."
    return f"Take these marks for ACKs: {name}." if marks else f"Take {name}."


def _sure(found: Answer, select: Select) -> str:
    confident = f"With {100 * select.level:g} % confidence"
    if found.met:
        return (
            f"{confident} none of the {found.treatments} candidates is better by more than "
            f"{100 * select.delta:g} %, however often the runs were looked at."
        )
    is_bound = math.isfinite(found.behind)
    bound = f"{found.behind:.3g} %" if is_bound else "an amount that these runs do not bound"
    many = counted(found.replications, "replication")
    return f"{confident} {short(found.taken)} is behind the best by at most {bound}, after {many} at most."


def _cost(found: Answer, name: str) -> str:
    """Describe measures that are surely worse, and those better, than with another candidate."""
    worse, better = [], []
    for row in found.rows:
        change = row.changes[name]
        if row.response not in MEASURES:
            continue
        sign = MEASURES[row.response].sign
        text = f"{goals.of(row.of)} {called(row)} {between(change)}"
        shown = math.isfinite(change.low + change.high) and change.low * change.high > 0
        if change.lost and change.gained:
            continue
        if change.lost or (shown and sign * change.percent < 0):
            worse.append(text)
        elif row.weighed and (change.gained or shown):
            better.append(text)
    if not any(row.changes[name].percent for row in found.rows):
        return ""
    gain = f"better are {', '.join(better)}; " if better else "nothing weighed is shown to be better; "
    cost = f"worse are {', '.join(worse)}." if worse else "nothing is shown to be worse."
    return f"Against {name}, {gain}{cost}"


def _best(found: Answer, select: Select) -> list[str]:
    """List the best for each goal by itself, goals that need no change, and those that are open."""
    settled, same, unsettled = [], [], []
    for one in found.best:
        what = f"{goals.of(one.goal.group[0])} {MEASURES[one.goal.response].called}"
        others = f" ({counted(one.others, 'other')} not shown to be worse)" if one.others else ""
        if not one.sure:
            unsettled.append(f"{what} ({short(one.treatment)} leads)")
        elif one.treatment == found.in_use:
            same.append(what)
        else:
            settled.append(f"{what}: {short(one.treatment)}{others}")
    parts = (
        (f"Best for each by itself, each with {100 * select.level:g} % confidence", ". ".join(settled)),
        ("What is in use is good enough for", ", ".join(same)),
        ("Not settled by itself", ", ".join(unsettled)),
    )
    return [f"{name}: {text}." for name, text in parts if text]


def commands(store: Store, found: Answer) -> dict[str, str]:
    """Return commands: run the candidate taken, put it on a line, repeat the race, print its numbers."""
    where = shlex.quote(str(store.folder))
    typed = to_type_in(store, found)
    return {
        "try it": shlex.join(["perhop", "run", *_as(store, found.taken)]),
        **{f"queues to type in at {node}": command for node, command in typed.items()},
        "rerun the race, or go on with it": f"perhop campaign run {where}",
        "all numbers": f"perhop analyze {where}",
    }


def to_type_in(store: Store, found: Answer) -> dict[str, str]:
    """Return by router the command that prints its queues for a device; none where all is left as it is."""
    scenario, design = store.campaign.scenario, store.campaign.design
    if line.FACTOR not in design.names or found.taken == found.in_use:
        return {}
    typed = nearest(found) or found.taken
    as_typed = scenario.override(*_overrides(store, typed))
    routers = {one.name for one in scenario.describe().nodes if one.kind == "router"}
    ends = dict.fromkeys(slow.link.source for slow in line.slow_links(scenario))
    words = _as(store, typed, without=("sla=",))
    return {
        node: shlex.join(["perhop", "deploy", *words, "--with", "tc", "--at", node])
        for node in ends
        if node in routers and tc.commands(as_typed, node)
    }


def _overrides(store: Store, treatment: str) -> tuple[str, ...]:
    return next(one.overrides for one in store.campaign.design.treatments if one.name == treatment)


def _as(store: Store, treatment: str, without: tuple[str, ...] = ()) -> list[str]:
    """Return the words of a command for the scenario in a treatment, without probes and what begins so."""
    scenario = store.campaign.scenario
    given = (*scenario.overrides, *_overrides(store, treatment))
    kept = (one for one in given if not line.is_of_probes(one) and not one.startswith(without))
    return [scenario.name, *(word for one in kept for word in ("-s", one))]


def tables(found: Answer, forms: Sequence[ClosedForm]) -> Iterator[Table]:
    """Go through tables: measures before and after, and closed forms beside the simulation."""
    for name in found.over:
        if any(row.changes[name].percent for row in found.rows):
            rows: list[list[Cell]] = []
            for row in found.rows:
                measure = f"{called(row)} (weighed)" if row.weighed else called(row)
                change = row.changes[name]
                before, taken = (value(row.response, mean) for mean in (change.other, change.taken))
                rows.append([row.of or None, measure, before, taken, between(change)])
            title = (
                f"Against {name}: means of pairs of runs, geometric where there is a change, and the change "
                "with an interval that holds at every look"
            )
            yield Table(title, ("class", "measure", name, "taken", "change"), rows)
    if forms:
        rows = []
        for one in forms:
            most = "at most " if one.bound else ""
            rows.append([one.form, one.of, most + bit_rate(one.estimated), bit_rate(one.simulated)])
        title = "Closed forms beside the simulation, goodput of each flow; more: perhop estimate"
        yield Table(title, ("form", "of", "estimated", "simulated"), rows, most=MOST_ROWS)
