"""The page of a store: factors, their effects, how sure these are, and the figures behind."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop import _core
from perhop.experiment.analyze import analyze, asked_of, without_values
from perhop.experiment.stopping import described
from perhop.judge.promises import judge_promises
from perhop.report import effects, page
from perhop.say import analysis, promised, promises
from perhop.say import claims as said_of_claims
from perhop.say.analysis import how_sure, varied, what_mattered
from perhop.say.campaign import alike, warm_up
from perhop.say.document import Table
from perhop.say.recommendation import commands, to_type_in
from perhop.say.recommendation import described as recommended
from perhop.say.recommendation import tables as changes
from perhop.stats.contrasts import tukey_of

if TYPE_CHECKING:
    from pathlib import Path

    from perhop.experiment.analysis import Analysis
    from perhop.experiment.store import Store
    from perhop.judge.campaign import JudgedClaim
    from perhop.recommend.answer import Answer

_SHOWN, _FOLDED = 12, 500
_MOST_COMPARED = 8
"""Levels of a single factor that are compared pair by pair."""

_MOST_IN_FRONT = 4
"""Most responses on the first screen; the others are further down."""


def write(store: Store) -> Path:
    """Write the page of a store into its folder, as ``perhop report`` does; return its path."""
    file = store.folder / "report.html"
    page.write_page(file, render(store), page.is_page)
    return file


def render(store: Store, claims: str = "", judged: Sequence[JudgedClaim] = ()) -> str:
    """Return the page of a store as HTML, with the claims of a file as judged on it, if any.

    The same runs give the same page.
    """
    campaign = store.campaign
    runs = store.runs()
    scalars = store.scalars()
    analyses = analyze(scalars, asked_of(campaign, apart=True))
    where = shlex.quote(str(store.folder))
    conditions = [] if store.only is None else store.only.conditions
    view = shlex.join(word for one in conditions for word in ("--where", one))
    seen = f"{where} {view}".rstrip()
    judging = f"{seen} --claims {shlex.quote(claims)}"
    sections = [_section(one, place, store.folder, view) for place, one in enumerate(analyses)]
    _once(sections)
    answered = recommended(store) if store.only is None else None
    title = campaign.name if store.only is None else f"{campaign.name}, {store.only}"
    found = answered[0] if answered else None
    scores = None if found is None else effects.scores(found)
    table = promised.table(found, found.promises) if found and found.promises else None
    against = list(changes(found, ())) if found else []
    return page.render(
        "campaign.html.j2",
        {
            "title": f"Recommendation for {campaign.scenario.name}" if answered else title,
            "answer": answered[1] if answered else [],
            "promised": table,
            "against": against,
            "varied": varied(store, runs),
            "within": _within(analyses),
            "claims": [said_of_claims.overview(judged), *said_of_claims.each(judged)] if judged else [],
            "promises": [] if table else promises.parts(judge_promises(store, scalars)),
            "judging": f"perhop analyze {judging}",
            "sections": sections,
            "front": sections[:_MOST_IN_FRONT],
            "sure": _sure(sections[:_MOST_IN_FRONT]),
            "further": sections[_MOST_IN_FRONT:],
            "scores": scores and scores.draw(store.folder),
            "states": {name: runs.filter(state=name).height for name in ("done", "failed", "missing")},
            "failed": store.failures(runs)[:_SHOWN],
            "without": without_values(scalars, [one.name for one in campaign.responses], runs),
            "unsettled": warm_up(store, runs),
            "alike": alike(scalars),
            "stopped": described(campaign.stop, store.stopped) if campaign.stop and store.stopped else "",
            "next": [*_taken(store, found), *_next([] if answered else analyses, runs, where, seen)],
            "factors": campaign.design.factors,
            "responses": campaign.responses,
            "design": campaign.design,
            "scenario": campaign.scenario,
            "perhop": (_core.__version__, _core.RESULTS_VERSION),
            "source": campaign.source.decode(errors="replace"),
            "commands": {
                "run": f"perhop campaign run {where}",
                "status": f"perhop campaign status {where}",
                "analyze": f"perhop analyze {seen}",
                "report": f"perhop report {judging if claims else seen}{' -o FILE' if view else ''}",
                "table": f"perhop table {where} scalars",
            },
        },
    )


def _within(analyses: list[Analysis]) -> str:
    """Return a sentence that names the factors within each run."""
    names = dict.fromkeys(name for one in analyses for name in (*one.within, *one.of))
    return f"Measured within each run by {' and '.join(names)}." if names else ""


def _sure(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge the responses whose certainty has the same words."""
    found: dict[str, dict[str, Any]] = {}
    for part in sections:
        text = " ".join(part["sure"])
        own = found.setdefault(text, {"names": [], "text": text, "doubt": part["doubt"]})
        own["names"].append(part["name"])
    return list(found.values())


