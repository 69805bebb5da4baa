"""An analysis in sentences: factors, effects and their certainty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import polars as pl
import scipy

from perhop.experiment.analysis import FALSE_DISCOVERIES, Analysis
from perhop.stats.contrasts import tukey_half_width
from perhop.stats.power import detectable, replications_for_half_width
from perhop.units import counted

if TYPE_CHECKING:
    from perhop.experiment.definition import Campaign
    from perhop.experiment.factors import Factor

_PREFIXES = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")),
}
_SMALL = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_LARGE = 5.0
"""Shares of the variation from this many percent on are named."""


@dataclass(frozen=True)
class Scale:
    """A readable unit for the numbers of a response; values are divided by `factor`."""

    factor: float
    unit: str

    @classmethod
    def of(cls, unit: str | None, largest: float) -> Scale:
        """Choose for numbers of this unit (``1``: of none), the largest of which is given."""
        steps = _SMALL if unit == "s" else _PREFIXES.get(unit or "", ())
        for factor, name in steps:
            if abs(largest) >= factor:
                return cls(factor, name)
        return cls(1.0, "" if unit is None or unit == "1" else unit)

    def value(self, value: float, half: float = math.nan, digits: int = 4) -> str:
        """Return a value, with its half-width if that is finite, and the unit."""
        unit = f" {self.unit}".rstrip()
        x, spread = value / self.factor, half / self.factor
        if not math.isfinite(spread):
            return f"{x:.{digits}g}{unit}"
        if spread == 0.0:
            return f"{x:.5g} ± 0{unit}"
        places = max(0, 1 - math.floor(math.log10(spread)))
        if places > 8:
            return f"{x:.5g} ± {spread:.2g}{unit}"
        return f"{x:.{places}f} ± {spread:.{places}f}{unit}"


def scale(one: Analysis) -> Scale:
    """Choose the unit of an analysis."""
    return Scale.of(one.unit, max((abs(value) for value in one.means["mean"].to_list()), default=0.0))


def effect_name(source: str) -> str:
    """Return a source as text: ``C × P``."""
    return source.replace(":", " × ")


def varied(campaign: Campaign, runs: pl.DataFrame) -> str:
    """Describe the factors of a campaign, and the replications of each treatment."""
    design = campaign.design
    factors = [_in_words(factor) for factor in design.factors]
    named = factors[0] if len(factors) == 1 else f"{', '.join(factors[:-1])} and {factors[-1]}"
    treatments = len(design.treatments)
    possible = math.prod(len(factor.levels) for factor in design.factors)
    if design.fraction is not None:
        taken = f"the fraction {str(design.fraction).split(';')[0]}, {treatments} treatments"
    elif treatments == possible:
        taken = (
            f"all {counted(treatments, 'combination')}"
            if len(factors) > 1
            else counted(treatments, "treatment")
        )
    else:
        taken = f"{treatments} of {possible} combinations"
    times = runs["replication"].n_unique()
    seeds = (
        "with the same random numbers for every treatment"
        if design.seeds == "common"
        else "each run with random numbers of its own"
    )
    often = f"each in {counted(times, 'replication')}" + (f", {seeds}" if times > 1 else "")
    return f"Varied: {named}; {taken}, {often}: {counted(len(runs), 'run')}."


def _in_words(factor: Factor) -> str:
    names = [level.name for level in factor.levels]
    if len(names) > 8:
        return f"{factor.name} ({len(names)} levels from {names[0]} to {names[-1]})"
    return f"{factor.name} ({', '.join(names)})"


def p_value(p: float) -> str:
    """Return a probability as text."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def what_mattered(one: Analysis) -> list[str]:
    """Describe the causes of a response's variation, numbers with their intervals."""
    unit = scale(one)
    runs = one.frame["key"].n_unique() if "key" in one.frame.columns else len(one.frame)
    sentences = [f"Mean {unit.value(one.mean.mean, one.mean.half_width)} over {counted(runs, 'run')}."]
    if one.tests.is_empty():
        return sentences
    sentences += _levels(one, unit) if len(one.factors) == 1 else _largest(one, unit)
    best = _extremes(one, unit) if one.effects is not None and len(one.factors) > 1 else []
    return [*sentences, *_shares(one), *_found(one), *best]


