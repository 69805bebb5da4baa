"""The DiffServ starter as its README tells it, and what a run of it leaves."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.cli.exit import ExitCode
from perhop.report import answer
from perhop.run.record import combined_hash, table_hashes
from perhop.run.tables import FORMAT, SCHEMA, complete

FILE = Path("diffserv.toml")


@pytest.fixture
def starter(cli: Cli) -> str:
    """Write the starter, shortened, and give its README."""
    assert cli("init", "--pack", "diffserv").code == 0
    text = FILE.read_text()
    for long, short in (('duration = "60s"', 'duration = "12s"'), ('warmup = "10s"', 'warmup = "4s"')):
        assert long in text
        text = text.replace(long, short)
    FILE.write_text(text)
    return Path("README.md").read_text()


@pytest.fixture
def diffserv(cli: Cli, starter: str) -> StoredRun:
    """Give a run of the starter with its packets traced."""
    assert cli("run", FILE, "--trace", "packets", "-o", "run").code == 0
    return StoredRun.load("run")


def blocks(readme: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, flags=re.M | re.S)


def test_every_command_of_the_readme_works(cli: Cli, starter: str) -> None:
    commands = [line for block in blocks(starter, "") for line in block.replace("\\\n", " ").splitlines()]
    assert len(commands) >= 5
    for command in commands:
        program, *words = shlex.split(command, comments=True)
        assert program == "perhop"
        done = cli(*words)
        assert done.code == 0, f"{command}: {done.err}"
    for folder in ("out/aggregate", "out/each"):
        assert cli("replay", folder).code == 0
    green = {
        name: StoredRun.load(f"out/{name}").tables["conditioners"].row(1, named=True)["green_bytes"]
        for name in ("aggregate", "each")
    }
    # four profiles of a quarter each let no more pass than one of all
    assert 0 < green["each"] < green["aggregate"]


def test_every_override_of_the_readme_works(starter: str) -> None:
    rows = dict(re.findall(r"^\| (.*?\?) \| (.*) \|$", starter, flags=re.M))
    text = FILE.read_text()
    plain = Scenario.load(FILE).run().event_digest

    def overrides(question: str) -> list[str]:
        (words,) = re.findall(r"`(-s .*?)`", rows[question])
        return [word for word in shlex.split(words) if word != "-s"]

    def setting(question: str, key: str) -> str:
        (found,) = re.findall(rf"`({key} = .*?)`", rows[question])
        return str(found)

    cases = {}
    for question in ("what if nobody marks?", "may AF borrow what others leave?"):
        cases[question] = text, overrides(question)
    question = "excess delayed instead of dropped?"
    edited = re.sub(r'^meter = \{ kind = "token-bucket".*\n', "", text, flags=re.M)
    shaper = f"{setting(question, 'marker')}\n{setting(question, 'shaper')}"
    edited = re.sub(r'^marker = \{ green = "EF".*$', shaper, edited, flags=re.M)
    edited = edited.replace('name = "voice"', f'name = "voice"\n{setting(question, "mark")}')
    cases[question] = edited, overrides(question)
    question = "another scheduler?"
    edited = text.replace('scheduler = { kind = "cbq" }', setting(question, "scheduler"))
    edited = re.sub(r"^share = .*$", setting(question, "quantum"), edited, flags=re.M)
    cases[question] = re.sub(r"^priority = .*\n", "", edited, flags=re.M), []
    without = re.sub(r"^(share|priority) = .*\n", "", text, flags=re.M)
    cases["strict priority"] = without.replace('kind = "cbq"', 'kind = "strict-priority"'), []
    assert set(rows) < set(cases)

    for question, (source, changes) in cases.items():
        scenario = Scenario(source.encode(), "diffserv.toml", tuple(changes))
        assert scenario.check() == [], question
        result = scenario.run()
        assert result.invariants == [], question
        assert result.event_digest != plain, question
        if "delayed" in question:
            premium = result.conditioners.row(0, named=True)
            assert premium["shaped_packets"] > 1000, premium
            assert premium["dropped_packets"] == 0
            # 20 kbit/s too much for 12 s, less a burst of 3000 bytes: 135 packets of 200 bytes
            assert abs(premium["held_packets"] - 135) <= 2, premium
            assert result.marks.filter(pl.col("flow") == "voice")["mark"].to_list() == ["EF"]


def test_the_python_of_the_readme_works(starter: str, capfd: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks(starter, "python")
    exec(compile(code, "README.md", "exec"), {})
    green = [int(line.split()[-1]) for line in capfd.readouterr().out.splitlines()]
    assert len(green) == 3
    assert green == sorted(green)


def test_marks_are_what_the_trace_delivers(diffserv: StoredRun) -> None:
    servers = pl.col("path").str.starts_with("port.core-server")
    packets = pl.read_parquet("run/trace.packets.parquet").filter(
        (pl.col("event") == "delivered") & (pl.col("kind") == "data") & servers & (pl.col("time_s") >= 4)
    )
    told = packets.group_by("flow", "mark").agg(
        pl.len().cast(pl.UInt64).alias("arrived_packets"), pl.col("bytes").sum().alias("arrived_bytes")
    )
    marks = diffserv.tables["marks"]
    assert marks.columns == ["flow", "mark", "arrived_packets", "arrived_bytes"]
    assert told.select(marks.columns).sort("flow", "mark").rows() == marks.sort("flow", "mark").rows()
    assert set(marks.filter(pl.col("flow") == "bulk[0]")["mark"]) == {"AF11", "AF12", "AF13"}
    assert marks.filter(pl.col("flow") == "voice")["mark"].to_list() == ["EF"]


def test_conditioners_are_what_the_trace_colours_and_drops(diffserv: StoredRun) -> None:
    packets = pl.read_parquet("run/trace.packets.parquet").filter(pl.col("time_s") >= 4)
    for row in diffserv.tables["conditioners"].iter_rows(named=True):
        here = packets.filter(pl.col("path") == row["path"])
        coloured = here.filter(pl.col("event") == "coloured")
        for color in ("green", "yellow", "red"):
            of_color = coloured.filter(pl.col("color") == color)
            assert (row[f"{color}_packets"], row[f"{color}_bytes"]) == (
                len(of_color),
                of_color["bytes"].sum(),
            )
        assert row["dropped_packets"] == len(here.filter(pl.col("event") == "dropped"))
        assert row["shaped_packets"] == row["held_packets"] == 0


def test_queues_tell_drops_by_colour_and_reason(diffserv: StoredRun) -> None:
    dropped = pl.read_parquet("run/trace.packets.parquet").filter(pl.col("event") == "dropped")
    packets = dropped.filter(pl.col("time_s") >= 4)
    for row in diffserv.tables["queues"].iter_rows(named=True):
        here = packets.filter(pl.col("path") == row["path"])
        assert row["dropped_packets"] == len(here)
        for word in ("early", "forced", "overflow"):
            assert row[f"dropped_{word}"] == (here["reason"] == word).sum()
        for word in ("green", "yellow", "red"):
            assert row[f"dropped_{word}"] == (here["color"] == word).sum()
    assert len(dropped) > 50


def test_udp_is_what_the_trace_sends_and_delivers(diffserv: StoredRun) -> None:
    (row,) = diffserv.tables["udp"].iter_rows(named=True)
    packets = pl.read_parquet("run/trace.packets.parquet").filter(pl.col("flow") == "voice")
    sent = packets.filter(
        (pl.col("path") == "port.voice_host-edge.class.all") & (pl.col("event") == "enqueued")
    )
    arrived = packets.filter((pl.col("path") == "port.core-server[0]") & (pl.col("event") == "delivered"))
    measured, late = (of.filter(pl.col("time_s") >= 4) for of in (sent, arrived))
    assert (row["sent_packets"], row["sent_bytes"]) == (len(measured), 200 * len(measured))
    assert (row["arrived_packets"], row["arrived_bytes"]) == (len(late), late["bytes"].sum())
    # nothing is lost or overtaken: the n-th that arrives is the n-th that was sent
    delays = (arrived["time_s"] - sent["time_s"].head(len(arrived))).filter(arrived["time_s"] >= 4)
    assert row["delay_min_s"] == pytest.approx(delays.min(), abs=1e-9)
    assert row["delay_max_s"] == pytest.approx(delays.max(), abs=1e-9)
    assert row["delay_mean_s"] == pytest.approx(delays.mean(), abs=1e-9)
    assert row["throughput_bit_s"] == pytest.approx(8 * late["bytes"].sum() / 8)


def test_udp_alone_has_no_fairness_to_show(cli: Cli) -> None:
    flow = '[[udp]]\nname = "{}"\nfrom = "a"\nto = "b"\nrate = "{}kbit/s"\n'
    Path("udp.toml").write_text(
        '[run]\nduration = "2s"\n[[node]]\nname = "a"\n[[node]]\nname = "b"\n[[link]]\nends = ["a", "b"]\n'
        'rate = "1Mbit/s"\n' + flow.format("u", 400) + flow.format("v", 80)
    )
    told = cli("run", "udp.toml", "-o", "run").out
    assert StoredRun.load("run").table("classes")["fairness"].is_not_null().all()
    assert re.search(r"^default +2 +\S+ kbit/s +- +0 %", told, re.MULTILINE), told
    assert "Jain" not in answer.of_run(StoredRun.load("run")).sentences[0]


def test_udp_alone_runs_and_is_reported(cli: Cli, tmp_path: Path) -> None:
    Path("udp.toml").write_text(
        '[run]\nduration = "2s"\n[[node]]\nname = "a"\n[[node]]\nname = "b"\n[[link]]\nends = ["a", "b"]\n'
        'rate = "1Mbit/s"\n[[udp]]\nname = "u"\nfrom = "a"\nto = "b"\nrate = "800kbit/s"\n'
    )
    assert cli("describe", "udp.toml").code == 0
    told = cli("run", "udp.toml", "-o", "run")
    assert told.code == 0
    assert "UDP flows after the warm-up" in told.out
    assert "\nFlows" not in f"\n{told.out}"
    assert cli("run", "udp.toml", "--json", "-o", "again").json()["udp"][0]["sent_packets"] == 200
    done = cli("report", "run")
    assert done.code == 0, done.err
    assert "Goodput is payload" not in Path("run/report.html").read_text()
    assert cli("replay", "run").code == 0
    assert len(StoredRun.load("run").tables["flows"]) == 0


def as_older(folder: Path, version: int) -> None:
    """Make of a run folder what an older format had: fewer tables, fewer columns, and some that are gone."""
    old = {}
    for name, table in StoredRun.load(folder).tables.items():
        (folder / f"{name}.parquet").unlink()
        columns = [column.name for column in SCHEMA[name].columns if column.since <= version]
        if SCHEMA[name].since <= version:
            old[name] = table.select(columns).with_columns(gone=pl.lit(0))
            old[name].write_parquet(folder / f"{name}.parquet")
    file = folder / "record.json"
    hashes = table_hashes(old)
    changes = {"format": version, "table_hashes": hashes, "output_hash": combined_hash(hashes)}
    written = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({k: v for k, v in written.items() if k not in ("file_hashes", "record_hash")}))


def test_a_run_has_the_columns_of_today(run_folder: Path) -> None:
    stored = StoredRun.load(run_folder)
    assert stored.record.format == FORMAT
    for name, table in stored.tables.items():
        assert table.columns == [column.name for column in SCHEMA[name].columns]
        assert_frame_equal(stored.table(name), table)
        assert complete(name, None).schema == table.schema, name


@pytest.mark.parametrize("version", range(1, FORMAT))
def test_a_folder_of_an_older_format_is_read_and_reported(cli: Cli, run_folder: Path, version: int) -> None:
    as_older(run_folder, version)
    stored = StoredRun.load(run_folder)
    assert len(stored.tables) == (4 if version == 1 else 7)
    assert "initial_backlog_bytes" not in stored.tables["queues"].columns
    assert stored.table("queues")["initial_backlog_bytes"].null_count() == len(stored.tables["queues"])
    done = cli("report", run_folder)
    assert done.code == 0, done.err
    # what both versions have is compared
    replayed = cli("replay", run_folder, "--json")
    assert replayed.code == 0, replayed.out
    assert replayed.json()["recorded"] == replayed.json()["replayed"]
    # and it is held to its hashes as any other
    flows = run_folder / "flows.parquet"
    pl.read_parquet(flows).with_columns(goodput_bit_s=pl.lit(1.0)).write_parquet(flows)
    assert cli("report", run_folder).code == ExitCode.STORE
    assert cli("replay", run_folder).code == ExitCode.STORE


def test_a_folder_of_a_later_format_is_refused(cli: Cli, run_folder: Path) -> None:
    file = run_folder / "record.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": FORMAT + 1}))
    done = cli("replay", run_folder)
    assert done.code == ExitCode.STORE
    assert f"format {FORMAT + 1} is from a newer perhop" in done.err
