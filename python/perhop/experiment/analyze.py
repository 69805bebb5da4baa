"""The analysis of a store's table, response by response."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.experiment.aliased import fractional
from perhop.experiment.analysis import (
    FALSE_DISCOVERIES,
    NO_TESTS,
    Analysis,
    AnalysisRequest,
    grand_mean,
    means_of,
    remarked,
)
from perhop.experiment.methods import analysed, check_keep
from perhop.experiment.stopping import LEVEL
from perhop.stats.discovery import benjamini_hochberg
from perhop.stats.intervals import mean_interval
from perhop.units import UNLIMITED, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from perhop.experiment.definition import Campaign


_MOST_APART = 6
"""Groups of a response that are analysed one by one."""


def asked_of(
    campaign: Campaign,
    keep: tuple[str, ...] | None = None,
    level: float = LEVEL,
    order: int | None = None,
    *,
    apart: bool = False,
) -> AnalysisRequest:
    """Return the facts that an analysis needs of a campaign; the rest as of `AnalysisRequest`."""
    design = campaign.design
    return AnalysisRequest(
        {factor.name: [one.name for one in factor.levels] for factor in design.factors},
        {response.name: response.unit for response in campaign.responses},
        design.seeds == "common",
        design.fraction,
        level,
        keep,
        None if campaign.stop is None else campaign.stop.response,
        len(design.treatments),
        order,
        campaign.stop is not None and campaign.stop.each,
        apart,
        {response.name: response.limits for response in campaign.responses},
    )


def analyze(scalars: pl.DataFrame, asked: AnalysisRequest) -> list[Analysis]:
    """Analyse each response of a table.

    Parameters
    ----------
    scalars
        Long: `key`, `treatment`, a column a factor, `replication`, `response`, a column for each group of any
        response (null where it has none), `value`.

    Returns
    -------
    list
        In the order of `asked.units`; a response whose groups cannot be analysed together has one for each.

    Raises
    ------
    ValueError
        `keep` names an effect that there is not, or the design is none that a model can be trimmed of.
    """
    found = []
    for response in asked.units:
        rows = scalars.filter(pl.col("response") == response)
        if rows["value"].is_finite().any():
            found += _response(rows, response, asked)
    return _with_discoveries(found)


def without_values(
    scalars: pl.DataFrame, responses: Sequence[str], runs: pl.DataFrame | None = None
) -> list[str]:
    """Name each response that has no value in any run that was made.

    Without `runs`, those count that have a row in `scalars`, which a run without any group has not.
    """
    valued = set(scalars.filter(pl.col("value").is_finite())["response"])
    made = (scalars if runs is None else runs.filter(state="done"))["key"].n_unique()
    return [
        f"`{name}` has no value in any of {counted(made, 'run')}: no row passes its filter, "
        "or all it reads are null"
        for name in responses
        if name not in valued and made
    ]


def _with_discoveries(found: list[Analysis]) -> list[Analysis]:
    """Adjust the p values of all tests together, and mark the effects that are there."""
    p = [value for one in found for value in one.tests["p"].to_list()]
    q = benjamini_hochberg([math.nan if value is None else value for value in p])
    adjusted, left = [], pl.Series("q", q, pl.Float64).fill_nan(None)
    for one in found:
        tests = one.tests.with_columns(left.head(len(one.tests)))
        left = left.slice(len(one.tests))
        there = tests.filter(pl.col("q") < FALSE_DISCOVERIES)["source"].to_list()
        adjusted.append(replace(one, tests=tests, found=frozenset(there)))
    return adjusted


def _response(rows: pl.DataFrame, response: str, asked: AnalysisRequest) -> list[Analysis]:
    for name, levels in asked.factors.items():
        rows = rows.with_columns(pl.col(name).cast(pl.String).cast(pl.Enum(levels)))
    known = rows.filter(pl.col("value").is_finite())
    groups = asked.groups(known)
    within = tuple(name for name in groups if known[name].n_unique() > 1)
    if asked.apart and within and known.select(within).n_unique() <= _MOST_APART:
        parts = [part for _, part in rows.group_by(within, maintain_order=True)]
        valued = (part for part in parts if part["value"].is_finite().any())
        return [one for part in valued for one in _response(part, response, asked)]
    same = {name: str(known[name][0]) for name in groups if name not in within}
    factors = tuple(name for name in asked.factors if known[name].n_unique() > 1)
    remarks: list[str] = []
    whole = known
    shared = _in_every_treatment(known) if asked.each else known
    if 0 < len(shared) < len(known):
        known, remarks = shared, [_of_shared(shared)]
    if len(whole) < len(rows):
        lacking = len(rows) - len(whole)
        why = "does not exist and is" if lacking == 1 else "do not exist and are"
        remarks.append(f"{lacking} of {counted(len(rows), 'value')} {why} left out.")
    start = Analysis(
        response,
        asked.units[response],
        same,
        (*factors, *within),
        within,
        "means",
        tuple(remarks),
        grand_mean(known, asked),
        NO_TESTS,
        means_of(whole, (*factors, *within), asked),
        (),
        known,
        level=asked.level,
        limits=asked.limits.get(response, UNLIMITED),
    )
    check_keep(start, asked)
    if not factors:
        return [remarked(start, "Nothing was varied between runs, so that there are means and no effects.")]
    if shared.is_empty():
        why = "No replication has a value in every treatment, so that there are means and no effects."
        return [remarked(start, why)]
    if asked.fraction is not None and set(factors) == set(asked.fraction.factors):
        return [fractional(start, asked, asked.fraction)]
    return analysed(start, asked)


def _in_every_treatment(known: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the replications that every treatment has."""
    each = known.group_by("replication").agg(pl.col("treatment").n_unique())
    shared = each.filter(treatment=known["treatment"].n_unique())["replication"]
    return known.filter(pl.col("replication").is_in(shared.implode()))


def _of_shared(shared: pl.DataFrame) -> str:
    many = counted(shared["replication"].n_unique(), "replication")
    return (
        "Each treatment was replicated until its own intervals were narrow enough: means are of all its "
        f"runs; effects, their errors and p values of the {many} that every treatment has."
    )


def mean_rows(scalars: pl.DataFrame) -> Iterator[list[Any]]:
    """Go through a table of the means: its columns, then each treatment, response and group."""
    fixed = ("key", "treatment", "replication", "value")
    names = [name for name in scalars.columns if name not in fixed]
    yield [*names, "mean", "from", "to", "n"]
    for key, group in scalars.group_by(names, maintain_order=True):
        values = group["value"].drop_nulls().to_numpy()
        found = mean_interval(values) if values.size else None
        said = ["", "", ""] if found is None else [f"{x:.5g}" for x in (found.mean, found.low, found.high)]
        yield ["" if one is None else one for one in key] + [*said, values.size]
