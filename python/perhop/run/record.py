"""The folder a run leaves: written whole or not at all, read back with its hash checked."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
import polars as pl

from perhop import _core
from perhop.run.folder import always, write_file
from perhop.run.live import Live
from perhop.run.run import Result
from perhop.run.seal import changed_files, file_hash, indented, is_whole, sealed
from perhop.run.tables import FORMAT, OPTIONAL, TABLES, complete, tables_of
from perhop.run.trace_files import TraceFiles, is_trace, trace_file, write_table
from perhop.scenario.files import FOLDER, Files
from perhop.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCENARIOS = ("scenario.toml", "scenario.resolved.toml")
"""The scenario of a run: as it was given, and with overrides and defaults filled in."""


class Counts(msgspec.Struct, frozen=True):
    """The counts of a run."""

    events: int
    packet_hops: int
    packets_created: int


class Host(msgspec.Struct, frozen=True):
    """The machine a run was made on."""

    platform: str
    python: str
    cores: int | None


class Record(msgspec.Struct, frozen=True):
    """`record.json`: program, place and command of a run, and the hashes of its results."""

    format: int
    perhop: str
    results_version: int
    commit: str | None
    scenario: str
    seed: int
    replication: int
    overrides: list[str]
    trace: list[str]
    command: str
    counts: Counts
    invariants: list[str]
    event_digest: str
    output_hash: str
    table_hashes: dict[str, str]
    scenario_hashes: dict[str, str]
    host: Host
    live: Live | None = None
    file_hashes: dict[str, str] = {}
    record_hash: str | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that no perhop writes."""
        if self.results_version < 1 or not (0 <= self.seed < 2**64 and 0 <= self.replication < 2**64):
            raise ValueError("results_version, seed or replication is out of range")


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A run read back from its folder.

    Parameters
    ----------
    folder, record
        Where it is, and what ran.
    tables
        As they are in the folder; `table` and the properties have every column of today.
    """

    folder: Path
    record: Record
    tables: dict[str, pl.DataFrame]
    _checked: set[str] = field(default_factory=set, init=False, repr=False)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder and compare its scenario and its tables with the recorded hashes.

        Raises
        ------
        DamagedRunError
            The folder is not a run, is incomplete, was changed, or is from another version of perhop.
        """
        folder = Path(folder)
        record = _read_record(folder)
        again = f"Rerun: {record.command}"
        try:
            found = _scenario_hashes({name: (folder / name).read_bytes() for name in SCENARIOS})
        except OSError as error:
            message = f"{folder}: a scenario file cannot be read: {error.strerror}"
            raise DamagedRunError(message, again) from error
        named = [name for name in record.file_hashes if name.startswith(f"{FOLDER}/")]
        names = (*tables_of(record.format), *(name for name in OPTIONAL if name in record.table_hashes))
        _refuse_changed(folder, record, [*named, *(f"{name}.parquet" for name in names)], again)
        tables = {}
        for name in names:
            file = folder / f"{name}.parquet"
            try:
                # a blank or a bracket in the folder's name is part of the name, not a pattern
                tables[name] = pl.read_parquet(file, glob=False)
            except UNREADABLE as error:
                raise DamagedRunError(f"{file} cannot be read: {error}", again) from error
        changed = differing(record.scenario_hashes, found)
        _refuse(folder, changed + differing(record.table_hashes, table_hashes(tables)), again)
        if record.output_hash != combined_hash(record.table_hashes):
            raise DamagedRunError(f"{folder}: output_hash in record.json does not match the tables")
        stored = cls(folder, record, tables)
        mistakes = stored.scenario().check()
        if mistakes:
            raise DamagedRunError(
                f"{folder}: this perhop refuses scenario.toml with the recorded overrides:\n"
                f"{mistakes[0]['rendered'].rstrip()}"
            )
        return stored

    def table(self, name: str) -> pl.DataFrame:
        """Return a table with every column of today; columns younger than the run are null."""
        return complete(name, self.tables.get(name))

    @property
    def flows(self) -> pl.DataFrame:
        """A row for each TCP flow."""
        return self.table("flows")

    @property
    def links(self) -> pl.DataFrame:
        """A row for each direction of each link."""
        return self.table("links")

    @property
    def queues(self) -> pl.DataFrame:
        """A row for each class of each port."""
        return self.table("queues")

    @property
    def series(self) -> pl.DataFrame:
        """A value for each interval, path and quantity."""
        return self.table("series")

    @property
    def udp(self) -> pl.DataFrame:
        """A row for each UDP flow."""
        return self.table("udp")

    @property
    def marks(self) -> pl.DataFrame:
        """A row for each flow and mark."""
        return self.table("marks")

    @property
    def conditioners(self) -> pl.DataFrame:
        """A row for each conditioner."""
        return self.table("conditioners")

    @property
    def classes(self) -> pl.DataFrame:
        """A row for each class of flows."""
        return self.table("classes")

    @property
    def applications(self) -> pl.DataFrame:
        """A row for each application over TCP."""
        return self.table("applications")

    @property
    def loads(self) -> pl.DataFrame:
        """A row for each load of an application."""
        return self.table("loads")

    @property
    def videos(self) -> pl.DataFrame:
        """A row for each application that plays video."""
        return self.table("videos")

    @property
    def calls(self) -> pl.DataFrame:
        """A row for each way of a call."""
        return self.table("calls")

    def is_of(self, result: Result) -> bool:
        """Return whether this is the folder of `result`: scenario, tables and traces."""
        scenario = result.scenario
        return (
            self.scenario().source == scenario.source
            and self.record.overrides == list(scenario.overrides)
            and self.record.trace == list(result.trace)
            and self.record.event_digest == result.event_digest
            and self.record.table_hashes == table_hashes(result.tables())
        )

    def trace(self, kind: str) -> pl.LazyFrame | None:
        """Return a trace, or None where it was not asked for.

        Raises
        ------
        DamagedRunError
            It was asked for and its file cannot be read, or was changed.
        """
        if kind not in self.record.trace:
            return None
        file = trace_file(self.folder, kind)
        self._check_trace(file)
        try:
            found = pl.scan_parquet(file, glob=False)
            found.collect_schema()
        except UNREADABLE as error:
            raise DamagedRunError(f"{self.folder}: {file.name} cannot be read: {error}") from error
        return found

    def _check_trace(self, file: Path) -> None:
        """Compare the parts of a trace with their hashes, once: they may be long."""
        if file.name in self._checked:
            return
        names = [name for name in self.record.file_hashes if name.split("/")[0] == file.name]
        _refuse_changed(self.folder, self.record, names, f"Rerun: {self.record.command}")
        if file.is_dir() and names and len(names) != len(os.listdir(file)):
            raise DamagedRunError(f"{file} has other parts than were recorded")
        self._checked.add(file.name)

    def scenario(self) -> Scenario:
        """Return the scenario as it was run, overrides included."""
        return self._scenario

    @cached_property
    def _scenario(self) -> Scenario:
        source = (self.folder / "scenario.toml").read_bytes()
        name, overrides = str(self.folder / "scenario.toml"), tuple(self.record.overrides)
        return Scenario(source, name, overrides, Files(self.folder / FOLDER))


