"""The predicates of the study beside those of any factorial: what a marking gives against others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np

from perhop.judge.verdict import HIGHER, LOWER, ClaimPart
from perhop.papers.papagiannaki import factorial_predicates
from perhop.papers.papagiannaki.cells import CLASSES, CONGESTION, LAYOUT, MARKINGS, at, regrets
from perhop.papers.papagiannaki.factorial import Cells, FactorialCells, Statistic, level_means, mean
from perhop.papers.papagiannaki.factorial_predicates import signs


def suffices(
    m: FactorialCells, response: str, factor: str, level: str, congestion: list[str], within: float
) -> list[ClaimPart]:
    """Judge that a level does no harm at some congestion, and is near the best level."""
    parts = signs(m, response, [f"+{factor}={level} C={c}" for c in congestion])
    for c in congestion:

        def near(cells: Sequence[Cells], place: int = CONGESTION.index(c)) -> float:
            own = level_means(mean(cells, response)[..., place], LAYOUT, factor)
            return own[level] / max(own.values())

        what = f"{response}: {factor} = {level} over the best, C = {c}"
        parts.append(m.part(what, "size", near, low=1.0 - within))
    return parts


def beats(
    m: FactorialCells, response: str, markings: Annotated[list[str], 2], at: str, factor: float
) -> list[ClaimPart]:
    """Judge that a marking beats another at one congestion, and by how much."""
    what = f"{response}: {markings[0]} over {markings[1]}, C = {at}"
    over, cells = _over(response, markings, at), [(response, marking) for marking in markings]
    return [
        m.part(what, "direction", over, low=1.0 + HIGHER, cells=cells),
        m.part(what, "size", over, low=factor, cells=cells),
    ]


def like(
    m: FactorialCells,
    responses: list[str],
    markings: Annotated[list[str], 2],
    congestion: list[str],
    within: float,
) -> list[ClaimPart]:
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
    m: FactorialCells,
    response: str,
    markings: Annotated[list[str], 2],
    at: str,
    factor: float,
    like_at: list[str],
    within: float,
) -> list[ClaimPart]:
    """Judge that a marking beats another at one congestion, and is like it at others."""
    return [*beats(m, response, markings, at, factor), *like(m, [response], markings, like_at, within)]


def near_best(m: FactorialCells, marking: str, within: float, default: str, at: str) -> list[ClaimPart]:
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


def least_regret(m: FactorialCells, marking: str) -> list[ClaimPart]:
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


def no_best(m: FactorialCells, congestion: list[str]) -> list[ClaimPart]:
    """Judge that every marking loses something for one of the classes, at each congestion."""
    parts = []
    for c in congestion:

        def least(cells: Sequence[Cells], place: int = CONGESTION.index(c)) -> float:
            return float(np.max([regrets(cells, name)[:, place] for name in CLASSES], axis=0).min())

        what = f"least loss of the worse off class with any marking, C = {c}"
        parts.append(m.part(what, "direction", least, low=HIGHER))
    return parts


_OWN = (suffices, beats, like, beats_and_is_like, near_best, least_regret, no_best)
PREDICATES: dict[str, Callable[..., list[ClaimPart]]] = {
    **factorial_predicates.PREDICATES,
    **{one.__name__: one for one in _OWN},
}


def _over(response: str, markings: Sequence[str], c: str) -> Statistic:
    first, second = markings
    return lambda cells: at(cells, response, first, c) / at(cells, response, second, c)
