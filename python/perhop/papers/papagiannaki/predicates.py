"""Predicates on what no response holds: choices among cells, variation, residuals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Annotated

import numpy as np
import polars as pl

from perhop.judge.measured import Predicates
from perhop.judge.verdict import HIGHER, LOWER, ClaimPart
from perhop.papers.papagiannaki.cells import CLASSES, CONGESTION, LAYOUT, MARKINGS, regrets
from perhop.papers.papagiannaki.factorial import (
    Cells,
    FactorialCells,
    effect,
    level_means,
    mean,
    residuals,
    shares_of_means,
)
from perhop.stats.residuals import furthest, straightest


def lowest(m: FactorialCells, response: str, lowest: str) -> list[ClaimPart]:
    """Judge that an interaction, `P=b C=r`, is the lowest of its kind."""
    wanted = dict(one.split("=") for one in lowest.split())
    levels = dict(zip(m.published.layout.factors, m.published.layout.levels, strict=True))
    every = [dict(zip(wanted, own, strict=True)) for own in product(*(levels[name] for name in wanted))]

    def margin(cells: Sequence[Cells]) -> float:
        others = (effect(cells, response, one) for one in every if one != wanted)
        return effect(cells, response, wanted) - min(others)

    what = f"{response}: effect of {lowest} less the next lowest"
    return [m.part(what, "direction", margin, high=LOWER)]


def explained(m: FactorialCells, response: str, at_least: float, beyond: float) -> list[ClaimPart]:
    """Judge the share of variation of main effects and pairs, and the largest other share."""

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


def share(m: FactorialCells, response: str, component: str, at_least: float) -> list[ClaimPart]:
    """Judge what part of the variation a component has."""

    def of(cells: Sequence[Cells]) -> float:
        return shares_of_means(cells, response)[component]

    return [m.part(f"{response}: {component}, % of the means' variation", "size", of, low=at_least)]


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


def no_trend(m: FactorialCells, response: str, trend: float) -> list[ClaimPart]:
    """Judge that the size of the residuals does not go with the prediction."""

    def goes_with(cells: Sequence[Cells]) -> float:
        left, predicted = residuals(cells, response, m.kept[response])
        ranked = pl.DataFrame({"size": np.abs(left).ravel(), "predicted": predicted.ravel()})
        return float(ranked.select(pl.corr("size", "predicted", method="spearman")).item())

    what = f"{response}: rank correlation of the residuals' size with the prediction"
    return [m.part(what, "size", goes_with, -trend, trend)]


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


def near(
    m: FactorialCells, response: str, factor: str, level: str, congestion: list[str], within: float
) -> list[ClaimPart]:
    """Judge that a level is near its factor's best, in means over the others, by congestion."""
    parts = []
    for c in congestion:

        def over_best(cells: Sequence[Cells], place: int = CONGESTION.index(c)) -> float:
            own = level_means(mean(cells, response)[..., place], LAYOUT, factor)
            return own[level] / max(own.values())

        what = f"{response}: {factor} = {level} over the best, C = {c}"
        parts.append(m.part(what, "size", over_best, low=1.0 - within))
    return parts


def loses(m: FactorialCells, response: str, marking: str, within: float) -> list[ClaimPart]:
    """Judge what a marking loses against the best, at each congestion."""
    own, parts = MARKINGS.index(marking), []
    for place, c in enumerate(CONGESTION):

        def lost(cells: Sequence[Cells], place: int = place) -> float:
            return float(regrets(cells, response)[own, place])

        what = f"{response}: what {marking} loses against the best, C = {c}"
        parts.append(m.part(what, "size", lost, high=within, cells=[(response, marking)]))
    return parts


def least_regret(m: FactorialCells, marking: str) -> list[ClaimPart]:
    """Judge that a marking's largest loss, over classes and congestion, is the least of all."""

    def margin(cells: Sequence[Cells]) -> float:
        worst = np.max([regrets(cells, name).max(axis=1) for name in CLASSES], axis=0)
        own = MARKINGS.index(marking)
        return float(worst[own] - np.delete(worst, own).min())

    what, cells = (
        f"largest loss with {marking} less the least of others",
        [(name, marking) for name in CLASSES],
    )
    return [m.part(what, "direction", margin, high=LOWER, cells=cells)]


def no_best(m: FactorialCells, congestion: list[str]) -> list[ClaimPart]:
    """Judge that every marking loses something for one of the classes, at each congestion."""
    parts = []
    for c in congestion:

        def least(cells: Sequence[Cells], place: int = CONGESTION.index(c)) -> float:
            return float(np.max([regrets(cells, name)[:, place] for name in CLASSES], axis=0).min())

        what = f"least loss of the worse off class with any marking, C = {c}"
        parts.append(m.part(what, "direction", least, low=HIGHER))
    return parts


PREDICATES: Predicates = {
    one.__name__: one
    for one in (
        lowest,
        explained,
        largest,
        share,
        wider,
        normal,
        no_trend,
        scattered,
        none_below,
        near,
        loses,
        least_regret,
        no_best,
    )
}
"""Predicates by the name that `claims.toml` has."""