# a Parquet file that was tampered with can make polars panic, which no `except Exception` sees
UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What polars raises of a file that it cannot read."""


def _refuse_changed(folder: Path, record: Record, names: Sequence[str], again: str) -> None:
    """Refuse files that have not their recorded bytes; an older record has no hashes."""
    recorded = {name: record.file_hashes[name] for name in names if name in record.file_hashes}
    missing = [name for name in recorded if not (folder / name).is_file()]
    if missing:
        raise DamagedRunError(f"{folder / missing[0]} cannot be read: there is no such file", again)
    changed = changed_files(folder, recorded)
    for name, error in changed.items():
        if error is not None:
            raise DamagedRunError(f"{folder / name} cannot be read: {error.strerror}", again) from error
    _refuse(folder, list(changed), again)


def _refuse(folder: Path, changed: list[str], again: str) -> None:
    if changed:
        message = f"{folder}: {', '.join(changed)} changed since the run was recorded"
        raise DamagedRunError(message, again)


class DamagedRunError(Exception):
    """A run folder that cannot be trusted or understood, with a remedy."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class _Format(msgspec.Struct):
    """The part of `record.json` that is read first."""

    format: Any = None


class _Mark(msgspec.Struct):
    """The fields of a `record.json` in every version of perhop, and of no other program."""

    format: int
    perhop: str
    results_version: int
    file_hashes: dict[str, str] = {}


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
_FORMAT = msgspec.json.Decoder(_Format)
_MARK = msgspec.json.Decoder(_Mark)
_RECORD = msgspec.json.Decoder(Record)

