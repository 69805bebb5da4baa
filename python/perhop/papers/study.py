"""The parts of a study for `perhop reproduce`; the package explains how to add one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeVar

from perhop.experiment.definition import Campaign
from perhop.judge.measured import Measurements
from perhop.papers.plan import Plan, Results
from perhop.report.study import forms_of
from perhop.run.run import AnyJob, Result
from perhop.units import Scale


class BrokenRun(RuntimeError):
    """A run whose invariants do not hold; its numbers must not be averaged in."""


Finding = tuple[str, str]
"""A finding beyond the claims: a title and a text."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of a study; each study adds what else its page needs.

    Attributes
    ----------
    document
        `paper`, `results_version`, `command`, `rows`, `claims`; equal runs give equal bytes. The command adds
        `runs` and `treatments`, which `perhop.papers.behind.runs_behind` gives.
    findings
        What it says beyond the claims.
    warnings
        Runs that do not meet what the study assumes, in words.
    left_out
        What a quick reproduction does not do.
    """

    document: dict[str, Any]
    findings: Sequence[Finding] = ()
    warnings: Sequence[str] = ()
    left_out: Sequence[str] = ()


@dataclass(frozen=True)
class Summary:
    """A table that the command prints: title, columns, rows of text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Q = TypeVar("Q", bound=Plan)
O = TypeVar("O", bound=Outcome)  # noqa: E741

CampaignRunner = Callable[[Sequence[Campaign], str], list[Measurements]]
"""Function that runs campaigns in one store and returns what each measured.

The text says what is being done.
"""


def published_rows(outcome: Outcome) -> Summary:
    """Return the rows of a study that have a published or a computed counterpart, as a table."""
    forms = forms_of(outcome.document)
    rows = outcome.document["rows"]
    shown = [
        row
        for row in rows
        if any(value is not None for value in (row["published"], *row["closed_form"].values()))
    ]
    return Summary(
        "Published, computed, simulated" if forms else "Published and simulated",
        ("table", "id", "quantity", "unit", "published", *forms, "simulated"),
        tuple(_beside(row, forms) for row in shown),
    )


def _beside(row: Mapping[str, Any], forms: Sequence[str]) -> tuple[str, ...]:
    """Return a row, its numbers in one unit that keeps all readable."""
    found = (row["published"], *(row["closed_form"][name] for name in forms), row["simulated"]["mean"])
    scale = Scale.of(row["unit"], max(abs(value) for value in found if value is not None))
    numbers = ("-" if value is None else f"{value / scale.factor:.4g}" for value in found)
    return str(row["table"]), str(row["id"]), row["quantity"], scale.unit, *numbers


@dataclass(frozen=True)
class Study(Generic[Q, O]):
    """A published study that `perhop reproduce` repeats; `key` names its pack and its package.

    Where commands name it otherwise, by its folder, that is `called`.

    Attributes
    ----------
    plan
        Lists the runs: all of them, or those of a quick reproduction.
    reduce
        Turns what they gave into rows and verdicts, by plan, results, command and version of the results.
    page
        Returns the page as HTML.
    summary
        Returns the numbers that the command prints.
    calibrate
        Searches the free parameters again and returns the record; None if the study fits nothing.
    """

    key: str
    title: str
    plan: Callable[[bool], Q]
    reduce: Callable[[Q, Results, str, int], O]
    page: Callable[[Q, O], str]
    summary: Callable[[O], Summary] = published_rows
    calibrate: Callable[[CampaignRunner], dict[str, Any]] | None = None
    called: str = ""


def load_study(key: str) -> Study[Any, Any]:
    """Import a study's module, `perhop.papers.<key>.study`, and return its `STUDY`."""
    found: Study[Any, Any] = import_module(f"perhop.papers.{key}.study").STUDY
    return found


def check_run(job: AnyJob, result: Result) -> None:
    """Refuse a result that must not be reduced.

    Raises
    ------
    BrokenRun
        If the run reports a broken invariant.
    """
    if result.invariants:
        raise BrokenRun(f"{job[1]}: {'; '.join(result.invariants)}")
