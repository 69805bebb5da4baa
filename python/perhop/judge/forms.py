"""Additions to a campaign: closed forms, responses and factors made of others, checks of what is stated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from perhop import _core
from perhop.experiment.factors import Factor, Level
from perhop.experiment.fault import Fault
from perhop.judge.grammar import Claims, Derived, Published
from perhop.judge.quantity import PRINTED, Place, Quantity, absent, among

if TYPE_CHECKING:
    from perhop.experiment.definition import Campaign
    from perhop.judge.quantity import Subject
    from perhop.scenario.scenario import Scenario

Forms = Mapping[str, "Callable[[Scenario, str], float | None]"]
"""Functions by name that compute a response of a scenario; None where there is no such form."""

Run = float | str | range | None
"""What is run, as a paper states it; any of a range, where that comes to the same; None for nothing."""

Stated = Mapping[str, "Callable[[Scenario], Run]"]
"""Functions by column of a printed table that give what is run."""

NOTHING: Mapping[str, Callable[..., None]] = {}


class PrintedValue(NamedTuple):
    """A value of a table: in which line, of which response, where, and the number in the response's unit."""

    table: Published
    line: int
    response: str
    place: Place
    value: float


class References:
    """Values that quantities are compared with: what is printed, and what closed forms give.

    `printed` gives what is printed, by response and place; `listed` has it in order, with its tables.
    """

    def __init__(self, campaigns: Sequence[Campaign], subject: Subject, forms: Forms) -> None:
        self.subject, self.forms = subject, forms
        self.printed: Callable[[str, Place], float | None] = lambda *_: None
        self.listed: Sequence[PrintedValue] = ()
        every = ((one.scenario, each) for one in campaigns for each in one.design.treatments)
        self._treatments = [(scenario, one.overrides) for scenario, one in every]
        self._scenarios: dict[int, Scenario] = {}

    def __call__(self, name: str, response: str, at: Place, effect: Place | None) -> float | None:
        """Return a value at a place by a reference: `printed` is the paper's; None where there is none.

        An effect has one in a factorial whose cells are all printed.
        """
        if effect is None:
            return self.printed(response, at) if name == PRINTED else self._form(name, response, at)
        layout = self.subject.factorial
        if name != PRINTED or layout is None or layout.at != at:
            return None
        try:
            return layout.printed(self.printed)[response].effect_of(effect)
        except KeyError:
            return None

    def form(self, name: str, quantity: Quantity) -> float | None:
        """Return what a closed form gives for a quantity; None where there is none."""
        return quantity.made_of(lambda response, at, _: self._form(name, response, at))

    def scenarios(self, at: Place) -> Iterator[Scenario]:
        """Yield the scenarios of the treatments at a place."""
        for place in self.subject.fitting(at):
            k = self.subject.treatments.index(place)
            if k not in self._scenarios:
                scenario, overrides = self._treatments[k]
                self._scenarios[k] = scenario.override(*overrides)
            yield self._scenarios[k]

    def _form(self, name: str, response: str, at: Place) -> float | None:
        return next((self.forms[name](one, response) for one in self.scenarios(at)), None)


def with_derived(derived: Sequence[Derived], scalars: pl.DataFrame) -> pl.DataFrame:
    """Return the values of a campaign with those of responses that are made of its own."""
    frames = [scalars]
    for one in derived:
        ((factor, per),) = one.per.items()
        own = scalars.filter(pl.col("response") == one.response, pl.col(factor).is_in([*per]))
        by = pl.col(factor).replace_strict(per, return_dtype=pl.Float64)
        frames.append(own.with_columns(pl.lit(one.name).alias("response"), pl.col("value") / by))
    return pl.concat(frames) if derived else scalars


