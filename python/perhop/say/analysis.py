"""Factors of a campaign, their effects and how sure these are, in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import polars as pl
import scipy

from perhop.experiment.analysis import FALSE_DISCOVERIES, Analysis
from perhop.experiment.stopping import described as why_it_ended
from perhop.say.document import Cell, Heading, Part, Table
from perhop.stats.contrasts import tukey_half_width
from perhop.stats.power import detectable, replications_for_half_width
from perhop.units import Scale, counted, digits, quantity

if TYPE_CHECKING:
    from perhop.experiment.factors import Factor
    from perhop.experiment.store import Store

_LARGE = 5.0
"""Shares of the variation from this many percent on are named."""

_FOUND = (
    "*: larger than chance explains. p of all tests is adjusted for every test of this page (Benjamini and "
    "Hochberg): of the effects below 0.05, 5 % are expected to be false."
)
_EFFECTS = (
    "By how much the mean at a level differs from the mean of all; of several factors, what they do together "
    "beyond what fewer of them do."
)


def scale(one: Analysis) -> Scale:
    """Choose the unit of an analysis."""
    return Scale.spanning(one.unit, one.means["mean"].to_list(), one.limits)


def effect_name(source: str) -> str:
    """Return a source as text: ``C × P``."""
    return source.replace(":", " × ")


def varied(store: Store, runs: pl.DataFrame) -> str:
    """Describe the factors of a campaign or a slice of it, and the replications of each treatment."""
    design = store.campaign.design
    # what a slice keeps one level of is not varied there
    own = [factor for factor in design.factors if store.only is None or len(factor.levels) > 1]
    factors = [_in_words(factor) for factor in own] or ["nothing"]
    named = f"{', '.join(factors[:-1])} and {factors[-1]}" if len(factors) > 1 else factors[0]
    treatments = len(design.treatments)
    possible = math.prod(len(factor.levels) for factor in design.factors)
    if design.fraction is not None:
        taken = f"the fraction {str(design.fraction).split(';')[0]}, {treatments} treatments"
    elif treatments < possible:
        taken = f"{treatments} of {possible} combinations"
    elif len(factors) > 1:
        taken = f"all {counted(treatments, 'combination')}"
    else:
        taken = counted(treatments, "treatment")
    times = runs["replication"].n_unique()
    seeds = "each run with random numbers of its own"
    if design.seeds == "common":
        seeds = "with the same random numbers for every treatment"
    missing = runs.filter(state="missing").height
    stop = store.campaign.stop
    unequal = store.campaign.select is not None or (stop is not None and stop.each)
    fewest = runs.group_by("treatment").len()["len"].min() if unequal else times
    up_to = "up to " if missing else "" if fewest == times else f"{fewest!s} to "
    often = f"each in {up_to}{counted(times, 'replication')}" + (f", {seeds}" if times > 1 else "")
    made = counted(len(runs), "run")
    made = f"{len(runs) - missing} of {made} made so far" if missing else made
    only = "" if store.only is None else f"Only {store.only}. "
    return f"{only}Varied: {named}; {taken}, {often}: {made}."


def _in_words(factor: Factor) -> str:
    names = [level.name for level in factor.levels]
    few = ", ".join(names) if len(names) <= 8 else f"{len(names)} levels from {names[0]} to {names[-1]}"
    return f"{factor.name} ({few})"


def p_value(p: float) -> str:
    """Return a probability as text."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def what_mattered(one: Analysis) -> list[str]:
    """Describe the causes of a response's variation, numbers with their intervals."""
    unit = scale(one)
    runs = one.frame["key"].n_unique() if "key" in one.frame.columns else len(one.frame)
    mean = unit.mean(one.mean.mean, one.mean.low, one.mean.high)
    sentences = [f"Mean {mean} over {counted(runs, 'run')}."]
    if one.tests.is_empty():
        return sentences
    sentences += _levels(one, unit) if len(one.factors) == 1 else _largest(one, unit)
    best = _extremes(one, unit) if one.effects is not None and len(one.factors) > 1 else []
    return [*sentences, *_shares(one), *_found(one), *best]


def _found_tests(one: Analysis) -> pl.DataFrame:
    """Return the tests of what is larger than chance explains, the largest share first."""
    return one.tests.filter(pl.col("source").is_in(list(one.found))).sort("percent", descending=True)


