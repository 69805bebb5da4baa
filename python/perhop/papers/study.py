"""A study that is a folder: its campaigns, claims, readings and code, whose files fit together."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import msgspec
import polars as pl

from perhop.experiment.definition import Campaign
from perhop.judge.campaign import CheckedClaims
from perhop.judge.forms import References
from perhop.judge.grammar import Claim, Claims, Part
from perhop.judge.measured import Measurements
from perhop.judge.quantity import QuantityClaim, Subject, Words, quantity_claims
from perhop.papers import form
from perhop.papers.campaigns import by_level, differing, having, less, under
from perhop.papers.fit import CellFit
from perhop.papers.form import StudyFile
from perhop.papers.readings import Reading

CODE = "study.py"
SHORTER = "shorter runs"
"""The fitted point in runs as short as under readings, as if that were one of them."""


@dataclass(frozen=True)
class About:
    """A campaign of a study, and the claims about it, none of one beyond the paper.

    It is called as files of claims and `beyond` write its file. `beside` are those whose levels stand beside
    its own, as fitted.
    """

    name: str
    claims: Claims
    campaign: Campaign
    subject: Subject
    beside: tuple[Campaign, ...] = ()

    @property
    def words(self) -> Words:
        """Names of quantities."""
        return Words(self.claims.file.quantities, self.claims.file.words)

    @property
    def checked(self) -> CheckedClaims:
        """The same, as the judge takes it."""
        return CheckedClaims(self.claims, self.campaign, self.subject, self.beside)

    @property
    def campaigns(self) -> tuple[Campaign, ...]:
        """It and those beside it."""
        return (self.campaign, *self.beside)

    @property
    def references(self) -> References:
        """Values that its quantities are compared with."""
        return cast(References, self.subject.reference)

    def measured(self, found: Iterable[Measurements]) -> Measurements:
        """Return together what its campaigns measured, with the responses that are made of others."""
        return self.checked.measured(pl.concat([one.scalars for one in found], how="diagonal"))

    def quantities(self, part: Part) -> list[QuantityClaim]:
        """Return what a part that need not claim anything asks for; errors as of `asked`."""
        if not isinstance(part, form.Assumption):
            nothing: dict[str, Any] = dict.fromkeys(("above", "below", "high", "within"))
            part = msgspec.structs.replace(part, low=-math.inf, **nothing)
        return list(quantity_claims(part, self.subject, self.words))


@dataclass(frozen=True)
class Study:
    """A study in a folder, whose files fit together.

    `called` is how `perhop reproduce` names it, `place` how other commands name its folder. `about` has its
    campaigns with their claims, `beyond` those past the paper; `readings` pairs last; `code` is its
    `study.py`, `fit` one of what the paper leaves open to cells that it prints.
    """

    folder: Path
    called: str
    file: StudyFile
    about: tuple[About, ...]
    readings: tuple[Reading, ...] = ()
    code: ModuleType | None = field(default=None, repr=False)
    place: str = ""
    beyond: tuple[About, ...] = ()
    fit: CellFit | None = None

    @property
    def key(self) -> str:
        """Name of the folder."""
        return self.folder.name

    @property
    def claims(self) -> list[Claim]:
        """All claims, of several files by the numbers in their names."""
        every = [claim for one in self.about for claim in one.claims.claims]
        return every if len(self.about) == 1 else sorted(every, key=lambda one: by_number(one.id))

    @property
    def rows(self) -> Mapping[str, Callable[..., Iterable[tuple[Any, ...]]]]:
        """Functions of `study.py` that make rows."""
        return getattr(self.code, "ROWS", {})

    @property
    def numbers(self) -> Mapping[str, Callable[[Any], Any]]:
        """Functions of `study.py` whose values texts may name."""
        return getattr(self.code, "NUMBERS", {})

    @property
    def campaigns(self) -> tuple[About, ...]:
        """All its campaigns."""
        return (*self.about, *self.beyond)

    @property
    def fitted(self) -> list[Campaign]:
        """Campaigns that claims are about, and those beside them."""
        return [each for one in self.about for each in one.campaigns]

    @property
    def levels(self) -> set[str]:
        """Levels of the factors of its campaigns, none of those beyond the paper."""
        return {level for one in self.about for own in one.subject.levels.values() for level in own}

    @property
    def shorter(self) -> tuple[Reading, ...]:
        """The fitted point in runs as short as under readings, as one of them; nothing where they are not."""
        changed = self.file.under.change.keys()
        factors = [*chain(*(one.subject.levels for one in self.about))]
        claims = [one.id for one in self.claims if any(changed & one.levels(name) for name in factors)]
        meaning = "the fitted point, in runs as short as under all readings"
        return (Reading(SHORTER, meaning, claims=tuple(claims)),) if claims else ()

    def of(self, campaign: str | None) -> About:
        """Return a campaign by its name; without one the first."""
        return self.about[0] if campaign is None else next(o for o in self.campaigns if o.name == campaign)

    def holding(self, campaign: Campaign) -> About:
        """Return the subject that a campaign is of, or stands beside the first of."""
        own = campaign.name, campaign.source
        return next(one for one in self.about if own in [(each.name, each.source) for each in one.campaigns])

    def reads(
        self, reading: Reading, planned: Sequence[Campaign] | None = None, unjudged: Collection[str] = ()
    ) -> list[Campaign]:
        """Return the campaigns, or parts of them, that a reading's claims are about, but for `unjudged` ones.

        They are as `planned`; by default as their files have them.
        """
        found, judged = list[Campaign](), {*reading.claims} - {*unjudged}
        every = self.fitted if planned is None else planned
        for about in self.about:
            own = [one for one in every if self.holding(one) is about]
            claims = [one for one in about.claims.claims if one.id in judged]
            found += _read(own, claims, self.file.read_by) if own and claims else []
        return [one for one in found if less(one, self.file.under.without).design.treatments]

    def under(self, campaign: Campaign, reading: Reading) -> Campaign:
        """Return a campaign as it is run under a reading; errors as of `perhop.papers.campaigns.under`."""
        own, parameters = self.file.under, getattr(self.code, "parameters", None)
        return by_level(under(differing(campaign, own), reading, self.levels, parameters), own.change)


def _read(campaigns: Sequence[Campaign], claims: Sequence[Claim], factor: str | None) -> Iterator[Campaign]:
    """Yield what is run for claims: the first campaign, or what has the levels of a factor that they name."""
    if factor is None or factor not in campaigns[0].design.names:
        yield campaigns[0]
        return
    sets = any(isinstance(part.each.get(factor), str) for claim in claims for part in claim.parts)
    named = {*chain(*(claim.levels(factor) for claim in claims))}
    for one in campaigns:
        kept = one if sets or not named else having(one, factor, named)
        if kept.design.treatments:
            yield kept


def by_number(name: str) -> list[tuple[bool, str]]:
    """Return what names are sorted by, so that F9 comes before F10."""
    return [(part.isdigit(), part.zfill(9)) for part in re.split(r"(\d+)", name)]
