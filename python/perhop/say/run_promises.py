"""Promises to classes of flows, and what one run has of them, in a table and as JSON has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.run.promises import promises_of
from perhop.say.document import Table, Verdict
from perhop.units import bit_rate, duration, percent

if TYPE_CHECKING:
    from perhop.run.promises import Promise
    from perhop.scenario.scenario import Description


def measured(meaning: Description, classes: pl.DataFrame) -> list[dict[str, Any]]:
    """Return what one run has of each promise as JSON has it."""
    found = []
    for one in promises_of(meaning):
        value = one.measured(classes)
        within = None if value is None else one.low <= value <= one.high
        named = {"class": one.of, "quantity": one.quantity, "bound": one.bound}
        found.append({**named, "measured": value, "within": within})
    return found


def of_run(promised: Sequence[Promise], classes: pl.DataFrame) -> list[Table]:
    """Return a table of what one run has of each promise; a single run judges none."""
    rows = []
    for one in promised:
        value = one.measured(classes)
        if value is None:
            rows.append([one.called, one.bounded, None, Verdict("-", "open")])
            continue
        word = Verdict("yes", "good") if one.low <= value <= one.high else Verdict("no", "bad")
        rows.append([one.called, one.bounded, value_of(one, value), word])
    title = "Promises in this run; ten replications judge them (perhop sweep)"
    return [Table(title, ["promise", "bound", "measured", "within"], rows)] if rows else []


def value_of(promise: Promise, value: float) -> str:
    """Return what was measured, with its unit."""
    if promise.quantity == "goodput":
        return bit_rate(value)
    return percent(value) if promise.quantity == "loss" else duration(value)
