"""Statements of the paper that its tables contradict, and what its intervals imply."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist, fmean

from perhop.papers.pack import Pack
from perhop.papers.papagiannaki.cells import CLASSES, CONGESTION, LAYOUT, MARKS
from perhop.papers.papagiannaki.factorial import Cells, at, effect, level_means, mean
from perhop.papers.published import PublishedRow
from perhop.papers.study import Finding, finding
from perhop.stats.effects import error_variance_behind

N = 243
"""Values of each response in the paper."""

NAMES = {"p": "Premium", "a": "Assured", "b": "Best-Effort"}


def false_statements(pack: Pack, printed: Cells) -> list[Finding]:
    """Return the statements that Tables 2 and 4 contradict, with what the tables show."""
    y = {name: mean([printed], name) for name in CLASSES}
    by_p = {c: level_means(y["premium"][..., place], LAYOUT, "P") for place, c in enumerate(CONGESTION)}
    over_p, at_r = level_means(y["premium"], LAYOUT, "P"), by_p["r"]
    table = [row for row in pack.table("effects") if row["response"] == "premium" and row["ci90_low"]]
    # a level of P at one level of C has a ninth of the values
    variance = _error_variance([row for row in table if row["component"] in ("C", "P")], 2 / N)
    alike = [row for row in table if row["component"] == "PA" and row["level"] in ("aa", "bb")]
    hold = all(row.number("ci90_low") <= 0.0 <= row.number("ci90_high") for row in alike)
    both = {
        (name, c): [at([printed], name, one, c) for one in ("pab", "bbb")] for name in y for c in CONGESTION
    }
    losses = [
        f"{name} at {c} ({pab:.2f} against {bbb:.2f})" for (name, c), (pab, bbb) in both.items() if pab < bbb
    ]
    forward = y["assured"][..., 1:]
    values = {
        "best": _best(over_p),
        "over_p": _levels(over_p),
        "by_c": "; ".join(f"{c}: {_levels(own)}" for c, own in by_p.items()),
        "at_r": _levels(at_r),
        "margin": NormalDist().inv_cdf(0.975) * math.sqrt(variance / (N / 9)),
        "best_at_r": _best(at_r),
        "gain": at_r["a"] - at_r["p"],
        "lose": len(losses),
        "losses": ", ".join(losses),
        "aa": effect([printed], "premium", {"P": "a", "A": "a"}),
        "bb": effect([printed], "premium", {"P": "b", "A": "b"}),
        "half": fmean(_half_widths(alike)),
        "hold": "hold 0" if hold else "do not both hold 0",
        "least": forward.min(),
        "most": forward.max(),
        "twenty": at([printed], "assured", "ppp", "r") / at([printed], "assured", "bbb", "r") - 1.0,
        "pairs": sum(_shares(pack, "premium")[4:]),
    }
    return [finding(words, **values) for words in pack.toml("page.toml")["false"]]


def implied_errors(pack: Pack) -> Finding:
    """Return the error that each printed interval implies, and what the ANOVA leaves."""
    table = [row for row in pack.table("effects") if row["ci90_low"]]
    found = []
    for name, cells in (("premium", "2"), ("assured", "4")):
        for components, share in ((("C", "P"), 2 / N), (("A", "B"), 2 / N), (("PC", "PA", "AC"), 4 / N)):
            own = [row for row in table if row["response"] == name and row["component"] in components]
            if own:
                s, half = math.sqrt(_error_variance(own, share)), fmean(_half_widths(own))
                found.append(f"{name} {'/'.join(components)}: ± {half:.4f}, so s = {s:.3f}")
        left = 100.0 - sum(_shares(pack, name))
        found.append(
            f"the table of variation for Table {cells} leaves {left:.1f} % to errors and higher orders"
        )
    return finding(pack.toml("page.toml")["implied"], errors="; ".join(found))


def _shares(pack: Pack, response: str) -> list[float]:
    rows = pack.table("anova")
    return [row.number("percent_of_variation") for row in rows if row["response"] == response]


def _half_widths(rows: Iterable[PublishedRow]) -> list[float]:
    return [(row.number("ci90_high") - row.number("ci90_low")) / 2 for row in rows]


def _error_variance(rows: Iterable[PublishedRow], share: float) -> float:
    return error_variance_behind(fmean(_half_widths(rows)), share)


def _best(means: dict[str, float]) -> str:
    return NAMES[max(means, key=lambda mark: means[mark])]


def _levels(means: dict[str, float]) -> str:
    return ", ".join(f"{mark} {means[mark]:.3f}" for mark in MARKS)
