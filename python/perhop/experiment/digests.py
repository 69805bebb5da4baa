"""Hashes of a ledger's contents, so that no changed digit in it is believed."""

from __future__ import annotations

import hashlib
import heapq
import json
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

_KEY = "digest"
"""Where among what is kept of a campaign its own hash is."""

# each row begins with the number of its run, and with what it is
_RUNS = """SELECT id, 0, digest, key, state, failure, lost, replay, unsettled, event_digest, host, worker,
    began, duration_s, finished FROM run {of} ORDER BY id"""
_MEASURED = """SELECT run AS id, 1, text FROM measured LEFT JOIN measure ON measure.id = measured.measure
    {of} ORDER BY run, text"""
_VALUES = """SELECT run AS id, 2, text, place, groups, value FROM value LEFT JOIN measure
    ON measure.id = value.measure {of} ORDER BY run, text, place"""


def seal_run(connection: sqlite3.Connection, run: int) -> None:
    """Write the hash of a run and its values into its row."""
    ((_, _, digest),) = _digests(connection, run)
    connection.execute("UPDATE run SET digest = ? WHERE id = ?", (digest, run))


def seal_runs(connection: sqlite3.Connection) -> None:
    """Write the hashes of all runs."""
    found = [(digest, run) for run, _, digest in _digests(connection)]
    connection.executemany("UPDATE run SET digest = ? WHERE id = ?", found)


def seal_campaign(connection: sqlite3.Connection) -> None:
    """Write the hash of the plan and of the facts about the campaign."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_KEY, _of_campaign(connection)))


def damage(connection: sqlite3.Connection) -> str | None:
    """Return a sentence about the parts of a ledger that have not their hash; None where all have.

    `ValueError` and `TypeError` are of contents that no ledger has.
    """
    connection.execute("BEGIN")  # one state of it, also while it is written to
    try:
        kept = connection.execute("SELECT value FROM meta WHERE name = ?", (_KEY,)).fetchone()
        if kept is None:  # one that has just been made asks for nothing
            rows = "SELECT EXISTS (SELECT * FROM plan) OR EXISTS (SELECT * FROM run)"
            if connection.execute(rows).fetchone() != (0,):
                return "its plan has no hash"
        elif kept[0] != _of_campaign(connection):
            return "its plan is not what was written"
        if any(recorded != found for _, recorded, found in _digests(connection)):
            return "what is kept of a run is not what was written"
        return None
    finally:
        connection.execute("ROLLBACK")


def _digests(connection: sqlite3.Connection, run: int | None = None) -> Iterator[tuple[int, str | None, str]]:
    """Return number, recorded hash and hash of each run, or of one."""
    found = [
        connection.execute(select.format(of="" if run is None else f"WHERE {column} = :run"), {"run": run})
        for select, column in ((_RUNS, "id"), (_MEASURED, "run"), (_VALUES, "run"))
    ]
    for number, group in groupby(heapq.merge(*found, key=itemgetter(0, 1)), itemgetter(0)):
        whole = [row[1:] for row in group]
        recorded = whole[0][1] if whole[0][0] == 0 else None
        if recorded is not None:
            whole[0] = whole[0][2:]
        yield number, recorded, _hash(whole)


def _of_campaign(connection: sqlite3.Connection) -> str:
    meta = connection.execute("SELECT name, value FROM meta WHERE name != ? ORDER BY name", (_KEY,))
    return _hash(chain(meta, connection.execute("SELECT * FROM plan ORDER BY position")))


def _hash(rows: Iterable[Any]) -> str:
    found = hashlib.sha256()
    for row in rows:
        found.update(json.dumps(row).encode() + b"\n")
    return found.hexdigest()
