"""Sums of squares of type II, for designs with unequal numbers of observations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl
import scipy

from perhop.stats.layout import Floats, Term


class NotEstimableError(ValueError):
    """Observations that cannot separate the effects of a model."""


_BLOCKS = ("blocks",)

_TABLE = {
    "source": pl.String,
    "df": pl.Int64,
    "sum_of_squares": pl.Float64,
    "f": pl.Float64,
    "p": pl.Float64,
}


def up_to(factors: Sequence[str], order: int) -> list[Term]:
    """Return the effects of at most so many of the factors."""
    return [term for size in range(1, order + 1) for term in combinations(factors, size)]


def unbalanced(
    frame: pl.DataFrame,
    factors: Sequence[str],
    response: str = "value",
    *,
    terms: Sequence[Term] | None = None,
    block: str | None = None,
) -> pl.DataFrame:
    """Analyse a factorial design with unequal numbers of observations.

    Source: O. Langsrud, "ANOVA for unbalanced data: use Type II instead of Type III sums of squares", 2003.

    Parameters
    ----------
    frame
        One row an observation; rows without a value are left out.
    factors, response
        Columns; levels are named, not measured.
    terms
        The effects of the model, each with all that it contains; the rest is error. Without it all of one
        and of two factors.
    block
        Column of the replication, if replication i of every treatment has something in common.

    Returns
    -------
    DataFrame
        A row for each effect, `blocks` and `error`: `source`, `df`, `sum_of_squares`, `f`, `p`. Sums are of
        type II: each effect beyond all that do not contain it. They do not add up to the total.

    Raises
    ------
    NotEstimableError
        Treatments are missing that the model needs, or no error is left.
    ValueError
        An interaction without one of the effects that it contains, or with `block` a factor called `blocks`.
    """
    known = frame.filter(pl.col(response).is_not_null() & pl.col(response).is_finite())
    wanted = up_to(factors, 2) if terms is None else list(terms)
    if block is not None and _BLOCKS in wanted:
        raise ValueError("a factor called blocks: the table calls the replications so; rename it")
    model: dict[Term, Floats] = {}
    for term in wanted:
        for part in up_to(term, len(term)):
            if part not in wanted:
                raise ValueError(f"{':'.join(term)} can only be looked at beside {':'.join(part)}")
        coded = [_coded(known[name]) for name in term]
        own = coded[0]  # of an interaction every product of a column each
        for other in coded[1:]:
            own = (own[:, :, None] * other[:, None, :]).reshape(len(known), -1)
        model[term] = own
    if block is not None:
        model[_BLOCKS] = _coded(known[block])
    return _fitted(known[response].to_numpy(), model)


def _fitted(y: Floats, model: Mapping[Term, Floats]) -> pl.DataFrame:
    """Fit a linear model to effects with the given columns, and take each out of it."""
    whole = _columns(y.size, model.values())
    rank = np.linalg.matrix_rank(whole)
    if rank < whole.shape[1] or rank >= y.size:
        effects = ", ".join(":".join(term) for term in model if term != _BLOCKS)
        raise NotEstimableError(f"{y.size} observations do not tell apart the effects {effects}")
    squares, df = _left(y, whole), y.size - whole.shape[1]
    rows: list[tuple[object, ...]] = []
    for term, own in model.items():
        if not own.shape[1]:  # one level
            continue
        beside = _columns(y.size, (each for name, each in model.items() if not set(term) <= set(name)))
        explained = _left(y, beside) - _left(y, np.hstack([beside, own]))
        f = explained / own.shape[1] / (squares / df) if squares > 0.0 else math.inf
        p = float(scipy.special.fdtrc(own.shape[1], df, max(f, 0.0)))
        rows.append((":".join(term), own.shape[1], explained, f, p))
    rows.append(("error", df, squares, None, None))
    return pl.DataFrame(rows, schema=_TABLE, orient="row")


def _columns(count: int, parts: Iterable[Floats]) -> Floats:
    """Put the columns of effects beside that of the mean."""
    return np.hstack([np.ones((count, 1)), *parts])


def _left(y: Floats, columns: Floats) -> float:
    """Return the sum of squares that a model leaves over."""
    q, _ = np.linalg.qr(columns)
    left = y - q @ (q.T @ y)
    return float(left @ left)


def _coded(column: pl.Series) -> Floats:
    """Code levels so that effects add up to zero: a column for each but the last."""
    names, places = np.unique(column.cast(pl.String).to_list(), return_inverse=True)
    coded: Floats = np.vstack([np.eye(len(names) - 1), -np.ones(len(names) - 1)])[places]
    return coded
