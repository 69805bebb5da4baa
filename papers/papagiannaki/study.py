"""What the study needs of code: tables of terms, what printed tables say, strategies side by side."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Any, cast

import numpy as np

from perhop.judge.cells import Cells
from perhop.judge.terms import losses, residuals
from perhop.papers.outcome import Outcome
from perhop.plot import bars
from perhop.report import page
from perhop.report.study import Section
from perhop.say.document import Table
from perhop.stats.effects import differing, effects_of, error_variance_behind
from perhop.stats.intervals import Interval, mean_interval
from perhop.stats.layout import Cube, Floats
from perhop.stats.strata import strata

CLASSES, CONGESTION = ("premium", "assured"), ("r", "f", "t")
MARKINGS = tuple("".join(marks) for marks in product("pab", repeat=3))
NAMES = {"p": "Premium", "a": "Assured", "b": "Best-Effort"}
N = 243  # values of each response in the paper


def printed(name: str, response: str) -> list[dict[str, str]]:
    """Return the lines of a printed table that are of a response."""
    with (Path(__file__).parent / "published" / f"{name}.csv").open(encoding="utf-8") as file:
        return [one for one in csv.DictReader(file) if one["response"] == response]


def measured(outcome: Outcome, *, shown: bool = False) -> Cells:
    """Return what the campaign measured, or the replications that its tables are of."""
    return cast(Cells, (outcome.shown if shown else outcome.measured)["campaign.toml"])


def runs(cube: Cube, marking: str, c: str) -> Floats:
    """Return the replications of a marking at a congestion."""
    found: Floats = cube.values[tuple(map(tuple.index, cube.levels, (*marking, c)))]
    return found


# rows of Tables 3, 5, 6 and 7, and of what is not printed

Row = tuple[str, str, str, float | None, Interval | None]  # id, quantity, unit, printed, measured


def variation(m: Cells, response: str) -> Iterator[Row]:
    """Yield the shares of variation, which have no spread of their own."""
    cube = m.cubes[response]
    shares = strata(cube).shares
    for one in printed("anova", response):
        share = Interval(shares[":".join(one["component"])], -math.inf, math.inf, cube.replications)
        yield one["component"], response, "% of variation", float(one["percent_of_variation"]), share


def effects(m: Cells, response: str) -> Iterator[Row]:
    """Yield the effects, beside middles of the printed intervals, which are not truncated."""
    cube = m.cubes[response]
    found = effects_of(strata(cube), level=0.95)
    yield "mean", response, "Mbit/s", None, mean_interval(cube.values.mean(axis=(0, 1, 2, 3)))
    for one in printed("effects", response)[1:]:
        own = found.at(**dict(zip(one["component"], one["level"], strict=True)))
        interval = Interval(own.value, own.low, own.high, cube.replications)
        yield f"{one['component']} {one['level']}", response, "Mbit/s", round(fmean(ends(one)), 6), interval


def by_mark(m: Cells, responses: list[str]) -> Iterator[Row]:
    """Yield means by the mark of Best-Effort flows' ACKs."""
    for name in responses:
        for k, mark in enumerate("pab"):
            values = m.cubes[name].values[:, :, k].mean(axis=(0, 1, 2))
            yield f"B={mark}", name, "Mbit/s" if name == "best_effort" else "1", None, mean_interval(values)


ROWS = {"variation": variation, "effects": effects, "by_mark": by_mark}

# numbers in the findings of study.toml; without a value the finding is left out


def outliers(outcome: Outcome) -> Mapping[str, Any]:
    """Return whether runs with lost SYNs are the outliers of the Q-Q plot."""
    m = measured(outcome)
    left, _ = residuals(m.cubes["premium"], m.model("premium"))
    spread, set_aside, arms = float(left.std()), 20 / N, []
    copied = {"arm": "everywhere", "P": "p", "A": "a", "B": "b"}
    for arm in ("1 lost", "2 lost", "3 lost"):
        less = [m.values("premium", **copied, C=c) - m.values("premium", arm=arm, C=c) for c in CONGESTION]
        lower = mean_interval(np.mean(less, axis=0))
        arms.append(f"{arm}, {lower.mean:+.4f} ± {lower.half_width:.4f} Mbit/s ({lower.mean / spread:.1f})")
    timeouts = int(m.cubes["premium_syn_timeouts"].values.sum())
    far = float(np.quantile(np.abs(left), 1.0 - set_aside)) / spread
    none = "" if timeouts else ": all flows start into empty queues"
    found = {"values": left.size, "timeouts": timeouts, "none": none, "arms": "; ".join(arms)}
    return {**found, "spread": spread, "set_aside": set_aside, "far": far}


