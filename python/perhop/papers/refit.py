"""A fit of what a paper leaves open to cells that it prints, under every reading, and the readings that fit.

`calibration.toml` has the rule and its numbers (docs/decisions/0073); a study asks for it by `refit = true`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from perhop.experiment.definition import Campaign
from perhop.experiment.factors import Treatment
from perhop.judge.measured import Measurements
from perhop.papers import fit
from perhop.papers.campaigns import short
from perhop.papers.error import PackError
from perhop.papers.fit import BASE, CellFit, Measure, Off, Point, Search
from perhop.papers.readings import Reading
from perhop.papers.study import Study
from perhop.report.study import Section, Table

CampaignRunner = Callable[[Sequence[Campaign], str], list[Measurements]]
"""Function that runs campaigns in one store, for what a text says, and returns what each measured."""


def voting(study: Study) -> tuple[tuple[Reading, ...], tuple[str, ...]]:
    """Return the readings that vote, each at its fitted point, and why the others do not.

    A reading that changes how runs are made, and nothing else, is at the point of the study itself. Without a
    fit all vote.
    """
    if study.fit is None:
        return study.readings, ()
    own, record = study.fit, fit.read_record(study.folder)["fits"]
    found, left_out = list[Reading](), list[str]()
    try:
        least = min(one["error"] for one in record.values())
        for one in study.readings:
            if one.of_runs:
                found.append(one)
            elif (again := record[one.id])["fits"]:
                settings = (*one.settings, *own.under(one.id).settings(again["chosen"]))
                meaning = f"{one.meaning}; fitted again: {_point(again['chosen'])}"
                found.append(replace(one, meaning=meaning, settings=settings))
            else:
                off = f"{again['error']:.1f} against {least:.1f} standard errors"
                rule = f"does not fit the paper's own cells ({off}), so that it does not vote"
                left_out.append(f"reading {one.id}: {rule}")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        rule = f"{study.folder / fit.RECORD}: not what a calibration records: {error}"
        raise PackError(rule, f"perhop reproduce {study.key} --calibrate reruns it") from None
    return tuple(found), tuple(left_out)


def calibrate(study: Study, run: CampaignRunner) -> dict[str, Any]:
    """Search the parameters under each reading, run the results again, record which fit."""
    own, about = study.fit, study.about[0]
    assert own is not None
    layout = about.subject.factorial
    assert layout is not None
    campaign, printed = about.campaign, fit.printed_of(about.subject, own)
    listed = [Reading(BASE, ""), *(one for one in study.readings if not one.of_runs)]
    readings, called = {one.id: one for one in listed}, dict[str, Treatment]()
    for treatment in campaign.design.treatments:
        at = dict(zip(campaign.design.names, treatment.levels, strict=True))
        if layout.at.items() <= at.items():
            called[own.called.format(**at)] = treatment
    runs = [f"run.{name}={value}" for name, value in own.runs.items()]

    def off(
        asked: Sequence[tuple[str, Point]], treatments: Sequence[str], seeds: int, what: str
    ) -> list[list[Off]]:
        """Run treatments at points, each under a reading, and compare them seed by seed."""
        chosen, campaigns = tuple(called[one] for one in treatments), list[Campaign]()
        some = replace(campaign, design=replace(campaign.design, treatments=chosen, replications=seeds))
        for id_, point in asked:
            settings = readings[id_].settings_of(campaign.scenario.source)
            campaigns.append(short(some, [*settings, *own.under(id_).settings(point), *runs]))
        measured = run(campaigns, what) if campaigns else []
        cells = [fit.by_seed(about.subject, own, each, treatments) for each in measured]
        return [[own.off(printed, one) for one in each] for each in cells]

    def searched(id_: str, most: float) -> Search:
        def errors(points: Sequence[Point]) -> list[float]:
            found = off([(id_, point) for point in points], own.treatments, 1, id_)
            return [round(own.rms(one), 4) for (one,) in found]

        return search_twice(own.under(id_), errors, most)

    found = {BASE: searched(BASE, math.inf)}
    most = own.hopeless * found[BASE].error
    found |= {id_: searched(id_, most) for id_ in readings if id_ != BASE}
    seeds = {id_: own.seeds if one.error <= most else 1 for id_, one in found.items()}
    again: dict[str, list[Off]] = {}
    for id_, one in found.items():
        (again[id_],) = off([(id_, one.best)], own.treatments, seeds[id_], f"{id_}, {seeds[id_]} seeds")
    cells = {id_: fit.mean(of) for id_, of in again.items()}
    fits = own.fitting({id_: own.rms(of) for id_, of in cells.items()})
    others = [one for one in called if one not in own.treatments]
    held_out = off([(id_, found[id_].best) for id_ in fits], others, 1, "held out")
    for id_, rest in zip(fits, held_out, strict=True):
        cells[id_] |= fit.mean(rest)
    errors = {id_: [own.rms(one) for one in of] for id_, of in again.items()}
    return fit.fit_record(
        study.key,
        own.treatments,
        {
            id_: {
                **found[id_].found(),
                "error": round(own.rms(of), 3),
                "by seed": [round(one, 3) for one in errors[id_]],
                "held out": round(own.rms(of, fitted=False), 3) if id_ in fits else None,
                "fits": id_ in fits,
            }
            for id_, of in cells.items()
        },
        [point for id_, one in found.items() for point in one.points(id_)],
        unit="standard errors of a printed cell",
        best=best_point([one for one in listed if not one.against], cells, errors, own),
        cells={
            id_: {" ".join(cell): round(value, 3) for cell, value in of.items()} for id_, of in cells.items()
        },
    )


def search_twice(own: CellFit, errors: Measure, most: float) -> Search:
    """Search all parameters once, and once more those that moved, where several did.

    Where the error is above `most` when the first has been searched, it ends there.
    """
    levels = {name: one.searched for name, one in own.parameters.items()}
    first, *rest = levels
    found = Search(own.before, errors)
    found.go_through({first: levels[first]})
    if found.error <= most:
        found.go_through({name: levels[name] for name in rest})
        moved = {name: of for name, of in levels.items() if found.best[name] != own.before[name]}
        if len(moved) > 1:
            found.go_through(moved)
    return found


def best_point(
    candidates: Sequence[Reading],
    cells: Mapping[str, Off],
    errors: Mapping[str, Sequence[float]],
    own: CellFit,
) -> str:
    """Return the fitted point: the candidate with the least error if nearer with every seed, or the base."""
    least = min((one.id for one in candidates), key=lambda id_: own.rms(cells[id_]))
    nearer = all(one < base for one, base in zip(errors[least], errors[BASE], strict=True))
    return least if nearer else BASE


def section(study: Study, measured: Measurements, command: str) -> Section:
    """Return the section of the page: the error of every printed number, and of every reading."""
    own, about, record = study.fit, study.about[0], fit.read_record(study.folder)
    assert own is not None
    off = own.off(fit.printed_of(about.subject, own), fit.mean(fit.by_seed(about.subject, own, measured)))
    base, least = record["fits"][BASE], min(one["error"] for one in record["fits"].values())
    fitted = sum(cell[-1] in own.treatments for cell in off)
    text = (
        f"Fitted: {_point(base['chosen'])}. Root mean square here, in standard errors of a printed cell: "
        f"{own.rms(off):.1f} over the {fitted} fitted cells, {own.rms(off, fitted=False):.1f} over the "
        f"others. Recorded by `{record['command']}`: {base['error']:.1f} and {base['held out']:.1f}. Every "
        f"reading was fitted in the same way; one with more than {own.near * least:.1f} does not fit the "
        "paper's own cells and does not vote."
    )
    rows = []
    for name, one in record["fits"].items():
        held_out = "" if one["held out"] is None else f"{one['held out']:.1f}"
        votes = "yes" if one["fits"] else "no: does not fit the paper's own cells"
        rows.append((name, f"{one['error']:.1f}", held_out, votes, _point(one["chosen"])))
    title = "Error by reading, each at the point fitted under it"
    columns = ("reading", "fitted cells", "held out", "votes", "fitted to")
    by_reading = Table(title, columns, rows, command=record["command"])
    ordered = sorted(off, key=lambda cell: [*own.error].index(cell[0]))
    places = dict.fromkeys(" ".join(cell[:-1]) for cell in ordered)
    values = {(" ".join(cell[:-1]), cell[-1]): value for cell, value in off.items()}
    by_cell = Table(
        "Error by cell, in standard errors of the printed one",
        ("treatment", *places),
        [
            (
                f"{name} *" if name in own.treatments else name,
                *(f"{values[place, name]:+.1f}" for place in places),
            )
            for name in dict.fromkeys(cell[-1] for cell in off)
        ],
        text="A star: fitted.",
        command=command,
    )
    return fit.fit_section(own, record, [text], [by_reading, by_cell])


def _point(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {level}" for name, level in point.items())
