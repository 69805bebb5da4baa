"""Residuals of a model, and checks of the assumptions of an analysis of variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from perhop.stats.layout import Floats
from perhop.stats.ranks import rank_correlation
from perhop.stats.strata import Strata

LEAST = 10
"""Fewer degrees of freedom than this are not judged."""

_NOTHING = 1e-9
"""Residuals that span less than this part of the largest value are rounding."""

_MOST_SAID = 100.0
"""Standard deviations beyond which their number says nothing."""


def residuals(frame: pl.DataFrame, parts: Strata) -> pl.DataFrame:
    """Add prediction and residual to each observation.

    Sources: R. Jain, "The Art of Computer Systems Performance Analysis", 1991, sections 21.4, 22.6;
    R. D. Cook and S. Weisberg, "Residuals and Influence in Regression", 1982, section 2.2.

    Returns
    -------
    DataFrame
        The frame with `predicted` (grand mean, effects of the model, and the block's mean), `residual` (both
        in the unit of the response) and `studentized` (the residual over its standard deviation, estimated
        without it; NaN where there is no error).
    """
    cube = parts.cube
    fitted = cube.values.mean() + sum(cube.effect(term) for term in parts.terms)
    fitted = np.broadcast_to(np.asarray(fitted)[..., None], cube.values.shape)
    if parts.blocks is not None:
        fitted = fitted + (cube.values.mean(axis=tuple(range(len(cube.factors)))) - cube.values.mean())
    left = cube.values - fitted
    df = parts.between.df + (parts.within.df if parts.within is not None else 0)
    columns = {"predicted": fitted, "residual": left, "studentized": _studentized(left, df)}
    back = np.argsort(cube.rows.ravel())
    return frame.with_columns(pl.Series(name, column.ravel()[back]) for name, column in columns.items())


def _studentized(left: Floats, df: int) -> Floats:
    """Compute studentized residuals, each deviation estimated from the others; balanced designs."""
    squares = float(np.sum(left**2))
    if df < 2 or squares == 0.0:
        return np.full(left.shape, math.nan)
    inner = left / math.sqrt(squares / left.size)  # every residual has the variance s^2 df / N
    with np.errstate(divide="ignore"):
        outer: Floats = inner * np.sqrt((df - 1) / np.maximum(df - inner**2, 0.0))
    return outer


@dataclass(frozen=True)
class NormalQQ:
    """Residuals in order against the quantiles of a normal distribution."""

    theoretical: Floats
    """Quantiles at ``(i - 3/8) / (n + 1/4)``, in standard deviations."""
    ordered: Floats
    """The residuals, in the unit of the response."""
    correlation: float
    """Of the two; 1 is a straight line."""
    critical: float
    """One in a hundred normal samples of this size has a lower correlation (Royston's fit)."""
    left_out: Floats


def normal_qq(values: npt.ArrayLike, leave_out: Sequence[int] = ()) -> NormalQQ:
    """Compare residuals with a normal distribution, without those that are named.

    Sources: P. Royston, "A toolkit for testing for non-normality", The Statistician 42, 1993: Shapiro and
    Francia's W', the squared correlation; G. Blom, "Statistical Estimates and Transformed Beta Variables",
    1958: the positions.

    Parameters
    ----------
    values
        Residuals, of any shape.
    leave_out
        Places of outliers in the flattened array; `furthest` finds them.

    Raises
    ------
    ValueError
        Fewer than four values are left, or all of them are equal.
    """
    x = np.asarray(values, dtype=np.float64).ravel()
    aside = np.zeros(x.size, dtype=bool)
    aside[list(leave_out)] = True
    ordered = np.sort(x[~aside])
    n = ordered.size
    if n < 4 or ordered[0] == ordered[-1]:
        raise ValueError(f"a normal Q-Q plot needs at least four values that differ, not {n}")
    theoretical: Floats = scipy.special.ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    correlation = float(np.corrcoef(theoretical, ordered)[0, 1])
    return NormalQQ(theoretical, ordered, correlation, _critical(n), x[aside])


def _critical(n: int) -> float:
    """Return the correlation below which 1 % of normal samples of 5 to 5,000 values fall."""
    u, v = math.log(n), math.log(math.log(n))
    log_mean, log_spread = -1.2725 + 1.0521 * (v - u), 1.0308 - 0.26758 * (v + 2.0 / u)
    return math.sqrt(1.0 - math.exp(log_mean + 2.326348 * log_spread))


def furthest(values: npt.ArrayLike, most: int) -> list[int]:
    """Return the places of so many values furthest from zero, the furthest first."""
    x = np.abs(np.asarray(values, dtype=np.float64).ravel())
    return [int(place) for place in np.argsort(-x, kind="stable")[:most]]


def straightest(values: Floats, set_aside: float) -> NormalQQ:
    """Return the straightest normal Q-Q plot with at most this part of the values set aside."""
    far = furthest(values, int(set_aside * values.size))
    return max((normal_qq(values, far[:n]) for n in range(len(far) + 1)), key=lambda one: one.correlation)


@dataclass(frozen=True)
class Check:
    """An assumption: its name, whether it looks true (`None`: not judged), and a sentence."""

    name: str
    holds: bool | None
    sentence: str
    rows: tuple[int, ...] = ()
    """Places of outliers in the frame."""


def assumptions(left: pl.DataFrame, df: int, names: Sequence[str] = ()) -> list[Check]:
    """Judge whether residuals are normal, equally spread and without outliers, which columns `names` name.

    Each check errs in one of a hundred cases where the assumption holds. Spread: rank correlation of the
    residuals' size with the prediction. Outliers: Student's t of the studentized residuals, with
    Bonferroni's correction.
    """
    values = left["residual"].to_numpy()
    scale = max(float(np.abs(left["predicted"].to_numpy()).max()), float(np.abs(values).max()))
    if df < LEAST or float(np.ptp(values)) <= _NOTHING * scale:
        why = f"{df} degrees of freedom are left" if df < LEAST else "nothing is left over"
        return [Check("residuals", None, f"The residuals cannot be judged: {why}.")]
    return [_normality(values), _spread(left), _outliers(left, df, names)]


def _normality(values: Floats) -> Check:
    found = normal_qq(values)
    holds = found.correlation >= found.critical
    return Check(
        "normal",
        holds,
        f"The residuals {'look' if holds else 'do not look'} normal: the correlation of their Q-Q plot "
        f"is {found.correlation:.3f}; of normal samples of {values.size}, 1 % have less than "
        f"{found.critical:.3f}.",
    )


def _spread(left: pl.DataFrame) -> Check:
    size, predicted = left["residual"].abs().to_numpy(), left["predicted"].round_sig_figs(10).to_numpy()
    if np.ptp(predicted) == 0.0:
        return Check("spread", None, "There is one prediction only, so that spread cannot be compared.")
    found = rank_correlation(size, predicted)
    holds = found.p >= 0.01
    verb = "does not change" if holds else "grows" if found.r > 0 else "shrinks"
    return Check(
        "spread",
        holds,
        f"The spread of the residuals {verb} with the predicted value: "
        f"rank correlation {found.r:+.2f}, p = {found.p:.2g}.",
    )


def _far(studentized: float) -> str:
    """Return how far out a residual is; the only run that differs from all others has no bound."""
    if abs(studentized) < _MOST_SAID:
        return f"{studentized:+.1f}"
    return f"beyond {math.copysign(_MOST_SAID, studentized):+.0f}: hardly any other run differs"


def _outliers(left: pl.DataFrame, df: int, names: Sequence[str]) -> Check:
    limit = float(scipy.special.stdtrit(df - 1, 1.0 - 0.01 / (2 * len(left))))
    far = left.with_row_index("_row").filter(pl.col("studentized").abs() > limit)
    far = far.sort(pl.col("studentized").abs(), descending=True)
    if far.is_empty():
        return Check("outliers", True, f"No residual is further out than {limit:.1f} standard deviations.")
    named = ", ".join(
        " ".join(f"{name} {row[name]}" for name in names if row[name] is not None)
        + f" ({_far(row['studentized'])})"
        for row in far.head(3).to_dicts()
    )
    lie = "lies" if len(far) == 1 else "lie"
    return Check(
        "outliers",
        False,
        f"{len(far)} of {len(left)} residuals {lie} further out than {limit:.1f} standard deviations: {named}"
        + (" and others." if len(far) > 3 else "."),
        tuple(far["_row"].to_list()),
    )
