"""A recommendation by promises in words: which candidates keep them, what fails, and by how much."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perhop.experiment.rules import MIN_REPLICATIONS
from perhop.judge.verdict import Verdict as Outcome
from perhop.say.candidates import named, short, signed
from perhop.say.document import MOST_ROWS, Cell, Table
from perhop.say.promises import WORDS, cell
from perhop.say.run_promises import value_of
from perhop.units import counted, percent

if TYPE_CHECKING:
    from perhop.experiment.rules import Select
    from perhop.judge.promises import Judged, Kept
    from perhop.judge.verdict import ClaimPart
    from perhop.recommend.answer import Answer
    from perhop.run.promises import Promise


def in_words(found: Answer, judged: Judged, select: Select) -> list[str]:
    """Return the advice, what the candidate taken has of each promise, who keeps them, and how sure it is."""
    taken = next(one for one in judged.treatments if one.name == found.taken)
    advice, has = _advice(found, judged, taken, select), _has(judged, taken)
    return [advice, has, _kept_by(found, judged), _sure(found, select)]


def table(found: Answer, judged: Judged) -> Table:
    """Return a table of candidates by promises, that taken first, then those that keep all."""
    first = found.scored_over
    rows: list[list[Cell]] = []
    for one in sorted(judged.treatments, key=lambda one: (one.name != found.taken, *_rank(one))):
        parts = zip(judged.promises, one.parts, strict=True)
        rows.append([short(one.name), *(cell(promise, part) for promise, part in parts)])
        if first:
            score = found.scores[one.name].percent
            rows[-1].append(f"{signed(score)} %" if math.isfinite(score) else None)
    columns = ["candidate", *(f"{one.called}, {one.bounded}" for one in judged.promises)]
    columns += [f"over {first}, by the weights"] if first else []
    title = "Promises by candidate"
    return Table(title, columns, rows, left=len(columns), whole="on the page", most=MOST_ROWS)


def _rank(one: Kept) -> tuple[int, int]:
    return one.count(Outcome.CONTRADICTED), -one.count(Outcome.SUPPORTED)


def _all(judged: Judged) -> str:
    return "the promise" if len(judged.promises) == 1 else f"all {len(judged.promises)} promises"


def _advice(found: Answer, judged: Judged, taken: Kept, select: Select) -> str:
    name, what = short(found.taken), _all(judged)
    is_in_use = found.taken == found.in_use
    lead = f"{'Leave all as it is' if is_in_use else f'Take {name}'}, which keeps {what}."
    if found.met:
        worth = f"no difference worth having, which is {100 * select.delta:g} %"
        return f"{lead} Over others that do there is {worth}." if is_in_use else lead
    so_far = f"Not settled after {counted(found.runs, 'run')}"
    others = [one for one in judged.treatments if one.name in found.left and one is not taken]
    if taken.all_kept:
        alike = [one.name for one in others if one.all_kept]
        may = [one.name for one in others if not one.all_kept]
        parts = [f"not told apart from it: {named(alike)}"] if alike else []
        parts += [f"open, and maybe better: {named(may)}"] if may else []
        return f"{lead} {so_far}; {'; '.join(parts)}."
    has = [f"{many} {word}" for outcome, (word, _) in WORDS.items() if (many := taken.count(outcome))]
    nearest = f"{name} comes nearest: {', '.join(has)}."
    if any(not one.count(Outcome.CONTRADICTED) for one in (taken, *others)):
        return f"{so_far}: no candidate is known to keep {what}. {nearest}"
    return f"No candidate keeps {what}. {nearest}"


def _has(judged: Judged, taken: Kept) -> str:
    """Write a sentence on what a candidate has of each promise, by verdict; of what is broken by how much."""
    found = []
    each = list(zip(judged.promises, taken.parts, strict=True))
    for outcome, (word, _) in WORDS.items():
        own = [_measured(promise, part) for promise, part in each if part.verdict is outcome]
        found += [f"{word.capitalize()}: {'; '.join(own)}."] if own else []
    return " ".join(found)


def _measured(promise: Promise, part: ClaimPart) -> str:
    has = part.measured
    if has is None:
        return f"{promise.called} ({part.reason})"
    low, high = (value_of(promise, end) for end in (has.low, has.high))
    text = f"{promise.called} {value_of(promise, has.mean)} ({low} to {high}), {promise.bounded}"
    if part.verdict is not Outcome.CONTRADICTED:
        return text
    beyond = promise.beyond(has.mean)
    return f"{text}, so {percent(beyond)} beyond" if math.isfinite(beyond) else text


def _kept_by(found: Answer, judged: Judged) -> str:
    """Write how many candidates keep all; where none does, how many keep each promise."""
    keep = [one.name for one in judged.treatments if one.all_kept]
    many = counted(len(judged.treatments), "candidate")
    broken = sum(one.count(Outcome.CONTRADICTED) > 0 for one in judged.treatments)
    rest = len(judged.treatments) - len(keep) - broken
    parts = [f"{broken} break at least one"] if broken else []
    parts += [f"{rest} {'is' if rest == 1 else 'are'} open"] if rest else []
    more = f"; {', '.join(parts)}" if parts else ""
    if keep:
        text = f"Of {many} {len(keep)} keep {_all(judged)}: {named(keep, ', ')}{more}."
    else:
        each = [_each(judged, place) for place in range(len(judged.promises))]
        text = f"Of {many} none keeps {_all(judged)}{more}. Each by itself is kept by: {'; '.join(each)}."
    if found.impossible:
        why = "as something that counts had no value, or zero, in a run"
        text += f" Out of the race, {why}: {named(found.impossible, ', ')}."
    return text


def _each(judged: Judged, place: int) -> str:
    promise = judged.promises[place]
    keep = [one.name for one in judged.treatments if one.parts[place].verdict is Outcome.SUPPORTED]
    if keep:
        return f"{promise.called} {len(keep)}"
    measured = [(one.name, one.parts[place].measured) for one in judged.treatments]
    known = [(promise.beyond(has.mean), has.mean, name) for name, has in measured if has]
    if not known:
        return f"{promise.called} none"
    _, value, name = min(known)
    return f"{promise.called} none, nearest {value_of(promise, value)} with {short(name)}"


def _sure(found: Answer, select: Select) -> str:
    least = f"{MIN_REPLICATIONS} replications or more"
    rule = f"Verdicts are by 95 % intervals that hold at every look, over {least}."
    if not found.met:
        return rule
    level, worth = f"{100 * select.level:g} %", f"{100 * select.delta:g} %"
    return f"{rule} With {level} confidence none that may keep as much is better by more than {worth}."
