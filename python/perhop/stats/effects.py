"""Effects of factors and their interactions, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

import polars as pl
import scipy

from perhop.stats.intervals import student_quantile
from perhop.stats.layout import Cube, cube
from perhop.stats.strata import Strata, Stratum, strata

Quantile = Literal["student", "normal"]

_COLUMNS: dict[str, type[pl.DataType]] = {
    "term": pl.String,
    "level": pl.String,
    "effect": pl.Float64,
    "standard_error": pl.Float64,
    "df": pl.Int64,
    "low": pl.Float64,
    "high": pl.Float64,
}


class Effect(NamedTuple):
    """An effect with its standard error and interval (NaN without an error)."""

    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Effects:
    """Effects of a balanced design."""

    mean: Effect
    """The grand mean; its interval is subject to the blocks where there are some."""
    table: pl.DataFrame
    """A row for each effect: `term` (such as ``P:C``), `level` (``p:r``), `effect`, `standard_error`, `df`
    (of the error), `low`, `high`. Null where there is no error.
    """
    level: float
    strata: Strata

    def at(self, **levels: str) -> Effect:
        """Return one effect by its levels, as in ``at(P="b", C="r")``, or the grand mean by none.

        Raises
        ------
        ValueError
            There is no such factor or level, or the effect is of higher order than was asked for.
        """
        if not levels:
            return self.mean
        term = self.strata.cube.term(levels)
        name = ":".join(levels[factor] for factor in term)
        found = self.table.filter(term=":".join(term), level=name)
        if found.is_empty():
            raise ValueError(f"there is no effect {levels}")
        return Effect(*found.select("effect", "standard_error", "low", "high").fill_null(math.nan).row(0))


def effects(
    frame: pl.DataFrame,
    factors: Sequence[str],
    response: str = "value",
    *,
    order: int = 2,
    level: float = 0.90,
    quantile: Quantile = "student",
    keep: Iterable[str | Iterable[str]] | None = None,
    within: Sequence[str] = (),
    block: str | None = None,
) -> Effects:
    """Estimate the effects of a balanced factorial design.

    These are ``x_i = mean_i - mean``, ``x_ij = mean_ij - x_i - x_j - mean`` and so on. The standard error of
    an effect of the factors S is ``s sqrt(product of (levels - 1) / N)``, with s the root of the error's mean
    square and N the number of observations. For the contrast that an effect is, this is exact.

    Source: R. Jain, "The Art of Computer Systems Performance Analysis", 1991, sections 20.6, 21.7, 22.5.

    Parameters
    ----------
    frame
        One row an observation.
    order
        Effects of up to so many factors are given.
    quantile
        Of Student's t with the degrees of freedom of the error, or of the normal distribution, as some papers
        take where there are more than 30.
    keep, within, block
        As of `perhop.stats.anova.anova`: they decide which error counts.

    Raises
    ------
    UnbalancedError, ValueError
        As of `perhop.stats.anova.anova`.
    """
    data = cube(frame, factors, response, block)
    parts = strata(data, within=within, block=block is not None, keep=keep)
    return effects_of(parts, order=order, level=level, quantile=quantile)


def effects_of(
    parts: Strata, *, order: int = 2, level: float = 0.90, quantile: Quantile = "student"
) -> Effects:
    """Give the effects of variation that is shared out already; arguments as of `effects`."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level = {level}: must lie inside (0, 1)")
    data = parts.cube
    rows: list[tuple[object, ...]] = []
    for term, part in parts.terms.items():
        if len(term) > order:
            continue
        error = parts.error(term)
        spread = standard_error(error, part.df / data.values.size)
        half = half_width(error, spread, level, quantile)
        names = product(*(data.levels[axis] for axis in data.axes(term)))
        for name, value in zip(names, data.effect(term).ravel().tolist(), strict=True):
            told = (spread, error.df, value - half, value + half) if error.df else (None, 0, None, None)
            rows.append((":".join(term), ":".join(name), value, *told))
    mean = float(data.values.mean())
    spread = standard_error(parts.error_of_mean, 1.0 / data.values.size)
    half = half_width(parts.error_of_mean, spread, level, quantile)
    table = pl.DataFrame(rows, schema=_COLUMNS, orient="row")
    return Effects(Effect(mean, spread, mean - half, mean + half), table, level, parts)


def differing(data: Cube, within: Sequence[str], level: float = 0.90) -> list[str]:
    """Return main effects and pairs that differ from 0 in only one of two analyses, in words.

    One takes all values as independent; the other is a split plot in blocks: a replication is a block, a
    treatment a whole plot, and the factors `within` vary inside of it.
    """
    plain = effects_of(strata(data), level=level).table
    split = effects_of(strata(data, within=within, block=True), level=level).table
    found = []
    for one, other in zip(plain.iter_rows(named=True), split.iter_rows(named=True), strict=True):
        sure, also = (not each["low"] <= 0.0 <= each["high"] for each in (one, other))
        if sure != also:
            where = "in the split plot alone" if also else "only as independent"
            found.append(f"{one['term']} {one['level']} ({one['effect']:+.4f}, {where})")
    return found


def error_variance_behind(
    half_width: float, share: float, level: float = 0.90, df: float = math.inf
) -> float:
    """Return the error variance that an interval printed somewhere implies.

    Parameters
    ----------
    half_width
        Of the interval of an effect, in the unit of the response.
    share
        ``product of (levels - 1) / N`` of that effect; see `effects`.
    df
        Degrees of freedom of Student's t; without it the quantile is the normal distribution's.
    """
    return (half_width / _quantile(level, df)) ** 2 / share


def standard_error(error: Stratum, share: float) -> float:
    """Return the root of the error's mean square times a share; NaN where there is no error."""
    return math.sqrt(error.mean_square * share) if error.df else math.nan


def half_width(error: Stratum, spread: float, level: float, quantile: Quantile = "student") -> float:
    """Return the half-width of the two-sided interval of an estimate with this error."""
    if not error.df:
        return math.nan
    return spread * _quantile(level, error.df if quantile == "student" else math.inf)


def _quantile(level: float, df: float) -> float:
    """Return Student's quantile of a two-sided interval, of infinite degrees the normal distribution's."""
    if math.isinf(df):
        return float(scipy.special.ndtri(1.0 - (1.0 - level) / 2.0))
    return student_quantile(level, df)
