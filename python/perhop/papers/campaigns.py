"""Campaigns as a study runs them: shorter, without some levels, at several points, under a reading."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from perhop.experiment.definition import Campaign
from perhop.experiment.factors import Factor, Level
from perhop.papers.error import PackError
from perhop.papers.form import RunChanges
from perhop.papers.readings import Reading

T = TypeVar("T")


def short(campaign: Campaign, overrides: Sequence[str] = (), replications: int | None = None) -> Campaign:
    """Return a campaign with more settings for all its runs, or another number of replications."""
    design = replace(campaign.design, replications=replications or campaign.design.replications)
    return replace(campaign, scenario=campaign.scenario.override(*overrides), design=design)


def differing(campaign: Campaign, form: RunChanges) -> Campaign:
    """Return a campaign in a form, but for settings by level; maybe without a treatment."""
    return short(less(campaign, form.without), form.set, form.replications)


def less(campaign: Campaign, without: Collection[str]) -> Campaign:
    """Return a campaign without the treatments that have one of some levels; maybe of none."""
    kept = tuple(one for one in campaign.design.treatments if not {*without} & {*one.levels})
    return replace(campaign, design=replace(campaign.design, treatments=kept))


def having(campaign: Campaign, factor: str, levels: Collection[str]) -> Campaign:
    """Return a campaign with the treatments alone that have one of some levels of a factor; maybe none."""
    place = campaign.design.names.index(factor)
    kept = tuple(one for one in campaign.design.treatments if one.levels[place] in levels)
    return replace(campaign, design=replace(campaign.design, treatments=kept))


def changed(campaign: Campaign, more: Callable[[Mapping[str, str]], Iterable[str]]) -> Campaign:
    """Return a campaign whose treatments have more settings, after their own: a function of their levels."""
    names = campaign.design.names
    treatments = tuple(
        replace(one, overrides=(*one.overrides, *more(dict(zip(names, one.levels, strict=True)))))
        for one in campaign.design.treatments
    )
    return replace(campaign, design=replace(campaign.design, treatments=treatments))


def by_level(campaign: Campaign, change: Mapping[str, Sequence[str]]) -> Campaign:
    """Return a campaign with settings by level, after those of a treatment that has the level."""
    if not change:
        return campaign
    return changed(campaign, lambda at: [one for level in at.values() for one in change.get(level, ())])


def varied(
    campaign: Campaign,
    name: str,
    points: Mapping[str, T],
    settings: Callable[[Mapping[str, str], T], Iterable[str]],
) -> Campaign:
    """Return a campaign at several points: levels of a factor more, which is the first.

    `settings` gives those of a treatment at a point, by its levels, after its own.
    """

    def at(point: T) -> Campaign:
        return changed(campaign, lambda levels: settings(levels, point))

    made = {level: at(point) for level, point in points.items()}
    treatments = tuple(
        replace(one, levels=(level, *one.levels), name=f"{name}={level} {one.name}")
        for level, own in made.items()
        for one in own.design.treatments
    )
    factors = (Factor(name, tuple(map(Level, points))), *campaign.design.factors)
    return replace(campaign, design=replace(campaign.design, factors=factors, treatments=treatments))


Parameters = Callable[[Mapping[str, str], Mapping[str, Any]], Iterable[str]]
"""Function of a study that gives the settings of a treatment, by its levels, where parameters change.

It raises a `ValueError` for what is no parameter, or no value of one.
"""


def under(
    campaign: Campaign,
    reading: Reading,
    known: Collection[str] = (),
    parameters: Parameters | None = None,
) -> Campaign:
    """Return a campaign under a reading, where levels of other campaigns are known.

    Its settings come before those of the treatments, what it changes by level after those of a treatment that
    has the level, and what the study's parameters make of the rest last. A `ValueError`: it changes what is
    neither a level nor a parameter, or to what is no list of settings.
    """
    levels = {level.name for factor in campaign.design.factors for level in factor.levels}.union(known)
    rest = {name: value for name, value in reading.change.items() if name not in levels}
    for name, settings in reading.change.items():
        is_list = isinstance(settings, list) and all(type(one) is str for one in settings)
        if name in rest and parameters is None:
            rule = f"has {name}, which is no level of campaign {campaign.name}"
            raise PackError(f"reading {reading.id}: 'change' {rule}")
        if name not in rest and not is_list:
            raise PackError(f"reading {reading.id}: 'change': {name} is {settings!r}, not a list of texts")
    read = short(campaign, reading.settings_of(campaign.scenario.source))
    read = by_level(read, {name: one for name, one in reading.change.items() if name not in rest})
    return changed(read, lambda at: parameters(at, rest)) if parameters and rest else read
