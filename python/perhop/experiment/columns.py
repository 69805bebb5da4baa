"""Column names that tables of runs keep for themselves: no factor or group may have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perhop.experiment.fault import Fault

if TYPE_CHECKING:
    from perhop.experiment.response import Response

_RUNS = (
    *("key", "treatment", "replication", "seed", "overrides", "order", "state", "failure", "replay"),
    *("unsettled", "host", "worker", "began", "duration_s", "finished", "event_digest"),
)
_SCALARS = ("response", "value")
_MEANS = ("unit", "mean", "low", "high", "n", "half_width", "runs", "holds_at_every_look")
_MODEL = ("predicted", "residual", "studentized")

RESERVED = (*_RUNS, *_SCALARS, *_MEANS, *_MODEL)
"""Columns of plans, runs, values, means and residuals beside those of factors and groups."""

SOURCES = ("blocks", "error", "error between runs", "error within runs", "total")
"""Sources of variation beside factors and groups, which are not called so either."""


def kept_for(name: str) -> str | None:
    """Return what a name is kept for; None where anything may be called so."""
    if name in RESERVED:
        return "a column that every table of runs has"
    return "a source of variation that every analysis has" if name in SOURCES else None


def faulty_columns(factors: Sequence[str], responses: Sequence[Response]) -> Iterator[Fault]:
    """Find responses called as another or as a factor, and groups as another column of their table."""
    names = [response.name for response in responses]
    for i, response in enumerate(responses):
        at, hint = ("response", i, "name"), "call one of the two otherwise"
        if response.name in names[:i]:
            yield Fault(at, f"a second response is called `{response.name}`", hint)
        if response.name in factors:
            yield Fault(at, f"`{response.name}` is a factor too", hint)
        for column in response.measure.by:
            if what := kept_for(column.text):
                rule, hint = f"`{column}` is {what}", "give the label another name"
                yield Fault(("response", i, "measure"), rule, hint, column.span)
    grouped = {column: response.name for response in responses for column in response.by}
    for i, name in enumerate(factors):
        if name in grouped:
            rule = f"`{name}` is also what `{grouped[name]}` is grouped by"
            yield Fault(("factor", i, "name"), rule, "call it otherwise")
