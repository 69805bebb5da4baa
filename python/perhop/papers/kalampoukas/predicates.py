"""The predicates that `claims.toml` names: each turns measurements into judged parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Annotated, get_args

from perhop.judge.verdict import HIGHER, LOWER, ClaimPart, Hypothesis, Kind
from perhop.models.two_way import Form
from perhop.papers.error import PackError
from perhop.papers.kalampoukas.figures import Figure, FigureValues

Ends = tuple[float, float]
RISE = 1e-6
"""Least rise of an efficiency that is one: a packet or two of a run are none."""


def within_closed_form(
    m: FigureValues, form: Form, tolerance: float, fraction: float, below: float
) -> list[ClaimPart]:
    """Judge that both efficiencies of every published row lie near a closed form.

    Within `tolerance`, and within a `fraction` of the form where it is smaller than `below`.

    Raises
    ------
    PackError
        There is no such form; or a row has none: it cannot be judged, and must not be passed over.
    """
    if form not in get_args(Form):
        raise PackError(f"form is {form!r}, not one of {', '.join(map(repr, get_args(Form)))}")
    parts = []
    for figure in _rows(m):
        expected = figure.setup.closed_form(form)
        if expected is None:
            raise PackError(f"figure {figure.id}: there is no {form} closed form to judge it by")
        for side, value in expected._asdict().items():
            near = tolerance if value >= below else min(tolerance, fraction * float(value))
            ends = float(value) - near, float(value) + near
            parts.append(_bound(m, figure.id, f"{side}_efficiency", *ends, float(value)))
    return parts


def within_published(m: FigureValues, tolerance: float) -> list[ClaimPart]:
    """Judge that every efficiency the paper prints lies within `tolerance` of the simulated one."""
    return [
        _bound(m, figure.id, quantity, value - tolerance, value + tolerance)
        for figure in _rows(m)
        for quantity, value in figure.published.items()
        if value is not None and quantity.endswith("efficiency")
    ]


def starved(m: FigureValues, figures: list[str], below: float) -> list[ClaimPart]:
    """Judge that the slow connection stays under an efficiency."""
    return [_bound(m, id_, "slow_efficiency", high=below, stated=0.0) for id_ in figures]


def near_published(m: FigureValues, figures: list[str], quantity: str, fraction: float) -> list[ClaimPart]:
    """Judge that a quantity lies within a fraction of what the paper prints; a `PackError` for nothing."""
    parts = []
    for id_ in figures:
        printed = m.published(id_, quantity)
        if printed is None:
            raise PackError(f"figure {id_}: the paper prints no {quantity}")
        parts.append(_bound(m, id_, quantity, printed * (1 - fraction), printed * (1 + fraction)))
    return parts


def fair(m: FigureValues, figures: list[str], at_least: float) -> list[ClaimPart]:
    """Judge that connections in the same direction are alike by Jain's index, either way."""
    sides = ("slow", "fast")
    return [_bound(m, id_, f"{side}_fairness", low=at_least, stated=1.0) for id_ in figures for side in sides]


def falls_in_steps(m: FigureValues, figures: list[str], quantity: str, at_least: float) -> list[ClaimPart]:
    """Judge that from figure to figure a quantity falls, by at least a fraction; paired by replication."""
    parts = []
    for before, after in pairwise(figures):
        parts.append(_ratio(m, (after, before), quantity, "direction", (-math.inf, 1.0 + LOWER)))
        parts.append(_ratio(m, (after, before), quantity, "size", (-math.inf, 1.0 - at_least)))
    return parts


def keeps_share(m: FigureValues, figures: list[str], margin: float) -> list[ClaimPart]:
    """Judge that the slow connection keeps its share, less a margin; a `PackError` where it has none."""
    parts = []
    for id_ in figures:
        share = m.figures[id_].setup.share
        if share is None:
            raise PackError(f"figure {id_}: has no share to keep")
        parts.append(_bound(m, id_, "slow_efficiency", low=share - margin))
    return parts


def slow_link_busy(m: FigureValues, at_least: float) -> list[ClaimPart]:
    """Judge that the slow link sends at least a share of the time in every published row."""
    return [_bound(m, figure.id, "slow_link_utilization", low=at_least) for figure in _rows(m)]


