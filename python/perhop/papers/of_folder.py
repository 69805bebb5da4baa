"""The study of a folder as `perhop reproduce` runs it: its plan and its document."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from perhop.experiment.analyze import without_values
from perhop.judge.campaign import JudgedClaim, Printed, judge_all
from perhop.judge.measured import Measurements
from perhop.judge.quantity import Place
from perhop.judge.verdict import HIGHER, LOWER, ClaimPart
from perhop.papers import form
from perhop.papers.claims import UnderReading, claim_entry
from perhop.papers.document import document_of, row
from perhop.papers.folder import About, StudyFolder, load
from perhop.papers.folder_page import Reproduced, page_of, values_of
from perhop.papers.form import is_study
from perhop.papers.pack import Pack, own_folder, pack_dir
from perhop.papers.plan import NO_READINGS, Plan, Results, short, under
from perhop.papers.study import Finding, Study, load_study
from perhop.stats.intervals import Interval
from perhop.units import Scale, counted

_MOST_NAMED = 3
"""Places at which an assumption does not hold that a warning names."""


def find_study(called: str, *, trust: bool = True) -> Study[Any, Any] | None:
    """Return a study by its folder, or by its name among those of the project; None where there is none.

    Parameters
    ----------
    trust
        Whether a `study.py` in the folder may run. That of the project may.

    Raises
    ------
    StudyError, PackError
        Its files have mistakes.
    """
    path = Path(called)
    if is_study(path):
        return study_of(load(path, trust=trust))
    return own_study(called) if path.name == called and own_folder(called) is not None else None


def own_study(key: str) -> Study[Any, Any]:
    """Return a study of the project by its name.

    Raises
    ------
    PackError
        There is none.
    StudyError
        Its files have mistakes.
    """
    own = pack_dir(key)
    return study_of(load(own, key)) if is_study(own) else load_study(key)


def study_of(study: StudyFolder) -> Study[Plan, Reproduced]:
    """Return a folder as a study."""
    return Study(
        study.key,
        study.file.title,
        partial(_plan, study),
        partial(_reduce, study),
        partial(page_of, study),
        called=shlex.quote(study.called),
    )


def _plan(study: StudyFolder, quick: bool) -> Plan:
    pack = Pack(
        study.key,
        study.folder,
        (),
        replace(study.about[0].claims, claims=tuple(study.claims)),
        {},
        study.place,
    )
    own, campaigns = study.file.quick, [one.campaign for one in study.about]
    if quick:
        campaigns = [short(one, own.set, own.replications) for one in campaigns]
    read = [
        (
            one,
            tuple(
                short(under(campaigns[k], one), (), None if quick else study.file.replications)
                for k in study.reads(one)
            ),
        )
        for one in study.readings
        if own.readings or not quick
    ]
    known = [claim.id for claim in study.claims]
    unjudged = [one for one in known if quick and own.claims is not None and one not in own.claims]
    left_out = []
    if quick:
        times = sorted({one.campaign.design.replications for one in study.about} - {own.replications})
        left_out += [f"runs with {', '.join(own.set)}"] if own.set else []
        if own.replications is not None and times:
            whole = " or ".join(map(str, times))
            left_out.append(f"{counted(own.replications, 'replication')} where the study has {whole}")
        left_out += [NO_READINGS] if study.readings and not own.readings else []
        left_out += [f"verdicts on {', '.join(unjudged)}"] if unjudged else []
    return Plan(pack, tuple(campaigns), tuple(read), (), frozenset(unjudged), tuple(left_out))


def _reduce(
    study: StudyFolder, plan: Plan, results: Results, command: str, results_version: int
) -> Reproduced:
    found = iter(results.apart)
    # on real packets some of the campaigns are left out
    about = study.about[: len(plan.fitted)]
    fitted = [next(found) for _ in about]
    read = [(reading, {k: next(found) for k in study.reads(reading)}) for reading, _ in plan.read]
    claims = []
    for k, one in enumerate(about):
        judged = _judged(study, one, fitted[k])
        others = [(reading, _judged(study, one, own[k])) for reading, own in read if k in own]
        for place, claim in enumerate(one.claims.claims):
            scales = [_scale(*each) for each in zip(judged[place].parts, judged[place].units, strict=True)]
            readings = [
                UnderReading(reading, _scaled(own[place].parts, scales))
                for reading, own in others
                if claim.id in reading.claims
            ]
            unjudged = "a quick reproduction leaves it out" if claim.id in plan.unjudged else ""
            parts = _scaled(judged[place].parts, scales)
            claims.append(claim_entry(claim, parts, readings, unjudged, listed=study.readings))
    rows = [each for k, one in enumerate(about) for each in _rows(study, one, fitted[k])]
    outcome = Reproduced(
        document=document_of(study.key, command, results_version, rows, claims),
        findings=[_finding(study, one, fitted) for one in study.file.finding],
        warnings=[*_without_values(about, fitted), *_broken(study, fitted)],
        left_out=plan.left_out,
        measured={one.name: own for one, own in zip(about, fitted, strict=True)},
        read={
            reading.id: {study.about[k].name: measured for k, measured in own.items()}
            for reading, own in read
        },
    )
    more: Callable[[Reproduced], Sequence[Finding]] | None = getattr(study.code, "findings", None)
    return replace(outcome, findings=[*outcome.findings, *more(outcome)]) if more else outcome


def _judged(study: StudyFolder, about: About, measured: Measurements) -> list[JudgedClaim]:
    return judge_all(about.checked, measured.scalars, predicates=study.predicates)


def _scale(part: ClaimPart, unit: str | None) -> Scale:
    """Choose the unit that a part's numbers are given in."""
    ends = [abs(end) for end in (part.low, part.high) if math.isfinite(end)]
    return Scale.of(unit, max(ends + ([abs(part.measured.mean)] if part.measured else [])))


