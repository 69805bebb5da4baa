"""The ledger of a campaign in SQLite: runs and their values, written by one driver."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from perhop.experiment.digests import damage, seal_campaign, seal_run, seal_runs
from perhop.experiment.fault import HintedError
from perhop.experiment.kinds import LEDGER
from perhop.experiment.work import Finished
from perhop.run.folder import write_file

VERSION = 2
"""Of the ledger's tables. The first has no hashes: it is read as it is, and gets them when it is driven."""

MEASURES_VERSION = 1
"""Of the evaluation of expressions: raised when one gives another value of the same tables than before."""

FILE = LEDGER
LOCK = "ledger.lock"

_APPLICATION = 0x70686F70  # "phop"
_HASHED_SINCE = 2
_WAIT_S = 30.0
_LOCK_S = 1.0

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- what is asked for, in the order of the design; two treatments that mean the same share a run
CREATE TABLE plan (
    position INTEGER PRIMARY KEY, key TEXT NOT NULL, treatment INTEGER NOT NULL, replication INTEGER NOT NULL,
    seed TEXT NOT NULL, run_order INTEGER NOT NULL, overrides TEXT NOT NULL, work REAL NOT NULL
);
CREATE TABLE run (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, state TEXT NOT NULL CHECK (state IN ('done', 'failed')),
    failure TEXT, lost INTEGER NOT NULL, replay TEXT NOT NULL, unsettled TEXT, event_digest TEXT NOT NULL,
    host TEXT NOT NULL, worker TEXT NOT NULL, began REAL NOT NULL, duration_s REAL NOT NULL,
    finished INTEGER NOT NULL, digest TEXT NOT NULL DEFAULT ''
);
CREATE TABLE measure (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
-- a run that has no row for a measure was made when nobody asked for it
CREATE TABLE value (
    run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    measure INTEGER NOT NULL REFERENCES measure (id),
    place INTEGER NOT NULL, groups TEXT NOT NULL, value REAL, PRIMARY KEY (run, measure, place)
) WITHOUT ROWID;
-- which measures a run has, also one that gave no group
CREATE TABLE measured (
    run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    measure INTEGER NOT NULL REFERENCES measure (id),
    PRIMARY KEY (run, measure)
) WITHOUT ROWID;
"""


class StoreError(HintedError):
    """A store that is in use, damaged, or from a newer perhop; or a folder that is none."""


ANEW = "keep a copy; `perhop campaign run FILE -o OTHER` makes its runs anew"


class Planned(NamedTuple):
    """A run that is asked for."""

    position: int
    key: str
    treatment: int
    replication: int
    seed: int
    run_order: int
    overrides: tuple[str, ...]
    work: float


class Entry(NamedTuple):
    """A finished run: its key, the command that makes it again, its values and its outcome."""

    key: str
    replay: str
    measures: tuple[str, ...]
    finished: Finished


class Ledger:
    """An open ledger; its file has been checked, and the folder is for messages."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self.connection = connection
        self._writing = _Transaction(connection, folder)

    def meta(self) -> dict[str, str]:
        """Return the facts about the campaign as a whole."""
        return dict(self.connection.execute("SELECT name, value FROM meta"))

    @property
    def is_evaluated_so(self) -> bool:
        """Return whether values were evaluated as expressions are now."""
        return self.meta().get("measures_version") == str(MEASURES_VERSION)

    def replace_plan(self, runs: Iterable[Planned], meta: dict[str, str]) -> None:
        """Replace the plan and the facts about the campaign; results of other runs stay."""
        meta = meta | {"measures_version": str(MEASURES_VERSION)}
        with self._writing as connection:
            if not self.is_evaluated_so:  # old values do not stand beside new ones
                connection.execute("DELETE FROM measured")
                connection.execute("DELETE FROM value")
                seal_runs(connection)
            connection.execute("DELETE FROM plan")
            connection.execute("DELETE FROM meta")
            connection.executemany(
                "INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    # SQLite's integers end at 2^63
                    (*run[:4], str(run.seed), run.run_order, json.dumps(run.overrides), run.work)
                    for run in runs
                ),
            )
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            seal_campaign(connection)

    def plan(self) -> Iterator[Planned]:
        """Return the runs that are asked for, in the order of the design."""
        for row in self.connection.execute("SELECT * FROM plan ORDER BY position"):
            position, key, treatment, replication, seed, order, overrides, work = row
            wanted = tuple(json.loads(overrides))
            yield Planned(position, key, treatment, replication, int(seed), order, wanted, work)

    def measured(self) -> dict[str, set[str]]:
        """Return the measures of each run that was not lost, by its key; none of other evaluations."""
        found = defaultdict[str, set[str]](set)
        if self.is_evaluated_so:
            # one text of each measure serves all runs
            texts = dict(self.connection.execute("SELECT id, text FROM measure"))
            for key, measure in self.connection.execute(
                "SELECT key, measure FROM run JOIN measured ON measured.run = run.id WHERE NOT lost"
            ):
                found[key].add(texts[measure])
        return found

    def failed(self) -> set[str]:
        """Return the keys of runs that failed."""
        return {key for (key,) in self.connection.execute("SELECT key FROM run WHERE state = 'failed'")}

    def values(self, measure: str) -> dict[str, dict[tuple[str, ...], float | None]]:
        """Return the values of a measure, by key and group."""
        found = defaultdict[str, dict[tuple[str, ...], float | None]](dict)
        for key, groups, value in self.connection.execute(
            """SELECT key, groups, value FROM run JOIN value ON value.run = run.id
               JOIN measure ON measure.id = value.measure WHERE measure.text = ?""",
            (measure,),
        ):
            found[key][tuple(json.loads(groups))] = value
        return found

    def made(self) -> Iterator[tuple[str, str, float, float]]:
        """Return of each run its key, event digest, when it began, and how long it took, s."""
        return iter(self.connection.execute("SELECT key, event_digest, began, duration_s FROM run"))

    def states(self) -> dict[str, int]:
        """Count runs: ``done``, ``failed``, ``missing``, ``unsettled`` as planned, ``dropped``."""
        counts = self.connection.execute(
            """WITH asked AS (SELECT DISTINCT key FROM plan)
            SELECT count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'failed'),
            count(*) FILTER (WHERE state IS NULL), count(unsettled),
            (SELECT count(*) FROM run WHERE key NOT IN asked)
            FROM asked LEFT JOIN run USING (key)"""
        ).fetchone()
        return dict(zip(("done", "failed", "missing", "unsettled", "dropped"), counts, strict=True))

    def left_s(self) -> float | None:
        """Estimate the time for missing runs at the pace of the last hundred; None before the first.

        The pace is that of a worker, so that neither a pause nor runs under way count.
        """
        done, took, seen = self.connection.execute(
            """SELECT sum(work), sum(duration_s), count(DISTINCT host || worker) FROM
               (SELECT * FROM run ORDER BY finished DESC LIMIT 100)
               JOIN (SELECT key, work FROM plan GROUP BY key) USING (key)"""
        ).fetchone()
        workers = int(self.meta().get("workers", 0)) or seen
        (left,) = self.connection.execute(
            """SELECT coalesce(sum(work), 0) FROM (SELECT key, work FROM plan GROUP BY key)
               WHERE key NOT IN (SELECT key FROM run)"""
        ).fetchone()
        return float(left * took / done / workers) if done else None

    def work_with(self, workers: int) -> None:
        """Record the number of workers, for estimates of time."""
        with self._writing as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('workers', ?)", (str(workers),))
            seal_campaign(connection)

    def add(self, finished: Sequence[Entry]) -> None:
        """Write finished runs, all or none, and let them reach the disk."""
        with self._writing as connection:
            (number,) = connection.execute("SELECT coalesce(max(finished), 0) FROM run").fetchone()
            for key, replay, measures, done in finished:
                number += 1
                connection.execute("DELETE FROM run WHERE key = ?", (key,))
                state = "done" if done.failure is None else "failed"
                row = done._asdict() | {"key": key, "state": state, "replay": replay, "finished": number}
                (run,) = connection.execute(
                    """INSERT INTO run (key, state, failure, lost, replay, unsettled, event_digest, host,
                       worker, began, duration_s, finished) VALUES (:key, :state, :failure, :lost, :replay,
                       :unsettled, :event_digest, :host, :worker, :began, :duration_s, :finished)
                       RETURNING id""",
                    row,
                ).fetchone()
                self._add_values(connection, run, measures, done)
                seal_run(connection, run)

    def _add_values(
        self, connection: sqlite3.Connection, run: int, measures: Sequence[str], done: Finished
    ) -> None:
        ids = {}
        for text in dict.fromkeys((*measures, *(each.measure for each in done.values))):
            connection.execute("INSERT OR IGNORE INTO measure (text) VALUES (?)", (text,))
            (ids[text],) = connection.execute("SELECT id FROM measure WHERE text = ?", (text,)).fetchone()
        connection.executemany("INSERT INTO measured VALUES (?, ?)", ((run, each) for each in ids.values()))
        connection.executemany(
            "INSERT INTO value VALUES (?, ?, ?, ?, ?)",
            (
                (run, ids[each.measure], place, json.dumps(each.group), each.value)
                for place, each in enumerate(done.values)
            ),
        )


