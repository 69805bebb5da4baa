"""The reproduction as a document: the paper's tables beside ours, claims judged, findings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perhop.judge.grammar import Claim
from perhop.judge.measured import Measurements
from perhop.papers.claims import UnderReading, claim_entry
from perhop.papers.document import Judge, document_of, judge_of, row
from perhop.papers.pack import Pack
from perhop.papers.papagiannaki.cells import (
    CLASSES,
    CONGESTION,
    KEPT,
    MARKINGS,
    printed_cells,
    replications,
    stated_cells,
)
from perhop.papers.papagiannaki.factorial import (
    Cells,
    FactorialCells,
    at,
    cube,
    residuals,
    shares,
    split_plot_differences,
)
from perhop.papers.papagiannaki.fit import load_fit
from perhop.papers.papagiannaki.plan import KEY, LOST, TABLES, claims_about
from perhop.papers.papagiannaki.predicates import PREDICATES
from perhop.papers.papagiannaki.printed import false_statements, implied_errors
from perhop.papers.plan import Plan, Results
from perhop.papers.readings import Reading, load_readings
from perhop.papers.study import Finding, Outcome, finding
from perhop.stats.effects import effects_of
from perhop.stats.intervals import Interval, mean_interval
from perhop.stats.strata import strata


@dataclass(frozen=True, kw_only=True)
class Reproduction(Outcome):
    """Outcome of the study; without warnings, as its assumptions are among the claims."""

    measured: FactorialCells

    @property
    def tables(self) -> Sequence[Cells]:
        """The replications that the tables and figures are of, as many as the paper has."""
        return self.measured.samples[:TABLES]


def reduce(plan: Plan, results: Results, command: str, results_version: int) -> Reproduction:
    """Turn what the campaigns measured into rows and verdicts."""
    known, published = load_fit(plan.pack).in_sample, printed_cells(plan.pack)

    def measured(one: Measurements) -> FactorialCells:
        return FactorialCells(replications(one.scalars), published, known, KEPT, stated_cells(published))

    m = measured(results.fitted)
    under = [(reading, measured(one)) for reading, one in results.read]
    listed = load_readings(plan.pack)
    judge = judge_of(plan.pack.written, claims_about(plan.pack), PREDICATES)
    claims = [judge_claim(judge, plan, m, under, claim, listed) for claim in plan.pack.claims]
    document = document_of(KEY, command, results_version, rows(plan, m), claims)
    findings = (
        *own_findings(plan.pack, m),
        *false_statements(plan.pack, published),
        implied_errors(plan.pack),
    )
    return Reproduction(document=document, measured=m, findings=findings, left_out=plan.left_out)


def judge_claim(
    judge: Judge,
    plan: Plan,
    m: FactorialCells,
    under: Sequence[tuple[Reading, FactorialCells]],
    claim: Claim,
    listed: Sequence[Reading],
) -> dict[str, Any]:
    """Judge a claim as fitted and under each reading, with a note on the paper's own tables."""
    parts = judge(m, claim)
    others = [UnderReading(one, judge(own, claim)) for one, own in under if claim.id in one.claims]
    known = [part for part in parts if part.printed is not None]
    holds = all(part.low <= part.printed <= part.high for part in known if part.printed is not None)
    note = f"on Tables 2 and 4 themselves it {'holds' if holds else 'does not hold'}"
    return claim_entry(
        claim,
        parts,
        others,
        "runs are short and few here" if claim.id in plan.unjudged else "",
        [note if known else "the paper prints nothing that it could be judged on"],
        listed,
    )


def rows(plan: Plan, m: FactorialCells) -> list[dict[str, Any]]:
    """Return the rows of Tables 2 to 8, and of what the paper does not print."""
    found, samples = [], m.samples[: plan.replications or TABLES]
    for figure in plan.pack.figures:
        name, (variation, effects) = figure["traffic"], figure["tables"][:2]
        for marking in MARKINGS:
            for c in CONGESTION:
                printed = at([m.published], name, marking, c)
                found.append(
                    _row(figure["table"], f"{c} {marking}", name, printed, _cell(samples, name, marking, c))
                )
        own = shares(samples, name)
        for one in plan.pack.table("anova"):
            if one["response"] == name:
                share = own[":".join(one["component"])]
                printed = one.number("percent_of_variation")
                found.append(
                    row(variation, one["component"], name, "% of variation", printed, _alone(share, samples))
                )
        found += _effects(plan, samples, name, effects)
    for one in plan.pack.table("table8"):
        marking, c = one["strategy"], one["C"]
        measured = _cell(samples, "assured", marking, c)
        found.append(_row("8", f"{c} {marking}", "assured", one.number("assured_mbps"), measured))
    for name in sorted(samples[0].values):
        if name not in CLASSES:
            for k, mark in enumerate("pab"):
                values = [float(one.values[name][:, :, k].mean()) for one in samples]
                found.append(row("extra", f"B={mark}", name, _unit(name), None, mean_interval(values)))
    return found