def _tests(one: Analysis) -> pl.DataFrame:
    return one.tests.filter(pl.col("p").is_not_null())


def _shares(one: Analysis) -> list[str]:
    """Describe the shares of the variation."""
    if one.strata is None:
        rows = _tests(one).filter(pl.col("source").is_in(list(one.found))).sort("percent", descending=True)
        each = [f"{effect_name(row['source'])} {row['percent']:.3g} %" for row in rows.head(5).to_dicts()]
        what = "by ranks" if one.method == "ranks" else "each beyond the others"
        return [f"Of its variation, {what}: {', '.join(each)}."] if each else []
    error = one.tests.filter(pl.col("source").str.starts_with("error"))["percent"].sum()
    rows = one.tests.filter(
        ~pl.col("source").str.starts_with("error"), ~pl.col("source").is_in(["total", "blocks"])
    ).sort("percent", descending=True)
    large = rows.filter(pl.col("percent") >= _LARGE)
    named = large if len(large) else rows.head(1)
    parts = [f"{effect_name(row['source'])} {row['percent']:.3g} %" for row in named.head(5).to_dicts()]
    blocks = one.tests.filter(source="blocks")["percent"].sum()
    if blocks >= 1.0:
        parts.append(f"the random numbers of a replication {blocks:.2g} %")
    return [f"Of its variation: {', '.join(parts)}; {error:.2g} % is left to chance."]


def _found(one: Analysis) -> list[str]:
    """Describe how many effects are there."""
    rows = _tests(one).sort("p")
    if rows.is_empty():
        return []
    rate = f"at {100 * FALSE_DISCOVERIES:.0f} % false discoveries"
    least = rows.row(0, named=True)
    if len(rows) == 1:
        verb = "is" if one.found else "is not"
        return [
            f"The effect of {effect_name(least['source'])} {verb} larger than chance explains "
            f"({p_value(least['p'])})."
        ]
    if not one.found:
        return [
            f"No effect is larger than chance explains ({rate}); the nearest is "
            f"{effect_name(least['source'])}, {p_value(least['p'])}."
        ]
    there = counted(len(rows), "effect")
    return [f"{len(one.found)} of {there} are larger than chance explains ({rate})."]


def _levels(one: Analysis, unit: Scale) -> list[str]:
    """Compare the best and the worst level of a single factor."""
    factor = one.factors[0]
    rows = one.means.sort("mean")
    low, high = rows.row(0, named=True), rows.row(-1, named=True)
    if low["mean"] == high["mean"]:
        return []
    difference = unit.value(high["mean"] - low["mean"])
    if one.strata is not None and one.strata.between.df:
        # best and worst are chosen by what came out, so that the interval has to hold for every pair
        half = tukey_half_width(one.strata, factor, one.level)
        difference = unit.value(high["mean"] - low["mean"], half)
    return [
        f"Largest at {factor} = {high[factor]} ({_own(high, unit)}), least at {low[factor]} "
        f"({_own(low, unit)}): a difference of {difference}."
    ]


def _largest(one: Analysis, unit: Scale) -> list[str]:
    """Name the strongest effects by their level."""
    if one.effects is None:
        return _extremes(one, unit)
    ranked = one.tests.filter(pl.col("source").is_in(list(one.found))).sort("percent", descending=True)
    parts = []
    for source in ranked["source"].to_list()[:3]:
        rows = one.effects.table.filter(pl.col("term") == source)
        if rows.is_empty():
            continue
        row = rows.row(int(rows["effect"].abs().arg_max() or 0), named=True)
        half = (row["high"] - row["low"]) / 2 if row["high"] is not None else math.nan
        where = " with ".join(
            f"{name} = {level}"
            for name, level in zip(
                row["term"].split(" = ")[0].split(":"), row["level"].split(":"), strict=False
            )
        )
        verb = "raises" if row["effect"] > 0 else "lowers"
        if len(rows) == 2 and ":" not in row["level"]:
            parts.append(_step(row["term"].split(" = ")[0], rows, unit))
            continue
        kind = " beyond what each does alone" if ":" in row["level"] else ""
        parts.append(f"{where} {verb} it by {unit.value(abs(row['effect']), half)}{kind}")
    return [f"The strongest: {'; '.join(parts)}."] if parts else []


