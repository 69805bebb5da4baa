"""How far measured numbers are from printed ones as ratios: the mean of |ln(ours / published)|."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from perhop.papers.feroz.cases import Case

Means = Mapping[str, Mapping[str, float]]
"""Per case id and quantity, the mean over the replications."""

Offset = Mapping[str, float]
"""By quantity what is added to both sides, so that a zero counts as something; 0 where it is not named."""


def log_error(ours: float, published: float, offset: float = 0.0) -> float:
    """Give |ln((ours + offset) / (published + offset))|.

    >>> round(log_error(2.0, 1.0), 3), round(log_error(0.5, 1.0), 3)
    (0.693, 0.693)
    """
    if not ours + offset > 0:  # nor where there is no value
        return math.inf
    return abs(math.log((ours + offset) / (published + offset)))


def error(cases: Sequence[Case], means: Means, offset: Offset) -> float:
    """Give the mean error over the printed quantities of some cases."""
    terms = [
        log_error(means[case.id][quantity], value, offset.get(quantity, 0.0))
        for case in cases
        for quantity, value in case.published.items()
    ]
    return sum(terms) / len(terms)


def ratio_error(cases: Sequence[Case], means: Means, offset: Offset) -> float:
    """Give the mean error of the ratios between treatments: the first case of each row over the others.

    For levels that can be compared with nothing, such as printed ones that exceed their links.
    """
    terms, firsts = [], dict[str, Case]()
    for case in cases:
        first = firsts.setdefault(case.row, case)
        for quantity, value in case.published.items() if case is not first else ():
            c = offset.get(quantity, 0.0)
            ours, theirs = (means[one.id][quantity] + c for one in (first, case))
            ratio = ours / theirs if theirs > 0 else math.inf
            terms.append(log_error(ratio, (first.published[quantity] + c) / (value + c)))
    return sum(terms) / len(terms)


def table_errors(cases: Sequence[Case], means: Means, offset: Offset) -> dict[str, dict[str, float]]:
    """Give for each table its error and that of the ratios between treatments."""
    tables = {
        table: [one for one in cases if one.table == table]
        for table in dict.fromkeys(one.table for one in cases)
    }
    return {
        table: {
            "levels": round(error(own, means, offset), 4),
            "ratios": round(ratio_error(own, means, offset), 4),
        }
        for table, own in tables.items()
    }
