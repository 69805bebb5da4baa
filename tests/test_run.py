"""What a run leaves: a folder one can read, results equal every time, and a replay that notices."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import perhop
from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.cli.exit import ExitCode
from perhop.run.folder import new_folder
from perhop.run.record import combined_hash, table_hashes, write
from perhop.run.run import run_jobs
from perhop.run.tables import FORMAT, TABLES, tables_of


def test_the_folder_holds_what_a_reader_needs(run_folder: Path, two_way: Path) -> None:
    assert {path.name for path in run_folder.iterdir()} == {
        "classes.parquet",
        "conditioners.parquet",
        "flows.parquet",
        "links.parquet",
        "marks.parquet",
        "queues.parquet",
        "record.json",
        "scenario.resolved.toml",
        "scenario.toml",
        "series.parquet",
        "udp.parquet",
    }
    assert (run_folder / "scenario.toml").read_bytes() == two_way.read_bytes()
    resolved = tomllib.loads((run_folder / "scenario.resolved.toml").read_text())
    assert resolved["run"]["replication"] == 0
    assert resolved["flow"][0]["tcp"]["cc"] == "reno"
    record = json.loads((run_folder / "record.json").read_text())
    assert record["format"] == FORMAT
    assert record["perhop"] == perhop.__version__
    assert record["results_version"] == perhop.RESULTS_VERSION
    assert record["seed"] == 1
    assert record["invariants"] == []
    assert record["command"] == "perhop run two-way.toml"
    assert record["counts"]["packet_hops"] > 1000
    assert len(record["output_hash"]) == 64
    assert set(record["table_hashes"]) == set(tables_of(FORMAT))
    assert set(record["scenario_hashes"]) == {"scenario.toml", "scenario.resolved.toml"}


def test_traces_are_written_only_when_asked_and_change_nothing(
    cli: Cli, run_folder: Path, two_way: Path
) -> None:
    assert cli("run", two_way, "--trace", "packets,queue,cwnd", "-o", "traced").code == 0
    traced, plain = StoredRun.load("traced"), StoredRun.load(run_folder)
    assert traced.record.output_hash == plain.record.output_hash
    assert traced.record.event_digest == plain.record.event_digest
    packets = pl.read_parquet("traced/trace.packets.parquet")
    assert {"time_s", "path", "event", "reason", "flow", "kind", "packet", "bytes"} < set(packets.columns)
    assert {"mark", "color"} < set(packets.columns)
    assert set(packets["event"].unique()) <= {"enqueued", "sent", "dropped", "delivered"}
    assert {"time_s", "path", "packets", "bytes"} == set(
        pl.read_parquet("traced/trace.queue.parquet").columns
    )
    cwnd = pl.read_parquet("traced/trace.cwnd.parquet")
    assert {"time_s", "flow", "cwnd_bytes", "ssthresh_bytes", "flight_bytes", "rto_s"} == set(cwnd.columns)


def test_the_same_seed_gives_the_same_bytes(cli: Cli, two_way: Path) -> None:
    for name in ("a", "b"):
        assert cli("run", two_way, "-o", name).code == 0
    first, second = StoredRun.load("a"), StoredRun.load("b")
    assert first.record.output_hash == second.record.output_hash
    assert first.record.event_digest == second.record.event_digest


def test_the_number_of_workers_changes_nothing(two_way: Path) -> None:
    source = two_way.read_bytes()
    jobs = [(source, "two-way.toml", [f"run.seed={seed}", "flow.up.start_jitter=1s"]) for seed in range(6)]
    digests = [[result.event_digest for result in run_jobs(jobs, workers)] for workers in (1, 2, 5)]
    assert digests[0] == digests[1] == digests[2]
    assert len(set(digests[0])) == 6


def test_slices_and_progress_change_nothing(two_way: Path) -> None:
    scenario = Scenario.load(two_way)
    told: list[tuple[float, float]] = []
    watched = scenario.run(progress=lambda done, total: told.append((done, total)))
    assert table_hashes(watched.tables()) == table_hashes(scenario.run().tables())
    assert told[-1] == (20.0, 20.0)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_packets_and_bytes_are_conserved_in_every_queue(run_folder: Path) -> None:
    queues = StoredRun.load(run_folder).tables["queues"]
    for unit in ("packets", "bytes"):
        fates = ("out", "dropped", "backlog")
        gone = sum((queues[f"{fate}_{unit}"].cast(pl.Int64) for fate in fates), start=pl.Series([0]))
        came = queues[f"in_{unit}"].cast(pl.Int64) + queues[f"initial_backlog_{unit}"].cast(pl.Int64)
        assert (came - gone).to_list() == [0] * len(queues)
        assert queues[f"initial_backlog_{unit}"].sum() > 0


def test_a_value_that_does_not_exist_is_null(cli: Cli, two_way: Path) -> None:
    told = cli("run", two_way, "-s", "flow.down.start=19.999s", "--json")
    assert "NaN" not in told.out
    assert told.json()["flows"][1]["srtt_s"] is None


def test_replay_of_an_unchanged_run_is_equal(cli: Cli, two_way: Path) -> None:
    cli("run", two_way, "-s", "run.seed=9", "-s", "port.slow-fast.scheduler.share=0.3", "-o", "run")
    two_way.unlink()
    done = cli("replay", "run", "--json")
    assert done.code == 0
    assert done.json()["equal"] is True
    assert done.json()["recorded"] == done.json()["replayed"]
    assert "equal, bit for bit" in cli("replay", "run").out


def edit_record(folder: Path, **changes: object) -> None:
    """Change a record, and leave out the hash that would tell."""
    file = folder / "record.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes | {"record_hash": None}))


@pytest.mark.parametrize("command", ["replay", "report"])
def test_a_folder_that_is_not_as_it_was_recorded_is_refused(cli: Cli, run_folder: Path, command: str) -> None:
    def refused(text: str) -> None:
        done = cli(command, run_folder)
        assert done.code == ExitCode.STORE
        assert text in done.err
        assert not (run_folder / "report.html").exists()

    for name in ("scenario.toml", "scenario.resolved.toml"):
        file = run_folder / name
        kept = file.read_text()
        file.unlink()
        refused("a scenario file cannot be read")
        for text in ("", kept.replace("share = 0.5", "share = 0.4")):
            file.write_text(text)
            refused(f"{name} changed since the run was recorded")
        file.write_text(kept)
    kept = (run_folder / "record.json").read_text()
    for changes, text in (
        ({"output_hash": "0" * 64}, "output_hash in record.json does not match the tables"),
        ({"scenario_hashes": {}}, "scenario.toml, scenario.resolved.toml changed"),
        ({"table_hashes": {}}, "flows, links, queues, series, udp, marks, conditioners, classes changed"),
        ({"overrides": ["run.duration=1kg"]}, "refuses scenario.toml with the recorded overrides"),
        ({"overrides": ["nonsense"]}, "refuses scenario.toml with the recorded overrides"),
    ):
        edit_record(run_folder, **changes)
        refused(text)
        (run_folder / "record.json").write_text(kept)
    flows = run_folder / "flows.parquet"
    pl.read_parquet(flows).with_columns(name=pl.lit(None, pl.String)).write_parquet(flows)
    refused("flows.parquet changed since the run was recorded")
    edit_record(run_folder, file_hashes={})  # as of a folder that has none of its files
    refused("flows changed since the run was recorded")


@pytest.mark.usefixtures("undrawn")
def test_a_folder_may_have_a_pattern_for_a_name(cli: Cli, run_folder: Path) -> None:
    odd = run_folder.rename("run [1]*")
    assert cli("replay", odd).code == 0
    assert cli("report", odd).code == 0


def test_replay_names_the_tables_that_differ(cli: Cli, run_folder: Path) -> None:
    edit_record(run_folder, overrides=["port.slow-fast.scheduler.share=0.4"])
    done = cli("replay", run_folder, "--json")
    assert done.code == ExitCode.DIFFERS
    assert done.json()["equal"] is False
    assert {"flows", "series"} <= set(done.json()["tables_that_differ"])
    text = cli("replay", run_folder)
    assert text.code == ExitCode.DIFFERS
    assert "differs in flows, " in text.out


def test_replay_needs_only_the_folder_and_notices_a_changed_table(cli: Cli, run_folder: Path) -> None:
    moved = run_folder.rename("elsewhere")
    assert cli("replay", moved).code == 0
    table = pl.read_parquet(moved / "flows.parquet")
    table.with_columns(goodput_bit_s=pl.col("goodput_bit_s") * 1.01).write_parquet(moved / "flows.parquet")
    done = cli("replay", moved)
    assert done.code == ExitCode.STORE
    assert "flows.parquet changed since the run was recorded" in done.err


@pytest.mark.usefixtures("undrawn")
def test_a_run_with_a_broken_invariant_is_kept_and_told(
    cli: Cli, two_way: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = Scenario.load(two_way).run()
    broken = replace(sound, invariants=["port.slow-fast.class.data: a packet vanished"])
    monkeypatch.setattr("perhop.run.run.run", lambda *_, **__: broken)
    done = cli("run", two_way, "-o", "run")
    assert done.code == ExitCode.FAILED_RUNS
    assert "a packet vanished" in done.err
    assert "broken invariants: do not use" in Path(cli("report", "run").out.strip()).read_text()


def test_nothing_is_left_when_writing_fails(two_way: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario.load(two_way)
    result = scenario.run()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("perhop.run.folder._move_into_place", full)
    with pytest.raises(OSError, match="No space left"), new_folder("new/folder") as partial:
        write(result, scenario, partial)
    assert not Path("new").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_run_that_is_kept_gets_its_page_into_its_folder(two_way: Path) -> None:
    scenario = Scenario.load(two_way)
    result = scenario.run()
    kept = result.save("kept")
    for name in TABLES:
        assert getattr(kept, name).equals(getattr(result, name))
    assert result.report("kept") == Path("kept/report.html")
    assert result.report("kept") == Path("kept/report.html")
    for other in (scenario.override("run.seed=2").run(), scenario.run(trace=["cwnd"])):
        with pytest.raises(FileExistsError, match="left alone"):
            other.report("kept")
    assert StoredRun.load("kept").is_of(result)
    again = scenario.override("run.seed=2").run()
    assert again.report("kept", replace=True) == Path("kept/report.html")
    assert StoredRun.load("kept").record.seed == 2


def test_the_hash_sees_names_types_order_and_every_value() -> None:
    def hashed(table: pl.DataFrame) -> str:
        return combined_hash(table_hashes({"flows": table, "links": table, "queues": table, "series": table}))

    base = pl.DataFrame({"name": ["ab", "c"], "x": [1.0, None]})
    variants = [
        base,
        pl.DataFrame({"name": ["a", "bc"], "x": [1.0, None]}),
        pl.DataFrame({"nome": ["ab", "c"], "x": [1.0, None]}),
        pl.DataFrame({"name": ["ab", "c"], "x": [1.0, 2.0]}),
        pl.DataFrame({"name": ["ab", "c"], "x": [1, 2]}),
        pl.DataFrame({"x": [1.0, None], "name": ["ab", "c"]}),
        base.reverse(),
    ]
    assert len({hashed(variant) for variant in variants}) == len(variants)
    assert hashed(base) == hashed(base.clone())
