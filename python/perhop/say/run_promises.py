"""Promises to classes of flows, and what one run has of them, in a table and as JSON has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perhop.run.promises import Promise, promises_of
from perhop.say.document import Cell, Table, Verdict
from perhop.units import bit_rate, duration, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from perhop.scenario.scenario import Description

_WITHIN = {True: Verdict("yes", "good"), False: Verdict("no", "bad"), None: Verdict("-", "open")}


def measured(meaning: Description, classes: pl.DataFrame) -> list[dict[str, Any]]:
    """Return what one run has of each promise as JSON has it."""
    found = []
    for one in promises_of(meaning):
        value = one.measured(classes)
        of = {"class": one.of, "quantity": one.quantity, "bound": one.bound}
        found.append({**of, "measured": value, "within": one.holds(value)})
    return found


def of_run(meaning: Description, classes: pl.DataFrame) -> list[Table]:
    """Return a table of what one run has of each promise, if there are some; a single run judges none."""
    rows = []
    for one in promises_of(meaning):
        value = one.measured(classes)
        has = None if value is None else value_of(one, value)
        rows.append([one.called, one.bounded, has, _WITHIN[one.holds(value)]])
    title = "Promises in this run; ten replications judge them (perhop sweep)"
    return [Table(title, ["promise", "bound", "measured", "within"], rows)] if rows else []


def of_runs(measured: Mapping[str, list[dict[str, Any]]]) -> Table:
    """Return a table of what several runs have of each promise, from what `measured` says of each."""
    found: dict[Promise, list[list[Cell]]] = {}
    for run, values in measured.items():
        for one in values:
            promise, value = Promise(one["class"], one["quantity"], one["bound"]), one["measured"]
            has = None if value is None else value_of(promise, value)
            own = found.setdefault(promise, [])
            named = ("", "") if own else (promise.called, promise.bounded)
            own.append([*named, run, has, _WITHIN[one["within"]]])
    title = "Promises in these runs; ten replications judge them (perhop sweep)"
    columns = ["promise", "bound", "run", "measured", "within"]
    return Table(title, columns, [row for own in found.values() for row in own])


def value_of(promise: Promise, value: float) -> str:
    """Return what was measured, with its unit."""
    if promise.quantity == "goodput":
        return bit_rate(value)
    return percent(value) if promise.quantity == "loss" else duration(value)
