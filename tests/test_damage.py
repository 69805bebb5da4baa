"""Damage: what was changed on disk is told with its file (status 8), and never believed."""

from __future__ import annotations

import contextlib
import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli, Done
from perhop import StoredRun
from perhop.cli.__main__ import run as run_cli
from perhop.cli.exit import ExitCode
from perhop.experiment import ledger
from perhop.experiment.digests import seal_campaign, seal_runs
from perhop.experiment.ledger import StoreError
from perhop.experiment.store import Store
from test_campaign_run import Here, campaign, ran, table

SCENARIO = """
[run]
seed = 7
duration = "2s"
warmup = "500ms"
interval = "100ms"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
ends = ["a", "b"]
rate = "1Mbit/s"
delay = "5ms"
loss = 0.02
[[flow]]
name = "up"
from = "a"
to = "b"
"""

FILE = """
scenario = "y.toml"
replications = 2
[[factor]]
name = "rate"
path = "link.a-b.rate"
levels = ["1Mbit/s", "2Mbit/s"]
[[response]]
name = "goodput"
measure = "mean(flows.goodput_bit_s)"
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a finished store, `s`, a run with traces, `r`, and what they are made of."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "y.toml").write_text(SCENARIO)
    (folder / "c.toml").write_text(FILE)
    with contextlib.chdir(folder):
        assert run_cli(["campaign", "run", "c.toml", "-o", "s", "-j", "1"]) == 0
        assert run_cli(["run", "y.toml", "--trace", "packets,tcp", "-o", "r"]) == 0
    return folder


@pytest.fixture
def store(sound: Path, tmp_path: Path) -> Path:
    """Give a finished store, `s`, of a campaign beside it, to be damaged."""
    shutil.copytree(sound / "s", tmp_path / "s")
    for name in ("y.toml", "c.toml"):
        shutil.copy(sound / name, tmp_path)
    return Path("s")


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> Path:
    """Give the folder of a run with traces, `r`, to be damaged."""
    shutil.copytree(sound / "r", tmp_path / "r")
    return Path("r")


def changed(folder: Path, statement: str) -> None:
    """Change a ledger as damage that SQLite does not see would."""
    connection = sqlite3.connect(folder / "ledger.sqlite")
    with connection:
        assert connection.execute(statement).rowcount != 0
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE value SET value = value + 0.5 WHERE run = 1",
        "UPDATE value SET groups = '[\"x\"]' WHERE run = 2",
        "UPDATE value SET groups = '{' WHERE run = 2",
        "UPDATE value SET groups = CAST(x'ff' AS TEXT) WHERE run = 2",
        "UPDATE value SET run = 99 WHERE run = 1",
        "UPDATE measure SET text = 'median(flows.goodput_bit_s)'",
        "UPDATE run SET state = 'failed' WHERE id = 1",
        "UPDATE run SET key = 'x' WHERE id = 1",
        "DELETE FROM measured WHERE run = 1",
        "UPDATE plan SET replication = 7 WHERE position = 0",
        "UPDATE plan SET overrides = '[' WHERE position = 0",
        "UPDATE plan SET overrides = CAST(x'ff' AS TEXT) WHERE position = 0",
        "UPDATE meta SET value = replace(value, 'duration', 'durati0n') WHERE name = 'campaign'",
        "UPDATE meta SET name = 'stopped' WHERE name = 'workers'",
        "PRAGMA user_version = 0",
    ],
)
def test_a_ledger_that_was_changed_is_refused_by_all_that_read_it(
    cli: Cli, store: Path, statement: str
) -> None:
    changed(store, statement)
    was = (store / "scalars.parquet").read_bytes(), (store / "record.json").read_bytes()
    for command in (
        ("campaign", "run", "s"),
        ("campaign", "run", "c.toml", "-o", "s"),
        ("campaign", "status", "s"),
        ("analyze", "s"),
        ("report", "s"),
        ("figure", "s"),
        ("compare", "s", "rate=1Mbit/s", "rate=2Mbit/s"),
    ):
        done = cli(*command)
        assert done.code == ExitCode.STORE, (command, done.err)
        assert "s/ledger.sqlite: the ledger is damaged: " in done.err
    assert ((store / "scalars.parquet").read_bytes(), (store / "record.json").read_bytes()) == was


@pytest.mark.parametrize("name", ["scalars.parquet", "campaign.toml", "scenario.toml", "record.json"])
def test_files_of_a_store_are_compared_before_they_are_written_again(
    cli: Cli, store: Path, name: str
) -> None:
    file = store / name
    sound = file.read_bytes()
    position = sound.index(b"1") if name != "scalars.parquet" else 100
    file.write_bytes(sound[:position] + b"7" + sound[position + 1 :])
    for command in (("analyze", "s"), ("campaign", "run", "s"), ("report", "s")):
        done = cli(*command)
        assert done.code == ExitCode.STORE
        assert done.err.startswith(f"error: s/{name} ")
    assert file.read_bytes() != sound  # nobody wrote over the witness
    # as the hint says
    file.unlink()
    assert cli("campaign", "run", "s").code == 0
    if name != "record.json":
        assert file.read_bytes() == sound
    assert cli("analyze", "s").code == 0


def test_a_store_of_before_there_were_hashes_is_read_and_gets_them(tmp_path: Path) -> None:
    ran(tmp_path / "s")
    expected = table(tmp_path / "s")
    changed(tmp_path / "s", "ALTER TABLE run DROP COLUMN digest")
    changed(tmp_path / "s", "DELETE FROM meta WHERE name = 'digest'")
    changed(tmp_path / "s", "PRAGMA user_version = 1")
    assert Store.open(tmp_path / "s").runs().height == 9
    again = Here()
    assert ran(tmp_path / "s", executor=again).made == 0
    assert (again.calls, table(tmp_path / "s")) == ([], expected)
    changed(tmp_path / "s", "UPDATE value SET value = 1.0 WHERE run = 1")
    with pytest.raises(StoreError, match="what is kept of a run is not what was written"):
        Store.open(tmp_path / "s")


def test_a_scenario_in_a_ledger_that_this_perhop_refuses_is_no_mistake_in_a_file(
    cli: Cli, store: Path
) -> None:
    with ledger.driven(store) as book:
        book.connection.execute("UPDATE meta SET value = replace(value, 'duration', 'durati0n')")
        seal_campaign(book.connection)
    for command in (("analyze", "s"), ("campaign", "run", "s"), ("campaign", "status", "s")):
        done = cli(*command)
        assert done.code == ExitCode.STORE
        assert done.err.startswith("error: s/ledger.sqlite: this perhop refuses the scenario in it:")


def test_a_trace_that_was_halved_is_neither_drawn_nor_called_equal(cli: Cli, run: Path) -> None:
    assert cli("replay", "r").out.endswith(": tables, events, trace of packets, trace of tcp\n")
    file = run / "trace.packets.parquet"
    sound = file.read_bytes()
    half = pl.read_parquet(file)
    half.head(half.height // 2).write_parquet(file)
    done = cli("replay", "r")
    assert done.code == ExitCode.STORE
    assert "r: trace.packets.parquet changed since the run was recorded" in done.err
    with pytest.raises(Exception, match="changed since"):
        StoredRun.load(run).trace("packets")
    file.write_bytes(sound)
    csv = run / "trace.tcp.parquet"
    csv.write_bytes(csv.read_bytes()[:-1] + b"x")
    assert cli("report", "r").code == ExitCode.STORE
    assert cli("figure", "r", "tcp").code == ExitCode.STORE


def test_replay_compares_the_rows_of_traces(cli: Cli, run: Path) -> None:
    file = run / "trace.tcp.parquet"
    pl.read_parquet(file).reverse().write_parquet(file)
    record = run / "record.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"file_hashes": {}, "record_hash": None}))
    done = cli("replay", "r")
    assert (done.code, done.out) == (ExitCode.DIFFERS, "r: differs in trace.tcp\n")


def test_a_table_that_makes_polars_panic_is_told_with_its_file(
    cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panic(*_: object, **__: object) -> None:
        raise pl.exceptions.PanicException("index out of bounds")

    # bytes are compared first, so that polars never sees what was changed
    file = run / "conditioners.parquet"
    file.write_bytes(file.read_bytes()[:-20] + b"\xff" * 20)
    with monkeypatch.context() as patched:
        patched.setattr("polars.read_parquet", panic)
        done = cli("report", "r")
        assert done.code == ExitCode.STORE
        assert "conditioners.parquet changed since the run was recorded" in done.err
        # and of a folder without hashes, or with forged ones
        record = run / "record.json"
        record.write_text(
            json.dumps(json.loads(record.read_text()) | {"file_hashes": {}, "record_hash": None})
        )
        done = cli("report", "r")
        assert done.code == ExitCode.STORE
        assert done.err.startswith("error: r/flows.parquet cannot be read: index out of bounds")


def flip(file: Path, draw: random.Random) -> str:
    """Flip one bit, and say which."""
    content = bytearray(file.read_bytes())
    place, bit = draw.randrange(len(content)), draw.randrange(8)
    content[place] ^= 1 << bit
    file.write_bytes(content)
    return f"{file}: byte {place}, bit {bit}"


def flips(
    folder: Path,
    commands: list[tuple[str, ...]],
    cli: Cli,
    left: Callable[[], object],
    number: int,
    seed: int,
) -> dict[int, int]:
    """Flip bits, one at a time in files taken in turn, and hold each command to the one invariant."""
    sound = folder.with_name("sound")
    shutil.copytree(folder, sound)

    def called(command: tuple[str, ...]) -> tuple[Done, object]:
        done = cli(*command)
        return done, (re.sub("[0-9.]+ s", "", done.out), left()) if done.code == 0 else None

    expected = {}
    for command in commands:
        expected[command] = called(command)[1]
        shutil.rmtree(folder)
        shutil.copytree(sound, folder)
    names = sorted(path.relative_to(sound) for path in sound.rglob("*") if path.is_file())
    names = [name for name in names if (sound / name).stat().st_size]
    draw, codes = random.Random(seed), dict[int, int]()
    for i in range(number):
        where = flip(folder / names[i % len(names)], draw)
        command = commands[(i // len(names) + i) % len(commands)]
        done, found = called(command)
        codes[done.code] = codes.get(done.code, 0) + 1
        assert done.code != 1, (seed, command, where, done.err)
        if done.code == 0:
            assert found == expected[command], (seed, command, where)
        else:
            assert "internal error" not in done.err
            assert "panicked" not in done.err, (seed, command, where, done.err)
        shutil.rmtree(folder)
        shutil.copytree(sound, folder)
    return codes


STORE_COMMANDS = [
    ("analyze", "s"),
    ("campaign", "status", "s"),
    ("analyze", "s", "--csv"),
    ("analyze", "s", "--compare", "rate=1Mbit/s", "rate=2Mbit/s"),
]
STORE_PAGES = [("campaign", "run", "s"), ("report", "s"), ("figure", "s")]
RUN_COMMANDS = [("replay", "r"), ("table", "r", "flows"), ("figure", "r", "--list")]
RUN_PAGES = [("report", "r"), ("figure", "r", "tcp", "-o", "-")]


def of_store() -> object:
    return (Path("s") / "scalars.parquet").read_bytes()


def of_run() -> object:
    page = Path("r/report.html")
    return page.read_bytes() if page.exists() else None


def test_flipped_bits_of_a_store(cli: Cli, store: Path) -> None:
    codes = flips(store, STORE_COMMANDS, cli, of_store, 48, 11)
    assert codes[ExitCode.STORE] > 12


def test_flipped_bits_of_a_run(cli: Cli, run: Path) -> None:
    codes = flips(run, RUN_COMMANDS, cli, of_run, 48, 12)
    assert codes[ExitCode.STORE] > 30


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_flipped_bits_of_a_store_many(cli: Cli, store: Path, seed: int) -> None:
    flips(store, [*STORE_COMMANDS, *STORE_PAGES], cli, of_store, 400, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_flipped_bits_of_a_run_many(cli: Cli, run: Path, seed: int) -> None:
    flips(run, [*RUN_COMMANDS, *RUN_PAGES], cli, of_run, 400, seed)


def test_a_full_disk_is_told_as_such_by_a_campaign(cli: Cli, store: Path, small_disk: Path) -> None:
    for kept in (4096, 12288, 24576):
        filler = small_disk / "filler"
        filler.write_bytes(bytes(68 * 1024 - kept - 4096))
        done = cli("campaign", "run", "c.toml", "-o", "small/s", "-j", "1")
        assert done.code == ExitCode.MACHINE, done.err
        assert re.match(r"error: small/s\S*: No space left on device\n", done.err.splitlines(True)[-1])
        assert "no such folder" not in done.err
        shutil.rmtree(small_disk / "s", ignore_errors=True)


def test_hashes_of_runs_are_of_everything_in_them(tmp_path: Path) -> None:
    ran(tmp_path / "s", campaign(replications=1))
    with ledger.driven(tmp_path / "s") as book:
        rows = book.connection.execute("SELECT digest FROM run").fetchall()
        assert len(set(rows)) == 3
        seal_runs(book.connection)
        assert book.connection.execute("SELECT digest FROM run").fetchall() == rows


def test_a_store_that_was_stopped_before_it_had_begun_can_be_run(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "y.toml").write_text(SCENARIO)
    (tmp_path / "c.toml").write_text(FILE)
    (tmp_path / "s").mkdir()
    ledger.make(tmp_path / "s")
    for command in (("analyze", "s"), ("campaign", "status", "s"), ("report", "s")):
        done = cli(*command)
        assert done.code == ExitCode.STORE
        assert done.err.startswith("error: s: the campaign was stopped before it had begun\n")
    assert cli("campaign", "run", "c.toml", "-o", "s", "-j", "1").code == 0
