"""Figures of a store by name: each can be drawn alone, and has its table."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.experiment.analyze import analyze, asked_of
from perhop.plot import effects as drawn
from perhop.plot.residuals import draw_qq, draw_residuals
from perhop.plot.variation import VariationPart, draw_pareto
from perhop.report.figure import Figure
from perhop.say.analysis import pairs, scale
from perhop.say.candidates import short
from perhop.say.recommendation import described
from perhop.stats.effects import half_width, standard_error
from perhop.stats.residuals import LEAST, normal_qq
from perhop.units import Scale, quantity, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from perhop.experiment.analysis import Analysis
    from perhop.experiment.store import Store
    from perhop.recommend.answer import Answer

_MOST_LEVELS = 12
"""Factors with more levels than this are left to the tables, but for a curve."""

_MOST_LINES = 8
_ENDS = ("mean", "low", "high")
_LONGEST_LINE = 40
"""Letters of an axis label on one line; a measure is a name, too."""

_MOST_DOTS = 2000
_MOST_CANDIDATES = 16


def curve(one: Analysis, id: str) -> Figure | None:
    """Return the response over the only varied setting; None where several or none were."""
    between = [name for name in one.factors if name not in one.within]
    if len(between) != 1 or len(one.within) > 1:
        return None
    try:
        return curve_over(one, between[0], id)
    except CurveError:
        return None


def changes(one: Analysis, id: str) -> Figure | None:
    """Return by how much each factor changes the response; None without two effects with intervals.

    The step is from the first level to the last. In a balanced design an effect of L levels with the half
    width h has steps with the half width h sqrt(2 L / (L - 1)).
    """
    if one.effects is None or one.method != "factorial":
        return None
    unit = scale(one)
    rows = []
    for factor in one.factors:
        levels = one.effects.table.filter(term=factor).to_dicts()
        if len(levels) < 2 or levels[0]["high"] is None:
            continue
        first, last = levels[0], levels[-1]
        step = (last["effect"] - first["effect"]) / unit.factor
        wider = math.sqrt(2 * len(levels) / (len(levels) - 1)) / (2 * unit.factor)
        half = wider * (first["high"] - first["low"])
        mean = drawn.Mean(step, step - half, step + half)
        rows.append(drawn.Change(f"{factor}: {first['level']} → {last['level']}", mean, factor in one.found))
    if len(rows) < 2:
        return None
    rows.sort(key=lambda row: -abs(row.mean.value))
    title = f"By how much each setting changes {one.name}"
    caption = f"Step of the mean, all other settings averaged, with its {_percent(one)} interval."
    if not all(row.is_found for row in rows):
        caption += " Hollow: chance may explain it."

    def data() -> pl.DataFrame:
        columns = ["step", "change", "low", "high", "found"]
        return pl.DataFrame([(row.label, *row.mean, row.is_found) for row in rows], columns, orient="row")

    label = f"change{unit.in_unit}"
    return Figure(
        f"{id}-effects", title, caption, lambda: drawn.draw_changes(rows, label, title), data, "response"
    )


class CurveError(ValueError):
    """A curve over what does not vary, or with too many lines or levels, or of a response without values."""


def curve_over(one: Analysis, factor: str, id: str) -> Figure:
    """Return the response over a factor, a line for each combination of the others, or a `CurveError`."""
    if factor not in one.factors:
        raise CurveError(f"{factor} does not vary: {', '.join(one.factors) or 'nothing'} does")
    levels = one.means[factor].unique(maintain_order=True).to_list()
    numeric = numbers(levels)
    others = [name for name in one.factors if name != factor]
    groups = one.means.select(others).unique(maintain_order=True).rows() if others else [()]
    if len(groups) > _MOST_LINES:
        raise CurveError(f"{', '.join(others)} make {len(groups)} lines; at most {_MOST_LINES} are drawn")
    if numeric is None and len(levels) > 2 * _MOST_LEVELS:
        raise CurveError(f"{factor} has {len(levels)} levels that are no numbers")
    unit = scale(one)
    rows = one.means.select(*_ENDS, factor, *others).iter_rows()
    means = {tuple(place): _mean(unit, mean, low, high) for mean, low, high, *place in rows}
    lines = [
        drawn.Line(", ".join(group), [means.get((level, *group)) for level in levels]) for group in groups
    ]
    other = ", ".join(others)
    label = _label(one, unit, one.means.select(_ENDS[1:]).iter_rows())
    title = f"{one.name} by {factor}"
    single = numeric is not None and len(groups) == 1 and len(one.frame) <= _MOST_DOTS
    caption = f"Mean and its {_percent(one)} interval over {_least_runs(one)} replications"

    def svg() -> str:
        if numeric is None:
            panel = drawn.Panel(factor, levels, lines, other, apart=len(lines) == 1)
            return drawn.draw_means([panel], label, title)
        x, ticks, suffix = numeric
        places = dict(zip(levels, x, strict=True))
        runs = one.frame.select(factor, "value").iter_rows()
        dots = [(places[str(level)], value / unit.factor) for level, value in runs]
        panel = drawn.Panel(f"{factor}{suffix}", ticks, lines, other)
        return drawn.draw_curve(x, panel, label, title, dots if single else ())

    caption += "; the dots are single runs." if single else "."
    return Figure(id, title, caption, svg, lambda: one.means, "response")


def numbers(levels: Sequence[str]) -> tuple[list[float], list[str], str] | None:
    """Return levels as numbers of one unit: places, ticks, and the unit's part of a label."""
    try:
        written = [split(level) for level in levels]
        values = [quantity(level) for level in levels]
    except ValueError:
        return None
    if len(set(levels)) < 2 or len({unit for _, unit in values}) > 1:
        return None
    chosen = Scale.of(values[0][1], max(abs(value) for value, _ in values))
    x, unit = [value / chosen.factor for value, _ in values], chosen.unit
    if len({unit for _, unit in written}) == 1:
        x, unit = [value for value, _ in written], written[0][1]
    if len(set(x)) < len(x):
        return None
    return x, [f"{value:g}" for value in x], f" in {unit}" if unit else ""


