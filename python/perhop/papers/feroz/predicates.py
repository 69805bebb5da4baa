"""The predicates that `claims.toml` names: each turns measurements into judged parts.

Markers are compared replication by replication: all have the same seed, so that starts are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import pos, sub, truediv
from typing import Any

from perhop.judge.verdict import HIGHER, LOWER, ClaimPart, Hypothesis, Kind
from perhop.papers.feroz.case import BUCKET, FRIENDLY, Marker
from perhop.papers.feroz.values import CaseValues


def fewer_timeouts_and_losses(m: CaseValues, figure: str) -> list[ClaimPart]:
    """Judge the common claim of Tables 1 to 5."""
    return [
        _less(m, figure, "timeouts", BUCKET),
        _less(m, figure, "losses_per_s", BUCKET),
        _less(m, figure, "losses_per_s", "none"),
    ]


def fairer(m: CaseValues, figures: Sequence[str]) -> list[ClaimPart]:
    """Judge that goodput varies less among the flows than with the token bucket."""
    return [_less(m, figure, "cov", BUCKET) for figure in figures]


def goodput_ratio(m: CaseValues, figure: str, at_least: float) -> list[ClaimPart]:
    """Judge the ratio of the average goodputs: that it is above one, and how large it is."""
    return _higher(m, figure, "goodput", at_least)


def like_goodput(
    m: CaseValues, figures: list[str], higher: list[str], lower: list[str], within: float
) -> list[ClaimPart]:
    """Judge that average goodputs hardly differ from the token bucket's, and to which side."""
    return [
        *(_ratio(m, row, "goodput", "size", 1 - within, 1 + within) for row in figures),
        *(_ratio(m, row, "goodput", "direction", low=1 + HIGHER) for row in higher),
        *(_ratio(m, row, "goodput", "direction", high=1 + LOWER) for row in lower),
    ]


def assurance(m: CaseValues, figure: str, at_least: float) -> list[ClaimPart]:
    """Judge what an assured flow obtains: over the token bucket's at each rate, and from rate to rate."""
    rows = [case.row for case in m.cases.values() if case.figure == figure and case.treatment == FRIENDLY]
    parts = [part for row in rows for part in _higher(m, row, "obtained", at_least)]
    for before, after in pairwise(rows):
        what = f"{_row(after)} less {_row(before)}, obtained: {FRIENDLY}"
        pair = [f"{row} {FRIENDLY}" for row in (after, before)]
        parts.append(_compared(m, what, "direction", "obtained", sub, pair, low=HIGHER))
    return parts


def fewer_tokens(
    m: CaseValues,
    figure: str,
    friendly: int,
    more_than: int,
    as_much_as: int,
    share: float,
    obtained: float,
) -> list[ClaimPart]:
    """Judge what so many tokens give with the marker, against more of them in a token bucket.

    That it is more than `more_than` give there, at least the `share` of what `as_much_as` give, and at least
    `obtained` Mbit/s.
    """
    ours, less, same = (
        f"{figure}-{tokens} {marker}"
        for tokens, marker in ((friendly, FRIENDLY), (more_than, BUCKET), (as_much_as, BUCKET))
    )
    what, quantity = f"Table {figure}, obtained: {FRIENDLY} with {friendly} tokens", "obtained"
    over_less = f"{what} less {BUCKET} with {more_than}, Mbit/s"
    over_same = f"{what} over {BUCKET} with {as_much_as}"
    return [
        _compared(m, over_less, "direction", quantity, sub, [ours, less], low=HIGHER),
        _compared(m, over_same, "size", quantity, truediv, [ours, same], low=share),
        _compared(m, f"{what}, Mbit/s", "size", quantity, pos, [ours], low=obtained),
    ]


def spacing_kept(m: CaseValues, figure: str, tolerance: float) -> list[ClaimPart]:
    """Judge that the gaps between IN packets are floor(S) or ceil(S) and average S."""
    (case,) = (case.id for case in m.cases.values() if case.figure == figure)
    kept = Hypothesis("fraction of gaps that are floor(S) or ceil(S)", "size", low=1 - 1e-9, stated=1.0)
    excess = Hypothesis("gaps less S, on average", "size", -tolerance, tolerance, stated=0.0)
    return [kept.mean(m.values[case]["gaps_kept"]), excess.mean(m.values[case]["gap_excess"])]


PREDICATES: dict[str, Callable[..., list[ClaimPart]]] = {
    predicate.__name__: predicate
    for predicate in (
        fewer_timeouts_and_losses,
        fairer,
        goodput_ratio,
        like_goodput,
        assurance,
        fewer_tokens,
        spacing_kept,
    )
}

_WORDS = {
    "timeouts": "time-outs",
    "losses_per_s": "losses per second",
    "cov": "coefficient of variation",
    "goodput": "goodput",
    "obtained": "obtained",
}


def _compared(
    m: CaseValues,
    what: str,
    kind: Kind,
    quantity: str,
    of: Callable[..., Any],
    cases: Sequence[str],
    low: float = -math.inf,
    high: float = math.inf,
) -> ClaimPart:
    """Judge a quantity of a case (`of` is `pos`), or of two its difference (`sub`) or ratio (`truediv`)."""
    printed = [m.cases[case].published.get(quantity) for case in cases]
    known = m.cases[cases[0]].table in m.fitted
    asked = Hypothesis(what, kind, low, high, None if None in printed else of(*printed), known)
    values = [m.values[case][quantity] for case in cases]
    return asked.ratio(*values) if of is truediv else asked.mean(of(*values))


def _less(m: CaseValues, figure: str, quantity: str, other: Marker) -> ClaimPart:
    what = f"{_row(figure)}, {_WORDS[quantity]}: {FRIENDLY} less {_other(other)}"
    pair = [f"{figure} {marker}" for marker in (FRIENDLY, other)]
    return _compared(m, what, "direction", quantity, sub, pair, high=LOWER)


def _higher(m: CaseValues, row: str, quantity: str, at_least: float) -> list[ClaimPart]:
    return [
        _ratio(m, row, quantity, "direction", low=1 + HIGHER),
        _ratio(m, row, quantity, "size", low=at_least),
    ]


def _ratio(
    m: CaseValues, row: str, quantity: str, kind: Kind, low: float = -math.inf, high: float = math.inf
) -> ClaimPart:
    what = f"{_row(row)}, {_WORDS[quantity]}: {FRIENDLY} over {BUCKET}"
    pair = [f"{row} {marker}" for marker in (FRIENDLY, BUCKET)]
    return _compared(m, what, kind, quantity, truediv, pair, low, high)


def _row(row: str) -> str:
    return f"Table {row.replace('-', ', tokens ')}"


def _other(marker: Marker) -> str:
    return "no marker" if marker == "none" else marker
