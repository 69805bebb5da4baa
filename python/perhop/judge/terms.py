"""Predicates on a factorial: shares of variation, residuals of a model, levels against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Annotated

import numpy as np
import polars as pl

from perhop.judge.cells import Cells
from perhop.judge.factorial import Cubes
from perhop.judge.measured import Predicates
from perhop.judge.verdict import HIGHER, LOWER, ClaimPart
from perhop.stats.layout import Cube, Floats
from perhop.stats.residuals import furthest, straightest
from perhop.stats.strata import strata


def low_order(cube: Cube) -> dict[str, float]:
    """Return the shares of the cells' variation that main effects and pairs have."""
    return {term: share for term, share in strata(cube).shares_of_means.items() if term.count(":") < 2}


def residuals(cube: Cube, kept: Sequence[str]) -> tuple[Floats, Floats]:
    """Return what a model of some terms leaves of every run, and what it predicts.

    A `KeyError` where there is one replication: residuals are those of runs.
    """
    if cube.replications < 2:
        raise KeyError("residuals of single runs")
    predicted = cube.cells.mean() + sum(cube.effect(cube.term(term)) for term in kept)
    every = np.broadcast_to(np.asarray(predicted)[..., None], cube.values.shape)
    return cube.values - every, every


def lowest(m: Cells, response: str, lowest: str) -> list[ClaimPart]:
    """Judge that an effect, `P=b C=r`, is the lowest of its kind."""
    wanted = dict(one.split("=") for one in lowest.split())

    def margin(cubes: Cubes) -> float:
        found = cubes[response]
        levels = (found.levels[axis] for axis in found.axes(tuple(wanted)))
        every = [dict(zip(wanted, own, strict=True)) for own in product(*levels)]
        return found.effect_of(wanted) - min(found.effect_of(one) for one in every if one != wanted)

    return [m.part(f"{response}: effect of {lowest} less the next lowest", "direction", margin, high=LOWER)]


def explained(m: Cells, response: str, at_least: float, beyond: float) -> list[ClaimPart]:
    """Judge the share of variation of main effects and pairs, and the largest other share."""

    def largest_other(cubes: Cubes) -> float:
        shares = strata(cubes[response]).shares_of_means
        return max(share for term, share in shares.items() if term.count(":") > 1)

    what = f"{response}: main effects and pairs, % of the means' variation"
    return [
        m.part(what, "size", lambda cubes: sum(low_order(cubes[response]).values()), low=at_least),
        m.part(f"{response}: largest term of higher order, %", "size", largest_other, high=beyond),
    ]


def largest(m: Cells, response: str, components: list[str]) -> list[ClaimPart]:
    """Judge that some terms are the largest of all of one and two factors."""

    def margin(cubes: Cubes) -> float:
        found = low_order(cubes[response])
        least = min(found.pop(name) for name in components)
        return least - max(found.values())

    what = f"{response}: least of {', '.join(components)} less the largest other, % of the means' variation"
    return [m.part(what, "direction", margin, low=HIGHER)]


def share(m: Cells, response: str, component: str, at_least: float) -> list[ClaimPart]:
    """Judge what part of the variation a term has."""

    def of(cubes: Cubes) -> float:
        return strata(cubes[response]).shares_of_means[component]

    return [m.part(f"{response}: {component}, % of the means' variation", "size", of, low=at_least)]


def wider(m: Cells, responses: Annotated[list[str], 2], factor: str) -> list[ClaimPart]:
    """Judge that a factor moves one response more than another, as parts of their means."""

    def more(cubes: Cubes) -> float:
        means = [[*cubes[name].level_means(factor).values()] for name in responses]
        first, second = ((max(own) - min(own)) / float(np.mean(own)) for own in means)
        return first - second

    what = f"range over {factor} by the mean, {responses[0]} less {responses[1]}"
    return [m.part(what, "direction", more, low=HIGHER)]


def near(
    m: Cells, response: str, factor: str, level: str, over: str, levels: list[str], within: float
) -> list[ClaimPart]:
    """Judge that a level is near its factor's best at some levels of another, in means over the rest."""

    def over_best(at: str) -> Callable[[Cubes], float]:
        def of(cubes: Cubes) -> float:
            own = cubes[response].level_means(factor, {over: at})
            return own[level] / max(own.values())

        return of

    what = f"{response}: {factor} = {level} over the best, {over} = "
    return [m.part(f"{what}{at}", "size", over_best(at), low=1.0 - within) for at in levels]