def _named(shares: pl.DataFrame) -> list[str]:
    """Return the first sources with their shares as text."""
    first = shares.select("source", "percent").head(5).iter_rows()
    return [f"{effect_name(source)} {percent:.3g} %" for source, percent in first]


def _shares(one: Analysis) -> list[str]:
    """Describe the shares of the variation."""
    if one.strata is None:
        each = _named(_found_tests(one))
        what = "by ranks" if one.method == "ranks" else "each beyond the others"
        return [f"Of its variation, {what}: {', '.join(each)}."] if each else []
    is_error = pl.col("source").str.starts_with("error")
    error = one.tests.filter(is_error)["percent"].sum()
    rows = one.tests.filter(~is_error, ~pl.col("source").is_in(["total", "blocks"]))
    rows = rows.sort("percent", descending=True)
    large = rows.filter(pl.col("percent") >= _LARGE)
    parts = _named(large if len(large) else rows.head(1))
    blocks = one.tests.filter(source="blocks")["percent"].sum()
    if blocks >= 1.0:
        parts.append(f"the random numbers of a replication {blocks:.2g} %")
    said = f"Of its variation: {', '.join(parts)}; {error:.2g} % is left to chance."
    shown = max(row.count(":") for row in one.tests["source"].to_list()) + 1
    if any(row["source"].startswith("higher orders") for row in large.to_dicts()):
        said += f" `--order {shown + 1}` shows effects of {shown + 1} factors one by one."
    return [said]


def _found(one: Analysis) -> list[str]:
    """Describe how many effects are there."""
    rows = one.tests.drop_nulls("p").sort("p").select("source", "p").rows()
    if not rows:
        return []
    rate = f"at {100 * FALSE_DISCOVERIES:.0f} % false discoveries"
    name, p = effect_name(rows[0][0]), p_value(rows[0][1])
    if len(rows) == 1:
        verb = "is" if one.found else "is not"
        return [f"The effect of {name} {verb} larger than chance explains ({p})."]
    if not one.found:
        return [f"No effect is larger than chance explains ({rate}); the nearest is {name}, {p}."]
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
    first, last = one.means.row(0, named=True), one.means.row(-1, named=True)
    ends = [first[factor], last[factor]]
    if {high[factor], low[factor]} == set(ends) and (len(rows) == 2 or _is_quantity(ends)):
        verb = "rises" if last["mean"] > first["mean"] else "falls"
        return [
            f"From {factor} = {ends[0]} to {ends[1]} it {verb} from {_own(first, unit)} to "
            f"{_own(last, unit)}, by {difference}."
        ]
    return [
        f"Largest at {factor} = {high[factor]} ({_own(high, unit)}), least at {low[factor]} "
        f"({_own(low, unit)}): a difference of {difference}."
    ]


def _is_quantity(levels: Sequence[str]) -> bool:
    """Return whether levels are numbers, with or without a unit, so that one is from one to another."""
    try:
        return len({quantity(level)[1] for level in levels}) == 1
    except ValueError:
        return False


def _largest(one: Analysis, unit: Scale) -> list[str]:
    """Name the strongest effects by their level."""
    if one.effects is None:
        return _extremes(one, unit)
    sources = _found_tests(one)["source"].to_list()
    # what was varied comes first; that groups of a response differ is no effect of a setting
    inside = [source for source in sources if set(source.split(" = ")[0].split(":")) <= set(one.within)]
    varied = _strongest(one, [source for source in sources if source not in inside], unit)
    parts = _strongest(one, inside, unit)
    return [
        *([f"The strongest: {'; '.join(varied)}."] if varied else []),
        *([f"Within each run: {'; '.join(parts)}."] if parts else []),
    ]


def _strongest(one: Analysis, sources: Sequence[str], unit: Scale) -> list[str]:
    """Describe the first effects of these sources, each at the level where it is largest."""
    assert one.effects is not None
    parts = []
    for source in sources[:3]:
        rows = one.effects.table.filter(pl.col("term") == source)
        if rows.is_empty():
            continue
        row = rows.row(int(rows["effect"].abs().arg_max() or 0), named=True)
        factors, levels = row["term"].split(" = ")[0].split(":"), row["level"].split(":")
        if len(rows) == 2 and len(levels) == 1:
            parts.append(_step(":".join(factors), rows, one.effects.mean.value, unit))
            continue
        half = (row["high"] - row["low"]) / 2 if row["high"] is not None else math.nan
        where = " with ".join(f"{name} = {level}" for name, level in zip(factors, levels, strict=False))
        verb = "raises" if row["effect"] > 0 else "lowers"
        kind = " on top of their own effects (interaction)" if len(levels) > 1 else ""
        parts.append(f"{where} {verb} it by {unit.value(abs(row['effect']), half)}{kind}")
    return parts


