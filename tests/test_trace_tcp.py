"""The trace of TCP: its files, what three recoveries do with the same losses, and the page that shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli, undraw
from perhop import Scenario, StoredRun
from perhop.cli.exit import ExitCode
from perhop.plot import time_sequence
from perhop.run.record import write
from test_report import check_page

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "three-losses.toml"
COLUMNS = ["time_s", "flow", "event", "packet", "cwnd_packets", "ssthresh_packets", "rto_s"]
LOST = [24, 30, 36]


@pytest.fixture
def traced(cli: Cli) -> StoredRun:
    """Give the example's run with its trace."""
    assert cli("run", EXAMPLE, "--trace", "tcp", "-o", "traced").code == 0
    return StoredRun.load("traced")


def events_of(run: StoredRun, flow: str) -> pl.DataFrame:
    trace = run.trace("tcp")
    assert trace is not None
    return trace.filter(pl.col("flow") == flow).collect()


def repeats(events: pl.DataFrame) -> pl.DataFrame:
    return events.filter(pl.col("event") == "send").filter(~pl.col("packet").is_first_distinct())


def test_both_files_have_the_same_rows(traced: StoredRun) -> None:
    parquet = pl.read_parquet("traced/trace.tcp.parquet")
    text = Path("traced/trace.tcp.csv").read_text()
    assert text.splitlines()[0] == ",".join(COLUMNS)
    csv = pl.read_csv("traced/trace.tcp.csv", infer_schema_length=None)
    assert parquet.columns == csv.columns == COLUMNS
    assert len(csv) == len(parquet) > 600
    for name in ("flow", "event", "packet"):
        assert csv[name].to_list() == parquet[name].to_list()
    for name in ("time_s", "rto_s"):
        assert csv[name].to_list() == pytest.approx(parquet[name].to_list(), abs=5.1e-10)
    for name in ("cwnd_packets", "ssthresh_packets"):
        assert csv[name].to_list() == pytest.approx(parquet[name].to_list(), abs=5.1e-7)
    assert re.fullmatch(
        r"\d+\.\d{9},[a-z]+,(send|ack|drop|timeout),\d+,\d+\.\d{6},(\d+\.\d{6})?,\d+\.\d{9}",
        text.splitlines()[1],
    )


def test_numbers_are_plain_and_what_does_not_exist_is_empty(tmp_path: Path) -> None:
    scenario = Scenario.load(EXAMPLE)
    sound = scenario.run()
    trace = pl.DataFrame(
        {
            "time_s": [1e-9, 12345.678901234],
            "flow": ["a", "b[0]"],
            "event": ["send", "timeout"],
            "packet": [0, 7],
            "cwnd_packets": [1e-5, 123456789.0],
            "ssthresh_packets": [None, 2.0],
            "rto_s": [3.0, 0.2],
        }
    )
    result = replace(sound, trace={"tcp": trace})
    write(result, scenario, tmp_path, trace=["tcp"])
    assert (tmp_path / "trace.tcp.csv").read_text().splitlines()[1:] == [
        "0.000000001,a,send,0,0.000010,,3.000000000",
        "12345.678901234,b[0],timeout,7,123456789.000000,2.000000,0.200000000",
    ]


def test_the_trace_agrees_with_the_tables_and_changes_nothing(cli: Cli, traced: StoredRun) -> None:
    assert cli("run", EXAMPLE, "-o", "plain").code == 0
    plain = StoredRun.load("plain")
    assert plain.trace("tcp") is None
    assert plain.record.output_hash == traced.record.output_hash
    assert plain.record.event_digest == traced.record.event_digest
    for row in traced.tables["flows"].to_dicts():
        events = events_of(traced, row["name"])
        assert events["time_s"].is_sorted()
        assert len(repeats(events)) == row["retransmissions"]
        assert len(events.filter(pl.col("event") == "timeout")) == row["timeouts"]
        assert events.filter(pl.col("event") == "drop")["packet"].to_list() == LOST
        assert events.filter(pl.col("event") == "ack")["time_s"].max() >= row["completed_s"]
        assert events["cwnd_packets"].min() >= 1.0
        # unbounded until the first congestion
        assert events.filter(pl.col("time_s") < 0.5)["ssthresh_packets"].null_count() > 0
        assert events["ssthresh_packets"].drop_nulls().min() >= 2.0


def test_three_recoveries_repair_the_same_losses_in_their_own_ways(traced: StoredRun) -> None:
    flows = {row["name"]: row for row in traced.tables["flows"].to_dicts()}
    assert [flows[name]["timeouts"] for name in ("reno", "newreno", "sack")] == [1, 0, 0]
    assert flows["reno"]["completed_s"] > flows["newreno"]["completed_s"] + 0.8
    assert flows["newreno"]["completed_s"] > flows["sack"]["completed_s"]
    round_trip = flows["sack"]["rtt_min_s"]
    newreno, sack = (repeats(events_of(traced, name)) for name in ("newreno", "sack"))
    assert newreno["packet"].to_list() == sack["packet"].to_list() == LOST
    # one for each round trip, against all of them in about one
    assert all(gap > 0.95 * round_trip for gap in newreno["time_s"].diff().drop_nulls())
    assert sack["time_s"][-1] - sack["time_s"][0] < 1.1 * round_trip