def losses(cube: Cube, over: str) -> dict[tuple[str, ...], Floats]:
    """Return by treatment, levels of all factors but one, what it loses at each level of that one.

    As a part of what the best treatment has there.
    """
    k = cube.factors.index(over)
    y = np.moveaxis(cube.cells, k, -1).reshape(-1, len(cube.levels[k]))
    treatments = product(*(own for name, own in zip(cube.factors, cube.levels, strict=True) if name != over))
    return dict(zip(treatments, 1.0 - y / y.max(axis=0), strict=True))


def loses(
    m: Cells, response: str, treatment: list[str], over: str, levels: list[str], within: float
) -> list[ClaimPart]:
    """Judge what a treatment loses against the best, at some levels of the factor that is not of it."""

    def lost(at: str) -> Callable[[Cubes], float]:
        k = m.layout.levels[m.layout.factors.index(over)].index(at)
        return lambda cubes: float(losses(cubes[response], over)[tuple(treatment)][k])

    what = f"{response}: what {''.join(treatment)} loses against the best, {over} = "
    own = m.at(treatment, over)
    return [m.part(f"{what}{at}", "size", lost(at), high=within, at=[(response, own)]) for at in levels]


def least_regret(m: Cells, responses: list[str], treatment: list[str], over: str) -> list[ClaimPart]:
    """Judge that a treatment's largest loss, over responses and levels of a factor, is the least of all."""

    def margin(cubes: Cubes) -> float:
        found = [losses(cubes[name], over) for name in responses]
        worst = {one: max(float(own[one].max()) for own in found) for one in found[0]}
        return worst.pop(tuple(treatment)) - min(worst.values())

    what, own = f"largest loss with {''.join(treatment)} less the least of others", m.at(treatment, over)
    return [m.part(what, "direction", margin, high=LOWER, at=[(name, own) for name in responses])]


def no_best(m: Cells, responses: list[str], over: str, levels: list[str], quantity: str) -> list[ClaimPart]:
    """Judge that every treatment loses something of one of the responses, at some levels of a factor.

    The quantity is called so, and by the level.
    """

    def least(at: str) -> Callable[[Cubes], float]:
        k = m.layout.levels[m.layout.factors.index(over)].index(at)

        def of(cubes: Cubes) -> float:
            found = [losses(cubes[name], over) for name in responses]
            return min(max(float(own[one][k]) for own in found) for one in found[0])

        return of

    return [m.part(f"{quantity}, {over} = {at}", "direction", least(at), low=HIGHER) for at in levels]


def none_below(m: Cells, response: str, at_least: float) -> list[ClaimPart]:
    """Judge that no cell is below a value."""
    what = f"{response.replace('_', ' ')}: least of all cells"
    return [m.part(what, "size", lambda cubes: float(cubes[response].cells.min()), low=at_least)]


def normal(m: Cells, response: str, set_aside: float, correlation: float) -> list[ClaimPart]:
    """Judge that the residuals of the model are normal but for a few."""

    def straight(cubes: Cubes) -> float:
        return straightest(residuals(cubes[response], m.model(response))[0], set_aside).correlation

    what = f"{response}: correlation in the Q-Q plot, at most {set_aside:.0%} set aside"
    return [m.part(what, "size", straight, low=correlation)]


def no_trend(m: Cells, response: str, trend: float) -> list[ClaimPart]:
    """Judge that the size of the residuals does not go with the prediction."""

    def goes_with(cubes: Cubes) -> float:
        left, predicted = residuals(cubes[response], m.model(response))
        ranked = pl.DataFrame({"size": np.abs(left).ravel(), "predicted": predicted.ravel()})
        return float(ranked.select(pl.corr("size", "predicted", method="spearman")).item())

    what = f"{response}: rank correlation of the residuals' size with the prediction"
    return [m.part(what, "size", goes_with, -trend, trend)]


def scattered(
    m: Cells, response: str, set_aside: float, experiment: list[str], at_most: float
) -> list[ClaimPart]:
    """Judge that the residuals that a model misses by most are not of one experiment.

    An experiment is a combination of levels of some factors.
    """

    def fullest(cubes: Cubes) -> float:
        found = cubes[response]
        left, _ = residuals(found, m.model(response))
        axes = tuple(k for k, factor in enumerate(found.factors) if factor not in experiment)
        far = np.zeros(left.size)
        far[furthest(left, round(set_aside * left.size))] = 1.0
        counts = far.reshape(left.shape).sum(axis=(*axes, left.ndim - 1))
        return float(counts.max() / counts.sum())

    what = f"{response}: part of the outliers that the experiment with most of them has"
    return [m.part(what, "size", fullest, high=at_most)]


PREDICATES: Predicates = {
    one.__name__: one
    for one in (
        *(lowest, explained, largest, share, wider, near, none_below),
        *(loses, least_regret, no_best, normal, no_trend, scattered),
    )
}
"""Predicates that any file of claims with a `[factorial]` has, by name."""
