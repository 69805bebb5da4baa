"""What is measured, and the predicates that `claims.toml` names: each gives the parts of a claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from perhop.papers.papagiannaki.cells import (
    CLASSES,
    CONGESTION,
    FACTORS,
    LEVELS,
    MARKINGS,
    Cells,
    Statistic,
    at,
    effect,
    level_means,
    mean,
    regrets,
)
from perhop.papers.papagiannaki.model import residuals, shares, straightest
from perhop.papers.verdict import HIGHER, LOWER, Asked, Kind, Part
from perhop.stats.jackknife import jackknife_interval


@dataclass(frozen=True)
class Measured:
    """The replications of every treatment, and what the paper prints.

    Attributes
    ----------
    samples
        One for each replication; all share their random numbers.
    published
        Tables 2 and 4.
    in_sample
        Class and marking of what the calibration fitted, or the search before it had seen.
    """

    samples: Sequence[Cells]
    published: Cells
    in_sample: frozenset[tuple[str, str]] = frozenset()

    def part(
        self,
        quantity: str,
        kind: Kind,
        of: Statistic,
        low: float = -math.inf,
        high: float = math.inf,
        *,
        linear: bool = False,
        cells: Sequence[tuple[str, str]] = (),
    ) -> Part:
        """Judge a statistic of the cells: a linear one as a mean, any other by the jackknife.

        `cells` are class and marking of the cells that it compares by name.
        """
        printed = value_or_none(of, [self.published])
        asked = Asked(quantity, kind, low, high, printed, any(cell in self.in_sample for cell in cells))
        if value_or_none(of, self.samples) is None:
            return asked.undefined("not measured")
        if linear:
            return asked.mean([of([one]) for one in self.samples])
        if len(self.samples) < 3:
            return asked.undefined(f"{len(self.samples)} replications are too few")
        return asked.estimated(jackknife_interval(list(self.samples), of))


def value_or_none(of: Statistic, cells: Sequence[Cells]) -> float | None:
    """Give a statistic, None where something it needs is not there."""
    try:
        return of(cells)
    except KeyError:
        return None


def signs(m: Measured, response: str, effects: list[str]) -> list[Part]:
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


def alike(m: Measured, response: str, effects: str, within: float) -> list[Part]:
    """Judge that two effects are less than so far apart."""
    what = f"{response}: effect of {effects}"
    return [m.part(what, "size", _effects(response, effects), -within, within, linear=True)]


def lowest(m: Measured, response: str, lowest: str, effects: list[str]) -> list[Part]:
    """Judge that an interaction is the lowest of its kind, and the signs of effects."""
    first, second = (FACTORS.index(part.partition("=")[0]) for part in lowest.split())
    every = [f"{FACTORS[first]}={i} {FACTORS[second]}={j}" for i in LEVELS[first] for j in LEVELS[second]]

    def margin(cells: Sequence[Cells]) -> float:
        others = (effect(cells, response, name) for name in every if name != lowest)
        return effect(cells, response, lowest) - min(others)

    what = f"{response}: effect of {lowest} less the next lowest"
    return [m.part(what, "direction", margin, high=LOWER), *signs(m, response, effects)]


def explained(m: Measured, response: str, at_least: float, beyond: float) -> list[Part]:
    """Judge what share of the variation the effects of one and two factors have, and the largest other."""

    def low_order(cells: Sequence[Cells]) -> float:
        return sum(share for term, share in shares(cells, response).items() if term.count(":") < 2)

    def largest_other(cells: Sequence[Cells]) -> float:
        return max(share for term, share in shares(cells, response).items() if term.count(":") > 1)

    return [
        m.part(f"{response}: main effects and pairs, % of variation", "size", low_order, low=at_least),
        m.part(f"{response}: largest term of higher order, %", "size", largest_other, high=beyond),
    ]


def largest(m: Measured, response: str, components: list[str]) -> list[Part]:
    """Judge that some components are the largest of all of one and two factors."""

    def margin(cells: Sequence[Cells]) -> float:
        found = {term: share for term, share in shares(cells, response).items() if term.count(":") < 2}
        least = min(found.pop(name) for name in components)
        return least - max(found.values())

    what = f"{response}: least of {', '.join(components)} less the largest other, % of variation"
    return [m.part(what, "direction", margin, low=HIGHER)]


def dominates(m: Measured, response: str, components: list[str], at_least: float) -> list[Part]:
    """Judge that the first of the largest components has most of the variation."""

    def share(cells: Sequence[Cells]) -> float:
        return shares(cells, response)[components[0]]

    what = f"{response}: {components[0]}, % of variation"
    return [m.part(what, "size", share, low=at_least), *largest(m, response, components)]


def suffices(
    m: Measured, response: str, factor: str, level: str, congestion: list[str], within: float
) -> list[Part]:
    """Judge that a level does no harm at some congestion, and is near the best level."""
    parts = signs(m, response, [f"+{factor}={level} C={c}" for c in congestion])
    for c in congestion:

        def near(cells: Sequence[Cells], place: int = CONGESTION.index(c)) -> float:
            own = level_means(mean(cells, response)[..., place], factor)
            return own[level] / max(own.values())

        what = f"{response}: {factor} = {level} over the best, C = {c}"
        parts.append(m.part(what, "size", near, low=1.0 - within))
    return parts


def beats(
    m: Measured, response: str, markings: Annotated[list[str], 2], at: str, factor: float
) -> list[Part]:
    """Judge that a marking beats another at one congestion, and by how much."""
    what = f"{response}: {markings[0]} over {markings[1]}, C = {at}"
    over, cells = _over(response, markings, at), [(response, marking) for marking in markings]
    return [
        m.part(what, "direction", over, low=1.0 + HIGHER, cells=cells),
        m.part(what, "size", over, low=factor, cells=cells),
    ]


def like(
    m: Measured,
    responses: list[str],
    markings: Annotated[list[str], 2],
    congestion: list[str],
    within: float,
) -> list[Part]:
    """Judge that a marking, or an arm beside the 27, gives what another gives."""
    return [
        m.part(
            f"{response}: {markings[0]} over {markings[1]}, C = {c}",
            "size",
            _over(response, markings, c),
            1.0 - within,
            1.0 + within,
            cells=[(response, marking) for marking in markings],
        )
        for response in responses
        for c in congestion
    ]


def beats_and_is_like(
    m: Measured,
    response: str,
    markings: Annotated[list[str], 2],
    at: str,
    factor: float,
    like_at: list[str],
    within: float,
) -> list[Part]:
    """Judge that a marking beats another at one congestion, and is like it at others."""
    return [*beats(m, response, markings, at, factor), *like(m, [response], markings, like_at, within)]


def near_best(m: Measured, marking: str, within: float, default: str, at: str) -> list[Part]:
    """Judge what a marking loses against the best, and that it beats another at one congestion."""
    own, parts = MARKINGS.index(marking), []
    for response in CLASSES:
        for place, c in enumerate(CONGESTION):

            def loses(cells: Sequence[Cells], response: str = response, place: int = place) -> float:
                return float(regrets(cells, response)[own, place])

            what = f"{response}: what {marking} loses against the best, C = {c}"
            parts.append(m.part(what, "size", loses, high=within, cells=[(response, marking)]))
        parts.append(beats(m, response, [marking, default], at, 1.0)[0])
    return parts


def least_regret(m: Measured, marking: str) -> list[Part]:
    """Judge that a marking's largest loss, over classes and congestion, is the smallest of all markings."""

    def margin(cells: Sequence[Cells]) -> float:
        worst = np.max([regrets(cells, name).max(axis=1) for name in CLASSES], axis=0)
        own = MARKINGS.index(marking)
        return float(worst[own] - np.delete(worst, own).min())

    what, cells = (
        f"largest loss with {marking} less the least of others",
        [(name, marking) for name in CLASSES],
    )
    return [m.part(what, "direction", margin, high=LOWER, cells=cells)]