def split_plot(outcome: Outcome) -> Mapping[str, Any]:
    """Return what differs from 0 at 90 % only as independent values, or only as a split plot."""
    m = measured(outcome, shown=True)
    found = [f"{name} {one}" for name in CLASSES for one in differing(of_three(m, name), ["C"])]
    return {"number": len(found), "effects": ", ".join(found) or "none"}


def significance(outcome: Outcome) -> Mapping[str, Any]:
    """Return the effects that differ from 0 at 90 % only there or only here."""
    groups: dict[str, list[str]] = {"alike": [], "there": [], "here": [], "other": []}
    for name in CLASSES:
        of = effects_of(strata(of_three(measured(outcome, shown=True), name)), level=0.90)
        for one in printed("effects", name)[1:]:
            own = of.at(**dict(zip(one["component"], one["level"], strict=True)))
            there, here = sign(*ends(one)), sign(own.low, own.high)
            group = "alike" if there == here else "here" if not there else "other" if here else "there"
            groups[group].append(f"{name} {one['component']} {one['level']} ({own.value:+.4f})")
    lists = {name: ", ".join(own) or "none" for name, own in groups.items()}
    return {**lists, "number": sum(map(len, groups.values())), "alike": len(groups["alike"])}


def of_three(m: Cells, response: str) -> Cube:
    """Return cells of as many replications as the paper's; a `KeyError` where there are fewer."""
    if (cube := m.cubes[response]).replications < 3:
        raise KeyError("fewer than three replications")
    return cube


def sign(low: float, high: float) -> int:
    """Return the sign of what an interval is of; 0 where it holds zero."""
    return (low > 0.0) - (high < 0.0)


def ends(one: Mapping[str, str]) -> tuple[float, float]:
    """Return a printed interval."""
    return float(one["ci90_low"]), float(one["ci90_high"])


def half_width(rows: list[dict[str, str]]) -> float:
    """Return half the width of printed intervals, on average."""
    return fmean((high - low) / 2 for low, high in map(ends, rows))


def tables(outcome: Outcome) -> Mapping[str, Any]:
    """Return what the paper's tables show of its statements."""
    premium, assured = (measured(outcome).as_printed[name] for name in CLASSES)
    over_p, by_c = premium.level_means("P"), {c: premium.level_means("P", {"C": c}) for c in CONGESTION}
    rows = printed("effects", "premium")
    # a level of P at one level of C has a ninth of the values
    half = half_width([one for one in rows if one["component"] in ("C", "P")])
    margin = NormalDist().inv_cdf(0.975) * math.sqrt(error_variance_behind(half, 2 / N) / (N / 9))
    alike = [one for one in rows if one["component"] == "PA" and one["level"] in ("aa", "bb")]
    worse = []
    for (name, cube), c in product(zip(CLASSES, (premium, assured), strict=True), CONGESTION):
        pab, bbb = (runs(cube, marking, c).mean() for marking in ("pab", "bbb"))
        worse += [f"{name} at {c} ({pab:.2f} against {bbb:.2f})"] if pab < bbb else []
    forward = [runs(assured, one, c).mean() for one in MARKINGS for c in "ft"]
    return {
        "best": NAMES[max(over_p, key=over_p.__getitem__)],
        "over_p": levels(over_p),
        "by_c": "; ".join(f"{c}: {levels(own)}" for c, own in by_c.items()),
        "at_r": levels(by_c["r"]),
        "margin": margin,
        "best_at_r": NAMES[max(by_c["r"], key=by_c["r"].__getitem__)],
        "gain": by_c["r"]["a"] - by_c["r"]["p"],
        "lose": len(worse),
        "losses": ", ".join(worse),
        "aa": premium.effect_of({"P": "a", "A": "a"}),
        "bb": premium.effect_of({"P": "b", "A": "b"}),
        "half": half_width(alike),
        "hold": "do not both hold 0" if any(sign(*ends(one)) for one in alike) else "hold 0",
        "least": min(forward),
        "most": max(forward),
        "twenty": runs(assured, "ppp", "r").mean() / runs(assured, "bbb", "r").mean() - 1.0,
        "pairs": sum(shares("premium")[4:]),
    }