def _step(factor: str, rows: pl.DataFrame, grand: float, unit: Scale) -> str:
    """Describe the step from one of two levels to the other, twice the effect on the mean of all."""
    first, second = rows.to_dicts()
    half = second["high"] - second["low"] if second["high"] is not None else math.nan
    verb = "raises" if second["effect"] > 0 else "lowers"
    change = unit.value(2 * abs(second["effect"]), half)
    means = " to ".join(unit.value(grand + row["effect"]) for row in (first, second))
    return f"{factor} from {first['level']} to {second['level']} {verb} it by {change} (from {means})"


def _extremes(one: Analysis, unit: Scale) -> list[str]:
    """Name the treatments with the largest and the least mean."""
    rows = one.means.sort("mean")
    least, most = (
        f"{', '.join(f'{name} = {row[name]}' for name in one.factors)} ({_own(row, unit)})"
        for row in (rows.row(0, named=True), rows.row(-1, named=True))
    )
    return [f"Largest at {most}, least at {least}."]


def _own(row: Mapping[str, Any], unit: Scale) -> str:
    low, high = (math.nan if row[end] is None else row[end] for end in ("low", "high"))
    return unit.mean(row["mean"], low, high)


def how_sure(one: Analysis) -> list[str]:
    """Describe the size of chance, effects that could have been missed, and the assumptions."""
    sentences = [check.sentence for check in one.checks if check.holds is not True]
    if any(check.holds is False for check in one.checks):
        sentences += ["Take p values near the limit with caution; means and differences stand as they are."]
    if one.checks and not sentences:
        sentences = ["The residuals look as the analysis assumes: normal, equally spread, without outliers."]
    return [*one.remarks, *_resolution(one), *sentences]


def _resolution(one: Analysis) -> list[str]:
    """Describe the difference of a main effect that this design can see."""
    if one.strata is None or not one.strata.between.df or one.strata.between.mean_square <= 0.0:
        return []
    parts, unit = one.strata, scale(one)
    counts = {name: len(own) for name, own in zip(parts.cube.factors, parts.cube.levels, strict=True)}
    levels = max(many for name, many in counts.items() if name not in parts.inside)
    error, size = parts.between, parts.cube.values.size
    seen = detectable(error.mean_square, levels, size / levels, error.df)
    inside = math.prod(counts[name] for name in parts.inside)
    spread = math.sqrt(error.mean_square / inside)
    treatments = size // parts.cube.replications // inside
    half = math.sqrt(error.mean_square * (levels - 1) / size)
    now = half * float(scipy.special.stdtrit(error.df, 0.975))
    need = replications_for_half_width(
        now / 2, error.mean_square / inside, levels, treatments, blocked=parts.blocks is not None
    )
    apart = ", apart from what random numbers common to all treatments do" if parts.blocks is not None else ""
    more = f" {need} replications instead of {parts.cube.replications} would halve the intervals of effects."
    return [
        f"Runs of one treatment differ by {unit.value(spread, digits=3)} (standard deviation){apart}. "
        f"Such a campaign finds a difference of {unit.value(seen, digits=3)} between levels of a factor in "
        f"80 % of cases.{more if need else ''}"
    ]


def pairs(one: Analysis) -> list[tuple[str, str]]:
    """Choose at most three pairs of factors with an interaction worth a figure, the strongest first."""
    known = {frozenset(pair): pair for pair in combinations(one.factors, 2)}
    chosen = [known.get(frozenset(source.split(":"))) for source in _found_tests(one)["source"]]
    return [pair for pair in chosen if pair is not None][:3]


