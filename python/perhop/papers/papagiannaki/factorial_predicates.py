"""Predicates on a factorial experiment: signs of effects, shares of variation, residuals of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
import polars as pl

from perhop.judge.verdict import HIGHER, LOWER, ClaimPart
from perhop.papers.papagiannaki.factorial import (
    Cells,
    FactorialCells,
    Statistic,
    effect,
    level_means,
    mean,
    residuals,
    shares_of_means,
)
from perhop.stats.residuals import furthest, straightest


def signs(m: FactorialCells, response: str, effects: list[str]) -> list[ClaimPart]:
    """Judge that effects lie above zero, `+C=r`, or below, `-P=b C=r`; or differences, `+P=a less P=p`."""
    words = response.replace("_", " ")
    return [
        m.part(
            f"{words}: effect of {signed[1:]}",
            "direction",
            _effects(response, signed[1:]),
            *((HIGHER, math.inf) if signed[0] == "+" else (-math.inf, LOWER)),
            linear=True,
        )
        for signed in effects
    ]


def alike(m: FactorialCells, response: str, effects: str, within: float) -> list[ClaimPart]:
    """Judge that two effects are less than so far apart."""
    what = f"{response}: effect of {effects}"
    return [m.part(what, "size", _effects(response, effects), -within, within, linear=True)]


def lowest(m: FactorialCells, response: str, lowest: str, effects: list[str]) -> list[ClaimPart]:
    """Judge that an interaction is the lowest of its kind, and the signs of effects."""
    layout = m.published.layout
    one, other = layout.combination(lowest)
    levels = dict(zip(layout.factors, layout.levels, strict=True))
    every = [f"{one}={i} {other}={j}" for i in levels[one] for j in levels[other]]

    def margin(cells: Sequence[Cells]) -> float:
        others = (effect(cells, response, name) for name in every if name != lowest)
        return effect(cells, response, lowest) - min(others)

    what = f"{response}: effect of {lowest} less the next lowest"
    return [m.part(what, "direction", margin, high=LOWER), *signs(m, response, effects)]


def explained(m: FactorialCells, response: str, at_least: float, beyond: float) -> list[ClaimPart]:
    """Judge what share of the variation the effects of one and two factors have, and the largest other."""

    def low_order(cells: Sequence[Cells]) -> float:
        return sum(share for term, share in shares_of_means(cells, response).items() if term.count(":") < 2)

    def largest_other(cells: Sequence[Cells]) -> float:
        return max(share for term, share in shares_of_means(cells, response).items() if term.count(":") > 1)

    return [
        m.part(
            f"{response}: main effects and pairs, % of the means' variation", "size", low_order, low=at_least
        ),
        m.part(f"{response}: largest term of higher order, %", "size", largest_other, high=beyond),
    ]


def largest(m: FactorialCells, response: str, components: list[str]) -> list[ClaimPart]:
    """Judge that some components are the largest of all of one and two factors."""

    def margin(cells: Sequence[Cells]) -> float:
        found = {
            term: share for term, share in shares_of_means(cells, response).items() if term.count(":") < 2
        }
        least = min(found.pop(name) for name in components)
        return least - max(found.values())

    what = f"{response}: least of {', '.join(components)} less the largest other, % of the means' variation"
    return [m.part(what, "direction", margin, low=HIGHER)]


def dominates(m: FactorialCells, response: str, components: list[str], at_least: float) -> list[ClaimPart]:
    """Judge that the first of the largest components has most of the variation."""

    def share(cells: Sequence[Cells]) -> float:
        return shares_of_means(cells, response)[components[0]]

    what = f"{response}: {components[0]}, % of the means' variation"
    return [m.part(what, "size", share, low=at_least), *largest(m, response, components)]


def wider(m: FactorialCells, responses: Annotated[list[str], 2], factor: str) -> list[ClaimPart]:
    """Judge that a factor moves one response more than another, as parts of their means."""

    def more(cells: Sequence[Cells]) -> float:
        means = [mean(cells, response) for response in responses]
        levels = [level_means(one, m.published.layout, factor).values() for one in means]
        first, second = ((max(own) - min(own)) / one.mean() for own, one in zip(levels, means, strict=True))
        return float(first - second)

    what = f"range over {factor} by the mean, {responses[0]} less {responses[1]}"
    return [m.part(what, "direction", more, low=HIGHER)]


def normal(m: FactorialCells, response: str, set_aside: float, correlation: float) -> list[ClaimPart]:
    """Judge that the residuals of the trimmed model are normal but for a few."""

    def straight(cells: Sequence[Cells]) -> float:
        return straightest(residuals(cells, response, m.kept[response])[0], set_aside).correlation

    what = f"{response}: correlation in the Q-Q plot, at most {set_aside:.0%} set aside"
    return [m.part(what, "size", straight, low=correlation)]


def normal_without_trend(
    m: FactorialCells, response: str, correlation: float, trend: float
) -> list[ClaimPart]:
    """Judge that all residuals are normal, and their size does not go with the prediction."""

    def goes_with(cells: Sequence[Cells]) -> float:
        left, predicted = residuals(cells, response, m.kept[response])
        ranked = pl.DataFrame({"size": np.abs(left).ravel(), "predicted": predicted.ravel()})
        return float(ranked.select(pl.corr("size", "predicted", method="spearman")).item())

    what = f"{response}: rank correlation of the residuals' size with the prediction"
    return [*normal(m, response, 0.0, correlation), m.part(what, "size", goes_with, -trend, trend)]


def scattered(
    m: FactorialCells, response: str, set_aside: float, experiment: list[str], at_most: float
) -> list[ClaimPart]:
    """Judge that the residuals that a model misses by most are not of one experiment.

    An experiment is a combination of levels of some factors.
    """
    axes = tuple(k for k, factor in enumerate(m.published.layout.factors) if factor not in experiment)

    def fullest(cells: Sequence[Cells]) -> float:
        left, _ = residuals(cells, response, m.kept[response])
        far = np.zeros(left.size)
        far[furthest(left, round(set_aside * left.size))] = 1.0
        counts = far.reshape(left.shape).sum(axis=(*axes, left.ndim - 1))
        return float(counts.max() / counts.sum())

    what = f"{response}: part of the outliers that the experiment with most of them has"
    return [m.part(what, "size", fullest, high=at_most)]


def none_below(m: FactorialCells, response: str, at_least: float) -> list[ClaimPart]:
    """Judge that no cell is below a value."""

    def least(cells: Sequence[Cells]) -> float:
        return float(mean(cells, response).min())

    return [m.part(f"{response.replace('_', ' ')}: least of all cells", "size", least, low=at_least)]


PREDICATES: dict[str, Callable[..., list[ClaimPart]]] = {
    one.__name__: one
    for one in (
        signs,
        alike,
        lowest,
        explained,
        largest,
        dominates,
        wider,
        normal,
        normal_without_trend,
        scattered,
        none_below,
    )
}
"""By the name that `claims.toml` has."""


def _effects(response: str, name: str) -> Statistic:
    """Return an effect, or the difference of two."""
    first, _, second = name.partition(" less ")
    if not second:
        return lambda cells: effect(cells, response, first)
    return lambda cells: effect(cells, response, first) - effect(cells, response, second)
