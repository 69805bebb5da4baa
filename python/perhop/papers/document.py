"""What the documents of all studies have in common: a row, a claim with its evidence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from perhop.papers.error import PackError
from perhop.papers.pack import Claim
from perhop.papers.verdict import Part, Verdict, compound, interval_json
from perhop.stats.intervals import Interval

M = TypeVar("M")

NO_FORM: Mapping[str, float | None] = {"printed": None, "bounded": None}
"""The closed forms of a quantity that has none."""


def row(
    table: str,
    id_: str,
    quantity: str,
    unit: str,
    published: float | None,
    measured: Interval,
    closed_form: Mapping[str, float | None] = NO_FORM,
) -> dict[str, Any]:
    """Give one row of a document.

    Parameters
    ----------
    table
        Published table, or `extra` for a run of ours.
    id_, quantity, unit
        What was measured; the table, the id and the quantity together are unique.
    published
        The printed value, if there is one.
    measured
        Mean and interval over the replications.
    closed_form
        Value as `printed` and as `bounded`.
    """
    return {
        "table": table,
        "id": id_,
        "quantity": quantity,
        "unit": unit,
        "published": published,
        "closed_form": {
            form: None if value is None else round(value, 6) for form, value in closed_form.items()
        },
        "simulated": {"mean": round(measured.mean, 6), "ci95": interval_json(measured), "n": measured.n},
    }


def judge(predicates: Mapping[str, Callable[..., list[Part]]], measurements: M, claim: Claim) -> list[Part]:
    """Judge a claim by the predicate it names.

    Raises
    ------
    PackError
        There is no such predicate, or its parameters name what was not measured.
    """
    if claim.predicate not in predicates:
        raise PackError(f"claim {claim.id}: no predicate {claim.predicate!r}")
    predicate = predicates[claim.predicate]
    told = f"claims.toml: claim {claim.id}: parameters {claim.parameters}"
    try:
        inspect.signature(predicate).bind(measurements, **claim.parameters)
    except TypeError as error:
        raise PackError(f"{told}: {error}") from None
    try:
        return predicate(measurements, **claim.parameters)
    except KeyError as error:
        # what is not named there is missing for another reason
        if not any(name in str(error) for name in _texts(claim.parameters.values())):
            raise
        raise PackError(f"{told}: {error} is not measured") from error


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Go through the texts among values and in lists of them."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _texts(value)


def claim_entry(id_: str, statement: str, where: str, parts: Sequence[Part]) -> dict[str, Any]:
    """Give a judged claim: its verdict, and in words the parts that do not support it."""
    failing = [p for p in parts if p.verdict is not Verdict.SUPPORTED]
    summary = f"{len(parts) - len(failing)} of {len(parts)} parts supported"
    if failing:
        summary += "; " + "; ".join(in_words(p) for p in failing)
    return {
        "id": id_,
        "statement": statement,
        "verdict": str(compound(p.verdict for p in parts)),
        "evidence": {"summary": summary, "where": where, "parts": [p.to_json() for p in parts]},
    }


def in_words(p: Part) -> str:
    """Say what a part measured, what is claimed, and the verdict."""
    ends = [
        _end(p.low, "at least", "more than") if p.low > float("-inf") else "",
        _end(p.high, "at most", "less than") if p.high < float("inf") else "",
    ]
    claimed = " and ".join(end for end in ends if end)
    return f"{p.quantity}: {p.measured.mean:.3f} where {claimed} is claimed ({p.verdict})"


def _end(value: float, bound: str, strict: str) -> str:
    """Say an end of a range; one that is next to zero stands for zero itself left out."""
    return f"{strict} 0" if 0.0 < abs(value) < 1e-6 else f"{bound} {value:.3g}"
