"""The predicates that `claims.toml` names: each turns measurements into judged parts.

Markers are compared replication by replication: all have the same seed, so that starts are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import pos, sub, truediv

from perhop.papers.case_values import Measured
from perhop.papers.feroz.case import BUCKET, FRIENDLY, Marker
from perhop.papers.measured import Floats
from perhop.papers.verdict import HIGHER, LOWER, Asked, Kind, Part


def fewer_timeouts_and_losses(m: Measured, figure: str) -> list[Part]:
    """Judge the common claim of Tables 1 to 5."""
    return [
        _less(m, figure, "timeouts", BUCKET),
        _less(m, figure, "losses_per_s", BUCKET),
        _less(m, figure, "losses_per_s", "none"),
    ]


def fairer(m: Measured, figures: Sequence[str]) -> list[Part]:
    """Judge that goodput varies less among the flows than with the token bucket."""
    return [_less(m, figure, "cov", BUCKET) for figure in figures]


def goodput_ratio(m: Measured, figure: str, at_least: float) -> list[Part]:
    """Judge the ratio of the average goodputs: that it is above one, and how large it is."""
    return _higher(m, figure, "goodput", at_least)


def like_goodput(
    m: Measured, figures: list[str], higher: list[str], lower: list[str], within: float
) -> list[Part]:
    """Judge that average goodputs hardly differ from the token bucket's, and to which side."""
    return [
        *(_ratio(m, row, "goodput", "size", 1 - within, 1 + within) for row in figures),
        *(_ratio(m, row, "goodput", "direction", low=1 + HIGHER) for row in higher),
        *(_ratio(m, row, "goodput", "direction", high=1 + LOWER) for row in lower),
    ]


def assurance(m: Measured, figure: str, at_least: float) -> list[Part]:
    """Judge what an assured flow obtains: over the token bucket's at each rate, and from rate to rate."""
    rows = [case.row for case in m.cases.values() if case.figure == figure and case.treatment == FRIENDLY]
    parts = [part for row in rows for part in _higher(m, row, "obtained", at_least)]
    for before, after in pairwise(rows):
        asked = Asked(
            f"{_row(after)} less {_row(before)}, obtained: {FRIENDLY}",
            "direction",
            low=HIGHER,
            printed=_printed(m, (f"{after} {FRIENDLY}", f"{before} {FRIENDLY}"), "obtained", sub),
            in_sample=_in_sample(m, after),
        )
        difference = _values(m, after, FRIENDLY, "obtained") - _values(m, before, FRIENDLY, "obtained")
        parts.append(asked.mean(difference))
    return parts


def fewer_tokens(
    m: Measured,
    figure: str,
    friendly: int,
    more_than: int,
    as_much_as: int,
    share: float,
    obtained: float,
) -> list[Part]:
    """Judge what so many tokens give with the marker, against more of them in a token bucket.

    That it is more than `more_than` give there, at least the `share` of what `as_much_as` give, and at least
    `obtained` Mbit/s.
    """
    row, less, same = (f"{figure}-{tokens}" for tokens in (friendly, more_than, as_much_as))
    ours, quantity, known = f"{row} {FRIENDLY}", "obtained", _in_sample(m, row)
    own, fewer, alike = (
        _values(m, one, marker, quantity) for one, marker in ((row, FRIENDLY), (less, BUCKET), (same, BUCKET))
    )
    what = f"Table {figure}, obtained: {FRIENDLY} with {friendly} tokens"
    over_less, over_same = ((ours, f"{one} {BUCKET}") for one in (less, same))
    asked = (
        Asked(
            f"{what} less {BUCKET} with {more_than}, Mbit/s",
            "direction",
            low=HIGHER,
            printed=_printed(m, over_less, quantity, sub),
            in_sample=known,
        ),
        Asked(
            f"{what} over {BUCKET} with {as_much_as}",
            "size",
            low=share,
            printed=_printed(m, over_same, quantity, truediv),
            in_sample=known,
        ),
        Asked(
            f"{what}, Mbit/s",
            "size",
            low=obtained,
            printed=_printed(m, (ours,), quantity, pos),
            in_sample=known,
        ),
    )
    return [asked[0].mean(own - fewer), asked[1].ratio(own, alike), asked[2].mean(own)]


def spacing_kept(m: Measured, figure: str, tolerance: float) -> list[Part]:
    """Judge that the gaps between IN packets are floor(S) or ceil(S) and average S."""
    (case,) = (case.id for case in m.cases.values() if case.figure == figure)
    kept = Asked("fraction of gaps that are floor(S) or ceil(S)", "size", low=1 - 1e-9, stated=1.0)
    excess = Asked("gaps less S, on average", "size", -tolerance, tolerance, stated=0.0)
    return [kept.mean(m.values[case]["gaps_kept"]), excess.mean(m.values[case]["gap_excess"])]


PREDICATES: dict[str, Callable[..., list[Part]]] = {
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


def _values(m: Measured, row: str, marker: Marker, quantity: str) -> Floats:
    return m.values[f"{row} {marker}"][quantity]


def _printed(m: Measured, cases: Sequence[str], quantity: str, of: Callable[..., float]) -> float | None:
    """Give what follows from the printed values of cases; None where one is not printed."""
    found = [m.cases[case].published.get(quantity) for case in cases]
    return None if None in found else of(*found)


def _in_sample(m: Measured, row: str) -> bool:
    return m.cases[f"{row} {FRIENDLY}"].table in m.fitted


def _less(m: Measured, figure: str, quantity: str, other: Marker) -> Part:
    asked = Asked(
        f"{_row(figure)}, {_WORDS[quantity]}: {FRIENDLY} less {_other(other)}",
        "direction",
        high=LOWER,
        printed=_printed(m, (f"{figure} {FRIENDLY}", f"{figure} {other}"), quantity, sub),
        in_sample=_in_sample(m, figure),
    )
    return asked.mean(_values(m, figure, FRIENDLY, quantity) - _values(m, figure, other, quantity))


def _higher(m: Measured, row: str, quantity: str, at_least: float) -> list[Part]:
    return [
        _ratio(m, row, quantity, "direction", low=1 + HIGHER),
        _ratio(m, row, quantity, "size", low=at_least),
    ]


def _ratio(
    m: Measured, row: str, quantity: str, kind: Kind, low: float = -math.inf, high: float = math.inf
) -> Part:
    asked = Asked(
        f"{_row(row)}, {_WORDS[quantity]}: {FRIENDLY} over {BUCKET}",
        kind,
        low,
        high,
        _printed(m, (f"{row} {FRIENDLY}", f"{row} {BUCKET}"), quantity, truediv),
        _in_sample(m, row),
    )
    return asked.ratio(_values(m, row, FRIENDLY, quantity), _values(m, row, BUCKET, quantity))


def _row(row: str) -> str:
    return f"Table {row.replace('-', ', tokens ')}"


def _other(marker: Marker) -> str:
    return "no marker" if marker == "none" else marker