def implied(_: Outcome) -> str:
    """Return the error that each printed interval implies, and what the tables of variation leave."""
    found = []
    for name, table in zip(CLASSES, ("2", "4"), strict=True):
        for components, share in ((("C", "P"), 2 / N), (("A", "B"), 2 / N), (("PC", "PA", "AC"), 4 / N)):
            if own := [one for one in printed("effects", name) if one["component"] in components]:
                s, half = math.sqrt(error_variance_behind(half_width(own), share)), half_width(own)
                found.append(f"{name} {'/'.join(components)}: ± {half:.4f}, so s = {s:.3f}")
        left = f"{100.0 - sum(shares(name)):.1f} % to errors and higher orders"
        found.append(f"the table of variation for Table {table} leaves {left}")
    return "; ".join(found)


def shares(response: str) -> list[float]:
    """Return the printed shares of variation."""
    return [float(one["percent_of_variation"]) for one in printed("anova", response)]


def levels(means: Mapping[str, float]) -> str:
    """Return means by mark in words."""
    return ", ".join(f"{mark} {value:.3f}" for mark, value in means.items())


NUMBERS = {one.__name__: one for one in (outliers, split_plot, significance, tables, implied)}


def sections(outcome: Outcome) -> Iterator[Section]:
    """Yield Figure 7, the best marking by class and congestion, and what each marking loses."""
    m, command, drawings = measured(outcome), str(outcome.document["command"]), []
    strategies = ("bbb", "pab", "aab", "ppp")  # the default, copying, the best of 5.1 and at C = r
    for name in CLASSES:
        shown, paper, panels = measured(outcome, shown=True).cubes[name], m.as_printed[name], []
        for c in CONGESTION:
            here = {one: mean_interval(runs(shown, one, c)) for one in strategies}
            there = {one: runs(paper, one, c).mean() for one in strategies}
            own = [bars.Bar(one, there[one], x.mean, (x.low, x.high)) for one, x in here.items()]
            panels.append((f"{name}, C = {c}, Mbit/s", own))
        title = f"Figure 7: strategies, {name}"
        caption = "Open bars are the paper's. b-b-b is the default, p-a-b stands for copying."
        drawings.append(page.drawing(f"figure-7-{name}", title, bars.draw(panels, title), caption, command))
    sources, top, worst = (m.cubes, m.as_printed), [], []
    for name, c in product(CLASSES, CONGESTION):
        of = [max((runs(own[name], one, c).mean(), one) for one in MARKINGS) for own in sources]
        top.append((name, c, *(f"{one} {mean:.3f}" for mean, one in of)))
    for one in MARKINGS:
        lost = [max(losses(own[name], "C")[tuple(one)].max() for name in CLASSES) for own in sources]
        worst.append((lost[0], one, *(f"{100 * part:.1f} %" for part in lost)))
    again = m.cubes["assured_retransmissions"]
    sent = [(one, *(f"{runs(again, one, c).mean():.0f}" for c in CONGESTION)) for one in MARKINGS]
    text = (
        "Sections 5 and 6 of the paper: Assured ACKs for Premium, or Premium ones at C = r; for Assured, "
        "Premium or Assured ACKs at C = r, best effort elsewhere; p-a-b if congestion is not known."
    )
    what = "What a marking loses at worst against the best, over classes and C"
    by_c = tuple(f"C = {c}" for c in CONGESTION)
    listed = [
        Table("The best marking", ("class", "C", "here, Mbit/s", "paper"), top, 2, command=command),
        Table(what, ("marking", "here", "paper"), [line for _, *line in sorted(worst)], command=command),
        Table("What an Assured flow sends again, segments a run", ("marking", *by_c), sent, command=command),
    ]
    yield Section("strategies", "Strategies", [text], listed, drawings)
