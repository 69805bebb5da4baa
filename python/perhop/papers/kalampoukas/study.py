"""The study as `perhop reproduce` runs it: the paper's figures, then maps and curves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perhop.experiment.definition import Campaign
from perhop.papers.document import check_claims, document_of, judge_of
from perhop.papers.kalampoukas.beyond import grids
from perhop.papers.kalampoukas.document import Reproduction, judge_claim, rows_of, run_warnings
from perhop.papers.kalampoukas.figures import FIGURE, FigureValues, figures_of, subject_of
from perhop.papers.kalampoukas.notes import findings
from perhop.papers.kalampoukas.page import TITLE, page_of
from perhop.papers.kalampoukas.votes import errors, unfit
from perhop.papers.pack import load_pack
from perhop.papers.plan import Plan, Results, Sweep, under
from perhop.papers.readings import load_readings, unjudged_claims
from perhop.papers.study import Study, Summary

KEY = "kalampoukas"

BEYOND = ("map", "threshold", "share", "delay", "connections")


def make_plan(quick: bool) -> Plan:
    """Return the plan: figures, as fitted and under readings; unless quick, maps and curves."""
    pack = load_pack(KEY, FIGURE)
    fitted = Campaign.load(pack.folder / "campaign.toml")
    figures = figures_of(pack, fitted)
    check_claims(pack.written, subject_of(figures), {})
    beyond = {id_: Campaign.load(pack.folder / "beyond" / f"{id_}.toml") for id_ in BEYOND}
    return Plan(
        pack=pack,
        fitted=(fitted,),
        read=tuple((one, (under(fitted, one),)) for one in load_readings(pack)),
        beyond=() if quick else tuple(Sweep(id_, id_, one) for id_, one in beyond.items()),
        unjudged=unjudged_claims(pack, quick),
        left_out=("the maps and curves beyond the paper",) if quick else (),
        drawn=tuple((fitted.scenario.source, f"figure {one.id}", list(one.overrides)) for one in figures),
    )


def reduce(plan: Plan, results: Results, command: str, results_version: int) -> Reproduction:
    """Turn what was run into rows and verdicts."""
    figures = {one.id: one for one in figures_of(plan.pack, plan.fitted[0], bool(plan.without))}
    m = FigureValues(figures, results.fitted)
    read = [(reading, FigureValues(figures, own)) for reading, own in results.read]
    listed, of_base = load_readings(plan.pack), errors(m)
    without = [unfit(of_base, own) for _, own in read]
    judge = judge_of(plan.pack.written, subject_of(m.figures.values()), {})
    claims = [
        one for claim in plan.pack.claims for one in judge_claim(judge, plan, m, read, claim, listed, without)
    ]
    document = document_of(KEY, command, results_version, rows_of(m), claims)
    return Reproduction(
        document=document,
        measured=m,
        drawn={name.removeprefix("figure "): one for name, one in results.drawn.items()},
        findings=findings(plan.pack, m, read, without),
        warnings=run_warnings(m),
        left_out=plan.left_out,
        beyond=[grid for sweep, own in results.beyond for grid in grids(sweep, own)],
    )


def summary(outcome: Reproduction) -> Summary:
    """Return every number of the paper beside both closed forms and the simulation."""

    def texts(row: dict[str, Any]) -> Iterator[str]:
        yield from (row["id"], row["quantity"], row["unit"])
        for value in (row["published"], *row["closed_form"].values(), row["simulated"]["mean"]):
            yield "-" if value is None else f"{value:.3f}"

    shown = (row for row in outcome.document["rows"] if row["table"] != "extra")
    return Summary(
        "Published, computed, simulated",
        ("figure", "quantity", "unit", "published", "printed", "bounded", "simulated"),
        tuple(tuple(texts(row)) for row in shown if not row["quantity"].startswith("slow_queue")),
    )


STUDY = Study(KEY, TITLE, make_plan, reduce, page_of, summary)