def test_one_command_runs_and_writes_the_page(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    done = cli("run", EXAMPLE, "--trace", "tcp", "--report", "-o", "run")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "run/report.html"
    check_page(Path("run/report.html"))
    text = Path("run/report.html").read_text()
    assert 'href="#tcp"' in text
    assert "<b>Side by side.</b>" in text
    for name in ("reno", "newreno", "sack"):
        assert f'id="time-sequence-{name}"' in text
    assert "newreno: 3 packets sent again, 3 dropped" in text
    assert "perhop run" in StoredRun.load("run").record.command
    undraw(monkeypatch)
    assert cli("run", EXAMPLE, "--trace", "tcp", "--report", "-o", "json", "--json").json()["report"] == (
        "json/report.html"
    )


@pytest.mark.usefixtures("undrawn")
def test_a_run_without_the_trace_has_no_such_part(cli: Cli) -> None:
    assert cli("run", EXAMPLE, "--report", "-o", "plain").code == 0
    assert 'href="#tcp"' not in Path("plain/report.html").read_text()
    refused = cli("report", "plain", "--flow", "reno")
    assert refused.code == ExitCode.USAGE
    assert "plain has no trace of TCP" in refused.err
    assert "--trace tcp" in refused.err


@pytest.mark.usefixtures("undrawn")
def test_flows_and_times_can_be_chosen(cli: Cli, traced: StoredRun) -> None:
    chosen = cli("report", traced.folder, "--flow", "sack", "--from", "500ms", "--to", "1.5s")
    text = Path(chosen.out.strip()).read_text()
    assert "Side by side" not in text
    assert 'id="time-sequence-sack"' in text
    assert 'id="time-sequence-reno"' not in text
    assert "sack from 0.5 to 1.5 s" in text
    assert "perhop report traced --flow sack --from 0.5s --to 1.5s" in text
    for options, complaint in (
        (("--flow", "vegas"), "--flow vegas: no such flow"),
        (("--from", "2"), "--from 2: not a time"),
        (("--from", "40s"), "--from 40s: the run ends at "),
        (("--from", "2s", "--to", "1s"), "--to 1s is not after --from 2s"),
    ):
        refused = cli("report", traced.folder, *options)
        assert refused.code == ExitCode.USAGE
        assert complaint in refused.err


@pytest.mark.usefixtures("undrawn")
def test_what_is_left_out_is_told(cli: Cli, traced: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perhop.report.tcp.MOST_FLOWS", 2)
    monkeypatch.setattr("perhop.report.tcp.MOST_EVENTS", 100)
    text = Path(cli("report", traced.folder).out.strip()).read_text()
    assert "The first 2 of 3 flows are drawn; for another: perhop report traced --flow sack." in text
    assert re.search(r"after 100 events of (\w+); later parts: perhop report traced --flow \1 --from ", text)


@pytest.mark.usefixtures("undrawn")
def test_a_run_in_which_tcp_does_nothing_has_an_empty_trace(cli: Cli, two_way: Path) -> None:
    silent = ["-s", "flow.up.start=30s", "-s", "flow.down.start=30s"]
    assert cli("run", two_way, *silent, "--trace", "tcp", "--report", "-o", "silent").code == 0
    assert Path("silent/trace.tcp.csv").read_text() == ",".join(COLUMNS) + "\n"
    assert "No events, so not drawn: up, down." in Path("silent/report.html").read_text()


def test_a_damaged_trace_is_refused(cli: Cli, traced: StoredRun) -> None:
    (traced.folder / "trace.tcp.parquet").write_bytes(b"not a table")
    refused = cli("report", traced.folder)
    assert refused.code == ExitCode.STORE
    assert "trace.tcp.parquet changed since the run was recorded" in refused.err


def test_a_packet_sent_before_the_shown_time_is_sent_again_in_it() -> None:
    events = pl.DataFrame(
        {
            "time_s": [0.0, 0.1, 0.2, 1.2, 1.3],
            "flow": "f",
            "event": ["send", "drop", "send", "timeout", "send"],
            "packet": [0, 0, 1, 0, 0],
            "cwnd_packets": [2.0, 2.0, 2.0, 1.0, 1.0],
            "ssthresh_packets": [None, None, None, 2.0, 2.0],
            "rto_s": [1.0, 1.0, 1.0, 2.0, 2.0],
        }
    )
    drawn = time_sequence.draw([time_sequence.Connection("f", events)], (1.0, 2.0))
    assert "f from 1 to 2 s: 1 packet sent, 1 of them again; 0 dropped; 1 time-out" in drawn
