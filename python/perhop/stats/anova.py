"""Analysis of variance of balanced designs: plain, blocked, split plot, trimmed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl
import scipy

from perhop.stats.layout import Term, cube
from perhop.stats.strata import Strata, Stratum, strata

COLUMNS: dict[str, type[pl.DataType]] = {
    "source": pl.String,
    "df": pl.Int64,
    "sum_of_squares": pl.Float64,
    "percent": pl.Float64,
    "mean_square": pl.Float64,
    "f": pl.Float64,
    "p": pl.Float64,
    "against": pl.String,
}
"""Of a table of tests, with their types."""


@dataclass(frozen=True)
class Anova:
    """An analysis of variance."""

    table: pl.DataFrame
    """A row for each source: `source` (an effect such as ``P:C``, ``higher orders``, ``blocks``, an error, or
    ``total``), `df`, `sum_of_squares` (square of the response's unit), `percent` (of the total),
    `mean_square`, `f`, `p` (null where there is no error to hold it against), `against` (the error).
    """
    strata: Strata

    def percent(self, effect: str) -> float:
        """Share of the variation that an effect explains, in percent; its factors in any order."""
        return _percent(self.strata.terms[self.strata.cube.term(effect)], self.strata.total)


def anova(
    frame: pl.DataFrame,
    factors: Sequence[str],
    response: str = "value",
    *,
    order: int | None = None,
    keep: Iterable[str | Iterable[str]] | None = None,
    within: Sequence[str] = (),
    block: str | None = None,
) -> Anova:
    """Analyse a balanced factorial design.

    F is the mean square over that of the error of the effect's own stratum, and p the probability of a larger
    F where there is no effect: errors are independent, normal, and equally spread. With one observation of
    each treatment and nothing left out there is no error: no F and no p.

    Sources: R. Jain, "The Art of Computer Systems Performance Analysis", 1991, sections 21.5, 22.4;
    D. C. Montgomery, "Design and Analysis of Experiments", sections 5.3, 14.4.

    Parameters
    ----------
    frame
        One row an observation.
    factors, response
        Columns; the levels of a factor are named, not measured.
    order
        Effects of more factors than this are put together in one row, ``higher orders``; they are not counted
        as error.
    keep
        Effects of a trimmed model; all others are counted as error.
    within
        Factors whose levels are all measured in each run (split plot). Without `block` the parts of a run
        are those that come in the same place among the rows of their treatments.
    block
        Column of the replication, if replication i of every treatment has something in common.

    Raises
    ------
    UnbalancedError
        See `perhop.stats.layout.cube`.
    ValueError
        A column or an effect that there is not; both `order` and `keep`.
    """
    if order is not None and keep is not None:
        raise ValueError("give an order or the effects to keep, not both")
    data = cube(frame, factors, response, block)
    return anova_of(strata(data, within=within, block=block is not None, keep=keep), order)


def split_plot(
    frame: pl.DataFrame, factors: Sequence[str], within: Sequence[str], block: str, response: str = "value"
) -> Anova:
    """Analyse a split-plot design in blocks, as `anova` with `within` and `block` does.

    The block's interactions with the factors are the errors: with the treatments of whole runs the error
    between runs, all others the error within.
    """
    return anova(frame, factors, response, within=within, block=block)


def anova_of(parts: Strata, order: int | None = None) -> Anova:
    """Make the table of variation that is shared out already; arguments as of `anova`."""
    shown = [term for term in parts.terms if order is None or len(term) <= order]
    rows = [_tested(":".join(term), [term], parts) for term in shown]
    rows += _higher(parts, [term for term in parts.terms if term not in shown])
    rest = {
        "blocks": parts.blocks,
        "error" if parts.within is None else "error between runs": parts.between,
        "error within runs": parts.within,
        "total": parts.total,
    }
    for name, part in rest.items():
        if part is not None:
            rows.append((*_row(name, part, parts.total), None, None, None))
    return Anova(pl.DataFrame(rows, schema=COLUMNS, orient="row"), parts)


def _higher(parts: Strata, terms: Sequence[Term]) -> Iterator[tuple[object, ...]]:
    """Put the effects of higher orders together, a row for each error they are subject to."""
    errors = dict.fromkeys(parts.error_name(term) for term in terms)
    for name in errors:
        where = f" {name.removeprefix('error ')}" if len(errors) > 1 else ""
        mine = [term for term in terms if parts.error_name(term) == name]
        yield _tested(f"higher orders{where}", mine, parts)


def _tested(source: str, terms: Sequence[Term], parts: Strata) -> tuple[object, ...]:
    """Return the row of effects that are subject to the same error."""
    part = sum((parts.terms[term] for term in terms), Stratum(0, 0.0))
    error = parts.error(terms[0])
    row = _row(source, part, parts.total)
    if not error.df:
        return *row, None, None, None
    f = f_ratio(part, error)
    return *row, f, f_tail(f, part.df, error.df), parts.error_name(terms[0])


def _row(source: str, part: Stratum, total: Stratum) -> tuple[object, ...]:
    mean_square = part.mean_square if part.df else None
    return source, part.df, part.squares, _percent(part, total), mean_square


def _percent(part: Stratum, total: Stratum) -> float:
    return 100.0 * part.squares / total.squares if total.squares else 0.0


def f_ratio(part: Stratum, error: Stratum) -> float:
    """Return a mean square over the error's; without an error infinite, or 0 without an effect."""
    if error.mean_square > 0.0:
        return part.mean_square / error.mean_square
    return math.inf if part.squares > 0.0 else 0.0


def f_tail(f: float, df: int, error_df: float) -> float:
    """Compute the probability that F with these degrees of freedom is larger than `f`."""
    return 0.0 if math.isinf(f) else float(scipy.special.fdtrc(df, error_df, f))
