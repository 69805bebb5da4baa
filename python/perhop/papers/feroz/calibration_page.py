"""What the page of a study with parameters shows of its calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perhop.papers.feroz.calibration import Calibration
from perhop.papers.pack import Pack
from perhop.report.study import Section, Table

_RECORDED = ("after", "command", "error", "errors", "fit", "least_gain", "other", "replications", "steps")


def calibration_section(
    pack: Pack,
    fit: Calibration,
    texts: tuple[str, str],
    titles: Mapping[str, str],
    note: str,
    treatments: str,
) -> Section:
    """Show what the search recorded in `expected/calibration.json`, and what was tried.

    Parameters
    ----------
    pack
        The paper's.
    fit
        Its parameters.
    texts
        What is said of the search and of the second one, with names of the record in braces, `passes` and
        `differences` of the second fit.
    titles
        Of the tables.
    note
        Stands above their errors.
    treatments
        What several are called.
    """
    record = pack.record("expected/calibration.json", _RECORDED)
    other, chosen = record["other"], record["after"]
    differences = ", ".join(
        f"{name} ({other['after'][name]}, not {chosen[name]})"
        for name in chosen
        if other["after"][name] != chosen[name]
    )
    passes = max((step["pass"] for step in record["steps"]), default=0)
    named = {**record, "passes": passes, "other": other["error"], "differences": differences}
    return Section(
        "calibration",
        "Calibration",
        [text.format(**named) for text in texts],
        [_errors(record, titles, note, treatments), _tried(fit, record)],
    )


def _errors(record: Mapping[str, Any], titles: Mapping[str, str], note: str, treatments: str) -> Table:
    errors = record["errors"]
    columns = [(when, kind) for kind in ("levels", "ratios") for when in ("before", "after")]
    return Table(
        "Error of each table, before and after",
        ("table", "", "levels before", "after", f"ratios between {treatments} before", "after"),
        [
            (
                titles[table],
                "fitted" if table in record["fit"] else "predicted",
                *(f"{errors[when][table][kind]:.3f}" for when, kind in columns),
            )
            for table in errors["after"]
        ],
        2,
        note,
        record["command"],
    )


def _tried(fit: Calibration, record: Mapping[str, Any]) -> Table:
    last: dict[str, Mapping[str, Any]] = {step["parameter"]: step for step in record["steps"]}
    return Table(
        "What was tried, with the error of the fit in the last pass",
        ("parameter", "meaning", "tried", "before", "chosen"),
        [
            (
                one.name,
                one.meaning,
                ", ".join(f"{value} ({found:.3f})" for value, found in last[one.name]["errors"])
                if one.name in last
                else ", ".join(str(value) for value in one.values),
                str(one.before),
                str(one.chosen),
            )
            for one in fit.parameters
        ],
        5,
        "Parameters without errors were not searched, only swept.",
        record["command"],
    )