_MADE = re.compile(
    r"scenario(\.resolved)?\.toml|(record|iperf3)\.json|report\.html|[a-z.]+\.(parquet|csv)|.+\.pcapng|\.partial-\w+"
)
"""What a run's folder holds: also in later versions, and what a killed `perhop report` left."""


def _read_record(folder: Path) -> Record:
    if not folder.exists():
        message = "no such folder; `perhop run FILE -o FOLDER` makes one"
        raise FileNotFoundError(errno.ENOENT, message, str(folder))
    if (folder / "ledger.sqlite").exists():
        raise DamagedRunError(
            f"{folder} is the store of a campaign, not a run: `perhop analyze {folder}` says what it found, "
            f"`perhop figure {folder}` draws it"
        )
    file = folder / "record.json"
    try:
        text = file.read_bytes()
    except OSError as error:
        made = f"; `perhop run {folder}` makes one" if folder.suffix == ".toml" and folder.is_file() else ""
        message = f"{folder} is not a run folder: it has no readable record.json{made}"
        raise DamagedRunError(message) from error
    try:
        version = _FORMAT.decode(text).format
        if isinstance(version, int) and version > FORMAT:
            message = f"{folder}: format {version} is from a newer perhop; this one reads up to {FORMAT}"
            raise DamagedRunError(message)
        found = _RECORD.decode(text)
        if not is_whole(text):
            raise DamagedRunError(f"{file} is damaged: its content does not match its hash")
        return found
    except (ValueError, RecursionError) as error:
        raise DamagedRunError(f"{file} is damaged: {error}") from error


def is_run(folder: Path) -> bool:
    """Return whether a folder, and no link to one, is a run's with nothing else in it."""
    if folder.is_symlink():
        return False
    try:
        mark = _MARK.decode((folder / "record.json").read_bytes())
        return all(
            _has_only(path, mark.file_hashes)
            if path.name == FOLDER
            else _MADE.fullmatch(path.name) and (not path.is_dir() or is_trace(path))
            for path in folder.iterdir()
        )
    except (OSError, ValueError, RecursionError):
        return False


def _has_only(named: Path, hashes: Mapping[str, str]) -> bool:
    """Return whether the files that a scenario names are all in their folder."""
    found = (path.relative_to(named.parent).as_posix() for path in named.rglob("*") if not path.is_dir())
    return all(name in hashes for name in found)


def write_named(folder: Path, files: Mapping[str, bytes]) -> dict[str, str]:
    """Write the files that a scenario names; return their hashes by their paths in `folder`."""
    hashes = {}
    for name, content in files.items():
        file = folder / FOLDER / name
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(file, content, always)
        hashes[f"{FOLDER}/{name}"] = hashlib.sha256(content).hexdigest()
    return hashes