def _scaled(parts: Sequence[ClaimPart], scales: Sequence[Scale]) -> list[ClaimPart]:
    """Return parts with numbers in other units, which the names of their quantities end with."""

    def of(found: Interval | None, by: float) -> Interval | None:
        if found is None:
            return None
        return replace(found, mean=found.mean / by, low=found.low / by, high=found.high / by)

    made = []
    for part, scale in zip(parts, scales, strict=True):
        by, is_direction = scale.factor, part.kind == "direction"
        low = (part.low - HIGHER) / by + HIGHER if is_direction else part.low / by
        high = (part.high - LOWER) / by + LOWER if is_direction else part.high / by
        made.append(
            replace(
                part,
                quantity=f"{part.quantity}, {scale.unit}" if scale.unit else part.quantity,
                measured=of(part.measured, by),
                one_run=of(part.one_run, by),
                as_printed=of(part.as_printed, by),
                low=low,
                high=high,
                printed=None if part.printed is None else part.printed / by,
            )
        )
    return made


def _rows(study: StudyFolder, about: About, measured: Measurements) -> Iterator[dict[str, object]]:
    """Yield a row for each printed value, beside what was measured there."""
    printed, subject = about.subject.reference, about.subject
    if not isinstance(printed, Printed):
        return
    units = {one.name: one.unit for one in about.campaign.responses}
    varied = [name for name, levels in subject.levels.items() if len(levels) > 1]
    for table, place, value in printed.listed:
        named = [*varied, *subject.responses[table.response]]
        for full in _places(about, measured, table.response, place):
            at = ", ".join(about.words.word(full[name]) for name in named if name in full)
            quantity = study.file.labels.get(table.response, about.words.word(table.response))
            yield row(
                Path(table.file).stem,
                at,
                quantity,
                _unit(units[table.response], table.unit),
                value / table.unit,
                _divided(_interval(measured, table.response, full), table.unit),
            )


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


def _finding(study: StudyFolder, one: form.Finding, fitted: Sequence[Measurements]) -> Finding:
    values = {
        name: next((value.text() for value in values_of(study, part, fitted)), "no value")
        for name, part in one.values.items()
    }
    return one.title, one.text.format(**values)


def _broken(study: StudyFolder, fitted: Sequence[Measurements]) -> Iterator[str]:
    """Yield a warning for each assumption that does not hold somewhere."""
    for one in study.file.assumption:
        broken = [
            value
            for value in values_of(study, one, fitted)
            if value.part.measured is None
            or not value.part.low <= value.part.measured.mean <= value.part.high
        ]
        named = [f"{value.part.quantity} is {value.text()}" for value in broken[:_MOST_NAMED]]
        more = [f"and so at {len(broken) - _MOST_NAMED} more"] if len(broken) > _MOST_NAMED else []
        if broken:
            yield f"{one.text} {'; '.join([*named, *more])}."


def _without_values(about: Sequence[About], fitted: Sequence[Measurements]) -> Iterator[str]:
    for one, own in zip(about, fitted, strict=True):
        for name in without_values(own.scalars, [each.name for each in one.campaign.responses]):
            yield f"{one.name}: {name}."