class _Transaction:
    """A transaction that is rolled back by any exception.

    No generator: one that a signal leaves between two statements is closed later than its connection.
    """

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder

    def __enter__(self) -> sqlite3.Connection:
        with _named_errors(self._folder):
            self._connection.execute("BEGIN IMMEDIATE")
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _named_errors(self._folder):
            self._connection.__exit__(kind, raised, trace)
            if raised is not None:
                raise raised


def make(folder: Path) -> None:
    """Make an empty ledger in a folder that has none."""
    with _named_errors(folder), closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN; {_TABLES} COMMIT;")
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def driven(folder: Path) -> Iterator[Ledger]:
    """Open a ledger to write to, alone: a `StoreError` where another campaign is at work on it."""
    with _locked(folder), closing(_connect(folder, folder / FILE)) as connection:
        with _named_errors(folder):
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            _renew(connection, folder)
        yield Ledger(connection, folder)


@contextmanager
def read(folder: Path) -> Iterator[Ledger]:
    """Open a ledger to read, also one that is being written or cannot be."""
    with tempfile.TemporaryDirectory(prefix="perhop-") as copies:
        if os.access(folder, os.W_OK) and os.access(folder / FILE, os.W_OK):
            connection = _connect(folder, folder / FILE)
            connection.execute("PRAGMA query_only = ON")
        else:
            # SQLite cannot read what was being written without writing beside it
            for name in (FILE, f"{FILE}-wal"):
                with suppress(FileNotFoundError):
                    shutil.copy(folder / name, copies)
            connection = _connect(folder, Path(copies) / FILE)
        with closing(connection), _named_errors(folder):
            yield Ledger(connection, folder)