def figures(one: Analysis, id: str) -> Iterator[Figure]:
    """Go through main effects, interactions and shares of variation, as far as there are any."""
    unit = scale(one)
    if one.effects is not None and one.strata is not None and one.method == "factorial":
        yield from _main(one, id, unit)
        yield from _interactions(one, id, unit)
    tests = one.tests.filter(pl.col("source") != "total", pl.col("percent").is_not_null())
    if tests["p"].is_not_null().sum() > 1:
        parts = [
            VariationPart(source, share, None if p is None else source in one.found)
            for source, share, p in tests.select("source", "percent", "p").iter_rows()
        ]
        title = f"Shares of the variation of {one.name}"
        yield Figure(
            f"{id}-variation",
            title,
            "What the variation of the response comes from. Hollow: chance may explain it. Grey: no effect.",
            lambda: draw_pareto(parts, title, add_up=one.strata is not None),
            lambda: tests,
            "response",
        )


def _main(one: Analysis, id: str, unit: Scale) -> Iterator[Figure]:
    assert one.effects is not None
    table, grand = one.effects.table, one.effects.mean.value
    panels, intervals = [], list[tuple[float, float]]()
    for factor in one.factors:
        rows = table.filter(term=factor)
        if 2 <= len(rows) <= _MOST_LEVELS:
            shifted = [_shifted(row, grand) for row in rows.to_dicts()]
            intervals += [(low, high) for _, low, high in shifted]
            means = [_mean(unit, *ends) for ends in shifted]
            panels.append(drawn.Panel(factor, rows["level"].to_list(), [drawn.Line("", means)]))
    if not panels or len(one.factors) == 1:
        return
    title = f"Main effects on {one.name}"
    caption = (
        f"Mean by level of each factor, all others averaged; whiskers: {_percent(one)} interval of the "
        "effect against the grand mean, which is the dotted line."
    )
    label = _label(one, unit, intervals)
    yield Figure(
        f"{id}-main",
        title,
        caption,
        lambda: drawn.draw_means(panels, label, title, grand / unit.factor),
        lambda: table,
        "response",
    )


def _shifted(row: dict[str, Any], grand: float) -> tuple[float, float, float]:
    low, high = (math.nan if row[name] is None else grand + row[name] for name in _ENDS[1:])
    return grand + row["effect"], low, high


def _mean(unit: Scale, mean: float, low: float, high: float) -> drawn.Mean:
    return drawn.Mean(*(value / unit.factor for value in (mean, *unit.within(low, high))))


def _interactions(one: Analysis, id: str, unit: Scale) -> Iterator[Figure]:
    assert one.strata is not None
    panels, intervals = [], list[tuple[float, float]]()
    cube = one.strata.cube
    levels = {name: list(own) for name, own in zip(cube.factors, cube.levels, strict=True)}
    for pair in pairs(one):
        # the factor with more levels is on the axis
        across, other = sorted(pair, key=lambda name: -len(levels[name]))
        if len(levels[other]) > _MOST_LINES or len(levels[across]) > _MOST_LEVELS:
            continue
        share = len(levels[across]) * len(levels[other]) / cube.values.size
        error = one.strata.error(cube.term(pair))
        half = half_width(error, standard_error(error, share), one.level)
        table = one.frame.group_by(across, other).agg(pl.col("value").mean())
        ends = {(str(a), str(b)): (mean, mean - half, mean + half) for a, b, mean in table.iter_rows()}
        intervals += [(low, high) for _, low, high in ends.values()]
        lines = [drawn.Line(b, [_mean(unit, *ends[a, b]) for a in levels[across]]) for b in levels[other]]
        panels.append(drawn.Panel(across, levels[across], lines, other))
    if not panels:
        return
    title = f"Interactions in {one.name}"
    caption = (
        "Mean by level of two factors, for the strongest interactions that are larger than chance explains; "
        f"lines that are not parallel are the interaction. Whiskers: {_percent(one)} interval of a mean, by "
        "the error that the interaction is held against."
    )
    label = _label(one, unit, intervals)
    yield Figure(
        f"{id}-interactions",
        title,
        caption,
        lambda: drawn.draw_means(panels, label, title),
        lambda: one.means,
        "response",
    )