def ratio_between(
    m: FigureValues, figures: Annotated[list[str], 2], quantity: str, low: float, high: float
) -> list[ClaimPart]:
    """Judge the ratio of a quantity between two figures: above one, and in a range; paired by replication."""
    above = _ratio(m, figures, quantity, "direction", (1.0 + HIGHER, math.inf))
    return [above, _ratio(m, figures, quantity, "size", (low, high))]


def at_least_times(
    m: FigureValues, figures: Annotated[list[str], 2], quantity: str, times: float
) -> list[ClaimPart]:
    """Judge that a quantity is larger in the first figure, by a factor; paired by replication."""
    above = _ratio(m, figures, quantity, "direction", (1.0 + HIGHER, math.inf))
    return [above, _ratio(m, figures, quantity, "size", (times, math.inf))]


def at_most_times(
    m: FigureValues, figures: Annotated[list[str], 2], quantity: str, times: float
) -> list[ClaimPart]:
    """Judge that a quantity is smaller in the first figure, by a factor; paired by replication."""
    below = _ratio(m, figures, quantity, "direction", (-math.inf, 1.0 + LOWER))
    return [below, _ratio(m, figures, quantity, "size", (-math.inf, times))]


def same_as_first(
    m: FigureValues, figures: list[str], quantities: list[str], tolerance: float
) -> list[ClaimPart]:
    """Judge that quantities stay within `tolerance` of the first figure's; paired by replication."""
    first, *others = figures
    ends = (-tolerance, tolerance)
    return [
        _difference(m, (id_, first), quantity, "size", ends, 0.0) for id_ in others for quantity in quantities
    ]


def rises_in_steps(m: FigureValues, figures: list[str], quantity: str) -> list[ClaimPart]:
    """Judge that from figure to figure a quantity rises; paired by replication."""
    pairs, ends = pairwise(figures), (RISE, math.inf)
    return [_difference(m, (after, before), quantity, "direction", ends) for before, after in pairs]


_ABOUT_ROWS = (within_closed_form, within_published, slow_link_busy)
_ABOUT_FIGURES = (
    *(starved, near_published, fair, falls_in_steps, keeps_share),
    *(ratio_between, at_least_times, at_most_times, same_as_first, rises_in_steps),
)
PREDICATES: dict[str, Callable[..., list[ClaimPart]]] = {
    predicate.__name__: predicate for predicate in (*_ABOUT_ROWS, *_ABOUT_FIGURES)
}


def _rows(m: FigureValues) -> Iterator[Figure]:
    """Go through the rows of `efficiencies.csv`."""
    return (figure for figure in m.figures.values() if figure.table == "efficiencies")


def _bound(
    m: FigureValues,
    figure: str,
    quantity: str,
    low: float = -math.inf,
    high: float = math.inf,
    stated: float | None = None,
) -> ClaimPart:
    what, printed = f"{figure}, {quantity.replace('_', ' ')}", m.published(figure, quantity)
    asked = Hypothesis(what, "size", low, high, printed, stated=stated)
    return asked.mean(m.values(figure, quantity))


def _difference(
    m: FigureValues, pair: tuple[str, str], quantity: str, kind: Kind, ends: Ends, stated: float | None = None
) -> ClaimPart:
    """Judge the first less the second."""
    a, b = (m.published(id_, quantity) for id_ in pair)
    what = f"{pair[0]} less {pair[1]}, difference of {quantity.replace('_', ' ')}"
    asked = Hypothesis(what, kind, *ends, None if a is None or b is None else a - b, stated=stated)
    return asked.mean(m.values(pair[0], quantity) - m.values(pair[1], quantity))


def _ratio(m: FigureValues, pair: Sequence[str], quantity: str, kind: Kind, ends: Ends) -> ClaimPart:
    """Judge the first over the second."""
    a, b = (m.published(id_, quantity) for id_ in pair)
    what = f"{pair[0]} over {pair[1]}, ratio of {quantity.replace('_', ' ')}"
    asked = Hypothesis(what, kind, *ends, a / b if a is not None and b else None)
    return asked.ratio(m.values(pair[0], quantity), m.values(pair[1], quantity))