def _renew(connection: sqlite3.Connection, folder: Path) -> None:
    """Give a ledger of the first version hashes of its present contents."""
    if connection.execute("PRAGMA user_version").fetchone() == (VERSION,):
        return
    try:
        for (text,) in connection.execute("SELECT overrides FROM plan UNION SELECT groups FROM value"):
            json.loads(text)
    except ValueError as error:
        raise _damaged(folder, error) from error
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ALTER TABLE run ADD COLUMN digest TEXT NOT NULL DEFAULT ''")
        seal_runs(connection)
        seal_campaign(connection)
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _connect(folder: Path, file: Path) -> sqlite3.Connection:
    """Open the file and see that it is whole and of this version."""
    if not file.is_file():
        raise _none(folder)
    with _named_errors(folder):
        written = _written(file)
        uri = f"{file.resolve().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_WAIT_S)
        if _WHOLE.get(file.resolve()) != written:
            try:
                _check(connection, folder)
            except BaseException:
                connection.close()
                raise
            _WHOLE[file.resolve()] = written
    return connection


_WHOLE: dict[Path, list[tuple[int, int, int]]] = {}
"""Ledgers that this process has read whole and found as they were written, and when that was."""


def _written(file: Path) -> list[tuple[int, int, int]]:
    """Return what is another when a ledger has been written to."""
    parts = []
    for name in (str(file), f"{file}-wal"):
        with suppress(FileNotFoundError):
            found = os.stat(name)
            parts.append((found.st_ino, found.st_size, found.st_mtime_ns))
    return parts


