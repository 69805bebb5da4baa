"""What the page of a calibrated study shows of its fit: the error of every printed number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perhop.papers.papagiannaki.fit import BASE, Cell, Fit
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
        What the calibration recorded: `command`, and of each of `readings` what it was fitted to, its errors,
        and whether it fits.
    treatment
        What one is called.
    star
        Says which treatments have a star: those that are fitted.
    again
        The command that makes the numbers again.
    """
    columns = list(dict.fromkeys((response, condition) for response, condition, _ in off))
    rows = [
        (
            f"{name}{' *' if name in fit.treatments else ''}",
            *(f"{off[response, condition, name]:+.1f}" for response, condition in columns),
        )
        for name in dict.fromkeys(name for _, _, name in off)
    ]
    fitted = sum(name in fit.treatments for _, _, name in off)
    readings = record["readings"]
    base, least = readings[BASE], min(one["fitted"] for one in readings.values())
    text = (
        f"Fitted: {_point(base['chosen'])}. Root mean square here, in standard errors of a printed cell: "
        f"{fit.rms(off):.1f} over the {fitted} fitted cells, {fit.rms(off, fitted=False):.1f} over the "
        f"others. Recorded by `{record['command']}`: {base['fitted']:.1f} and {base['held out']:.1f}. Every "
        f"reading was fitted in the same way; one with more than {fit.near * least:.1f} does not fit the "
        "paper's own cells and does not vote."
    )
    by_reading = Table(
        "Error by reading, each at the point fitted under it",
        ("reading", "fitted cells", "held out", "votes", "fitted to"),
        [
            (
                name,
                f"{one['fitted']:.1f}",
                "" if one["held out"] is None else f"{one['held out']:.1f}",
                "yes" if one["fits"] else "no: does not fit the paper's own cells",
                _point(one["chosen"]),
            )
            for name, one in readings.items()
        ],
        command=record["command"],
    )
    by_cell = Table(
        "Error by cell, in standard errors of the printed one",
        (treatment, *(" ".join(column) for column in columns)),
        rows,
        text=star,
        command=again,
    )
    return Section("fit", "How well the model fits", [text], [by_reading, by_cell])


def _point(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {level}" for name, level in point.items())