def _step(factor: str, rows: pl.DataFrame, unit: Scale) -> str:
    """Describe the step from one of two levels to the other: twice the effect."""
    first, second = rows.to_dicts()
    half = second["high"] - second["low"] if second["high"] is not None else math.nan
    verb = "raises" if second["effect"] > 0 else "lowers"
    change = unit.value(2 * abs(second["effect"]), half)
    return f"{factor} from {first['level']} to {second['level']} {verb} it by {change}"


def _extremes(one: Analysis, unit: Scale) -> list[str]:
    """Name the treatments with the largest and the least mean."""
    rows = one.means.sort("mean")
    combinations = [
        f"{', '.join(f'{name} = {row[name]}' for name in one.factors)} ({_own(row, unit)})"
        for row in (rows.row(-1, named=True), rows.row(0, named=True))
    ]
    return [f"Largest at {combinations[0]}, least at {combinations[1]}."]


def _own(row: Mapping[str, Any], unit: Scale) -> str:
    half = math.nan if row["high"] is None else (row["high"] - row["low"]) / 2
    return unit.value(row["mean"], half)


def how_sure(one: Analysis) -> list[str]:
    """Describe the size of chance, effects that could have been missed, and the assumptions."""
    sentences = [*one.remarks, *_resolution(one)]
    bad = [check.sentence for check in one.checks if check.holds is not True]
    if bad:
        sentences += bad
        if any(check.holds is False for check in one.checks):
            sentences.append(
                "Take p values near the limit with caution; means and differences stand as they are."
            )
    elif one.checks:
        sentences.append(
            "The residuals look as the analysis assumes: normal, equally spread, without outliers."
        )
    return sentences


def _resolution(one: Analysis) -> list[str]:
    """Describe the difference of a main effect that this design can see."""
    if one.strata is None or not one.strata.between.df or one.strata.between.mean_square <= 0.0:
        return []
    parts, unit = one.strata, scale(one)
    names = [name for name in parts.cube.factors if name not in parts.inside]
    levels = max(len(parts.cube.levels[parts.cube.factors.index(name)]) for name in names)
    error, size = parts.between, parts.cube.values.size
    seen = detectable(error.mean_square, levels, size / levels, error.df)
    inside = math.prod(len(parts.cube.levels[parts.cube.factors.index(name)]) for name in parts.inside)
    spread = math.sqrt(error.mean_square / inside)
    treatments = size // parts.cube.replications // inside
    half = math.sqrt(error.mean_square * (levels - 1) / size)
    now = half * float(scipy.special.stdtrit(error.df, 0.975))
    need = replications_for_half_width(
        now / 2, error.mean_square / inside, levels, treatments, blocked=parts.blocks is not None
    )
    beyond = " beyond what the random numbers of a replication do to all" if parts.blocks is not None else ""
    sentence = (
        f"Runs of one treatment differ by {unit.value(spread, digits=3)} (standard deviation){beyond}; a "
        "difference "
        f"of {unit.value(seen, digits=3)} between levels of a factor would be found in 80 % of such "
        "campaigns."
    )
    more = (
        f" {need} replications instead of {parts.cube.replications} would halve the intervals of effects."
        if need
        else ""
    )
    return [sentence + more]


def pairs(one: Analysis, most: int = 3) -> list[tuple[str, str]]:
    """Choose pairs of factors with an interaction worth a figure, the strongest first."""
    ranked = one.tests.filter(pl.col("source").is_in(list(one.found))).sort("percent", descending=True)
    known = {frozenset(pair): pair for pair in combinations(one.factors, 2)}
    chosen = [known.get(frozenset(source.split(":"))) for source in ranked["source"].to_list()]
    return [pair for pair in chosen if pair is not None][:most]