def _check(connection: sqlite3.Connection, folder: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise StoreError(f"{folder}: {FILE} is not a ledger of perhop", "give another folder with -o")
    if version > VERSION:
        raise StoreError(
            f"{folder}: version {version} of a store is from a newer perhop; this one reads up to {VERSION}",
            "use the perhop that wrote it: its version is in record.json",
        )
    if version < 1:
        raise _damaged(folder, f"there is no version {version}")
    (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise _damaged(folder, found)
    try:
        wrong = damage(connection) if version >= _HASHED_SINCE else None
    except (ValueError, TypeError) as error:
        raise _damaged(folder, error) from error
    if wrong is not None:
        raise _damaged(folder, wrong)


@contextmanager
def _named_errors(folder: Path) -> Iterator[None]:
    """Raise refusals of SQLite as an error of the system that names the store, or of the store."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise _refused(error, folder) from error
    except sqlite3.Error as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, what: object) -> StoreError:
    return StoreError(f"{folder / FILE}: the ledger is damaged: {what}", ANEW)


def _none(folder: Path) -> Exception:
    """Return the error for a folder that has no ledger, or is not there."""
    if not folder.exists():
        return FileNotFoundError(
            errno.ENOENT, "no such folder; `perhop campaign run FILE` makes it", str(folder)
        )
    hint = "`perhop campaign run FILE` makes one"
    if (folder / "campaign.toml").is_file():
        hint = f"there is a campaign.toml: without its {FILE} the runs are lost; {hint}"
    elif (folder / "record.json").is_file():
        hint = "this is the folder of a run: `perhop report` shows it"
    return StoreError(f"{folder} is not a store of a campaign: it has no {FILE}", hint)


def _refused(error: sqlite3.OperationalError, folder: Path) -> Exception:
    # it has no code where Python refused, as text that is not UTF-8
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    number = {
        sqlite3.SQLITE_FULL: errno.ENOSPC,
        sqlite3.SQLITE_READONLY: errno.EROFS,
        sqlite3.SQLITE_IOERR: errno.EIO,
        sqlite3.SQLITE_CANTOPEN: errno.EACCES,
        sqlite3.SQLITE_PERM: errno.EROFS,
    }.get(code)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(f"{folder}: the ledger cannot be used: {error}")
    if number is None:
        return _damaged(folder, error)
    if number == errno.EIO:
        number = _why_no_io(folder)
    return OSError(number, os.strerror(number), str(folder))


def _why_no_io(folder: Path) -> int:
    """Return the system's error for a file in a folder where SQLite had an error without a reason."""
    probe = folder / ".partial-probe"
    try:
        write_file(probe, bytes(1 << 16), lambda _: True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return error.errno
    finally:
        with suppress(OSError):
            probe.unlink()
    return errno.EIO


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a store; the system lets go of it when the process ends, however it ends."""
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        message = f"{os.strerror(error.errno)}; `perhop analyze` reads it, to go on it has to be writable"
        raise OSError(errno.EROFS, message, str(folder)) from error
    try:
        until = time.monotonic() + _LOCK_S  # who only looks holds it for a moment
        while not _taken(lock, fcntl.LOCK_EX):
            if time.monotonic() > until:
                raise StoreError(
                    f"{folder}: another campaign is at work on it: {_who(lock)}",
                    f"`perhop campaign status {folder}` says how far it is",
                )
            time.sleep(0.02)
        os.ftruncate(lock, 0)
        command = " ".join(sys.argv)[:200]
        os.pwrite(lock, f"process {os.getpid()} on {platform.node()}, {command}".encode(), 0)
        yield
        os.ftruncate(lock, 0)
    finally:
        os.close(lock)


def driver(folder: Path) -> str | None:
    """Return the process that works on a store, None without one."""
    try:
        lock = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return None if _taken(lock, fcntl.LOCK_SH) else _who(lock)
    finally:
        os.close(lock)


def _taken(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _who(lock: int) -> str:
    return os.pread(lock, 1000, 0).decode(errors="replace") or "another process"
