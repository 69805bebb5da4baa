"""A store: the folder of a campaign, with its ledger and the table that follows from it."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from perhop import _core
from perhop.experiment import kept, ledger, slices
from perhop.experiment.definition import Campaign
from perhop.experiment.expression import Function
from perhop.experiment.fault import DesignError
from perhop.experiment.ledger import Ledger, Planned, StoreError
from perhop.experiment.response import Response, ResponseError
from perhop.experiment.slices import Slice
from perhop.experiment.stopping import Stopped
from perhop.run.folder import always, is_there, new_folder, settle, write_file
from perhop.run.record import commit, write_named
from perhop.run.seal import changed_files, file_hash, is_whole, sealed
from perhop.scenario.files import FOLDER

CAMPAIGN, SCENARIO, RECORD = "campaign.toml", "scenario.toml", "record.json"
SCALARS = "scalars.parquet"

_PLACES = ("_position", "_number", "_place")
_VALUE = {
    "_number": pl.Int64,
    "_position": pl.Int64,
    "_place": pl.Int64,
    "key": pl.String,
    "treatment": pl.Int64,
    "replication": pl.Int64,
    "response": pl.String,
}
"""Columns of a value, before those of its groups; by the first ones it is sorted."""


@dataclass(frozen=True)
class Store:
    """A store to read."""

    folder: Path
    only: Slice | None = None
    """A slice of it; what a store says is of that."""

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """Open a store, also while its campaign runs.

        Raises
        ------
        StoreError
            It is none, damaged, or from a newer perhop.
        OSError
            It cannot be read.
        """
        store = cls(Path(folder))
        _ = store.campaign
        if ledger.driver(store.folder) is None:
            check_files(store.folder)
        return store

    def where(self, conditions: Sequence[str]) -> Store:
        """Return a slice: its design, runs and values, as if nothing else had been asked for.

        Parameters
        ----------
        conditions
            Each a factor, or what a response is grouped by, and its levels: ``net=over``,
            ``net=over|exact``.

        Raises
        ------
        SliceError
            There is no such slice.
        """
        if not conditions:
            return self
        factors = self.whole.design.factors
        known = {factor.name: [level.name for level in factor.levels] for factor in factors}
        groups = dict.fromkeys(name for one in self.whole.responses for name in one.by)
        if groups:
            scalars = self.scalars()
            known |= {
                name: scalars[name].drop_nulls().unique(maintain_order=True).to_list() for name in groups
            }
        found = replace(self, only=slices.read(conditions, known))
        _ = found.campaign
        return found

    @cached_property
    def _meta(self) -> dict[str, str]:
        with ledger.read(self.folder) as book:
            return book.meta()

    @cached_property
    def campaign(self) -> Campaign:
        """The campaign as it was last run; of a slice with what is in it."""
        whole = self.whole
        return whole if self.only is None else replace(whole, design=self.only.design(whole.design))

    @cached_property
    def whole(self) -> Campaign:
        """The campaign as it was last run, all of it."""
        if kept.CAMPAIGN not in self._meta:
            message = f"{self.folder}: the campaign was stopped before it had begun"
            raise StoreError(message, "`perhop campaign run FILE` begins it")
        try:
            found = kept.decode(self._meta)
        except (LookupError, TypeError, ValueError, DesignError, ResponseError) as error:
            message = f"{self.folder / ledger.FILE}: this perhop cannot read the campaign in it: {error}"
            raise StoreError(message, ledger.ANEW) from error
        mistakes = found.scenario.check()
        if mistakes:
            message = f"{self.folder / ledger.FILE}: this perhop refuses the scenario in it:"
            raise StoreError(f"{message}\n{mistakes[0]['rendered'].rstrip()}", ledger.ANEW)
        return found

    @property
    def stopped(self) -> Stopped | None:
        """The decision of a stopping rule; None without one, or before it."""
        found = self._meta.get("stopped")
        return None if found is None else msgspec.convert(json.loads(found), Stopped)

    def runs(self) -> pl.DataFrame:
        """Return a row for each run that is asked for, in the order of the design.

        Columns: ``key``, ``treatment``, one for each factor, ``replication``, ``seed``, ``order``, ``state``
        (``done``, ``failed``, ``missing``), ``failure``, ``replay`` (the command that makes it again, in the
        store's folder), ``unsettled`` (what MSER-5 says of the warm-up), ``host``, ``worker``, ``began``
        (s since 1970), ``duration_s``, ``finished`` (which was first, second, ...), ``event_digest``.
        """
        with ledger.read(self.folder) as book:
            rows = book.connection.execute(
                """SELECT plan.key, treatment, replication, seed, run_order, coalesce(state, 'missing'),
                   failure, replay, unsettled, host, worker, began, duration_s, finished, event_digest
                   FROM plan LEFT JOIN run ON run.key = plan.key ORDER BY position"""
            ).fetchall()
        names = (
            *("key", "treatment", "replication", "seed", "order", "state", "failure", "replay", "unsettled"),
            *("host", "worker", "began", "duration_s", "finished", "event_digest"),
        )
        numbers = dict.fromkeys(("treatment", "replication", "order", "finished"), pl.Int64)
        times = dict.fromkeys(("began", "duration_s"), pl.Float64)
        schema = dict.fromkeys(names, pl.String) | numbers | times
        frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col("seed").cast(pl.UInt64))
        return self._named(frame)

    def failures(self, runs: pl.DataFrame | None = None) -> list[dict[str, Any]]:
        """Return the failed runs: treatment, replication, why, and the command that makes each again.

        Where a function failed, a comment behind the command says how it is called again.

        Parameters
        ----------
        runs
            As of `runs`, for who has them already.
        """
        failed = (self.runs() if runs is None else runs).filter(state="failed")
        again = f"cd {shlex.quote(str(self.folder))} && "
        return [
            row | {"replay": again + row["replay"] + self._not_called(row["failure"])}
            for row in failed.select("treatment", "replication", "failure", "replay").iter_rows(named=True)
        ]

    def _not_called(self, failure: str) -> str:
        """Return a comment for a run in which a function failed, which `perhop run` does not call."""
        named = (one.measure.of for one in self.whole.responses)
        files = {of.file for of in named if isinstance(of, Function)}
        own = next((file for file in files if failure.startswith(f"{file}:")), None)
        return f"  # calls nothing of {own}: mend that, and run the campaign again" if own else ""

    def scalars(self) -> pl.DataFrame:
        """Return the measured values: a row for each run, response and group, in design order.

        Columns: ``key``, ``treatment``, one for each factor, ``replication``, ``response``, one for each
        column that a response is grouped by (null where it is not), ``value``. Failed runs have no rows.
        """
        responses = self.campaign.responses
        called = [[one.key for one in self.whole.at(i)] for i in range(len(self.whole.design.treatments))]
        with ledger.read(self.folder) as book:
            parts = [
                _measured(book, number, one, [own[number] for own in called])
                for number, one in enumerate(responses)
            ]
        groups = {column: pl.String for response in responses for column in response.by}
        whole = pl.DataFrame(schema=_VALUE | groups | {"value": pl.Float64})
        frame = pl.concat([whole, *parts], how="diagonal")
        return self._named(frame.sort(_PLACES).drop(_PLACES))

    def _named(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Put names in the place of the number of a treatment, and the levels beside it."""
        design = self.whole.design
        first = ["treatment", *design.names]
        rows = [(number, one.name, *one.levels) for number, one in enumerate(design.treatments)]
        schema = {"_number": pl.Int64} | dict.fromkeys(first, pl.String)
        names = pl.DataFrame(rows, schema=schema, orient="row")
        numbered = frame.rename({"treatment": "_number"})
        named = numbered.join(names, on="_number", how="left", maintain_order="left").drop("_number")
        found = named.select("key", *first, pl.exclude("key", *first))
        return (found if self.only is None else self.only.rows(found)).rechunk()


def _measured(book: Ledger, number: int, response: Response, keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows of one response, whose values have a name in each treatment; two may share it."""
    found = book.connection.execute(
        """SELECT measure.text, groups, value, position, place, plan.key, treatment, replication FROM plan
           JOIN run ON run.key = plan.key AND state = 'done' JOIN value ON value.run = run.id
           JOIN measure ON measure.id = value.measure AND measure.text IN (SELECT value FROM json_each(?))""",
        (json.dumps(sorted(set(keys))),),
    )
    rows = [
        (number, *row, response.name, *json.loads(groups), value)
        for text, groups, value, *row in found
        if text == keys[row[3]]
    ]
    schema = _VALUE | dict.fromkeys(response.by, pl.String) | {"value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def make(folder: Path, campaign: Campaign) -> None:
    """Make the folder of a store, whole or not at all, unless it is there."""
    settle(folder)
    if is_there(folder) and (folder / ledger.FILE).exists():
        return
    empty = folder.is_dir() and not any(folder.iterdir())
    with new_folder(folder, lambda _: empty) as partial:
        _write_files(partial, campaign)
        ledger.make(partial)


def adopt(folder: Path, book: Ledger, campaign: Campaign, runs: list[Planned]) -> None:
    """Ask the store for these runs from now on."""
    text = kept.encode(campaign)
    meta = book.meta()
    same = book.is_evaluated_so and meta.get(kept.CAMPAIGN) == text
    if same and [run[:2] for run in book.plan()] == [run[:2] for run in runs]:
        return
    # files first: killed in between, the next call finds another plan and writes them again
    _forget(folder)
    _write_files(folder, campaign)
    book.replace_plan(runs, {kept.CAMPAIGN: text} | kept.functions(campaign.responses, meta))


def conclude(folder: Path, book: Ledger, runs: list[Planned], stopped: Stopped | None) -> None:
    """Write the table that follows from the ledger, and the record."""
    # not as msgspec writes it: the ends of an interval of few values are infinite, which it makes null
    decided = {} if stopped is None else {"stopped": json.dumps(msgspec.to_builtins(stopped))}
    if decided or len(runs) < sum(1 for _ in book.plan()):
        book.replace_plan(runs, book.meta() | decided)
    store = Store.open(folder)
    out = io.BytesIO()
    store.scalars().write_parquet(out)
    _forget(folder)
    _write_files(folder, store.campaign)
    write_file(folder / SCALARS, out.getvalue(), always)
    own = [*_functions(store.campaign), *(f"{FOLDER}/{name}" for name in store.campaign.scenario.files.held)]
    names = [name for name in (CAMPAIGN, SCENARIO, SCALARS, *own) if (folder / name).exists()]
    where = shlex.quote(str(folder))
    record = {
        "format": ledger.VERSION,
        "perhop": _core.__version__,
        "results_version": _core.RESULTS_VERSION,
        "measures_version": ledger.MEASURES_VERSION,
        "commit": commit(),
        "campaign": store.campaign.name,
        "runs": book.states(),
        "hashes": {name: file_hash(folder / name) for name in names},
        "commands": {
            "run": f"perhop campaign run {where}",
            "analyze": f"perhop analyze {where}",
            "report": f"perhop report {where}",
        },
    }
    write_file(folder / RECORD, sealed(record), always)


def check_files(folder: Path, *, mine: bool = False) -> None:
    """Refuse files beside a ledger that were changed since its record; `mine` is one that the caller drives.

    Files that are not there are written again when the campaign is run.
    """
    file = folder / RECORD
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return  # not finished yet
    try:
        hashes = _HASHES.decode(text).hashes if is_whole(text) else None
    except (ValueError, RecursionError):
        hashes = None
    if hashes is None:
        raise StoreError(f"{file} is damaged: its content does not match its hash", _WRITTEN_AGAIN)
    changed = changed_files(folder, {name: one for name, one in hashes.items() if (folder / name).exists()})
    # unless a campaign has begun meanwhile, which takes the record away first
    if changed and (mine or (file.exists() and ledger.driver(folder) is None)):
        name, error = next(iter(changed.items()))
        what = "changed since the campaign was run" if error is None else f"cannot be read: {error.strerror}"
        raise StoreError(f"{folder / name} {what}", f"{_WRITTEN_AGAIN}; {RECORD} has its hash")


class _Hashes(msgspec.Struct):
    """The hashes of the record."""

    hashes: dict[str, str]


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
_HASHES = msgspec.json.Decoder(_Hashes)
msgspec.json.Decoder(Stopped)

_WRITTEN_AGAIN = (
    "move it away, and `perhop campaign run STORE` writes it again from the ledger, which is whole"
)


def _forget(folder: Path) -> None:
    """Remove the files that follow from the ledger; the record first, which has the table's hash."""
    for name in (RECORD, SCALARS):
        (folder / name).unlink(missing_ok=True)


def _functions(campaign: Campaign) -> dict[str, bytes]:
    """Return the files of functions that are beside the campaign's: those stand beside its copy too."""
    return {
        one.measure.of.file: one.source.encode()
        for one in campaign.responses
        if isinstance(one.measure.of, Function) and one.source is not None
        if Path(one.measure.of.file).name == one.measure.of.file
    }


def _write_files(folder: Path, campaign: Campaign) -> None:
    own = _functions(campaign)
    for name, content in ((CAMPAIGN, campaign.source), (SCENARIO, campaign.scenario.source), *own.items()):
        if content:
            write_file(folder / name, content, always)
        else:  # made in Python, without a file
            (folder / name).unlink(missing_ok=True)
    write_named(folder, campaign.scenario.files.held)