def write(
    result: Result,
    scenario: Scenario,
    folder: Path,
    *,
    trace: Sequence[str] = (),
    traces: TraceFiles | None = None,
) -> Record:
    """Write a run's files into an empty folder; `traces` wrote what `result` has not of it, as it came."""
    tables = result.tables()
    hashes = table_hashes(tables)
    texts = dict(zip(SCENARIOS, (scenario.source, scenario.resolve().encode()), strict=True))
    for name, source in texts.items():
        write_file(folder / name, source)
    files = write_named(folder, scenario.core.files)
    for name, table in tables.items():
        file = folder / f"{name}.parquet"
        files[file.name] = write_table(table.write_parquet, file).hexdigest()
    how = result.live
    if how is not None and how.iperf3 is not None:
        measured, said = how.iperf3.parted()
        how = msgspec.structs.replace(how, iperf3=measured)
        write_file(folder / "iperf3.json", indented(said))
    traces = traces or TraceFiles(folder)
    for kind, table in result.trace.items():
        traces.add(kind, table)
    files |= traces.hashes
    for path in sorted(folder.iterdir()):  # captures, and what iperf3 said
        if path.is_file() and not path.name.startswith(".partial-") and path.name not in (*files, *texts):
            files[path.name] = file_hash(path)
    record = Record(
        format=FORMAT,
        perhop=_core.__version__,
        results_version=_core.RESULTS_VERSION,
        commit=commit(),
        scenario=scenario.name,
        seed=scenario.seed,
        replication=scenario.replication,
        overrides=list(scenario.overrides),
        trace=list(trace),
        command=_command(scenario, trace),
        counts=Counts(*(result.counts[name] for name in Counts.__struct_fields__)),
        invariants=result.invariants,
        event_digest=result.event_digest,
        output_hash=combined_hash(hashes),
        table_hashes=hashes,
        scenario_hashes=_scenario_hashes(texts),
        host=Host(platform.platform(), platform.python_version(), os.cpu_count()),
        live=how,
        file_hashes=files,
    )
    text = sealed(record)
    write_file(folder / "record.json", text)
    return _RECORD.decode(text)


def _command(scenario: Scenario, trace: Sequence[str]) -> str:
    """Return the command that makes the run again, from a file called as the scenario is."""
    words = ["perhop", "run", scenario.name]
    words += [word for assignment in scenario.overrides for word in ("-s", assignment)]
    words += ["--trace", ",".join(trace)] if trace else []
    return shlex.join(words)


def table_hashes(tables: Mapping[str, pl.DataFrame]) -> dict[str, str]:
    """Return the SHA-256 of each table, over names, types and bytes of its columns in order."""
    return {name: _table_hash(table) for name, table in tables.items()}


def combined_hash(hashes: Mapping[str, str]) -> str:
    """Return the output hash: the SHA-256 of the hashes of `TABLES` that there are, in that order."""
    return hashlib.sha256("".join(hashes[name] for name in TABLES if name in hashes).encode()).hexdigest()


def differing(recorded: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Return the tables with other hashes."""
    return [name for name in found if recorded.get(name) != found[name]]


def _scenario_hashes(texts: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each of `SCENARIOS`, byte for byte."""
    return {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}


_HASHED_AT_ONCE = 1 << 16
"""Values of a column that are copied at a time."""


def _table_hash(table: pl.DataFrame) -> str:
    digest = hashlib.sha256()
    for column in table.iter_columns():
        digest.update(f"{column.name}\0{column.dtype}\0{len(column)}\0".encode())
        for start in range(0, len(column), _HASHED_AT_ONCE):
            values = column.slice(start, _HASHED_AT_ONCE)
            if values.dtype == pl.String:
                text = "\0".join(values.fill_null("\1").to_list())
                digest.update(f"\0{text}".encode() if start else text.encode())
                continue
            if values.dtype.is_float():
                values = values.fill_null(float("nan"))
            digest.update(values.to_numpy().tobytes())
    return digest.hexdigest()


def commit() -> str | None:
    """Return the commit of the checkout, with ``-dirty`` where files differ from it."""
    top = checkout()
    if top is None:
        return None
    words = ["git", "-C", str(top), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def checkout() -> Path | None:
    """Return the source checkout of this package, or None for an installed wheel."""
    top = Path(__file__).resolve().parents[3]
    return top if (top / "crates" / "perhop-py" / "Cargo.toml").is_file() else None