def stated_otherwise(cell: str, run: Run) -> str | None:
    """Return what is run, where a cell of a printed table says something else; None where it does not."""
    try:
        number = float(cell) if isinstance(run, int | float | range) else math.nan
    except ValueError:
        number = math.nan
    if isinstance(run, range):
        return None if number in run else f"{run.start} to {run.stop - 1}"
    if isinstance(run, str) or run is None:
        return None if cell == (run or "") else f"`{run}`" if run else "nothing"
    return None if number == run else f"{run:g}"


def unfit(derived: Sequence[Derived], campaigns: Sequence[Campaign]) -> Iterator[Fault]:
    """Yield the first mistake of each response that is made of another."""
    known, levels = [one.name for one in campaigns[0].responses], dict[str, list[str]]()
    for factor in (one for campaign in campaigns for one in campaign.design.factors):
        levels.setdefault(factor.name, []).extend(level.name for level in factor.levels)
    for k, one in enumerate(derived):
        at = ("derived", k)
        if one.response not in known:
            yield absent((*at, "response"), "response", one.response, known)
        elif one.name in [*known, *(other.name for other in derived[:k])]:
            yield Fault((*at, "name"), f"a second response is called `{one.name}`")
        elif len(one.per) != 1:
            yield Fault((*at, "per"), "one factor is needed", "such as `per = { link = { slow = 1e5 } }`")
        else:
            ((name, per),) = one.per.items()
            if name not in levels:
                yield absent((*at, "per", name), "factor", name, levels, of_key=True)
                continue
            for level, by in per.items():
                if level not in (own := levels[name]):
                    rule = f"`{name}` has no level `{level}`"
                    yield Fault((*at, "per", name, level), rule, among(level, own), of_key=True)
                elif not by:
                    yield Fault((*at, "per", name, level), "nothing is divided by zero")


def split(claims: Claims, campaign: Campaign) -> Campaign:
    """Return a campaign with the factors that a file of claims makes of its own; else a `ClaimsError`.

    Each word of a level is the level of a factor of its own. So a campaign writes out what two factors set
    together, and claims see both.
    """
    for factor, names in claims.file.split.items():
        claims.refuse([*_faults(campaign, factor, names)])
        design, place = campaign.design, campaign.design.names.index(factor)
        levels = [one.name.split(" ") for one in design.factors[place].levels]
        words = [dict.fromkeys(each) for each in zip(*levels, strict=True)]
        own = [Factor(name, tuple(map(Level, each))) for name, each in zip(names, words, strict=True)]
        treatments = [
            replace(one, levels=(*before, *one.levels[place].split(" "), *one.levels[place + 1 :]))
            for one in design.treatments
            for before in [one.levels[:place]]
        ]
        factors = (*design.factors[:place], *own, *design.factors[place + 1 :])
        campaign = replace(campaign, design=replace(design, factors=factors, treatments=tuple(treatments)))
    return campaign


def _faults(campaign: Campaign, factor: str, names: Sequence[str]) -> Iterator[Fault]:
    """Yield the first mistake in how a factor is split."""
    known = {one.name: one for one in campaign.design.factors}
    if factor not in known:
        rule = f"{campaign.name} has no factor `{factor}`"
        yield Fault(("split", factor), rule, _core.suggest(factor, [*known]), of_key=True)
        return
    for k, name in enumerate(names):
        if name in known or name in names[:k]:
            yield Fault(("split", factor, k), f"there is a factor `{name}` already")
            return
    for level in known[factor].levels:
        if len(level.name.split(" ")) != len(names):
            rule = f"level `{level.name}` is of {len(level.name.split(' '))} words, not {len(names)}"
            yield Fault(("split", factor), rule, "words have a space between them", of_key=True)
            return


def parted(split: Mapping[str, Sequence[str]], scalars: pl.DataFrame) -> pl.DataFrame:
    """Return the values of a campaign with the factors that are made of its own, where it has these."""
    for factor, names in split.items():
        if factor in scalars.columns:
            words = pl.col(factor).str.split(" ")
            made = [words.list.get(k).alias(name) for k, name in enumerate(names)]
            scalars = scalars.with_columns(made).drop(factor)
    return scalars
