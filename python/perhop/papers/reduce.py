"""Results of the runs of a study: rows, judged claims, findings and warnings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any

from perhop.experiment.analyze import without_values
from perhop.experiment.definition import Campaign
from perhop.experiment.slices import Slice
from perhop.judge.campaign import JudgedClaim, judge_all
from perhop.judge.grammar import Quantities
from perhop.judge.measured import Measurements
from perhop.judge.quantity import Place
from perhop.judge.verdict import HIGHER, LOWER, ClaimPart, Hypothesis, interval_json
from perhop.papers import form
from perhop.papers.claims import UnderReading, claim_entry
from perhop.papers.outcome import Finding, Outcome, Value, values_of
from perhop.papers.plan import Plan, Results
from perhop.papers.readings import Reading
from perhop.papers.study import About, Study, by_number
from perhop.stats.intervals import Interval
from perhop.units import Scale

NEAR = math.sqrt(2)
"""Largest ratio of a reading's error to the base's at which it fits a section of the paper (0084)."""

_MOST_NAMED = 3
"""Places at which an assumption does not hold that a warning names."""


def reduce(plan: Plan, results: Results, command: str, results_version: int) -> Outcome:
    """Return the outcome of the runs of a plan: rows, judged claims, and what the page needs."""
    study, found = plan.study, iter(results.campaigns)

    def of(campaigns: Sequence[Campaign]) -> dict[str, Measurements]:
        own: dict[str, list[Measurements]] = {}
        for one in campaigns:
            own.setdefault(study.holding(one).name, []).append(next(found))
        return {name: study.of(name).measured(each) for name, each in own.items()}

    fitted = of(plan.fitted)
    about = [one for one in study.about if one.name in fitted]
    count = study.file.rows_of and (plan.replications or study.file.rows_of)
    read = {reading.id: of(campaigns) for reading, campaigns in plan.read}
    outcome = Outcome(
        document={},
        warnings=[*_without_values(about, fitted), *_broken(study, fitted)],
        left_out=plan.left_out,
        measured=fitted,
        read=read,
        shown={name: own.first(count) for name, own in fitted.items()},
        beyond={one.name: one.measured([next(found)]) for one in plan.beyond},
        drawn=results.drawn,
        campaigns={one.name: one.campaign for one in study.campaigns},
        labels=study.file.labels,
    )
    judging = _Judging(study, plan, outcome)
    told = [(one, text) for one in study.file.finding if (text := _text(study, one, outcome)) is not None]
    claims = [each for one in about for each in judging.claims(one, told)]
    if len(study.about) > 1:
        claims.sort(key=lambda one: by_number(one["id"]))
    rows = [each for one in about for each in _rows(study, one, outcome.shown[one.name], plan.without)]
    document = {"paper": study.key, "results_version": results_version, "command": command}
    outcome = replace(
        outcome,
        document={**document, "rows": rows, "claims": claims},
        findings=[*((one.title, text) for one, text in told if one.title), *judging.findings()],
    )
    findings, warnings = (getattr(study.code, name, lambda _: ()) for name in ("findings", "warnings"))
    return replace(
        outcome,
        findings=[*outcome.findings, *findings(outcome)],
        warnings=[*outcome.warnings, *warnings(outcome)],
    )


class _Judging:
    """Claims of a study, judged as fitted and under each reading where it votes."""

    def __init__(self, study: Study, plan: Plan, outcome: Outcome) -> None:
        self.study, self.plan, self.outcome = study, plan, outcome
        base = [_error(study, one, outcome.measured) for one in study.file.section]
        self.unfit = {reading.id: [*self._unfit(base, outcome.read[reading.id])] for reading, _ in plan.read}

    def _unfit(
        self, base: Sequence[float | None], own: Mapping[str, Measurements]
    ) -> Iterator[tuple[form.Section, str]]:
        """Yield the sections whose printed numbers a reading does not fit, with the reason."""
        for section, least in zip(self.study.file.section, base, strict=True):
            error = _error(self.study, section, own)
            if error is not None and least is not None and error > NEAR * least:
                off = f"off by {error:.3f} against {least:.3f}"
                told = f"does not fit what section {section.name} prints ({off})"
                yield section, f"{told}, so that it does not vote there"

    def findings(self) -> list[Finding]:
        """Return the finding on readings that do not vote everywhere."""
        unfit = [f"{reading} {why}" for reading, own in self.unfit.items() for _, why in own]
        return [("Readings that do not fit the paper", f"{'; '.join(unfit)}.")] if unfit else []

    def claims(self, about: About, told: Sequence[tuple[form.Finding, str]]) -> Iterator[dict[str, Any]]:
        """Yield the claims about a campaign, each followed by its verdicts by row."""
        study, without = self.study, self.plan.without
        only = _kept(about.campaign, without) if without else None

        def judged(measured: Measurements) -> list[JudgedClaim]:
            return judge_all(about.checked, measured, only, getattr(study.code, "PREDICATES", {}))

        fitted = judged(self.outcome.measured[about.name])
        read = [(reading, self.outcome.read[reading.id].get(about.name)) for reading, _ in self.plan.read]
        others = [(reading, judged(own)) for reading, own in read if own is not None]
        for k, claim in enumerate(about.claims.claims):
            scales = [*map(partial(_scale, about), fitted[k].parts, fitted[k].units)]
            parts = _scaled(fitted[k].parts, scales)
            under = [
                UnderReading(reading, _scaled(self._voting(about, reading, own[k]), scales))
                for reading, own in others
                if claim.id in reading.claims and claim.id not in self.plan.unjudged
            ]
            unjudged = self.plan.unjudged.get(claim.id, "")
            notes = [text for one, text in told if claim.id in one.claims]
            notes += [_held(study.file.holds_on, fitted[k].parts)] if study.file.holds_on else []
            yield claim_entry(claim, parts, under, unjudged, notes, study.readings)
            factor, places = study.file.by_row.get(claim.id, ""), fitted[k].places
            for level in dict.fromkeys(place[factor] for place in places if factor in place):
                row = f"{claim.statement} (row {about.words.word(level)})"
                own = replace(claim, id=f"{claim.id}/{level}", statement=row)
                at = [k for k, place in enumerate(places) if place.get(factor) == level]
                there = [UnderReading(one.reading, [one.parts[k] for k in at]) for one in under]
                yield claim_entry(own, [parts[k] for k in at], there, unjudged, listed=study.readings)

    def _voting(self, about: About, reading: Reading, own: JudgedClaim) -> Iterator[ClaimPart]:
        """Yield the parts of a claim under a reading; not judged where it does not fit what is printed."""
        where = [
            (one.quantity.at, why)
            for section, why in self.unfit[reading.id]
            if self.study.of(section.campaign) is about
            for one in about.quantities(section)
        ]
        for part, place in zip(own.parts, own.places, strict=True):
            reason = next((why for at, why in where if at.items() <= place.items()), None)
            yield part if reason is None else part.unjudged(reason)


def _held(tables: str, parts: Sequence[ClaimPart]) -> str:
    """Return whether a claim holds on printed tables themselves."""
    known = [(part.low, part.printed, part.high) for part in parts if part.printed is not None]
    if not known:
        return "the paper prints nothing that it could be judged on"
    holds = all(low <= printed <= high for low, printed, high in known)
    return f"on {tables} themselves it {'holds' if holds else 'does not hold'}"


def _error(study: Study, section: form.Section, measured: Mapping[str, Measurements]) -> float | None:
    """Return the RMS distance to what is printed of a section; None where nothing is."""
    squares = []
    for part in (value.part for value in values_of(study, section, measured)):
        if part.measured is not None and part.printed is not None:
            off = abs(part.measured.mean - part.printed) / (part.printed if section.relative else 1.0)
            squares.append(max(off, section.resolution) ** 2)
    return math.sqrt(fmean(squares)) if squares else None


def _kept(campaign: Campaign, without: Sequence[str]) -> Slice:
    """Return the slice of a campaign that has none of some levels."""
    kept = {}
    for factor in campaign.design.factors:
        levels = [level.name for level in factor.levels]
        if {*levels} & {*without}:
            kept[factor.name] = tuple(level for level in levels if level not in without)
    return Slice(kept)


def _scale(about: About, part: ClaimPart, unit: str | None) -> Scale:
    """Choose the unit that a part's numbers are given in; where names are the file's own, the response's."""
    if about.claims.file.quantities != Quantities():
        return Scale.of(None, 1.0)
    ends = [abs(end) for end in (part.low, part.high) if math.isfinite(end)]
    return Scale.of(unit, max(ends + ([abs(part.measured.mean)] if part.measured else [])))


