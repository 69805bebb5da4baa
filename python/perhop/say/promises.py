"""Promises to classes of flows in words and tables: which are kept, in which treatments."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from perhop.experiment.rules import MIN_REPLICATIONS
from perhop.judge.verdict import Verdict as Outcome
from perhop.say.document import Part, Table, Verdict
from perhop.say.run_promises import value_of
from perhop.units import counted

if TYPE_CHECKING:
    from perhop.judge.promises import Judged
    from perhop.judge.verdict import ClaimPart
    from perhop.run.promises import Promise

WORDS = {
    Outcome.SUPPORTED: ("kept", "good"),
    Outcome.CONTRADICTED: ("broken", "bad"),
    Outcome.INCONCLUSIVE: ("open", "open"),
    Outcome.NOT_JUDGED: ("not judged", "open"),
}
"""How a verdict is called, and its look."""


def parts(judged: Judged) -> list[Part]:
    """Return a sentence on how many promises are kept, and a table: treatments by promises."""
    if not judged.treatments:
        return []
    factors = list(judged.treatments[0].levels)
    rows = [
        [*one.levels.values(), *(cell(*pair) for pair in zip(judged.promises, one.parts, strict=True))]
        for one in judged.treatments
    ]
    columns = [*factors, *(f"{one.called}, {one.bounded}" for one in judged.promises)]
    return [_counted(judged), Table("Promises", columns, rows, left=len(columns))]


def document(judged: Judged) -> dict[str, Any]:
    """Return promises as JSON has them; nothing where there are none."""
    treatments = []
    for one in judged.treatments:
        each = zip(judged.promises, one.parts, strict=True)
        treatments.append({"levels": one.levels, "promises": [_document(*pair) for pair in each]})
    return {"promises": treatments} if treatments else {}


def _document(promise: Promise, part: ClaimPart) -> dict[str, Any]:
    has = part.measured
    return {
        "class": promise.of,
        "quantity": promise.quantity,
        "bound": promise.bound,
        "verdict": WORDS[part.verdict][0],
        "reason": part.reason,
        "mean": has.mean if has else None,
        "ci95": [has.low, has.high] if has else None,
        "replications": has.n if has else 0,
    }


def _counted(judged: Judged) -> str:
    parts = [part for one in judged.treatments for part in one.parts]
    counts = Counter(part.verdict for part in parts)
    named = [f"{counts[outcome]} {word}" for outcome, (word, _) in WORDS.items() if counts[outcome]]
    reasons = dict.fromkeys(part.reason for part in parts if part.reason)
    why = f" ({'; '.join(reasons)})" if reasons else ""
    of = f"{counted(len(judged.promises), 'promise')} in {counted(len(judged.treatments), 'treatment')}"
    always = ", which hold at every look" if judged.at_every_look else ""
    rule = f"95 % intervals of means over {MIN_REPLICATIONS} replications or more{always}"
    return f"Of {of}: {', '.join(named)}{why}. Kept and broken are by {rule}."


def cell(promise: Promise, part: ClaimPart) -> Verdict:
    """Return what a treatment has of a promise, and the verdict."""
    word, look = WORDS[part.verdict]
    if part.measured is None:
        return Verdict(word, look)
    return Verdict(f"{value_of(promise, part.measured.mean)} {word}", look)
