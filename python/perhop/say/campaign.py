"""A campaign before, while and after it runs, in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.experiment import analyze, ledger
from perhop.experiment.campaign import by_key, complete_runs
from perhop.experiment.objections import Objection, objections
from perhop.experiment.stopping import described as why_it_ended
from perhop.experiment.vocabulary import words
from perhop.judge.promises import judge_promises
from perhop.run.run import expected_s
from perhop.say.document import MOST_ROWS, Cell, Table
from perhop.say.promises import document as of_promises
from perhop.units import Scale, counted, digits, size

if TYPE_CHECKING:
    from perhop.experiment.campaign import Outcome
    from perhop.experiment.definition import Campaign
    from perhop.experiment.ledger import Planned
    from perhop.experiment.store import Store

# Of each run, measured with 10,000 tiny ones (bench/waits.py): scenario, tables, responses, ledger.
_S_A_RUN = 0.0035
_MOST_FAILURES = 10
_MOST_TREATMENTS = 5
# Of the ledger and the table, measured at 24, 96 and 10,000 runs: what there is without runs, for a run
# beside its overrides (which are there twice), for a value; of SQLite's log, gone at the end; of the page.
_BYTES, _BYTES_A_RUN, _BYTES_A_VALUE = 50_000, 1200, 60
_BYTES_OF_LOG_A_RUN, _BYTES_OF_LOG = 20_000, 4_200_000
_BYTES_OF_PAGE_A_RESPONSE = 130_000


def estimate(campaign: Campaign, runs: Sequence[Planned], folder: Path, workers: int) -> dict[str, Any]:
    """Return the numbers of runs and of done runs, and the time and disk that the others take."""
    users = by_key(runs)
    complete: set[str] = set()
    if (folder / ledger.FILE).exists():
        with ledger.read(folder) as book:
            complete = complete_runs(campaign, book, users)
    missing = [own[-1] for key, own in users.items() if key not in complete]
    return {
        "treatments": len(campaign.design.treatments),
        "replications": len(runs) // len(campaign.design.treatments),
        "runs": len(users),
        "done": len(users) - len(missing),
        "workers": workers,
        "about_s": expected_s([run.work for run in missing], workers) + len(missing) * _S_A_RUN / workers,
        "about_bytes": _bytes(campaign, missing) if missing else 0,
    }


def _bytes(campaign: Campaign, missing: Sequence[Planned]) -> int:
    """Estimate the most that a store takes on disk while these runs are made."""
    known = words(campaign.scenario)
    values = 0
    for response in campaign.responses:
        tables = [known.get(one.table.text, {}) for one in response.statistics]
        sizes = (math.prod(len(table.get(name, " ")) for name in response.by) for table in tables)
        values += max(sizes, default=1)
    overrides = sum(len(one) + 4 for run in missing for one in run.overrides)
    kept = _BYTES + len(missing) * (_BYTES_A_RUN + _BYTES_A_VALUE * values) + 2 * overrides
    log = min(_BYTES_OF_LOG, len(missing) * _BYTES_OF_LOG_A_RUN)
    return kept + max(log, len(campaign.responses) * _BYTES_OF_PAGE_A_RESPONSE)


def planned(campaign: Campaign, found: Mapping[str, Any]) -> str:
    """Return an estimate as a sentence."""
    most = "at most " if campaign.stop or campaign.select else ""
    done = f", {found['done']} done already" if found["done"] else ""
    return (
        f"{campaign.name}: {counted(found['treatments'], 'treatment')}, "
        f"{most}{counted(found['replications'], 'replication')}: {counted(found['runs'], 'run')}{done}, "
        f"{about(found['about_s'])} on {counted(found['workers'], 'core')}, "
        f"{size(found['about_bytes'])} of disk"
    )


def about(seconds: float) -> str:
    """Return a time to come as text, rounded."""
    if seconds < 5:
        return "a few seconds"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def counted_states(states: Mapping[str, int]) -> str:
    """Return the number of runs in each state as text."""
    asked = states["done"] + states["failed"] + states["missing"]
    parts = [f"{states['done']} of {counted(asked, 'run')} done"]
    parts += [f"{states[name]} {name}" for name in ("failed", "missing") if states[name]]
    return ", ".join(parts)


def changes(campaign: Campaign, outcome: Outcome) -> Iterator[str]:
    """Go through sentences on runs kept and dropped, warnings, and why the stopping rule ended."""
    if outcome.kept or outcome.dropped:
        dropped = f", {outcome.dropped} no longer asked for" if outcome.dropped else ""
        if dropped and campaign.select is not None:
            dropped += f": the answer does not count {'it' if outcome.dropped == 1 else 'them'}"
        yield f"{counted(outcome.kept, 'run')} kept, {outcome.made} new{dropped}"
    if outcome.in_step:
        yield f"warning: in {counted(len(outcome.in_step), 'run')} flows are in step: {outcome.in_step[0]}"
    if campaign.stop is not None and outcome.stopped is not None:
        yield why_it_ended(campaign.stop, outcome.stopped)


def warm_up(store: Store, runs: pl.DataFrame) -> list[str]:
    """Return a sentence on treatments whose warm-up is too short; none where chance explains it."""
    found = objections(store.campaign, runs)
    if not found:
        return []
    chance = f"{100 * max(one.by_chance for one in found):.0f} %"
    named = "; ".join(map(_objected, found[:_MOST_TREATMENTS]))
    if len(found) > _MOST_TREATMENTS:
        named += f" and {counted(len(found) - _MOST_TREATMENTS, 'more treatment')}"
    return [
        f"MSER-5 objects to the warm-up of more runs than the {chance} that chance explains: {named}. "
        "Lengthen `run.warmup` there, and `run.duration` by as much"
    ]


def alike(scalars: pl.DataFrame) -> list[str]:
    """Return a sentence where all replications of each treatment gave the same of `Store.scalars`."""
    values = scalars.drop_nulls("value")
    by = [name for name in values.columns if name not in ("key", "replication", "value")]
    each = values.group_by(by).agg(pl.col("replication").n_unique(), pl.col("value").n_unique())
    if each.is_empty() or each["value"].max() != 1 or each["replication"].max() == 1:
        return []
    return [
        "all replications of each treatment gave the same values, so that no interval says anything: either "
        "nothing in the scenario is drawn at random, and one replication is enough, or chance does not touch "
        "what is measured"
    ]


def _objected(one: Objection) -> str:
    runs = f"{one.objecting} of {counted(one.runs, 'run')}"
    until = "" if one.settles_s is None else f", the latest settles at {one.settles_s:.4g} s"
    return f"{one.treatment or 'all treatments together'} ({runs}{until})"


def failures(failed: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Go through the first failed runs, each with the command that makes it again."""
    for one in failed[:_MOST_FAILURES]:
        where = f"{one['treatment']}, replication {one['replication']}"
        yield f"failed, and in no mean: {where}: {one['failure']}\n  Rerun: {one['replay']}"
    if len(failed) > _MOST_FAILURES:
        yield f"and {len(failed) - _MOST_FAILURES} more: perhop campaign status STORE --json"


