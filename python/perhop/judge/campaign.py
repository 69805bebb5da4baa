"""Claims about a campaign: checked against its design, judged on its store."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl

from perhop import _core
from perhop.experiment.definition import Campaign, CampaignError
from perhop.experiment.expression import statistics
from perhop.experiment.fault import Fault
from perhop.experiment.vocabulary import words_of_design
from perhop.judge.grammar import Claim, Claims, ClaimsError, Published, read
from perhop.judge.measured import Measurements
from perhop.judge.quantity import PRINTED, Place, Subject, Words, asked, faults
from perhop.judge.verdict import ClaimPart, compound


class JudgedClaim(NamedTuple):
    """A claim with its parts as judged."""

    claim: Claim
    parts: list[ClaimPart]
    units: list[str | None]
    """Unit of each part; `1` where it is a ratio."""


def checked(path: Path, campaign: Campaign | None = None) -> tuple[Claims, Campaign | None]:
    """Read claims and their campaign, and check the claims against it.

    Parameters
    ----------
    path
        Of the claims.
    campaign
        That they are to be about, where a store has one: then the file must not name another.

    Returns
    -------
    tuple
        The claims, and what they are about: None where the file names none, as that of a study.

    Raises
    ------
    OSError
        The claims cannot be read.
    ClaimsError
        They have mistakes.
    """
    claims = read(path)
    name = claims.file.campaign
    if name is not None:
        try:
            own = Campaign.load(path.parent / name)
        except (OSError, CampaignError) as error:
            reason = error.strerror if isinstance(error, OSError) else "has mistakes"
            raise ClaimsError(
                claims.diagnostics(
                    [Fault(("campaign",), f"{name}: {reason}", f"perhop check {path.parent / name}")]
                )
            ) from error
        if campaign is None:
            campaign = own
        elif (own.design.treatments, own.responses) != (campaign.design.treatments, campaign.responses):
            rule = f"{name} has other treatments or responses than the store"
            claims.refuse([Fault(("campaign",), rule, f"run {path.parent / name} into a store of its own")])
    if campaign is not None:
        claims.refuse(faults(claims, subject_of(campaign, claims)))
    return claims, campaign


def subject_of(campaign: Campaign, claims: Claims) -> Subject:
    """Return what the claims may be about: factors, groups and printed values.

    Raises
    ------
    ClaimsError
        A table of printed values cannot be used.
    """
    design = campaign.design
    # names of flows that come and go are known only after a run
    is_open = {"name", "flow", "path"}.issuperset
    closed = not all(is_open(one.by) for one in campaign.responses)
    known = words_of_design(campaign.scenario, design) if closed else {}
    responses: dict[str, dict[str, list[str] | None]] = {}
    for one in campaign.responses:
        tables = [known.get(each.table.text, {}) for each in statistics(one.measure.of)]
        responses[one.name] = {
            column: None
            if is_open({column})
            else sorted({*chain(*(own.get(column, ()) for own in tables))}) or None
            for column in one.by
        }
    return Subject(
        responses,
        {factor.name: tuple(level.name for level in factor.levels) for factor in design.factors},
        [dict(zip(design.names, one.levels, strict=True)) for one in design.treatments],
        _Printed(claims),
    )


class _Printed:
    """Printed values, by response and place."""

    def __init__(self, claims: Claims) -> None:
        self.rows: dict[str, list[tuple[dict[str, str], float]]] = {}
        for k, one in enumerate(claims.file.published):
            wrong = self.add(claims.path.parent / one.file, one)
            claims.refuse([Fault(("published", k, key), rule, hint) for key, rule, hint in wrong])

    def add(self, path: Path, one: Published) -> list[tuple[str, str, str | None]]:
        """Read a table, and return its mistakes: a key, a rule, a hint."""
        try:
            lines = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        except (OSError, UnicodeDecodeError) as error:
            hint = "the path begins at the folder of this file"
            return [("file", f"{one.file}: {error.strerror if isinstance(error, OSError) else error}", hint)]
        if not lines or one.column not in lines[0]:
            near = _core.suggest(one.column, list(lines[0])) if lines else "it has no rows"
            return [("column", f"{one.file} has no column `{one.column}`", near)]
        for n, line in enumerate(lines, 2):
            if value := line[one.column]:
                try:
                    number = float(value) * one.unit
                except ValueError:
                    return [("column", f"{one.file}, line {n}: `{value}` is not a number", None)]
                self.rows.setdefault(one.response, []).append((line, number))
        return []

    def __call__(self, name: str, response: str, at: Place, effect: Place | None) -> float | None:
        """Return the printed value at a place; None where there is none."""
        rows = self.rows.get(response, []) if name == PRINTED and effect is None else []
        return next((value for line, value in rows if _fits(line, at)), None)


def _fits(line: Mapping[str, str], at: Place) -> bool:
    return all(line.get(name, level) == level for name, level in at.items())


def judge_all(claims: Claims, campaign: Campaign, scalars: pl.DataFrame) -> list[JudgedClaim]:
    """Judge checked claims on what their campaign measured."""
    subject, words = subject_of(campaign, claims), Words(claims.file.quantities, claims.file.words)
    units, measured = {one.name: one.unit for one in campaign.responses}, Measurements(scalars)
    found = []
    for claim in claims.claims:
        parts = JudgedClaim(claim, [], [])
        for one in (one for part in claim.parts for one in asked(part, subject, words)):
            of, unit = one.quantity, units[one.quantity.response]
            for hypothesis in one.hypotheses:
                try:
                    parts.parts.append(measured.judged(hypothesis, of))
                except (KeyError, ValueError) as error:
                    parts.parts.append(hypothesis.undefined(f"not measured: {error}"))
                parts.units.append("1" if of.way == "over" or of.per != 1.0 else unit)
        found.append(parts)
    return found


COLUMNS = ("claim", "verdict", "quantity", "low", "high", "mean", "from", "to", "n", "part", "reason")
"""Columns of the table of judged claims; numbers are in the response's own unit."""


def rows(judged: Sequence[JudgedClaim]) -> Iterator[tuple[str | int, ...]]:
    """Yield a row for each part."""
    for one in judged:
        whole = compound(part.verdict for part in one.parts)
        for part in one.parts:
            yield one.claim.id, whole, part.quantity, *_numbers(part), part.verdict, part.reason or ""


def _numbers(part: ClaimPart) -> list[str | int]:
    found = part.measured
    ends = ["" if not math.isfinite(end) else f"{round(end, 6) + 0.0:g}" for end in (part.low, part.high)]
    if found is None:
        return [*ends, "", "", "", 0]
    return [*ends, *(f"{value:.4g}" for value in (found.mean, found.low, found.high)), found.n]
