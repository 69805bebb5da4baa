"""Factors whose levels are of several words: each word is the level of a factor of its own.

So a campaign writes out what two factors set together, and claims see both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from perhop import _core
from perhop.experiment.factors import Factor, Level
from perhop.experiment.fault import Fault
from perhop.judge.grammar import Claims

if TYPE_CHECKING:
    from perhop.experiment.definition import Campaign


def split(claims: Claims, campaign: Campaign) -> Campaign:
    """Return a campaign with the factors that a file of claims makes of its own; else a `ClaimsError`."""
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
