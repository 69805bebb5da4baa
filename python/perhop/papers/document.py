"""What the documents of all studies have in common: a row, the parts of a claim, a finding."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, get_type_hints

from perhop.judge.verdict import ClaimPart, interval_json
from perhop.papers.error import PackError
from perhop.papers.pack import Claim
from perhop.papers.parameters import check_parameters
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
    measured: Interval | None,
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
        Mean and interval over the replications; None where one of them has no value.
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
        "simulated": {
            "mean": None if measured is None else round(measured.mean, 6),
            "ci95": interval_json(measured),
            "n": 0 if measured is None else measured.n,
        },
    }


def check_claims(predicates: Mapping[str, Callable[..., list[ClaimPart]]], claims: Iterable[Claim]) -> None:
    """Refuse a claim that no predicate can judge; before anything runs.

    Raises
    ------
    PackError
        There is no such predicate, or a parameter is missing, not its own, or of another type.
    """
    for claim in claims:
        where = f"{claim.file}: claim {claim.id}"
        if claim.predicate not in predicates:
            raise PackError(f"{where}: no predicate {claim.predicate!r}; there is {', '.join(predicates)}")
        predicate = predicates[claim.predicate]
        # the first are the measurements
        _, *names = inspect.signature(predicate).parameters
        types = get_type_hints(predicate, include_extras=True)
        check_parameters(where, claim.parameters, {name: types[name] for name in names})
        missing = [name for name in names if name not in claim.parameters]
        if missing:
            raise PackError(f"{where}: 'parameters' has no {', '.join(map(repr, missing))}")


def judge(
    predicates: Mapping[str, Callable[..., list[ClaimPart]]], measurements: M, claim: Claim
) -> list[ClaimPart]:
    """Judge a claim by the predicate it names; `check_claims` has found that there is one that takes it.

    Raises
    ------
    PackError
        Its parameters name what was not measured.
    """
    try:
        return predicates[claim.predicate](measurements, **claim.parameters)
    except KeyError as error:
        # what is not named there is missing for another reason
        if not any(name in str(error) for name in _texts(claim.parameters.values())):
            raise
        told = f"{claim.file}: claim {claim.id}: parameters {claim.parameters}"
        raise PackError(f"{told}: {error} is not measured") from error


def guard_finding(counted: str, with_it: str, without: str, paper: str) -> tuple[str, str]:
    """Say what the guard of Reno does to the number of time-outs: a title and a text.

    Parameters
    ----------
    counted
        Which time-outs are counted.
    with_it, without
        How many there are with the guard and without.
    paper
        What the paper says of them and of its Reno.
    """
    text = (
        "RFC 6582 keeps duplicates of losses already repaired from starting a fast retransmit; the Reno "
        f"of RFC 5681 has no such guard. {counted} with the guard: {with_it}; without it: {without}. {paper}"
    )
    return "Time-outs with the guard of Reno and without", text


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Go through the texts among values and in lists of them."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _texts(value)
