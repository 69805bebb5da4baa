"""Designs whose treatments have unequal numbers of observations, by statsmodels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl


class MissingPackageError(ImportError):
    """A package that perhop does not always bring is not installed."""


class NotEstimableError(ValueError):
    """The observations do not tell the effects of a model apart."""


def unbalanced(
    frame: pl.DataFrame,
    factors: Sequence[str],
    response: str = "value",
    *,
    order: int = 2,
    block: str | None = None,
) -> pl.DataFrame:
    """Analyse a factorial design with unequal numbers of observations.

    Parameters
    ----------
    frame
        One row an observation; rows without a value are left out.
    factors, response
        Columns; levels are named, not measured.
    order
        Effects of up to so many factors are in the model; the rest is error.
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

    References
    ----------
    .. [1] O. Langsrud, "ANOVA for unbalanced data: use Type II instead of Type III sums of squares", 2003.
    """
    to_pandas, ols, anova_lm = _packages()
    known = frame.filter(pl.col(response).is_not_null() & pl.col(response).is_finite())
    columns = {f"x{i}": known[name].cast(pl.String).to_list() for i, name in enumerate(factors)}
    names = {f"C(x{i}, Sum)": name for i, name in enumerate(factors)}
    formula = [":".join(part) for size in range(1, order + 1) for part in combinations(names, size) if size]
    if block is not None:
        columns["block"] = known[block].cast(pl.String).to_list()
        formula.append("C(block, Sum)")
        names["C(block, Sum)"] = "blocks"
    columns["y"] = known[response].to_list()
    model = ols("y ~ " + " + ".join(formula), to_pandas(columns))
    rank = np.linalg.matrix_rank(model.exog)
    if rank < model.exog.shape[1] or rank >= len(known):
        raise NotEstimableError(
            f"{len(known)} observations do not tell apart effects of up to {order} of {len(factors)} factors"
        )
    return _rows(anova_lm(model.fit(), typ=2), names)


def _packages() -> tuple[Any, Any, Any]:
    """Return what only this module needs of pandas and statsmodels."""
    try:
        import pandas as pd
        from statsmodels.formula.api import ols
        from statsmodels.stats.anova import anova_lm
    except ImportError as error:
        raise MissingPackageError(
            "an unbalanced design is analysed by statsmodels, which is not installed"
        ) from error
    return pd.DataFrame, ols, anova_lm


def _rows(table: Any, names: Mapping[str, str]) -> pl.DataFrame:
    """Return the table of statsmodels with the names of the factors for its terms."""
    rows = [
        (
            "error" if label == "Residual" else ":".join(names[part] for part in label.split(":")),
            int(row["df"]),
            float(row["sum_sq"]),
            None if label == "Residual" else float(row["F"]),
            None if label == "Residual" else float(row["PR(>F)"]),
        )
        for label, row in table.iterrows()
    ]
    schema = {
        "source": pl.String,
        "df": pl.Int64,
        "sum_of_squares": pl.Float64,
        "f": pl.Float64,
        "p": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
