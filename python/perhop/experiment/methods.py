"""Methods of analysis: balanced designs, fractions, unbalanced designs, hypercubes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

from perhop.experiment.analysis import NO_TESTS, Analysis, AnalysisRequest, grand_mean, means_of, remarked
from perhop.stats.anova import anova_of
from perhop.stats.effects import effects_of
from perhop.stats.layout import Term, UnbalancedError, cube
from perhop.stats.ranks import rank_correlation
from perhop.stats.residuals import assumptions, residuals
from perhop.stats.strata import strata
from perhop.stats.unbalanced import NotEstimableError, unbalanced, up_to
from perhop.units import counted, quantity

_MOST_TERMS = 15

_SAME = "Every run gave the same value, so that there is nothing to explain."


def check_keep(start: Analysis, asked: AnalysisRequest) -> None:
    """Refuse effects to keep that are not of the factors of a response."""
    for effect in asked.keep or ():
        parts = effect.split(":")
        if len(set(parts)) < len(parts) or not set(parts) <= set(start.factors):
            raise ValueError(f"{effect!r} is no effect of the factors {', '.join(start.factors)}")


def factorial(
    start: Analysis, asked: AnalysisRequest, factors: Sequence[str], *, all_orders: bool = False
) -> Analysis:
    """Analyse a balanced design; many effects of high order are put together in one row."""
    frame = start.frame
    runs = frame["replication"].n_unique()
    block = asked.common_seeds and runs > 1
    # the parts of one run have to stand side by side, whether or not the runs of a replication do
    data = cube(frame, factors, "value", "replication" if block or start.within else None)
    keep, remarks = asked.keep, []
    if data.replications == 1 and keep is None:
        keep, remark = _without_replications(data.factors)
        remarks.append(remark)
    parts = strata(data, within=start.within, block=block, keep=keep)
    order = asked.order or (None if all_orders or len(parts.terms) <= _MOST_TERMS else 2)
    tests = anova_of(parts, order).table
    total = parts.total.squares
    if _constant(frame):
        return remarked(start, _SAME)
    error = parts.between.squares + (parts.within.squares if parts.within else 0.0)
    if data.replications > 1 and error <= 1e-20 * total:
        remarks.append("Replications do not differ at all: nothing in these runs is drawn by chance.")
    left = residuals(frame, parts)
    df = parts.between.df + (parts.within.df if parts.within else 0)
    names = [*start.factors, "replication"]
    return replace(
        start,
        method="factorial",
        remarks=(*start.remarks, *remarks),
        tests=tests.with_columns(q=pl.lit(None, pl.Float64)),
        checks=tuple(assumptions(left, df, names)),
        frame=left,
        strata=parts,
        effects=effects_of(parts, order=len(factors) if all_orders else asked.order or 2, level=asked.level),
    )


def _constant(frame: pl.DataFrame) -> bool:
    """Return whether values differ by no more than rounding."""
    values = frame["value"].to_numpy()
    scale = float(np.max(np.abs(values))) or 1.0
    return float(np.sum((values - values.mean()) ** 2)) <= (1e-12 * scale) ** 2 * values.size


def _without_replications(factors: Sequence[str]) -> tuple[tuple[str, ...] | None, str]:
    """Choose the effects that one observation of each treatment can be asked for."""
    if len(factors) == 1:
        return None, "There is one replication, so that nothing tells effects from chance; add replications."
    order = 2 if len(factors) > 2 else 1
    kept = tuple(":".join(names) for size in range(1, order + 1) for names in combinations(factors, size))
    what = "interactions of three factors and more" if order == 2 else "the interaction"
    return kept, f"There is one replication: {what} had to be taken for error. Add replications."


def analysed(start: Analysis, asked: AnalysisRequest) -> list[Analysis]:
    """Analyse a design, by group where the parts of its runs are not balanced."""
    try:
        return [factorial(start, asked, start.factors)]
    except UnbalancedError as error:
        return _not_balanced(start, asked, str(error))


def _not_balanced(start: Analysis, asked: AnalysisRequest, why: str) -> list[Analysis]:
    """Analyse treatments that have not all the same observations."""
    if _constant(start.frame):
        return [remarked(start, _SAME)]
    if start.within:
        # runs are independent, the parts of one are not: each is analysed for itself
        return [
            one
            for key, rows in start.frame.group_by(start.within, maintain_order=True)
            for one in _apart(start, asked, dict(zip(start.within, map(str, key), strict=True)), rows)
        ]
    if _spread_out(start):
        if asked.keep is not None:
            raise ValueError("where no two treatments share a level there are no effects to leave out")
        return [_ranks(start)]
    block = "replication" if asked.common_seeds else None
    for terms in _models(start.factors, asked.keep):
        with suppress(NotEstimableError):
            table = unbalanced(start.frame, start.factors, "value", terms=terms, block=block)
            return [_unbalanced(start, table, max(map(len, terms)), why)]
    why = f"The design is not balanced ({why}), and too little is left for a model: means only."
    return [remarked(start, why)]


def _models(factors: Sequence[str], keep: Sequence[str] | None) -> list[list[Term]]:
    """Return the effects of the models to try, the largest first."""
    if keep is not None:
        return [[tuple(name for name in factors if name in effect.split(":")) for effect in keep]]
    return [up_to(factors, order) for order in range(min(2, len(factors)), 0, -1)]


def _apart(
    start: Analysis, asked: AnalysisRequest, group: Mapping[str, str], rows: pl.DataFrame
) -> list[Analysis]:
    factors = tuple(name for name in start.factors if name not in start.within and rows[name].n_unique() > 1)
    remark = f"{_lack(start, asked)}, so that each {', '.join(start.within)} is analysed for itself."
    for effect in asked.keep or ():
        if not set(effect.split(":")) <= set(factors):
            raise ValueError(f"{effect!r} cannot be looked at: {remark}")
    own = replace(
        start,
        of={**start.of, **group},
        factors=factors,
        within=(),
        remarks=(*start.remarks, remark),
        mean=grand_mean(rows, asked),
        means=means_of(rows, factors, asked),
        frame=rows,
    )
    return analysed(own, asked) if factors else [own]


def _lack(start: Analysis, asked: AnalysisRequest) -> str:
    """Return why a design with groups within runs is not balanced."""
    frame = start.frame
    groups = frame.select(start.within).n_unique()
    if len(frame) < asked.planned * frame["replication"].n_unique() * groups:
        return "Values are missing"
    return "Not every combination of levels is in the design"


def _unbalanced(start: Analysis, table: pl.DataFrame, order: int, why: str) -> Analysis:
    remark = (
        f"The design is not balanced ({why}): each effect is what it explains beyond the others (type II), "
        f"and the shares do not add up; effects of up to {counted(order, 'factor')} are looked at."
    )
    values = start.frame["value"]
    total = float(((values - values.mean()) ** 2).sum())
    blocks = pl.col("source") == "blocks"
    table = table.with_columns(pl.when(~blocks).then(pl.col("f", "p")))
    tests = pl.concat([NO_TESTS, table], how="diagonal").with_columns(
        percent=100.0 * pl.col("sum_of_squares") / total if total else pl.lit(0.0),
        mean_square=pl.col("sum_of_squares") / pl.col("df"),
        against=pl.when(pl.col("p").is_not_null()).then(pl.lit("error")),
    )
    return remarked(replace(start, method="unbalanced", tests=tests), remark)


def _spread_out(start: Analysis) -> bool:
    """Return whether every treatment has levels of its own, as in a Latin hypercube."""
    treatments = start.frame.select(start.factors).unique().height
    return len(start.factors) > 1 and all(
        start.frame[name].n_unique() > 0.8 * treatments > 4 for name in start.factors
    )


def _ranks(start: Analysis) -> Analysis:
    """Correlate the ranks of a setting and of the treatments' means."""
    y = start.means["mean"].to_numpy()
    rows = []
    for name in start.factors:
        try:
            x = [quantity(str(level))[0] for level in start.means[name].to_list()]
        except ValueError:
            continue
        if np.ptp(y) > 0.0:
            r, p = rank_correlation(x, y)
            rows.append((name, 100.0 * r**2, p, f"rank correlation {r:+.2f}"))
    schema = {"source": pl.String, "percent": pl.Float64, "p": pl.Float64, "against": pl.String}
    tests = pl.concat([NO_TESTS, pl.DataFrame(rows, schema=schema, orient="row")], how="diagonal")
    remark = (
        "No two treatments share a level, so that levels have no effects: given is how the ranks of each "
        "setting and of the response agree (Spearman); its square stands for a share."
    )
    return remarked(replace(start, method="ranks", tests=tests), remark)