def _effects(plan: Plan, samples: Sequence[Cells], name: str, table: str) -> list[dict[str, Any]]:
    """Return rows of the printed effects: midpoints of intervals, which are not truncated."""
    found = effects_of(strata(cube(samples, name)), level=0.95)
    made = [_row(table, "mean", name, None, [float(one.values[name].mean()) for one in samples])]
    for one in plan.pack.table("effects"):
        if one["response"] == name and one["level"]:
            own = found.at(**dict(zip(one["component"], one["level"], strict=True)))
            middle = (one.number("ci90_low") + one.number("ci90_high")) / 2
            interval = Interval(own.value, own.low, own.high, len(samples))
            id_ = f"{one['component']} {one['level']}"
            made.append(row(table, id_, name, "Mbit/s", round(middle, 6), interval))
    return made


def own_findings(pack: Pack, m: FactorialCells) -> list[Finding]:
    """Return what the runs show beyond the claims."""
    words = pack.toml("page.toml")
    found = [_outliers(words["outliers"], m)]
    if len(m.samples) >= TABLES:
        # where 243 independent values and a split plot in blocks come to other conclusions
        differ = split_plot_differences(m.samples[:TABLES], CLASSES, ["C"])
        effects = ", ".join(differ) or "none"
        found.append(finding(words["split-plot"], replications=TABLES, number=len(differ), effects=effects))
        found.append(_significance(words["significance"], pack, m.samples[:TABLES]))
    return found


def _significance(words: Mapping[str, str], pack: Pack, samples: Sequence[Cells]) -> Finding:
    """Return the finding on effects that differ from 0 at 90 % only there or only here."""
    of = {name: effects_of(strata(cube(samples, name)), level=0.90) for name in CLASSES}
    groups: dict[str, list[str]] = {"alike": [], "there": [], "here": [], "other": []}
    for one in pack.table("effects"):
        if one["ci90_low"]:
            own = of[one["response"]].at(**dict(zip(one["component"], one["level"], strict=True)))
            printed = _sign(one.number("ci90_low"), one.number("ci90_high"))
            ours = _sign(own.low, own.high)
            group = "alike" if printed == ours else "here" if not printed else "other" if ours else "there"
            groups[group].append(f"{one['response']} {one['component']} {one['level']} ({own.value:+.4f})")
    lists = {name: ", ".join(own) or "none" for name, own in groups.items() if name != "alike"}
    return finding(words, number=sum(map(len, groups.values())), alike=len(groups["alike"]), **lists)


def _sign(low: float, high: float) -> int:
    """Return the sign of what an interval is of; 0 where it holds zero."""
    return (low > 0.0) - (high < 0.0)


def _outliers(words: Mapping[str, str], m: FactorialCells) -> Finding:
    """Return the finding on whether runs with lost SYNs are the outliers of the Q-Q plot."""
    left, _ = residuals(m.samples, "premium", KEPT["premium"])
    spread, set_aside = float(left.std()), 20 / 243
    timeouts = int(sum(one.values["premium_syn_timeouts"].sum() for one in m.samples))
    arms = []
    for arm in (name for name, of in m.samples[0].arms if name.endswith(LOST) and of == "premium"):
        lower = mean_interval(
            [
                np.mean([at([one], "premium", "pab", c) - at([one], "premium", arm, c) for c in CONGESTION])
                for one in m.samples
            ]
        )
        arms.append(f"{arm}, {lower.mean:+.4f} ± {lower.half_width:.4f} Mbit/s ({lower.mean / spread:.1f})")
    return finding(
        words,
        values=left.size,
        timeouts=timeouts,
        none="" if timeouts else words["none"],
        arms="; ".join(arms),
        spread=spread,
        set_aside=set_aside,
        far=float(np.quantile(np.abs(left), 1.0 - set_aside)) / spread,
    )


def _cell(samples: Sequence[Cells], name: str, marking: str, c: str) -> list[float]:
    return [at([one], name, marking, c) for one in samples]


def _row(table: str, id_: str, name: str, printed: float | None, values: list[float]) -> dict[str, Any]:
    return row(table, id_, name, "Mbit/s", printed, mean_interval(values))


def _alone(value: float, samples: Sequence[Cells]) -> Interval:
    """Return a number of all replications together, which has no spread of its own."""
    return Interval(value, -math.inf, math.inf, len(samples))


def _unit(name: str) -> str:
    return "Mbit/s" if name == "best_effort" else "1"
