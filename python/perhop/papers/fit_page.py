"""What the page of a calibrated study shows of its fit: the error of every printed number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perhop.papers.fit import Cell, Fit
from perhop.report.study import Section, Table


def fit_section(
    fit: Fit, off: Mapping[Cell, float], record: Mapping[str, Any], treatment: str, star: str, again: str
) -> Section:
    """Show the error of every number, and what the calibration recorded.

    Parameters
    ----------
    fit
        What was fitted.
    off
        As of `Fit.off`; a row of the table is a treatment, a column a response under a condition.
    record
        What the calibration recorded: `command`, `chosen`, `error` with `fitted` and `held out`, `readings`.
    treatment
        What one is called.
    star
        Says which treatments have a star: those of which some response is fitted.
    again
        The command that makes the numbers again.
    """
    columns = list(dict.fromkeys((response, condition) for response, condition, _ in off))
    starred = {name for _, name in fit.fitted}
    rows = [
        (
            f"{name}{' *' if name in starred else ''}",
            *(f"{off[response, condition, name]:+.1f}" for response, condition in columns),
        )
        for name in dict.fromkeys(name for _, _, name in off)
    ]
    fitted = sum((response, name) in fit.fitted for response, _, name in off)
    chosen = ", ".join(f"{name} {level}" for name, level in record["chosen"].items())
    under = ", ".join(f"{name} {error:.1f}" for name, error in record["readings"].items())
    text = (
        f"Fitted: {chosen}. Root mean square here, in standard errors of a printed cell: {fit.rms(off):.1f} "
        f"over the {fitted} fitted cells, {fit.rms(off, fitted=False):.1f} over the others. "
        f"Recorded by `{record['command']}`: {record['error']['fitted']:.1f} and "
        f"{record['error']['held out']:.1f}; on the fitted cells under each reading: {under}."
    )
    table = Table(
        "Error by cell, in standard errors of the printed one",
        (treatment, *(" ".join(column) for column in columns)),
        rows,
        text=star,
        command=again,
    )
    return Section("fit", "How well the model fits", [text], [table])
