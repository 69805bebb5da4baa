"""Fractions 2^(k-p): the full design of the free factors, each effect with its aliases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from perhop.experiment.analysis import Analysis, AnalysisRequest, remarked
from perhop.experiment.methods import factorial
from perhop.stats.layout import Term, UnbalancedError

if TYPE_CHECKING:
    from perhop.experiment.fractions import Fraction
    from perhop.stats.strata import Strata


class Alias(NamedTuple):
    """An effect that is aliased with one of the free factors: its factors, and its sign."""

    word: Term
    sign: int


def fractional(start: Analysis, asked: AnalysisRequest, fraction: Fraction) -> Analysis:
    """Analyse a fraction, or give means where runs of it are missing."""
    if asked.keep is not None:
        raise ValueError("a fraction has no effects to leave out: each stands for several")
    made = {one.factor for one in fraction.generators}
    free = [name for name in start.factors if name not in made]
    within = set(start.within)
    keep = None
    if start.frame["replication"].n_unique() == 1:
        terms = [term for size in range(1, len(free) + 1) for term in combinations(free, size)]
        keep = tuple(":".join(term) for term in terms if len(aliases(term, fraction, within)[0].word) <= 2)
        rest = len(terms) - len(keep)
        why = "interactions without a short name had to be taken" if rest else "nothing is left"
        start = remarked(start, f"There is one replication: {why} for error. Add replications.")
    try:
        whole = factorial(start, replace(asked, keep=keep), free, all_orders=True)
    except UnbalancedError as error:
        return remarked(start, f"Of a fraction every run is needed ({error}), so that there are means only.")
    if whole.strata is None or whole.effects is None:
        return whole
    names = {term: aliases(term, fraction, within) for term in whole.strata.terms}
    written = {":".join(term): _written(own) for term, own in names.items()}
    tests = whole.tests.with_columns(pl.col("source").replace(written))
    effects = replace(whole.effects, table=_effects(whole.effects.table, whole.strata, names, asked, within))
    remark = (
        f"The design is a fraction ({str(fraction).split(';')[0]}): effects joined by = cannot be told apart."
    )
    return remarked(replace(whole, method="fraction", tests=tests, effects=effects), remark)


def aliases(term: Term, fraction: Fraction, within: set[str]) -> list[Alias]:
    """Return the effects that one of the free factors may as well be, the shortest first.

    Of at most two factors, or as short as there are; factors within runs stay as they are.
    """
    own = frozenset(term) - within
    inside = [name for name in term if name in within]
    words = {own: 1}
    if own:
        words |= {own ^ word: sign for word, sign in fraction.relation().items()}
    most = max(2, min(map(len, words)))
    few = sorted((word for word in words if len(word) <= most), key=lambda one: (len(one), sorted(one)))
    named = [tuple(name for name in fraction.factors if name in word) for word in few]
    return [Alias((*names, *inside), words[word]) for names, word in zip(named, few, strict=True)]


def _written(own: list[Alias]) -> str:
    """Join names of aliases, with signs relative to the first."""
    return " = ".join(("-" if one.sign != own[0].sign else "") + ":".join(one.word) for one in own)


def _effects(
    table: pl.DataFrame,
    parts: Strata,
    names: Mapping[Term, list[Alias]],
    asked: AnalysisRequest,
    within: set[str],
) -> pl.DataFrame:
    """Return each effect under its names: at both levels of a single factor, else at all high."""
    errors = {row["term"]: row for row in table.iter_rows(named=True)}
    rows = []
    for term, own in names.items():
        error = errors[":".join(term)]
        half = None if error["low"] is None else (error["high"] - error["low"]) / 2
        for level, value in _at(term, own[0], parts, asked, within):
            ends = (None, None) if half is None else (value - half, value + half)
            rows.append((_written(own), level, value, error["standard_error"], error["df"], *ends))
    return pl.DataFrame(rows, schema=table.schema, orient="row")


def _at(
    term: Term, name: Alias, parts: Strata, asked: AnalysisRequest, within: set[str]
) -> Iterator[tuple[str, float]]:
    """Yield the levels of an effect and its value there; two-level factors by their high level."""
    cube = parts.cube
    levels = dict(zip(cube.factors, cube.levels, strict=True))
    inside = [factor for factor in term if factor in within]
    outside = [factor for factor in name.word if factor not in within]
    found = cube.effect(term)
    for chosen in product(*(levels[factor] for factor in inside)):
        place = {factor: levels[factor].index(level) for factor, level in zip(inside, chosen, strict=True)}
        at = tuple(place.get(factor, int(factor in term)) for factor in cube.factors)
        high = name.sign * float(found[at])
        for side in (0, 1) if len(outside) == 1 else (1,):
            yield (
                ":".join([*(asked.factors[factor][side] for factor in outside), *chosen]),
                high if side else -high,
            )
