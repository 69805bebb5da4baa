"""The predicates that `claims.toml` names: each turns measurements into judged parts.

Markers are compared replication by replication: all have the same seed, so that starts are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from perhop.papers.case_values import Measured
from perhop.papers.feroz.case import BUCKET, FRIENDLY, Marker
from perhop.papers.measured import Floats
from perhop.papers.verdict import HIGHER, LOWER, Asked, Part


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
    return _ratio(m, figure, "goodput", at_least)


def assurance(m: Measured, figure: str, at_least: float) -> list[Part]:
    """Judge what an assured flow obtains: over the token bucket's at each rate, and from rate to rate."""
    rows = [case.row for case in m.cases.values() if case.figure == figure and case.treatment == FRIENDLY]
    parts = [part for row in rows for part in _ratio(m, row, "obtained", at_least)]
    for before, after in pairwise(rows):
        difference = _values(m, after, FRIENDLY, "obtained") - _values(m, before, FRIENDLY, "obtained")
        printed = _printed(m, after, FRIENDLY, "obtained"), _printed(m, before, FRIENDLY, "obtained")
        asked = Asked(
            f"{_row(after)} less {_row(before)}, obtained: {FRIENDLY}",
            "direction",
            low=HIGHER,
            printed=None if None in printed else float(printed[0] or 0) - float(printed[1] or 0),
            in_sample=_in_sample(m, after),
        )
        parts.append(asked.mean(difference))
    return parts


def spacing_kept(m: Measured, figure: str, tolerance: float) -> list[Part]:
    """Judge that the gaps between IN packets are floor(S) or ceil(S) and average S."""
    (case,) = (case.id for case in m.cases.values() if case.figure == figure)
    kept = Asked("fraction of gaps that are floor(S) or ceil(S)", "size", low=1 - 1e-9, stated=1.0)
    excess = Asked("gaps less S, on average", "size", -tolerance, tolerance, stated=0.0)
    return [kept.mean(m.values[case]["gaps_kept"]), excess.mean(m.values[case]["gap_excess"])]


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


def _values(m: Measured, row: str, marker: Marker, quantity: str) -> Floats:
    return m.values[f"{row} {marker}"][quantity]


def _printed(m: Measured, row: str, marker: Marker, quantity: str) -> float | None:
    return m.cases[f"{row} {marker}"].published.get(quantity)


def _in_sample(m: Measured, row: str) -> bool:
    return m.cases[f"{row} {FRIENDLY}"].table in m.fitted


def _less(m: Measured, figure: str, quantity: str, other: Marker) -> Part:
    ours, theirs = _printed(m, figure, FRIENDLY, quantity), _printed(m, figure, other, quantity)
    asked = Asked(
        f"{_row(figure)}, {_WORDS[quantity]}: {FRIENDLY} less {_other(other)}",
        "direction",
        high=LOWER,
        printed=None if ours is None or theirs is None else ours - theirs,
        in_sample=_in_sample(m, figure),
    )
    return asked.mean(_values(m, figure, FRIENDLY, quantity) - _values(m, figure, other, quantity))


def _ratio(m: Measured, row: str, quantity: str, at_least: float) -> list[Part]:
    ours, theirs = _printed(m, row, FRIENDLY, quantity), _printed(m, row, BUCKET, quantity)
    over, under = _values(m, row, FRIENDLY, quantity), _values(m, row, BUCKET, quantity)
    what = f"{_row(row)}, {_WORDS[quantity]}: {FRIENDLY} over {BUCKET}"
    printed = ours / theirs if ours is not None and theirs else None
    better = Asked(what, "direction", low=1 + HIGHER, printed=printed, in_sample=_in_sample(m, row))
    by = Asked(what, "size", low=at_least, printed=printed, in_sample=_in_sample(m, row))
    return [better.ratio(over, under), by.ratio(over, under)]


def _row(row: str) -> str:
    return f"Table {row.replace('-', ', tokens ')}"


def _other(marker: Marker) -> str:
    return "no marker" if marker == "none" else marker
