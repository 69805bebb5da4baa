"""Designs whose treatments have unequal numbers of observations, by statsmodels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from perhop.stats.layout import Term


class MissingPackageError(ImportError):
    """A package that perhop does not always bring is not installed."""


class NotEstimableError(ValueError):
    """The observations do not tell the effects of a model apart."""


_COLUMNS = {
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
    MissingPackageError
        statsmodels is not installed.
    NotEstimableError
        Treatments are missing that the model needs, or no error is left.
    ValueError
        An interaction without one of the effects that it contains.

    References
    ----------
    .. [1] O. Langsrud, "ANOVA for unbalanced data: use Type II instead of Type III sums of squares", 2003.
    """
    known = frame.filter(pl.col(response).is_not_null() & pl.col(response).is_finite())
    wanted = up_to(factors, 2) if terms is None else list(terms)
    for term in wanted:
        for part in up_to(term, len(term)):
            if part not in wanted:
                raise ValueError(f"{':'.join(term)} can only be looked at beside {':'.join(part)}")
    labels = {name: f"C(x{i}, Sum)" for i, name in enumerate(factors)}
    names = {":".join(labels[name] for name in term): ":".join(term) for term in wanted}
    columns = {f"x{i}": known[name].cast(pl.String).to_list() for i, name in enumerate(factors)}
    if block is not None:
        columns["block"] = known[block].cast(pl.String).to_list()
        names["C(block, Sum)"] = "blocks"
    return _fitted({**columns, "y": known[response].to_list()}, names)


def _fitted(columns: Mapping[str, Sequence[object]], names: Mapping[str, str]) -> pl.DataFrame:
    """Fit `y` to the terms of a formula, which are given with their names."""
    try:
        import pandas as pd
        from statsmodels.formula.api import ols
        from statsmodels.stats.anova import anova_lm
    except ImportError as error:
        raise MissingPackageError(
            "an unbalanced design is analysed by statsmodels, which is not installed"
        ) from error

    model = ols("y ~ " + " + ".join(names), pd.DataFrame(columns))
    rank = np.linalg.matrix_rank(model.exog)
    if rank < model.exog.shape[1] or rank >= len(model.exog):
        effects = ", ".join(name for name in names.values() if name != "blocks")
        raise NotEstimableError(f"{len(model.exog)} observations do not tell apart the effects {effects}")
    rows = []
    for label, row in anova_lm(model.fit(), typ=2).iterrows():
        left = label == "Residual"
        rows.append(
            (
                "error" if left else names[label],
                int(row["df"]),
                float(row["sum_sq"]),
                None if left else float(row["F"]),
                None if left else float(row["PR(>F)"]),
            )
        )
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")
