"""Rows, judged claims and a finding, as the documents of all studies have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perhop.judge.grammar import Claims
from perhop.judge.measured import Predicates
from perhop.judge.parameters import unfit_predicate
from perhop.judge.quantity import Subject, faults
from perhop.judge.verdict import interval_json
from perhop.stats.intervals import Interval

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
    """Return one row of a document.

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


def document_of(
    key: str,
    command: str,
    results_version: int,
    rows: Sequence[Mapping[str, Any]],
    claims: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the document of a study."""
    return {
        "paper": key,
        "results_version": results_version,
        "command": command,
        "rows": rows,
        "claims": claims,
    }


def check_claims(claims: Claims, subject: Subject, predicates: Predicates) -> None:
    """Refuse claims that cannot be judged; before anything runs.

    Raises
    ------
    ClaimsError
        They name what the subject has not, or there is no such predicate, or a parameter of one is missing,
        not its own, or of another type.
    """
    claims.refuse(faults(claims, subject, unfit_predicate(predicates)))
