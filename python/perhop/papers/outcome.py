"""The outcome of a study: what its campaigns measured, its document, values for texts and figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from perhop.experiment.definition import Campaign
from perhop.judge.campaign import judge
from perhop.judge.measured import Measurements
from perhop.judge.quantity import Quantity
from perhop.judge.verdict import ClaimPart
from perhop.papers import form
from perhop.papers.study import Study
from perhop.report.study import forms_of
from perhop.run.run import Result
from perhop.say.document import Table
from perhop.units import Scale

Finding = tuple[str, str]
"""A finding beyond the claims: a title and a text."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of a study, which its `study.py` is given.

    Attributes
    ----------
    document
        `paper`, `results_version`, `command`, `rows`, `claims`; equal runs give equal bytes. The command adds
        `runs` and `treatments`, which `perhop.papers.behind.runs_behind` gives.
    warnings
        Runs that do not meet what the study assumes, in words.
    measured, read
        What each campaign measured, by its file, at the fitted point; and under each reading, by reading.
    shown
        What rows and figures are of: the first replications, where a paper had fewer than claims need.
    beyond
        What the campaigns past the paper measured, none where they were not run.
    drawn
        Runs of `draw`, whole, by the levels that it names.
    campaigns
        By file.
    """

    document: dict[str, Any]
    findings: Sequence[Finding] = ()
    warnings: Sequence[str] = ()
    left_out: Sequence[str] = ()
    measured: Mapping[str, Measurements] = field(default_factory=dict)
    read: Mapping[str, Mapping[str, Measurements]] = field(default_factory=dict)
    shown: Mapping[str, Measurements] = field(default_factory=dict)
    beyond: Mapping[str, Measurements] = field(default_factory=dict)
    drawn: Mapping[str, Result] = field(default_factory=dict)
    campaigns: Mapping[str, Campaign] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Value:
    """A quantity at the levels of `each`, and what was measured of it; in a figure closed forms too."""

    levels: tuple[str, ...]
    quantity: Quantity
    part: ClaimPart
    unit: str | None
    forms: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """The mean; 0 without a value."""
        return 0.0 if self.part.measured is None else self.part.measured.mean

    def off(self, form: str) -> float:
        """Return the distance to a closed form; NaN where there is none."""
        found = self.forms[form]
        return math.nan if found is None else abs(self.mean - found)

    @property
    def is_within(self) -> bool:
        """Whether the mean is in the claimed range."""
        return self.part.measured is not None and self.part.low <= self.mean <= self.part.high

    @property
    def runs(self) -> int:
        """How many replications it is of."""
        return 0 if self.part.measured is None else self.part.measured.n

    def text(self, scale: Scale | None = None) -> str:
        """Return the value with its interval, and its unit where none is given."""
        found = self.part.measured
        if found is None:
            return "no value"
        own = Scale.of(self.unit, abs(found.mean)) if scale is None else replace(scale, unit="")
        return own.value(found.mean, found.half_width)

    def __format__(self, spec: str) -> str:
        """Return the value as a text has it: with its unit, or by a format its number alone."""
        return format(self.mean, spec) if spec and self.part.measured is not None else self.text()

    def printed(self, scale: Scale) -> str | None:
        """Return what is printed, in a unit; None where nothing is."""
        return None if self.part.printed is None else f"{self.part.printed / scale.factor:g}"


def values_of(study: Study, part: form.CampaignPart, measured: Mapping[str, Measurements]) -> Iterator[Value]:
    """Yield what a part of `study.toml` asks for, as it was measured; nothing where it was not run."""
    about = study.of(part.campaign)
    if about.name not in measured:
        return
    drawn = [*about.references.forms] if isinstance(part, form.Figure) else []
    for one in about.quantities(part):
        of = one.quantity
        places = {**of.at, **(of.effect or {}), "response": of.response}
        levels = tuple(places[name] for name in part.each)
        forms = {name: about.references.form(name, of) for name in drawn}
        for hypothesis in one.hypotheses:
            judged = judge(measured[about.name], hypothesis, of)
            yield Value(levels, of, judged, of.unit(about.subject.units[of.response]), forms)


def printed(study: Study, outcome: Outcome) -> Table:
    """Return what the command prints: rows with a published or a computed counterpart, as a table."""
    forms = forms_of(outcome.document)
    shown = [
        row
        for row in outcome.document["rows"]
        if any(value is not None for value in (row["published"], *row["closed_form"].values()))
        and (not study.file.told or row["table"] in study.file.told)
    ]
    return Table(
        "Published, computed, simulated" if forms else "Published and simulated",
        ("table", "id", "quantity", "unit", "published", *forms, "simulated"),
        [_beside(row, forms) for row in shown],
    )


def _beside(row: Mapping[str, Any], forms: Sequence[str]) -> tuple[str, ...]:
    """Return a row, its numbers in one unit that keeps all readable."""
    found = (row["published"], *(row["closed_form"][name] for name in forms), row["simulated"]["mean"])
    scale = Scale.of(row["unit"], max(abs(value) for value in found if value is not None))
    numbers = ("-" if value is None else f"{value / scale.factor:.4g}" for value in found)
    return str(row["table"]), str(row["id"]), row["quantity"], scale.unit, *numbers