def residuals(one: Analysis, id: str) -> Iterator[Figure]:
    """Go through figures of the model's residuals, if these can be judged."""
    if one.strata is None or all(check.holds is None for check in one.checks):
        return
    unit = scale(one)
    left = one.frame["residual"].to_numpy() / unit.factor
    whole = normal_qq(left)
    outliers = [check.rows for check in one.checks if check.name == "outliers" and check.holds is False]
    without = normal_qq(left, outliers[0]) if outliers and left.size > LEAST else None
    caption = "What the model leaves over, in order; normal residuals lie on the line."
    yield Figure(
        f"{id}-qq",
        f"Residuals of {one.name} against a normal distribution",
        caption if without is None else f"{caption} On the right without the outliers.",
        lambda: draw_qq(whole, unit.unit, f"Normal Q-Q plot of {one.name}", without),
        lambda: one.frame,
        "response",
    )
    predicted = one.frame["predicted"].to_numpy() / unit.factor
    some = f" Of {left.size} residuals some are drawn, the outermost among them."
    yield Figure(
        f"{id}-residuals",
        f"Residuals of {one.name} against what is predicted",
        "A funnel is a spread that grows with the response; a bow is an effect that the model lacks."
        + (some if left.size > _MOST_DOTS else ""),
        lambda: draw_residuals(predicted, left, unit.unit, f"Residuals of {one.name}"),
        lambda: one.frame,
        "response",
    )


def curve_of(store: Store, factor: str, response: str | None) -> Figure:
    """Return the curve of a response, the first unless it is named, over a factor, or a `CurveError`."""
    found = analyze(store.scalars(), asked_of(store.campaign))
    wanted = response or next((one.response for one in found), "any response")
    own = [(place, one) for place, one in enumerate(found, 1) if one.response == wanted]
    if not own:
        raise CurveError(f"there is no value of {wanted}")
    if len(own) > 1:
        groups = " or ".join(f"{name}={value}" for _, one in own for name, value in one.of.items())
        raise CurveError(f"values of {wanted} are missing, so that each group is drawn for itself: {groups}")
    place, one = own[0]
    return curve_over(one, factor, f"response-{place}-curve")


def of_store(store: Store) -> Iterator[Figure]:
    """Go through the figures of a store, in the order of its page."""
    answered = None if store.only is not None else described(store)
    if answered and answered[0] and (raced := scores(answered[0])):
        yield raced
    for place, one in enumerate(analyze(store.scalars(), asked_of(store.campaign, apart=True)), 1):
        id = f"response-{place}"
        if lead := curve(one, f"{id}-curve") or changes(one, id):
            yield lead
        yield from figures(one, id)
        yield from residuals(one, id)


def scores(found: Answer) -> Figure | None:
    """Return the scores that decided a recommendation, over one of them; None of fewer than two."""
    known = {name: one for name, one in found.scores.items() if math.isfinite(one.percent)}
    best = sorted(known, key=lambda name: -known[name].percent)[:_MOST_CANDIDATES]
    shown = [name for name in found.scores if name in best]
    if len(shown) < 2:
        return None
    first = found.scored_over
    means = [drawn.Mean(known[name].percent, known[name].low, known[name].high) for name in shown]
    panel = drawn.Panel("candidate", [*map(short, shown)], [drawn.Line("", means)], apart=True)
    label, title = f"better than {first} in %", "The score of each candidate"
    more = f" The best {len(shown)} of {len(found.scores)}." if len(shown) < len(found.scores) else ""
    caption = (
        f"By how much a candidate is better than {first} by the weights, with intervals that hold at every "
        f"look; over the runs that both have, which are fewer of those that were dropped.{more}"
    )

    def data() -> pl.DataFrame:
        rows = [(name, one.percent, one.low, one.high, one.runs) for name, one in found.scores.items()]
        return pl.DataFrame(rows, ["candidate", "percent", "low", "high", "runs"], orient="row")

    return Figure(
        "score", title, caption, lambda: drawn.draw_means([panel], label, title, 0.0), data, "response"
    )


def _label(one: Analysis, unit: Scale, intervals: Iterable[tuple[float, float]]) -> str:
    label = one.name + unit.in_unit
    if cut := unit.cut_note(intervals):
        label += f" (intervals{cut.removeprefix(',')})"
    return "\n".join(textwrap.wrap(label, _LONGEST_LINE, break_long_words=False))


def _percent(one: Analysis) -> str:
    return f"{100 * one.level:.3g} %"


def _least_runs(one: Analysis) -> str:
    counts = one.means["n"].to_list()
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
