"""The predicates that `claims.toml` names: each turns measurements into judged parts.

Markers are compared replication by replication: all have the same seed, so that starts are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from perhop.papers.feroz.measure import Floats, Measurements
from perhop.papers.feroz.readings import Marker
from perhop.papers.verdict import Part, part
from perhop.stats.intervals import mean_interval

BELOW = -1e-9
"""Upper end of a difference that is to be negative: no difference at all does not suffice."""

FRIENDLY: Marker = "tcp-friendly"
BUCKET: Marker = "token-bucket"


def fewer_timeouts_and_losses(m: Measurements, figure: str) -> list[Part]:
    """Judge the common claim of Tables 1 to 5."""
    return [
        _less(m, figure, "timeouts", BUCKET),
        _less(m, figure, "losses_per_s", BUCKET),
        _less(m, figure, "losses_per_s", "none"),
    ]


def fairer(m: Measurements, figures: Sequence[str]) -> list[Part]:
    """Judge that goodput varies less among the flows than with the token bucket."""
    return [_less(m, figure, "cov", BUCKET) for figure in figures]


def goodput_ratio(m: Measurements, figure: str, at_least: float) -> list[Part]:
    """Judge the ratio of the average goodputs."""
    return [_ratio(m, figure, "goodput", at_least)]


def assurance(m: Measurements, figure: str, at_least: float) -> list[Part]:
    """Judge what an assured flow obtains: over the token bucket's at each rate, and from rate to rate."""
    rows = [case.row for case in m.cases.values() if case.figure == figure and case.marker == FRIENDLY]
    parts = [_ratio(m, row, "obtained", at_least) for row in rows]
    for before, after in pairwise(rows):
        difference = _values(m, after, FRIENDLY, "obtained") - _values(m, before, FRIENDLY, "obtained")
        parts.append(part(f"obtained at {after} less {before}", mean_interval(difference), low=-BELOW))
    return parts


def spacing_kept(m: Measurements, figure: str, tolerance: float) -> list[Part]:
    """Judge that the gaps between IN packets are floor(S) or ceil(S) and average S."""
    (case,) = (case.id for case in m.cases.values() if case.figure == figure)
    return [
        part("fraction of gaps that are floor(S) or ceil(S)", m.interval(case, "gaps_kept"), low=1 - 1e-9),
        part("gaps less S, on average", m.interval(case, "gap_excess"), -tolerance, tolerance),
    ]


PREDICATES: dict[str, Callable[..., list[Part]]] = {
    predicate.__name__: predicate
    for predicate in (fewer_timeouts_and_losses, fairer, goodput_ratio, assurance, spacing_kept)
}

_WORDS = {
    "timeouts": "time-outs",
    "losses_per_s": "losses per second",
    "cov": "coefficient of variation",
    "goodput": "goodput",
    "obtained": "obtained",
}


def _values(m: Measurements, row: str, marker: Marker, quantity: str) -> Floats:
    return m.values[f"{row} {marker}"][quantity]


def _less(m: Measurements, figure: str, quantity: str, other: Marker) -> Part:
    difference = _values(m, figure, FRIENDLY, quantity) - _values(m, figure, other, quantity)
    table = f"Table {figure.replace('-other', ', other readings')}"
    what = f"{table}, {_WORDS[quantity]}: {FRIENDLY} less {_other(other)}"
    return part(what, mean_interval(difference), high=BELOW)


def _ratio(m: Measurements, row: str, quantity: str, at_least: float) -> Part:
    ratio = _values(m, row, FRIENDLY, quantity) / _values(m, row, BUCKET, quantity)
    what = f"Table {row.replace('-', ', tokens ')}, {_WORDS[quantity]}: {FRIENDLY} over {BUCKET}"
    return part(what, mean_interval(ratio), low=at_least)


def _other(marker: Marker) -> str:
    return "no marker" if marker == "none" else marker