def no_best(m: Measured, congestion: list[str]) -> list[Part]:
    """Judge that every marking loses something for one of the classes, at each congestion."""
    parts = []
    for c in congestion:

        def least(cells: Sequence[Cells], place: int = CONGESTION.index(c)) -> float:
            return float(np.max([regrets(cells, name)[:, place] for name in CLASSES], axis=0).min())

        what = f"least loss of the worse off class with any marking, C = {c}"
        parts.append(m.part(what, "direction", least, low=HIGHER))
    return parts


def wider(m: Measured, responses: Annotated[list[str], 2], factor: str) -> list[Part]:
    """Judge that a factor moves one response more than another, as parts of their means."""

    def more(cells: Sequence[Cells]) -> float:
        means = [mean(cells, response) for response in responses]
        own = [(list(level_means(one, factor).values()), float(one.mean())) for one in means]
        first, second = ((max(values) - min(values)) / whole for values, whole in own)
        return first - second

    what = f"range over {factor} by the mean, {responses[0]} less {responses[1]}"
    return [m.part(what, "direction", more, low=HIGHER)]


def normal(m: Measured, response: str, set_aside: float, correlation: float) -> list[Part]:
    """Judge that the residuals of the trimmed model are normal but for a few."""

    def straight(cells: Sequence[Cells]) -> float:
        return straightest(residuals(cells, response)[0], set_aside).correlation

    what = f"{response}: correlation in the Q-Q plot, at most {set_aside:.0%} set aside"
    return [m.part(what, "size", straight, low=correlation)]


def normal_without_trend(m: Measured, response: str, correlation: float, trend: float) -> list[Part]:
    """Judge that all residuals are normal, and their size does not go with the prediction."""

    def goes_with(cells: Sequence[Cells]) -> float:
        left, predicted = residuals(cells, response)
        ranked = pl.DataFrame({"size": np.abs(left).ravel(), "predicted": predicted.ravel()})
        return float(ranked.select(pl.corr("size", "predicted", method="spearman")).item())

    what = f"{response}: rank correlation of the residuals' size with the prediction"
    return [*normal(m, response, 0.0, correlation), m.part(what, "size", goes_with, -trend, trend)]


_ALL = (signs, alike, lowest, explained, largest, dominates, suffices, beats, like, beats_and_is_like)
_MORE = (near_best, least_regret, no_best, wider, normal, normal_without_trend)
PREDICATES: dict[str, Callable[..., list[Part]]] = {one.__name__: one for one in (*_ALL, *_MORE)}


def _effects(response: str, name: str) -> Statistic:
    """Return an effect, or the difference of two."""
    first, _, second = name.partition(" less ")
    if not second:
        return lambda cells: effect(cells, response, first)
    return lambda cells: effect(cells, response, first) - effect(cells, response, second)


def _over(response: str, markings: Sequence[str], c: str) -> Statistic:
    first, second = markings
    return lambda cells: at(cells, response, first, c) / at(cells, response, second, c)