def means(store: Store) -> list[dict[str, Any]]:
    """Return mean and 95 % interval of each response, treatment and group, in their order.

    Those of the response that a stopping rule looked at are wider: they hold however often it looked.
    """
    campaign = store.campaign
    asked = analyze.asked_of(campaign)
    table = store.scalars().drop_nulls("value")
    found = []
    for response in campaign.responses:
        by = ("treatment", *response.by)
        part = table.filter(pl.col("response") == response.name)
        for key, rows in part.group_by(by, maintain_order=True):
            has = asked.interval(response.name, rows["value"].to_numpy())
            of = {"response": response.name, "unit": response.unit, **dict(zip(by, key, strict=True))}
            interval = {"mean": has.mean, "half_width": has.half_width, "runs": has.n}
            found.append({**of, **interval, "holds_at_every_look": response.name == asked.looked_at})
    return found


def tables(store: Store) -> Iterator[Table]:
    """Go through a table of means for each response that has a value."""
    rows = means(store)
    for response in store.campaign.responses:
        mine = [row for row in rows if row["response"] == response.name]
        if not mine:
            continue
        scale = Scale.spanning(response.unit, [row["mean"] for row in mine], response.limits)
        always = ", which hold at every look" if mine[0]["holds_at_every_look"] else ""
        ends = [(row["mean"] - row["half_width"], row["mean"] + row["half_width"]) for row in mine]
        cut = scale.cut_note(ends)
        names = ("treatment", *response.by)
        cells: list[list[Cell]] = []
        for row, interval in zip(mine, ends, strict=True):
            shown, count = (scale.within(*interval), 4) if cut else ((row["half_width"],), 2)
            width = [digits(one / scale.factor, count) if math.isfinite(one) else None for one in shown]
            place = [str(row[name]) for name in names]
            cells.append([*place, digits(row["mean"] / scale.factor, 5), *width, row["runs"]])
        title = f"{response.name}: means{scale.in_unit} with 95 % intervals{always}{cut}"
        columns = (*names, "mean", *(("from", "to") if cut else ("+-",)), "runs")
        yield Table(title, columns, cells, whole="with --all", most=MOST_ROWS)


def without_values(store: Store, runs: pl.DataFrame | None = None) -> list[str]:
    """Return a sentence on each response without a value in the runs of the store."""
    names = [one.name for one in store.campaign.responses]
    return analyze.without_values(store.scalars(), names, store.runs() if runs is None else runs)


def document(
    store: Store, outcome: Outcome, page: Path, failed: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a campaign that has been run, as `--json` prints it."""
    return {
        "store": str(store.folder),
        "report": str(page),
        **{name: value for name, value in asdict(outcome).items() if name not in ("folder", "failed")},
        "failures": list(failed),
        "means": means(store),
        **of_promises(judge_promises(store)),
    }