def _section(one: Analysis, place: int, folder: Path, view: str) -> dict[str, Any]:
    """Return a response's part of the page, as its template takes it."""
    id = f"response-{place + 1}"
    own = f"{shlex.quote(str(folder))} {view}".rstrip()
    command = f"perhop analyze {own} --response {shlex.quote(one.response)}"
    lead = effects.curve(one, f"{id}-curve") or effects.changes(one, id)
    return {
        "id": id,
        "name": one.name,
        "mattered": what_mattered(one),
        "sure": how_sure(one),
        "doubt": any(check.holds is False for check in one.checks),
        "lead": lead and lead.draw(folder, view),
        "figures": [figure.draw(folder, view) for figure in effects.figures(one, id)],
        "residuals": [figure.draw(folder, view) for figure in effects.residuals(one, id)],
        "outliers": any(check.rows for check in one.checks),
        "tables": list(_tables(one, command)),
    }


def _once(sections: Sequence[dict[str, Any]]) -> None:
    """Leave a command only below the last of the tables that it prints."""
    known = set()
    for tables in (part["tables"] for part in reversed(sections)):
        for place in reversed(range(len(tables))):
            if tables[place].command in known:
                tables[place] = replace(tables[place], command="")
            known.add(tables[place].command)


def _tables(one: Analysis, command: str) -> Iterator[Table]:
    """Go through a response's tables; the rest of a long one is left to the command."""
    for each in analysis.tables(one, page=True):
        rows, whole = each.rows[:_FOLDED], "in what the command prints"
        yield replace(each, rows=rows, of=len(each.rows), whole=whole, command=command)
    # a single factor, where its ends are not all there is to compare
    few = len(one.factors) == 1 and 2 < len(one.means) <= _MOST_COMPARED
    if few and one.method == "factorial" and one.strata is not None and one.strata.between.df:
        pairs = tukey_of(one.strata, one.factors[0], one.level)
        table = analysis.differences(pairs, analysis.scale(one), one.level)
        text = f"{table.title} (Tukey). *: they differ."
        yield replace(table, title="Which levels differ", text=text, command=f"{command} --pairs")


def _taken(store: Store, found: Answer | None) -> list[tuple[str, str]]:
    """Return the steps that follow a recommendation: a run of the candidate taken, its queues on a device."""
    if found is None:
        return []
    typed = to_type_in(store, found).items()
    steps = [(f"Queues to type in at {node}:", command) for node, command in typed]
    return [("Run the scenario so:", commands(store, found)["try it"]), *steps]


def _next(analyses: list[Analysis], runs: pl.DataFrame, where: str, seen: str) -> Iterator[tuple[str, str]]:
    """Go through next steps: sentences, each with its command, about the store or what is seen of it."""
    run = f"perhop campaign run {where}"
    if runs.filter(state="missing").height:
        yield "Make the runs that are missing:", run
    for one in analyses[:1]:
        rows = one.means.filter(pl.col("mean") != 0, pl.col("high").is_finite())
        width = ((rows["high"] - rows["low"]) / 2 / rows["mean"].abs()).max()
        if isinstance(width, float) and width > 0:
            known, asked = (f"{float(f'{share:.2g}'):g}" for share in (100 * width, min(50 * width, 50)))
            text = f"Means of {one.response} are known to {known} % or better; to know them to {asked} %:"
            yield text, f"{run} --until-ci {shlex.quote(f'{one.response}={asked}%')}"
        elif one.means["n"].max() == 1:
            text = "One replication gives no intervals; add replications:"
            yield text, f"{run} --until-ci {shlex.quote(f'{one.response}=2%')}"
    yield "Numbers of this page, as text or JSON:", f"perhop analyze {seen} --json"
