"""Effects of factors and their interactions, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

import polars as pl
import scipy

from perhop.stats.layout import Cube, Term, cube
from perhop.stats.strata import Strata, Stratum, strata

Quantile = Literal["student", "normal"]


class Effect(NamedTuple):
    """An effect with its standard error and interval (NaN without an error)."""

    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Effects:
    """Effects of a balanced design.

    Attributes
    ----------
    mean
        The grand mean; its interval is subject to the blocks where there are some.
    table
        A row for each effect: `term` (such as ``P:C``), `level` (``p:r``), `effect`, `standard_error`, `df`
        (of the error), `low`, `high`. Null where there is no error.
    """

    mean: Effect
    table: pl.DataFrame
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
        row = self.table.filter(
            term=":".join(term), level=":".join(levels[factor] for factor in term)
        ).to_dicts()
        if not row:
            raise ValueError(f"there is no effect {levels}")
        found = (row[0][name] for name in ("effect", "standard_error", "low", "high"))
        return Effect(*(math.nan if value is None else value for value in found))


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

    Returns
    -------
    Effects
        ``x_i = mean_i - mean``, ``x_ij = mean_ij - x_i - x_j - mean`` and so on; the standard error of an
        effect of the factors S is ``s sqrt(product of (levels - 1) / N)``, with s the root of the error's
        mean square and N the number of observations. For the contrast that an effect is, this is exact.

    Raises
    ------
    UnbalancedError, ValueError
        As of `perhop.stats.anova.anova`.

    References
    ----------
    .. [1] R. Jain, "The Art of Computer Systems Performance Analysis", 1991, sections 20.6, 21.7, 22.5.
    """
    data = cube(frame, factors, response, block)
    return effects_of(
        strata(data, within=within, block=block is not None, keep=keep),
        order=order,
        level=level,
        quantile=quantile,
    )


def effects_of(
    parts: Strata, *, order: int = 2, level: float = 0.90, quantile: Quantile = "student"
) -> Effects:
    """Give the effects of variation that is shared out already; arguments as of `effects`."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level = {level}: must lie inside (0, 1)")
    data = parts.cube
    rows = []
    for term in parts.terms:
        if len(term) > order:
            continue
        found = data.effect(term)
        error = parts.error(term)
        spread = standard_error(error, _freedom(parts, term) / data.values.size)
        half = half_width(error, spread, level, quantile)
        names = product(*(data.levels[axis] for axis in data.axes(term)))
        for name, value in zip(names, found.ravel(), strict=True):
            rows.append(_row(":".join(term), ":".join(name), float(value), spread, error.df, half))
    mean = float(data.values.mean())
    spread = standard_error(parts.error_of_mean, 1.0 / data.values.size)
    half = half_width(parts.error_of_mean, spread, level, quantile)
    schema = {"term": pl.String, "level": pl.String, "effect": pl.Float64, "standard_error": pl.Float64}
    schema |= {"df": pl.Int64, "low": pl.Float64, "high": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
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


def _freedom(parts: Strata, term: Term) -> int:
    data = parts.cube
    return math.prod(len(data.levels[axis]) - 1 for axis in data.axes(term))


def _row(term: str, level: str, value: float, spread: float, df: int, half: float) -> tuple[object, ...]:
    if not df:
        return term, level, value, None, 0, None, None
    return term, level, value, spread, df, value - half, value + half


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
    tail = 1.0 - (1.0 - level) / 2.0
    quantile = float(scipy.special.ndtri(tail) if math.isinf(df) else scipy.special.stdtrit(df, tail))
    return (half_width / quantile) ** 2 / share


def standard_error(error: Stratum, share: float) -> float:
    """Return the root of the error's mean square times a share; NaN where there is no error."""
    return math.sqrt(error.mean_square * share) if error.df else math.nan


def half_width(error: Stratum, spread: float, level: float, quantile: Quantile = "student") -> float:
    """Return the half-width of the two-sided interval of an estimate with this error."""
    if not error.df:
        return math.nan
    tail = 1.0 - (1.0 - level) / 2.0
    return spread * float(
        scipy.special.stdtrit(error.df, tail) if quantile == "student" else scipy.special.ndtri(tail)
    )