def tables(one: Analysis, page: bool = False) -> Iterator[Table]:
    """Go through sources of variation, effects (of several factors, or for a page) and means."""
    unit, interval = scale(one), f"{100 * one.level:.3g} % interval"

    def table(title: str, columns: Sequence[str], rows: list[list[Cell]], most: int, text: str = "") -> Table:
        return Table(title, columns, rows, whole="with --all", most=most, text=text)

    if not one.tests.is_empty():
        rows: list[list[Cell]] = []
        for row in one.tests.to_dicts():
            shares = (_number(row["percent"], ".2f"), _number(row["f"]))
            chances = (_number(row["p"], ".2g"), _number(row["q"], ".2g"))
            name, found = effect_name(row["source"]), "*" if row["source"] in one.found else ""
            rows.append([name, row["df"], *shares, *chances, found, row["against"] or ""])
        columns = ("source", "df", "% of variation", "F", "p", "p of all tests", "found", "held against")
        yield table("Sources of variation", columns, rows, 40, _FOUND)
    if one.effects is not None and (page or len(one.factors) > 1):
        rows = []
        for row in one.effects.table.to_dicts():
            ends = between(row["low"], row["high"], unit)
            place = (effect_name(row["term"]), row["level"].replace(":", ", "))
            rows.append([*place, _measured(row["effect"], unit, "+"), ends])
        yield table(f"Effects{unit.in_unit}", ("of", "at", "effect", interval), rows, 12, _EFFECTS)
    rows = []
    for row in one.means.to_dicts():
        ends = between(*unit.within(row["low"], row["high"]), unit)
        rows.append([*(row[name] for name in one.factors), _measured(row["mean"], unit), ends, row["n"]])
    cut = unit.cut_note(one.means.select("low", "high").iter_rows())
    yield table(f"Means{unit.in_unit}{cut}", (*one.factors, "mean", interval, "values"), rows, 12)


def _number(value: float | None, form: str = ".4g") -> str | None:
    return format(value, form) if value is not None and math.isfinite(value) else None


def _measured(value: float | None, unit: Scale, sign: str = "") -> str | None:
    return digits(value / unit.factor, 4, sign) if value is not None and math.isfinite(value) else None


def between(low: float | None, high: float | None, unit: Scale) -> str | None:
    """Return the ends of an interval as text; None without one."""
    ends = [_measured(low, unit), _measured(high, unit)]
    return None if None in ends else " to ".join(map(str, ends))


def differences(table: pl.DataFrame, unit: Scale, level: float) -> Table:
    """Return a table of pairs that are compared; see `perhop.stats.contrasts.tukey`."""
    title = f"Second less first{unit.in_unit}; all intervals hold together"
    rows = []
    for row in table.to_dicts():
        ends, p = between(row["low"], row["high"], unit), _number(row["p"], ".2g")
        differ = "*" if row["low"] > 0 or row["high"] < 0 else ""
        rows.append((row["first"], row["second"], _measured(row["difference"], unit, "+"), ends, p, differ))
    columns = ("first", "second", "difference", f"{100 * level:.3g} % interval", "p", "differ")
    return Table(title, columns, rows, whole="with --all", picked="the furthest apart", most=40)


def printed(store: Store, found: Iterable[Analysis]) -> Iterator[Part]:
    """Go through a store and analyses of its responses, as the terminal prints them."""
    runs = store.runs()
    yield varied(store, runs)
    for state in ("failed", "missing"):
        if count := runs.filter(state=state).height:
            yield f"{count} {state}: perhop campaign status {store.folder}"
    stop, stopped = store.campaign.stop, store.stopped
    if stop is not None and stopped is not None:
        yield why_it_ended(stop, stopped)
    for one in found:
        yield from ("", Heading(one.name))
        yield from (f"  {sentence}" for sentence in (*what_mattered(one), *how_sure(one)))
        yield ""
        yield from tables(one)
    if runs.filter(state="done").is_empty():
        yield "nothing has been measured yet"


def document(one: Analysis) -> dict[str, Any]:
    """Return an analysis as JSON: numbers in the response's own unit, null where there is none."""
    return {
        "response": one.response,
        "unit": one.unit,
        "of": dict(one.of),
        "factors": one.factors,
        "within_runs": one.within,
        "method": one.method,
        "remarks": one.remarks,
        "what_mattered": what_mattered(one),
        "how_sure": how_sure(one),
        "level": one.level,
        "mean": {"mean": one.mean.mean, "low": one.mean.low, "high": one.mean.high},
        "tests": one.tests.to_dicts(),
        "found": sorted(one.found),
        "effects": [] if one.effects is None else one.effects.table.to_dicts(),
        "means": one.means.to_dicts(),
        "checks": [{"name": each.name, "holds": each.holds, "said": each.sentence} for each in one.checks],
    }
