"""Statements of the paper that its own tables do not bear out, and what its intervals imply."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist, fmean

from perhop.papers.factorial import Cells, effect, level_means, mean
from perhop.papers.pack import Pack
from perhop.papers.papagiannaki.cells import CONGESTION, LAYOUT, MARKS, at
from perhop.papers.published import Row
from perhop.stats.effects import error_variance_behind

Finding = tuple[str, str]

N = 243
"""Values of each response in the paper."""

NAMES = {"p": "Premium", "a": "Assured", "b": "Best-Effort"}


def false_statements(pack: Pack, printed: Cells) -> list[Finding]:
    """Give each statement that Tables 2 and 4 contradict, and what they say instead."""
    y = {name: mean([printed], name) for name in ("premium", "assured")}
    by_p = {c: level_means(y["premium"][..., place], LAYOUT, "P") for place, c in enumerate(CONGESTION)}
    over_p, at_r = level_means(y["premium"], LAYOUT, "P"), by_p["r"]
    table = [row for row in pack.table("effects") if row["response"] == "premium" and row["ci90_low"]]
    # a level of P at one level of C has a ninth of the values
    variance = _error_variance([row for row in table if row["component"] in ("C", "P")], 2 / N)
    margin = NormalDist().inv_cdf(0.975) * math.sqrt(variance / (N / 9))
    alike = [row for row in table if row["component"] == "PA" and row["level"] in ("aa", "bb")]
    hold = all(row.number("ci90_low") <= 0.0 <= row.number("ci90_high") for row in alike)
    losses = [
        f"{name} at {c} ({at([printed], name, 'pab', c):.2f} against {at([printed], name, 'bbb', c):.2f})"
        for name in y
        for c in CONGESTION
        if at([printed], name, "pab", c) < at([printed], name, "bbb", c)
    ]
    forward = y["assured"][..., 1:]
    twenty = at([printed], "assured", "ppp", "r") / at([printed], "assured", "bbb", "r") - 1.0
    parts = [
        row.number("percent_of_variation") for row in pack.table("anova") if row["response"] == "premium"
    ]
    return [
        (
            "Section 6 (i): Premium does best with Premium ACKs, regardless of congestion",
            f"By Table 2 {_best(over_p)} ACKs are best: {_levels(over_p)} in all; "
            f"{'; '.join(f'{c}: {_levels(own)}' for c, own in by_p.items())}.",
        ),
        (
            "Sections 5.1 (2) and 7: at C = r Premium's ACKs have to be Premium",
            f"An interaction is read as a total. At C = r Table 2 has {_levels(at_r)}, each ± {margin:.3f} "
            f"(95 %, by the interval of P and C): {_best(at_r)} ACKs are best, and Assured ones give "
            f"{at_r['a'] - at_r['p']:+.3f} against Premium ones.",
        ),
        (
            "Section 7: p-a-b outperforms b-b-b",
            f"In {len(losses)} of 6 cells of Tables 2 and 4 it is the other way round: {', '.join(losses)}.",
        ),
        (
            "Section 5.1 (4): the interactions aa and bb of P and A are negative",
            f"From Table 2 they are {effect([printed], 'premium', 'P=a A=a'):+.4f} and "
            f"{effect([printed], 'premium', 'P=b A=b'):+.4f}; the intervals of the report, "
            f"± {fmean(_half_widths(alike)):.4f}, {'hold 0' if hold else 'do not both hold 0'}.",
        ),
        (
            "Section 7: the classes reached their target levels",
            f"Assured has {forward.min():.2f} to {forward.max():.2f} of 0.8 Mbit/s at C = f and t.",
        ),
        (
            "Section 6: p-p-p gives Assured 20 % over b-b-b",
            f"By Table 4 it is {twenty:.1%}.",
        ),
        (
            "Table 3: first-order interactions total 37.17 %",
            f"Its rows add up to {sum(parts[4:]):.2f} %.",
        ),
    ]


def implied_errors(pack: Pack) -> Finding:
    """Say which error each printed interval implies, and what the analysis of variance leaves."""
    table = [row for row in pack.table("effects") if row["ci90_low"]]
    words = []
    for name, cells in (("premium", "2"), ("assured", "4")):
        rows = [row for row in table if row["response"] == name]
        for components, share in (
            (("C", "P"), 2 / N),
            (("A", "B"), 2 / N),
            (("PC", "PA", "AC"), 4 / N),
        ):
            own = [row for row in rows if row["component"] in components]
            if own:
                s, half = math.sqrt(_error_variance(own, share)), fmean(_half_widths(own))
                words.append(f"{name} {'/'.join(components)}: ± {half:.4f}, so s = {s:.3f}")
        left = 100.0 - sum(
            row.number("percent_of_variation") for row in pack.table("anova") if row["response"] == name
        )
        words.append(
            f"the table of variation for Table {cells} leaves {left:.1f} % to errors and higher orders"
        )
    return (
        "The printed intervals do not belong to one error",
        f"{'; '.join(words)}. The half-width is 1.645 s sqrt(2/243) for a main effect and sqrt(4/243) for a "
        "pair. For A and B of Premium the factor was forgotten: their intervals are eleven times too wide, "
        "and by the formula both matter. The conference paper's pairs, 0.0009 and 0.0022, forgot the root.",
    )


def _half_widths(rows: Iterable[Row]) -> list[float]:
    return [(row.number("ci90_high") - row.number("ci90_low")) / 2 for row in rows]


def _error_variance(rows: Iterable[Row], share: float) -> float:
    return error_variance_behind(fmean(_half_widths(rows)), share)


def _best(means: dict[str, float]) -> str:
    return NAMES[max(means, key=lambda mark: means[mark])]


def _levels(means: dict[str, float]) -> str:
    return ", ".join(f"{mark} {means[mark]:.3f}" for mark in MARKS)
