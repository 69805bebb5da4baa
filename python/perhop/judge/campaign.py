"""Claims about a campaign: checked against its design, judged on its store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl

from perhop import _core
from perhop.experiment.definition import Campaign, CampaignError
from perhop.experiment.fault import At, DesignError, Fault
from perhop.experiment.slices import Slice
from perhop.experiment.store import Store
from perhop.experiment.vocabulary import words_of_design
from perhop.judge import terms
from perhop.judge.cells import Cells, layout_of
from perhop.judge.forms import NOTHING, Forms, References, Stated, parted, split, unfit, with_derived
from perhop.judge.grammar import Claim, Claims, ClaimsError, Part, place_of, read
from perhop.judge.measured import STATISTICS, Measurements, Predicates, Together
from perhop.judge.parameters import no_predicate, unfit_predicate
from perhop.judge.printed import FROM_HERE, Printed
from perhop.judge.quantity import (
    PRINTED,
    Place,
    Quantity,
    QuantityClaim,
    Subject,
    Words,
    absent,
    among,
    quantity_claims,
)
from perhop.judge.quantity import faults as faults_of
from perhop.judge.verdict import ClaimPart, Hypothesis, Verdict, compound


class JudgedClaim(NamedTuple):
    """A claim with its parts as judged."""

    claim: Claim
    parts: list[ClaimPart]
    units: list[str | None]
    """Unit of each part; `1` where it is a ratio."""
    places: list[Place]
    """Where each part is; nowhere where a predicate judged it."""

    @property
    def verdict(self) -> Verdict:
        """Verdict on the claim: of its parts together."""
        return compound(part.verdict for part in self.parts)


class CheckedClaims(NamedTuple):
    """Claims, and what they are about where the file says it: a campaign, and those `beside` it."""

    claims: Claims
    campaign: Campaign | None
    subject: Subject | None
    beside: tuple[Campaign, ...] = ()

    def measured(self, scalars: pl.DataFrame) -> Measurements:
        """Return what the campaigns measured, with the responses that are made of others."""
        scalars = parted(self.claims.file.split, scalars)
        found = Measurements.of(with_derived(self.claims.file.derived, scalars), _together(self.claims))
        subject = self.subject
        if subject is None or subject.factorial is None:
            return found
        return Cells(
            found.scalars,
            found.over_all,
            layout=subject.factorial,
            printed=lambda response, at: subject.reference(PRINTED, response, at, None),
            in_sample=subject.in_sample,
        )


def checked(
    path: Path,
    campaign: Campaign | None = None,
    only: Slice | None = None,
    predicates: Callable[[Part], str | None] = no_predicate,
    forms: Forms = NOTHING,
    stated: Stated = NOTHING,
) -> CheckedClaims:
    """Read claims and their campaign, and check the claims against it; a `ClaimsError` has their mistakes.

    They are to be about a `campaign` where a store has one: then the file must not name another. On a slice,
    `only`, they may leave out in `at` a factor of which it keeps one level. `predicates` as of
    `perhop.judge.quantity.faults`, `forms` and `stated` as of `subject_of`.
    """
    claims = read(path)
    name = claims.file.campaign
    if name is not None:
        own = _load(claims, ("campaign",), name)
        if campaign is None:
            campaign = own
        elif other := _differs(own, campaign):
            rule = f"{name} has {other} than the store"
            claims.refuse([Fault(("campaign",), rule, f"run {path.parent / name} into a store of its own")])
    if campaign is None:
        return CheckedClaims(claims, None, None)
    campaign = split(claims, campaign)
    places = ((("beside", k), one) for k, one in enumerate(claims.file.beside))
    beside = tuple(split(claims, _load(claims, at, one)) for at, one in places)
    subject = subject_of(campaign, claims, forms, stated, beside)
    if subject.factorial is not None:
        predicates = _with_terms(predicates)
    wrong = faults_of(claims, subject, predicates)
    if only is not None and wrong:
        sliced = _placed(claims, faults_of(claims, _sliced(subject, only), predicates))
        wrong = [one for place, own in _placed(claims, wrong).items() if place in sliced for one in own]
    claims.refuse([*_unknown_words(claims, subject), *wrong])
    return CheckedClaims(claims, campaign, subject, beside)


def _with_terms(predicates: Callable[[Part], str | None]) -> Callable[[Part], str | None]:
    """Return what says what is wrong with a predicate, where those on a factorial are there too."""
    of_terms = unfit_predicate(terms.PREDICATES)
    return lambda part: (of_terms if part.predicate in terms.PREDICATES else predicates)(part)


def _load(claims: Claims, at: At, name: str) -> Campaign:
    """Read a campaign that a file of claims names."""
    path = claims.path.parent / name
    try:
        return Campaign.load(path)
    except OSError as error:
        raise ClaimsError(claims.diagnostics([Fault(at, f"{name}: {error.strerror}", FROM_HERE)])) from error
    except CampaignError as error:
        fault = Fault(at, f"{name}: has mistakes", f"perhop check {path}")
        raise ClaimsError(claims.diagnostics([fault])) from error


def _placed(claims: Claims, wrong: Sequence[Fault]) -> dict[At, list[Fault]]:
    """Return mistakes by the part that they are in."""
    pairs = enumerate(zip(claims.claims, claims.file.claim, strict=True))
    places = [place_of(written, i, k) for i, (one, written) in pairs for k in range(len(one.parts))]
    found = {place: [one for one in wrong if one.at[: len(place)] == place] for place in places}
    return {place: own for place, own in found.items() if own}


def _sliced(subject: Subject, only: Slice) -> Subject:
    """Return what claims may be about in a slice."""
    kept = {name: own for name, own in only.kept.items() if name in subject.levels}
    within = [one for one in subject.treatments if all(one.get(name) in own for name, own in kept.items())]
    there = {name: {one.get(name) for one in within} for name in subject.levels}
    return replace(
        subject,
        levels={name: [one for one in own if one in there[name]] for name, own in subject.levels.items()},
        treatments=within,
        responses={
            name: {group: only.kept.get(group, values) for group, values in groups.items()}
            for name, groups in subject.responses.items()
        },
        also={
            name: {of: [level for level in levels if level in there[name]] for of, levels in own.items()}
            for name, own in subject.also.items()
        },
    )


def _differs(one: Campaign, other: Campaign) -> str | None:
    """Return in what two campaigns measure something else, in words; how often they run may differ."""
    if (one.design.treatments, one.responses) != (other.design.treatments, other.responses):
        return "other treatments or responses"
    own, key = one.scenario.key(), other.scenario.key()
    if own.treatment != key.treatment:
        return "another scenario or other settings (`set`)"
    if (own.seed, one.design.seeds) != (key.seed, other.design.seeds):
        return "another seed"
    return None


def _unknown_words(claims: Claims, subject: Subject) -> Iterator[Fault]:
    """Yield the words for what is no response, no level, and no value of a group that a claim names."""
    known = {*subject.responses, *chain(*subject.levels.values())}
    for groups in subject.responses.values():
        known.update(*(values for values in groups.values() if values is not None))
    for part in (part for claim in claims.claims for part in claim.parts):
        for place in (part.at, part.less, part.over, part.effect):
            known.update((place or {}).values())
        known.update(*(each for each in part.each.values() if isinstance(each, list)))
    for name in claims.file.words:
        if name not in known:
            rule = f"no response and no level is called `{name}`"
            yield Fault(("words", name), rule, _core.suggest(name, sorted(known)), of_key=True)


def _has_transfers(campaign: Campaign) -> bool:
    """Return whether flows come and go in any treatment."""
    scenarios = (campaign.scenario.override(*one.overrides) for one in campaign.design.treatments)
    return any(flow.is_transfer for one in scenarios for flow in one.describe().flows)


def subject_of(
    campaign: Campaign,
    claims: Claims,
    forms: Forms = NOTHING,
    stated: Stated = NOTHING,
    beside: Sequence[Campaign] = (),
) -> Subject:
    """Return what claims may be about: factors, groups, responses over several runs, printed values, forms.

    `forms` are closed forms of a study, which `about` may name; `stated` what columns of its printed tables
    must be like. A `ClaimsError` has the mistakes in campaigns beside it, printed tables and made responses.
    """
    every = [campaign, *beside]
    claims.refuse([*_misfits(campaign, beside), *unfit(claims.file.derived, every)])
    by = {column for one in campaign.responses for column in one.by}
    # those of transfers are known only after a run
    names = {"name", "flow"} if by & {"name", "flow"} and any(map(_has_transfers, every)) else set()
    is_open = {*names, "path"}.issuperset
    closed = not all(is_open(one.by) for one in campaign.responses)
    known = [words_of_design(one.scenario, one.design) for one in every] if closed else []
    responses: dict[str, dict[str, list[str] | None]] = {}
    for one in campaign.responses:
        tables = [own.get(each.table.text, {}) for own in known for each in one.statistics]
        responses[one.name] = dict.fromkeys(one.by)
        for column in (column for column in one.by if not is_open({column})):
            values = {*chain(*(own.get(column, ()) for own in tables))}
            responses[one.name][column] = sorted(values) or None
    responses |= {one.name: responses[one.response] for one in claims.file.derived}
    claims.refuse([*_unknown_responses(claims, responses)])
    units = {one.name: one.unit for one in campaign.responses}
    units |= {one.name: one.unit for one in claims.file.derived}
    for name, over in _together(claims).items():
        responses[name], units[name] = {}, units[over.of]
    levels: dict[str, dict[str, None]] = {}
    for each in every:
        for factor in each.design.factors:
            levels.setdefault(factor.name, {}).update(dict.fromkeys(level.name for level in factor.levels))

    def in_sample(response: str, at: Place) -> bool:
        return any(response in one.response and one.at.items() <= at.items() for one in claims.file.fitted)

    subject = Subject(
        responses,
        {name: tuple(own) for name, own in levels.items()},
        [
            dict(zip(own.design.names, one.levels, strict=True))
            for own in every
            for one in own.design.treatments
        ],
        in_sample=in_sample,
        units=units,
    )
    subject = replace(subject, factorial=layout_of(claims, subject))
    references = References(every, subject, forms)
    printed = Printed(claims, references, stated)
    references.printed, references.listed = printed, printed.listed
    about = (PRINTED, *(name for name in forms if name != PRINTED))
    return replace(subject, reference=references, references=about, also=printed.sets)


def _misfits(campaign: Campaign, beside: Sequence[Campaign]) -> Iterator[Fault]:
    """Yield the campaigns that cannot stand beside another."""
    taken = {one.levels for one in campaign.design.treatments}
    for k, one in enumerate(beside):
        own = {each.levels for each in one.design.treatments}
        for rule, is_so in (
            ("is over another scenario", one.scenario.source != campaign.scenario.source),
            ("has other factors", one.design.names != campaign.design.names),
            ("has other responses", one.responses != campaign.responses),
            ("has a treatment that is there already", bool(own & taken)),
        ):
            if is_so:
                hint = "campaigns stand beside each other if their levels alone differ"
                yield Fault(("beside", k), f"{one.name} {rule}", hint)
                break
        taken |= own


def _together(claims: Claims) -> dict[str, Together]:
    """Return the responses over several runs."""
    return {
        one.name.replace("{of}", of): Together(of, one.statistic, one.runs)
        for one in claims.file.statistic
        for of in one.of
    }


def _unknown_responses(claims: Claims, responses: Mapping[str, object]) -> Iterator[Fault]:
    """Yield the mistakes in responses over several runs, and those that were fitted and are not there."""
    made = dict[str, None]()
    for k, one in enumerate(claims.file.statistic):
        if one.statistic not in STATISTICS:
            rule = f"there is no statistic `{one.statistic}`"
            yield Fault(("statistic", k, "statistic"), rule, among(one.statistic, [*STATISTICS]))
        if one.runs is not None and one.runs < 2:
            yield Fault(("statistic", k, "runs"), "it is over two runs or more", "without it, over all")
        for place, of in enumerate(one.of):
            name = one.name.replace("{of}", of)
            if of not in responses:
                yield absent(("statistic", k, "of", place), "response", of, responses)
            if name in responses or name in made:
                hint = "write `{of}` into the name, which stands for the response"
                yield Fault(("statistic", k, "name"), f"a second response is called `{name}`", hint)
            made[name] = None
    for k, fitted in enumerate(claims.file.fitted):
        for place, name in enumerate(fitted.response):
            if name not in responses and name not in made:
                yield absent(("fitted", k, "response", place), "response", name, [*responses, *made])


def judge_all(
    of_campaign: CheckedClaims,
    measured: Measurements,
    only: Slice | None = None,
    predicates: Predicates | None = None,
) -> list[JudgedClaim]:
    """Judge claims on what their campaign measured, by functions of a study too.

    Outside of `only`, a slice that was measured, nothing is judged. About no campaign is a `ValueError`.
    """
    claims, campaign, subject, _ = of_campaign
    if campaign is None or subject is None:
        raise ValueError(f"{claims.path} names no campaign")
    words = Words(claims.file.quantities, claims.file.words)
    sliced = subject if only is None else _sliced(subject, only)
    found = []
    for claim in claims.claims:
        parts = JudgedClaim(claim, [], [], [])
        for part in claim.parts:
            if part.predicate is not None:
                made = {**terms.PREDICATES, **(predicates or {})}[part.predicate](measured, **part.parameters)
                parts.parts.extend(made)
                parts.units.extend([None] * len(made))
                parts.places.extend({} for _ in made)
                continue
            outside, quantities = _asked(part, sliced, subject, words)
            for claimed in quantities:
                of = claimed.quantity
                for one in claimed.hypotheses:
                    judged = one.undefined(f"outside of {only}") if outside else judge(measured, one, of)
                    parts.parts.append(judged)
                    parts.units.append(of.unit(subject.units.get(of.response)))
                    parts.places.append(of.at)
        found.append(parts)
    return found


def judge_store(path: Path, store: Store) -> list[JudgedClaim]:
    """Judge the claims of a file on a store, or on a slice of it; errors as of `checked`."""
    found = checked(path, store.whole, store.only)
    return judge_all(found, found.measured(store.scalars()), store.only)


def _asked(part: Part, sliced: Subject, whole: Subject, words: Words) -> tuple[bool, list[QuantityClaim]]:
    """Return whether a part is outside of a slice, and the quantities that it asks for."""
    try:
        return False, list(quantity_claims(part, sliced, words))
    except DesignError:
        return True, list(quantity_claims(part, whole, words))


def judge(measured: Measurements, hypothesis: Hypothesis, of: Quantity) -> ClaimPart:
    """Judge a quantity, which may have no value."""
    try:
        return measured.judged(hypothesis, of)
    except (KeyError, ValueError) as error:
        return hypothesis.undefined(f"not measured: {error}")


COLUMNS = (
    *("claim", "verdict_of_claim", "part", "verdict_of_part", "quantity", "kind", "unit"),
    *("low", "high", "mean", "from", "to", "n", "reason"),
)
"""Columns of the table of judged claims; numbers are in `unit`, `1` where it is a ratio."""


def rows(judged: Sequence[JudgedClaim]) -> Iterator[tuple[str | int, ...]]:
    """Yield a row for each part."""
    for one in judged:
        for place, (part, unit) in enumerate(zip(one.parts, one.units, strict=True), 1):
            first = (one.claim.id, one.verdict, place, part.verdict, part.quantity, part.kind, unit or "")
            yield *first, *_numbers(part), part.reason or ""


def _numbers(part: ClaimPart) -> list[str | int]:
    found = part.measured
    ends = ["" if end is None else f"{end:g}" for end in part.claimed]
    if found is None:
        return [*ends, "", "", "", 0]
    return [*ends, *(f"{value:.4g}" for value in (found.mean, found.low, found.high)), found.n]
