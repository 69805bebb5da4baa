"""The predicates that `claims.toml` names: each turns measurements into judged parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, get_args

from perhop.models.two_way import Form
from perhop.papers.error import PackError
from perhop.papers.kalampoukas.measure import Measurements
from perhop.papers.verdict import HIGHER, LOWER, Asked, Kind, Part

SIDES = ("slow", "fast")
RISE = 1e-6
"""Least rise of an efficiency that is one: a packet or two of a run are none."""


def within_closed_form(
    m: Measurements, form: Form, tolerance: float, fraction: float, below: float
) -> list[Part]:
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
    for id_, figure in m.figures.items():
        if figure.table != "efficiencies":
            continue
        expected = figure.setup.closed_form(form)
        if expected is None:
            raise PackError(f"figure {id_}: there is no {form} closed form to judge it by")
        for side, value in zip(SIDES, map(float, expected), strict=True):
            near = tolerance if value >= below else min(tolerance, fraction * value)
            parts.append(_near(m, id_, f"{side}_efficiency", value, near))
    return parts


def within_published(m: Measurements, tolerance: float) -> list[Part]:
    """Judge that every efficiency the paper prints lies within `tolerance` of the simulated one."""
    parts = []
    for id_, figure in m.figures.items():
        if figure.table != "efficiencies":
            continue
        for quantity, value in figure.published.items():
            if value is not None:
                parts.append(_near(m, id_, quantity, value, tolerance))
    return parts


def starved(m: Measurements, figures: list[str], below: float) -> list[Part]:
    """Judge that the slow connection stays under an efficiency."""
    return [_bound(m, id_, "slow_efficiency", high=below) for id_ in figures]


def falls_in_steps(m: Measurements, figures: list[str], quantity: str, at_least: float) -> list[Part]:
    """Judge that from figure to figure a quantity falls, by at least a fraction; paired by replication."""
    parts = []
    for before, after in pairwise(figures):
        parts.append(_ratio(m, after, before, quantity, "direction", high=1.0 + LOWER))
        parts.append(_ratio(m, after, before, quantity, "size", high=1.0 - at_least))
    return parts


def keeps_share(m: Measurements, figures: list[str], margin: float) -> list[Part]:
    """Judge that the slow connection keeps its share of the slow link, less a margin."""
    return [_bound(m, id_, "slow_efficiency", low=m.figures[id_].setup.share - margin) for id_ in figures]


def slow_link_busy(m: Measurements, at_least: float) -> list[Part]:
    """Judge that the slow link sends at least a share of the time in every published row."""
    return [
        _bound(m, id_, "slow_link_utilization", low=at_least)
        for id_, figure in m.figures.items()
        if figure.table == "efficiencies"
    ]


def ratio_between(
    m: Measurements, figures: Annotated[list[str], 2], quantity: str, low: float, high: float
) -> list[Part]:
    """Judge the ratio of a quantity between two figures: above one, and in a range; paired by replication."""
    over, under = figures
    return [
        _ratio(m, over, under, quantity, "direction", low=1.0 + HIGHER),
        _ratio(m, over, under, quantity, "size", low, high),
    ]


def same_as_first(m: Measurements, figures: list[str], quantity: str, tolerance: float) -> list[Part]:
    """Judge that a quantity stays within `tolerance` of the first figure's; paired by replication."""
    first, *others = figures
    return [_difference(m, id_, first, quantity, "size", -tolerance, tolerance) for id_ in others]


def rises_in_steps(m: Measurements, figures: list[str], quantity: str) -> list[Part]:
    """Judge that from figure to figure a quantity rises; paired by replication."""
    return [
        _difference(m, after, before, quantity, "direction", low=RISE) for before, after in pairwise(figures)
    ]


PREDICATES: dict[str, Callable[..., list[Part]]] = {
    predicate.__name__: predicate
    for predicate in (
        within_closed_form,
        within_published,
        starved,
        falls_in_steps,
        keeps_share,
        slow_link_busy,
        ratio_between,
        same_as_first,
        rises_in_steps,
    )
}


def _near(m: Measurements, figure: str, quantity: str, value: float, tolerance: float) -> Part:
    return _bound(m, figure, quantity, value - tolerance, value + tolerance)


def _bound(
    m: Measurements, figure: str, quantity: str, low: float = -math.inf, high: float = math.inf
) -> Part:
    asked = Asked(f"{figure}, {_words(quantity)}", "size", low, high, _printed(m, figure, quantity))
    return asked.mean(m.values[figure][quantity])


def _difference(
    m: Measurements,
    figure: str,
    less: str,
    quantity: str,
    kind: Kind,
    low: float = -math.inf,
    high: float = math.inf,
) -> Part:
    a, b = _printed(m, figure, quantity), _printed(m, less, quantity)
    what = f"{figure} less {less}, difference of {_words(quantity)}"
    asked = Asked(what, kind, low, high, None if a is None or b is None else a - b)
    return asked.mean(m.values[figure][quantity] - m.values[less][quantity])


def _ratio(
    m: Measurements,
    over: str,
    under: str,
    quantity: str,
    kind: Kind,
    low: float = -math.inf,
    high: float = math.inf,
) -> Part:
    a, b = _printed(m, over, quantity), _printed(m, under, quantity)
    what = f"{over} over {under}, ratio of {_words(quantity)}"
    asked = Asked(what, kind, low, high, a / b if a is not None and b else None)
    return asked.ratio(m.values[over][quantity], m.values[under][quantity])


def _printed(m: Measurements, figure: str, quantity: str) -> float | None:
    return m.figures[figure].published.get(quantity)


def _words(quantity: str) -> str:
    return quantity.replace("_", " ")
