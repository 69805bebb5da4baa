"""The predicates that `claims.toml` names: each turns measurements into judged parts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from perhop.models.two_way import Form
from perhop.papers.error import PackError
from perhop.papers.kalampoukas.measure import Measurements
from perhop.papers.verdict import Part, part
from perhop.stats.intervals import mean_interval

SIDES = ("slow", "fast")


def within_closed_form(m: Measurements, form: Form, tolerance: float) -> list[Part]:
    """Judge that both efficiencies of every published row lie within `tolerance` of a closed form.

    Raises
    ------
    PackError
        A row has no such form: it cannot be judged, and must not be passed over.
    """
    parts = []
    for id_, figure in m.figures.items():
        if figure.table != "efficiencies":
            continue
        expected = figure.setup.closed_form(form)
        if expected is None:
            raise PackError(f"figure {id_}: there is no {form} closed form to judge it by")
        for side, value in zip(SIDES, map(float, expected), strict=True):
            parts.append(_near(m, id_, f"{side}_efficiency", value, tolerance))
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
    return [
        part(_name(id_, "slow_efficiency"), m.interval(id_, "slow_efficiency"), high=below) for id_ in figures
    ]


def falls_in_steps(m: Measurements, figures: list[str], quantity: str, at_least: float) -> list[Part]:
    """Judge that from figure to figure a quantity falls by at least a fraction; paired by replication."""
    parts = []
    for before, after in pairwise(figures):
        ratio = m.values[after][quantity] / m.values[before][quantity]
        what = f"{after} over {before}, ratio of {_words(quantity)}"
        parts.append(part(what, mean_interval(ratio), high=1.0 - at_least))
    return parts


def keeps_share(m: Measurements, figures: list[str], margin: float) -> list[Part]:
    """Judge that the slow connection keeps its share of the slow link, less a margin."""
    return [
        part(
            _name(id_, "slow_efficiency"),
            m.interval(id_, "slow_efficiency"),
            low=m.figures[id_].setup.share - margin,
        )
        for id_ in figures
    ]


def slow_link_busy(m: Measurements, at_least: float) -> list[Part]:
    """Judge that the slow link sends at least a share of the time in every published row."""
    return [
        part(_name(id_, "slow_link_utilization"), m.interval(id_, "slow_link_utilization"), low=at_least)
        for id_, figure in m.figures.items()
        if figure.table == "efficiencies"
    ]


def ratio_between(m: Measurements, figures: list[str], quantity: str, low: float, high: float) -> list[Part]:
    """Judge the ratio of a quantity between two figures; paired by replication."""
    over, under = figures
    ratio = m.values[over][quantity] / m.values[under][quantity]
    return [part(f"{over} over {under}, ratio of {_words(quantity)}", mean_interval(ratio), low, high)]


def same_as_first(m: Measurements, figures: list[str], quantity: str, tolerance: float) -> list[Part]:
    """Judge that a quantity stays within `tolerance` of the first figure's; paired by replication."""
    first, *others = figures
    parts = []
    for id_ in others:
        difference = m.values[id_][quantity] - m.values[first][quantity]
        what = f"{id_} less {first}, difference of {_words(quantity)}"
        parts.append(part(what, mean_interval(difference), -tolerance, tolerance))
    return parts


def rises_in_steps(m: Measurements, figures: list[str], quantity: str, at_least: float) -> list[Part]:
    """Judge that from figure to figure a quantity rises by at least so much; paired by replication."""
    parts = []
    for before, after in pairwise(figures):
        difference = m.values[after][quantity] - m.values[before][quantity]
        what = f"{after} less {before}, difference of {_words(quantity)}"
        parts.append(part(what, mean_interval(difference), low=at_least))
    return parts


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
    measured = m.interval(figure, quantity)
    return part(_name(figure, quantity), measured, value - tolerance, value + tolerance)


def _name(figure: str, quantity: str) -> str:
    return f"{figure}, {_words(quantity)}"


def _words(quantity: str) -> str:
    return quantity.replace("_", " ")