def _scaled(parts: Iterable[ClaimPart], scales: Sequence[Scale]) -> list[ClaimPart]:
    """Return parts with numbers in other units, which the names of their quantities end with."""
    made = []
    for part, scale in zip(parts, scales, strict=True):
        by = scale.factor
        # the ends of a direction lie beside zero by an offset, which has no unit
        above, below = (HIGHER, LOWER) if part.kind == "direction" else (0.0, 0.0)
        made.append(
            replace(
                part,
                quantity=f"{part.quantity}, {scale.unit}" if scale.unit else part.quantity,
                measured=_divided(part.measured, by),
                one_run=_divided(part.one_run, by),
                as_printed=_divided(part.as_printed, by),
                low=(part.low - above) / by + above,
                high=(part.high - below) / by + below,
                printed=None if part.printed is None else part.printed / by,
            )
        )
    return made


def row(
    table: str,
    id_: str,
    quantity: str,
    unit: str,
    published: float | None,
    measured: Interval | None,
    forms: Mapping[str, float | None] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return one row of a document; table, id and quantity together are unique.

    `measured` is None where a replication has no value; `forms` are what closed forms give, by name.
    """
    closed = {"printed": None, "bounded": None, **forms}
    return {
        "table": table,
        "id": id_,
        "quantity": quantity,
        "unit": unit,
        "published": published,
        "closed_form": {name: None if value is None else round(value, 6) for name, value in closed.items()},
        "simulated": {
            "mean": None if measured is None else round(measured.mean, 6),
            "ci95": interval_json(measured),
            "n": 0 if measured is None else measured.n,
        },
    }


def _rows(
    study: Study, about: About, measured: Measurements, without: Sequence[str]
) -> Iterator[dict[str, object]]:
    """Yield the rows that the study asks for, or one for each printed value, beside what was measured."""
    own = [one for one in study.file.row if study.of(one.campaign) is about]
    for one in own:
        if one.made is not None:
            yield from (row(one.table, *made) for made in study.rows[one.made](measured, **one.parameters))
            continue
        for asked in about.quantities(one):
            of = asked.quantity
            if {*without} & {*chain(*(place.values() for place in about.subject.fitting(of.at)))}:
                continue
            printed, name = about.subject.printed(of), one.id.format_map(of.at)
            try:
                found = measured.interval(of.response, **of.at)
            except KeyError:
                if printed is None:
                    continue
                found = None
            name = name or ", ".join(about.words.word(of.at[each]) for each in one.each if each in of.at)
            quantity, unit = study.file.labels.get(of.response, of.response), about.subject.units[of.response]
            forms = {each: about.references.form(each, of) for each in about.references.forms}
            yield row(one.table, name, quantity, unit or "1", printed, found, forms)
    if not study.file.row:
        yield from _printed_rows(study, about, measured)


def _printed_rows(study: Study, about: About, measured: Measurements) -> Iterator[dict[str, object]]:
    subject = about.subject
    varied = [name for name, levels in subject.levels.items() if len(levels) > 1]
    for table, _, response, place, value in about.references.listed:
        named = [*varied, *subject.responses[response]]
        quantity = study.file.labels.get(response, about.words.word(response))
        unit = _unit(subject.units[response], table.unit)
        for full in _places(about, measured, response, place):
            at = ", ".join(about.words.word(full[name]) for name in named if name in full)
            found = _divided(_interval(measured, response, full), table.unit)
            yield row(Path(table.file).stem, at, quantity, unit, value / table.unit, found)


def _places(about: About, measured: Measurements, response: str, place: Place) -> Iterator[Place]:
    """Yield the places that a printed value is of: what its table does not say is every level there is."""
    lacking = [name for name in about.subject.responses[response] if name not in place]
    for treatment in about.subject.fitting(place):
        full = {**treatment, **place}
        if not lacking:
            yield full
            continue
        try:
            groups = measured.rows(response, **full).select(lacking).unique(maintain_order=True)
        except KeyError:
            continue
        for group in groups.iter_rows(named=True):
            yield {**full, **group}


def _interval(measured: Measurements, response: str, at: Place) -> Interval | None:
    try:
        return measured.interval(response, **at)
    except KeyError:
        return None


def _divided(found: Interval | None, by: float) -> Interval | None:
    return found and replace(found, mean=found.mean / by, low=found.low / by, high=found.high / by)


_PREFIXES = {1e-6: "µ", 1e-3: "m", 1e3: "k", 1e6: "M", 1e9: "G"}


def _unit(unit: str | None, by: float) -> str:
    """Return what one of a printed column is called: `kbit/s` where it is 1000 of `bit/s`."""
    if by == 1.0 or unit is None:
        return unit or "1"
    return f"{_PREFIXES[by]}{unit}" if by in _PREFIXES and unit != "1" else f"{by:g} {unit}"


def _text(study: Study, one: form.Finding, outcome: Outcome) -> str | None:
    """Return the text of a finding; None where what it is of was not run."""
    try:
        values = {name: _value(study, part, outcome) for name, part in one.values.items()}
        fields = form.fields(one.text)
        numbers = {name: of(outcome) for name, of in study.numbers.items() if name in fields}
    except KeyError:
        return None
    return one.text.format(**{**numbers, **values})


def _value(study: Study, part: form.Value, outcome: Outcome) -> Value:
    """Return a value of a text; a `KeyError` where it was not run."""
    about = study.of(part.campaign)
    if part.form is not None:
        (asked,), units = about.quantities(part), about.subject.units
        found = about.references.form(part.form, asked.quantity)
        computed = Hypothesis(part.form, "size").mean([math.nan if found is None else found])
        return Value((), asked.quantity, computed, asked.quantity.unit(units[asked.quantity.response]))
    fitted = {**outcome.measured, **outcome.beyond}
    measured = fitted if part.reading is None else outcome.read[part.reading]
    (value,) = values_of(study, part, {about.name: measured[about.name]})
    return value


def _broken(study: Study, fitted: Mapping[str, Measurements]) -> Iterator[str]:
    """Yield a warning for each assumption that does not hold somewhere."""
    for one in study.file.assumption:
        broken = [value for value in values_of(study, one, fitted) if not value.is_within]
        named = [f"{value.part.quantity} is {value.text()}" for value in broken[:_MOST_NAMED]]
        more = [f"and so at {len(broken) - _MOST_NAMED} more"] if len(broken) > _MOST_NAMED else []
        if broken:
            yield f"{one.text} {'; '.join([*named, *more])}."


def _without_values(about: Sequence[About], fitted: Mapping[str, Measurements]) -> Iterator[str]:
    for one in about:
        for name in without_values(fitted[one.name].scalars, [each.name for each in one.campaign.responses]):
            yield f"{one.name}: {name}."
