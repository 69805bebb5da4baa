"""Files that a scenario names: they are in a run's key and go with it, whatever becomes of the originals."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from conftest import Cli
from perhop import Scenario
from perhop.run import live
from perhop.scenario import files as named
from perhop.scenario.files import Files
from test_campaign_run import SCENARIO, Here

RATE = 'rate = "2Mbit/s"'
TRACED = SCENARIO.replace(RATE, 'rate = "trace:traces/a.csv"')
CAMPAIGN = """
scenario = "net.toml"
replications = 2
[[factor]]
name = "rate"
path = "link.a-b.rate"
levels = ["trace:traces/a.csv", "trace:traces/b.csv", "500kbit/s"]
[[response]]
name = "goodput"
measure = "mean(flows.goodput_bit_s)"
"""


def trace(rate: int) -> str:
    return f"time_s,rate_bit_s\n0,{rate}\n"


@pytest.fixture
def net(cli: Cli) -> Path:
    """Write a scenario whose link follows a trace, in the empty folder of the command line."""
    assert RATE in SCENARIO
    Path("traces").mkdir()
    Path("traces/a.csv").write_text(trace(1_000_000))
    Path("traces/b.csv").write_text(trace(2_000_000))
    Path("net.toml").write_text(TRACED)
    return Path("net.toml")


def test_a_run_has_its_files_and_is_made_again_from_its_folder(cli: Cli, net: Path) -> None:
    assert cli("run", "net.toml", "-o", "out").code == 0
    assert Path("out/files/traces/a.csv").read_text() == trace(1_000_000)
    record = json.loads(Path("out/record.json").read_text())
    assert "files/traces/a.csv" in record["file_hashes"]
    Path("traces/a.csv").write_text(trace(3_000_000))
    assert cli("replay", "out").code == 0
    Path("traces/a.csv").unlink()
    for words in (("replay", "out"), ("report", "out"), ("run", "out/scenario.toml", "-o", "again")):
        assert cli(*words).code == 0, words
    again = json.loads(Path("again/record.json").read_text())
    assert again["event_digest"] == record["event_digest"]
    # it is a run's folder, with nothing else in it, until there is
    assert cli("run", "out/scenario.toml", "-o", "again", "--force").code == 0
    Path("again/files/mine.txt").write_text("mine")
    assert cli("run", "out/scenario.toml", "-o", "again", "--force").code == 2


def test_a_file_that_changed_in_the_folder_is_damage(cli: Cli, net: Path) -> None:
    assert cli("run", "net.toml", "-o", "out").code == 0
    Path("out/files/traces/a.csv").write_text(trace(3_000_000))
    refused = cli("replay", "out")
    assert refused.code == 8
    assert "files/traces/a.csv changed since the run was recorded" in refused.err
    Path("out/files/traces/a.csv").unlink()
    assert cli("replay", "out").code == 8


def test_what_cannot_be_read_is_told_at_its_key(cli: Cli, net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("traces/a.csv").unlink()
    refused = cli("check", "net.toml")
    assert refused.code == 3
    assert "link.a-b.rate: `traces/a.csv` cannot be read in .: No such file or directory" in refused.out
    Path("traces/a.csv").mkdir()
    assert "`traces/a.csv` is not a file, in ." in cli("check", "net.toml").out
    Path("traces/a.csv").rmdir()
    monkeypatch.setattr(named, "_LARGEST", 10)
    Path("traces/a.csv").write_text(trace(1))
    assert "has more than 0 MiB" in cli("check", "net.toml").out


def test_a_file_is_in_the_key_of_a_run(net: Path) -> None:
    first = Scenario.load(net)
    assert first.key() == Scenario.load(net).key()
    assert list(first.core.files) == ["traces/a.csv"]
    Path("traces/a.csv").write_text(trace(999_999))
    # what was read once stays
    assert first.override({"run.seed": 2}).core.files == first.core.files
    assert Scenario.load(net).key() != first.key()


def test_files_go_with_a_scenario_to_another_process(net: Path) -> None:
    scenario = Scenario.load(net)
    digest = scenario.run().event_digest
    sent = pickle.dumps(scenario)
    Path("traces/a.csv").unlink()
    assert pickle.loads(sent).run().event_digest == digest


def test_a_campaign_needs_no_file_once_it_has_begun(cli: Cli, net: Path) -> None:
    Path("study.toml").write_text(CAMPAIGN)
    assert cli("campaign", "run", "study.toml", "-o", "store", "-j", "1").code == 0
    table = Path("store/scalars.parquet").read_bytes()
    record = json.loads(Path("store/record.json").read_text())
    assert {"files/traces/a.csv", "files/traces/b.csv"} <= set(record["hashes"])
    for file in Path("traces").iterdir():
        file.unlink()
    # the command of each run works in the store's folder
    assert cli("run", "store/scenario.toml", "-s", "link.a-b.rate=trace:traces/b.csv", "-o", "one").code == 0
    Path("store/scalars.parquet").unlink()
    assert cli("campaign", "run", "store", "-j", "1").code == 0
    assert Path("store/scalars.parquet").read_bytes() == table
    Path("store/files/traces/b.csv").write_text(trace(1))
    assert cli("analyze", "store").code == 8


def test_a_run_of_a_campaign_gets_the_files_of_its_treatment(net: Path, tmp_path: Path) -> None:
    from perhop.experiment.campaign import run_campaign
    from perhop.experiment.definition import read

    Path("study.toml").write_text(CAMPAIGN)
    campaign = read("study.toml").campaign
    assert campaign is not None
    executor = Here()
    assert run_campaign(campaign, tmp_path / "store", executor).failed == 0
    sent = {tuple(name for name, _ in task.files) for task in executor.calls}
    assert sent == {("traces/a.csv",), ("traces/b.csv",), ()}


def test_a_changed_file_makes_its_runs_again(cli: Cli, net: Path) -> None:
    Path("study.toml").write_text(CAMPAIGN)
    assert cli("campaign", "run", "study.toml", "-o", "store", "-j", "1").code == 0
    Path("traces/b.csv").write_text(trace(3_000_000))
    again = cli("campaign", "run", "study.toml", "-o", "store", "-j", "1")
    assert again.code == 0
    assert "4 runs kept, 2 new, 2 no longer asked for" in again.err


def test_no_form_holds_where_a_rate_follows_a_trace(cli: Cli, net: Path) -> None:
    found = cli("estimate", "net.toml", "--json").json()
    assert {one["why_not"] for one in found["estimates"]} == {"the rate of a->b follows a trace"}
    assert "traces/a.csv" in cli("describe", "net.toml").out


def test_real_packets_refuse_a_scenario_that_names_files(net: Path) -> None:
    with pytest.raises(live.LiveError, match=r"names files \(traces/a.csv\), which only runs in virtual"):
        live.run(Scenario.load(net), [], None, {})


def test_text_has_no_folder() -> None:
    with pytest.raises(ValueError, match="came as text, without a folder"):
        Files().read("a.csv")
