"""What the commands about campaigns say: before, during and after."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perhop.cli.output import note, print_table

if TYPE_CHECKING:
    from perhop.experiment.campaign import Outcome
    from perhop.experiment.definition import Campaign
    from perhop.experiment.ledger import Planned
    from perhop.experiment.store import Store

# Of the ledger and the table, measured at 24, 96 and 10,000 runs: what there is without runs, for a run
# beside its overrides (which are there twice), for a value; of SQLite's log, gone at the end; of the page.
_BYTES, _BYTES_A_RUN, _BYTES_A_VALUE = 50_000, 1200, 60
_BYTES_OF_LOG_A_RUN, _BYTES_OF_LOG = 20_000, 4_200_000
_BYTES_OF_PAGE_A_RESPONSE = 130_000


def estimate(campaign: Campaign, runs: Sequence[Planned], folder: Path, workers: int) -> dict[str, Any]:
    """Return how many runs there are and are done, and about what the others take."""
    from perhop.experiment import ledger
    from perhop.run.run import expected_s

    once = {run.key: run for run in runs}
    complete: set[str] = set()
    if (folder / ledger.FILE).exists():
        with ledger.read(folder) as book:
            complete = book.complete([response.text for response in campaign.responses])
    missing = [run for key, run in once.items() if key not in complete]
    return {
        "treatments": len(campaign.design.treatments),
        "replications": len(runs) // len(campaign.design.treatments),
        "runs": len(once),
        "done": len(once) - len(missing),
        "workers": workers,
        "about_s": expected_s([run.work for run in missing], workers),
        "about_bytes": _bytes(campaign, missing) if missing else 0,
    }


def _bytes(campaign: Campaign, missing: Sequence[Planned]) -> int:
    """Estimate the most that a store takes on disk while these runs are made."""
    from perhop.experiment.expression import statistics
    from perhop.experiment.vocabulary import words

    known = words(campaign.scenario)
    values = 0
    for response in campaign.responses:
        tables = [known.get(one.table.text, {}) for one in statistics(response.measure.of)]
        values += max(math.prod(len(table.get(name, " ")) for name in response.by) for table in tables)
    overrides = sum(len(one) + 4 for run in missing for one in run.overrides)
    kept = _BYTES + len(missing) * (_BYTES_A_RUN + _BYTES_A_VALUE * values) + 2 * overrides
    log = min(_BYTES_OF_LOG, len(missing) * _BYTES_OF_LOG_A_RUN)
    return kept + max(log, len(campaign.responses) * _BYTES_OF_PAGE_A_RESPONSE)


def in_words(campaign: Campaign, told: Mapping[str, Any]) -> str:
    """Return an estimate as a sentence."""
    from perhop.units import counted, size

    most = "at most " if campaign.stop or campaign.select else ""
    parts = [
        f"{campaign.name}: {counted(told['treatments'], 'treatment')}, "
        f"{most}{counted(told['replications'], 'replication')}: {counted(told['runs'], 'run')}",
        *([f"{told['done']} done already"] if told["done"] else []),
        f"{about(told['about_s'])} on {counted(told['workers'], 'core')} by the packets",
        f"{size(told['about_bytes'])} of disk",
    ]
    return ", ".join(parts)


def about(seconds: float) -> str:
    """Return a time as one says it before it is over."""
    if seconds < 5:
        return "a few seconds"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def counted_states(states: Mapping[str, int]) -> str:
    """Return how many runs are in which state."""
    asked = states["done"] + states["failed"] + states["missing"]
    parts = [f"{states['done']} of {asked} runs done"]
    parts += [f"{states[name]} {name}" for name in ("failed", "missing") if states[name]]
    if states["unsettled"]:
        parts.append(f"{states['unsettled']} with a warm-up that MSER-5 objects to")
    return ", ".join(parts)


@contextmanager
def how_far(folder: Path) -> Iterator[None]:
    """Say how much is done and how to go on, if what is in the context does not end well."""
    from perhop.experiment import ledger

    try:
        yield
    except ledger.StoreError:  # in use by another, or not to be used at all
        raise
    except BaseException:
        # what cannot be told is no reason to hide what went wrong first
        with suppress(OSError, ledger.StoreError), ledger.read(folder) as book:
            states = book.states()
            if states["missing"]:
                again = f"perhop campaign run {shlex.quote(str(folder))}"
                note(f"{folder}: {counted_states(states)}; go on with: {again}")
        raise


def say_changes(campaign: Campaign, outcome: Outcome) -> None:
    """Say what was there already, what is no longer asked for, and what the stopping rule decided."""
    from perhop.experiment.stopping import described
    from perhop.units import counted

    if outcome.kept or outcome.dropped:
        dropped = f", {outcome.dropped} no longer asked for" if outcome.dropped else ""
        note(f"{counted(outcome.kept, 'run')} kept, {outcome.made} new{dropped}")
    if outcome.unsettled:
        runs = counted(outcome.unsettled, "run")
        note(f"warning: MSER-5 objects to the warm-up of {runs}; which: column unsettled of Store.runs()")
    if outcome.in_step:
        note(f"warning: in {counted(len(outcome.in_step), 'run')} flows are in step: {outcome.in_step[0]}")
    if campaign.stop is not None and outcome.stopped is not None:
        note(described(campaign.stop, outcome.stopped))


def print_failures(failed: Sequence[Mapping[str, Any]]) -> None:
    """Print failed runs to stderr."""
    for one in failed[:10]:
        note(
            f"failed, and in no mean: {one['treatment']}, replication {one['replication']}: "
            f"{one['failure']}\n  again: {one['replay']}"
        )
    if len(failed) > 10:
        note(f"and {len(failed) - 10} more: perhop campaign status STORE --json")


def means(store: Store) -> list[dict[str, Any]]:
    """Return mean and 95 % interval of each response, treatment and group, in their order.

    Those of the response that a stopping rule looked at are wider: they hold however often it looked.
    """
    import polars as pl

    from perhop.experiment.analyze import asked_of

    campaign = store.campaign
    asked = asked_of(campaign)
    table = store.scalars().drop_nulls("value")
    found = []
    for response in campaign.responses:
        by = ("treatment", *response.by)
        part = table.filter(pl.col("response") == response.name)
        for key, rows in part.group_by(by, maintain_order=True):
            interval = asked.interval(response.name, rows["value"].to_numpy())
            found.append(
                {
                    "response": response.name,
                    "unit": response.unit,
                    **dict(zip(by, key, strict=True)),
                    "mean": interval.mean,
                    "half_width": interval.half_width,
                    "runs": interval.n,
                    "holds_at_every_look": response.name == asked.looked_at,
                }
            )
    return found


def print_means(store: Store) -> None:
    """Print a table of means for each response; to stderr, which response has no value."""
    from perhop.say.analysis import Scale

    rows = means(store)
    warn_of_none(store)
    for response in store.campaign.responses:
        mine = [row for row in rows if row["response"] == response.name]
        if not mine:
            continue
        scale = Scale.of(response.unit, max(abs(row["mean"]) for row in mine))
        unit = f" in {scale.unit}" if scale.unit else ""
        always = ", which hold at every look" if mine[0]["holds_at_every_look"] else ""
        print_table(
            f"{response.name}: means{unit} with 95 % intervals{always}",
            ("treatment", *response.by, "mean", "+-", "runs"),
            [
                (
                    *(str(row[name]) for name in ("treatment", *response.by)),
                    f"{row['mean'] / scale.factor:.5g}",
                    f"{row['half_width'] / scale.factor:.2g}" if math.isfinite(row["half_width"]) else "-",
                    str(row["runs"]),
                )
                for row in mine
            ],
            f"in {store.folder}/scalars.parquet",
        )


def warn_of_none(store: Store) -> None:
    """Say on stderr which responses have no value."""
    from perhop.experiment.analyze import without_values

    for text in without_values(store.scalars(), [one.name for one in store.campaign.responses]):
        note(f"warning: {text}")


def write_page(store: Store) -> Path:
    """Write the page of a store, as ``perhop report`` does, and return its path."""
    from perhop.report.campaign import render
    from perhop.report.page import is_page, write_page

    file = store.folder / "report.html"
    write_page(file, render(store), is_page)
    return file


def document(
    store: Store, outcome: Outcome, page: Path, failed: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return what `--json` prints of a campaign that has been run."""
    from dataclasses import asdict

    return {
        "store": str(store.folder),
        "report": str(page),
        **{name: value for name, value in asdict(outcome).items() if name not in ("folder", "failed")},
        "failures": list(failed),
        "means": means(store),
    }
