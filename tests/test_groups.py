"""Groups of flows and ports: labels as columns of a run's tables, and where both are shown."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.run import summary
from perhop.run.record import table_hashes
from perhop.run.tables import SCHEMA, labels_of

TEXT = """
[run]
duration = "3s"
[[node]]
name = "s"
count = 4
[[node]]
name = "r"
kind = "router"
[[node]]
name = "d"
[[link]]
ends = ["s[*]", "r"]
rate = "10Mbit/s"
[[link]]
ends = ["r", "d"]
rate = "1Mbit/s"
[[flow]]
name = "low"
labels = { congestion = "r" }
from = "s[0..2]"
to = "d"
[[flow]]
name = "high"
labels = { congestion = "c", arm = "copy" }
from = "s[2]"
to = "d"
[[flow]]
name = "plain"
from = "s[3]"
to = "d"
[[port]]
between = ["s[0..2]", "r"]
[[port.class]]
name = "all"
queue = { kind = "fifo", limit = "50p" }
[[udp]]
name = "voice"
labels = { congestion = "r" }
from = "s[0]"
to = "d"
rate = "50kbit/s"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    path = tmp_path / "labels.toml"
    path.write_text(TEXT)
    return Scenario.load(path)


def test_labels_are_columns(scenario: Scenario, tmp_path: Path) -> None:
    result = scenario.run()
    own = [column.name for column in SCHEMA["flows"].columns]
    assert result.flows.columns == [*own, "arm", "congestion"]
    assert result.flows["congestion"].to_list() == ["r", "r", "c", None]
    assert result.flows["arm"].to_list() == [None, None, "copy", None]
    assert result.udp["congestion"].to_list() == ["r"]
    assert labels_of("udp", result.udp) == ["congestion"]
    stored = result.save(tmp_path / "run")
    assert StoredRun.load(stored.folder).table("flows").equals(result.flows)


def test_labels_change_nothing_else(scenario: Scenario) -> None:
    plain = Scenario("\n".join(line for line in TEXT.splitlines() if "labels" not in line).encode(), "plain")
    with_labels, without = scenario.run(), plain.run()
    assert with_labels.event_digest == without.event_digest
    tables = {
        name: table.drop(labels_of(name, table) if name in ("flows", "udp") else [])
        for name, table in with_labels.tables().items()
    }
    assert table_hashes(tables) == table_hashes(without.tables())
    hashes = table_hashes(with_labels.tables())
    assert {name for name, value in hashes.items() if value != table_hashes(tables)[name]} == {"flows", "udp"}


def test_means_by_class_and_label(scenario: Scenario) -> None:
    flows = scenario.run().flows
    rows = summary.by_labels("flows", flows, "goodput_bit_s")
    assert rows.select("class", "arm", "congestion", "_flows").rows() == [
        ("default", None, "r", 2),
        ("default", "copy", "c", 1),
        ("default", None, None, 1),
    ]
    rates = flows["goodput_bit_s"].to_list()
    assert rows["_mean"].to_list() == [(rates[0] + rates[1]) / 2, rates[2], rates[3]]
    assert rows["_least"][0] == min(rates[:2])
    assert rows["_most"][0] == max(rates[:2])
    assert summary.by_labels("flows", flows.drop("arm", "congestion"), "goodput_bit_s").is_empty()


@pytest.mark.usefixtures("undrawn")
def test_labels_are_shown(cli: Cli) -> None:
    Path("labels.toml").write_text(TEXT)
    told = cli("describe", "labels.toml").out
    assert "arm=copy congestion=c" in told
    assert [flow["labels"] for flow in cli("describe", "labels.toml", "--json").json()["flows"]] == [
        {"congestion": "r"},
        {"congestion": "r"},
        {"arm": "copy", "congestion": "c"},
        {},
    ]
    # names that a summary could have for columns of its own
    awkward = 'flow.plain.labels={ flows = "many", took_s = "long", group = "one", row = "two" }'
    ran = cli("run", "labels.toml", "-s", awkward, "-o", "run", "--report")
    assert ran.code == 0
    assert "Flows by class and label: goodput of one, after the warm-up" in ran.out
    assert "UDP flows by class and label: throughput of one, after the warm-up" in ran.out
    page = Path("run/report.html").read_text()
    assert '<h2 id="labels">' in page
    assert '<td class="t">copy</td>' in page
    assert '<td class="t">many</td>' in page
    flows = pl.read_parquet("run/flows.parquet")
    assert flows["congestion"].to_list() == ["r", "r", "c", None]


def test_labels_that_cannot_be_columns_are_refused(cli: Cli) -> None:
    Path("labels.toml").write_text(TEXT.replace('arm = "copy"', 'srtt_s = "copy"'))
    refused = cli("check", "labels.toml")
    assert refused.code == 3
    assert "`srtt_s` is a column that the tables of flows have already" in refused.err + refused.out


def test_a_port_for_both_directions_is_shown_once(cli: Cli) -> None:
    Path("groups.toml").write_text(TEXT)
    told = cli("describe", "groups.toml").out
    (line,) = [line for line in told.splitlines() if line.startswith("s[0..2]-r.class.all")]
    assert (
        line == "s[0..2]-r.class.all (any), both directions: kind fifo, limit 50p; by default ack_filter off"
    )
    limits = {
        link["name"]: link["port"]["classes"][0]["limit"]
        for link in cli("describe", "groups.toml", "--json").json()["links"]
    }
    assert {name for name, limit in limits.items() if limit == "50p"} == {
        *("s[0]->r", "r->s[0]", "s[1]->r", "r->s[1]")
    }


def test_labels_group_the_responses_of_a_campaign(cli: Cli) -> None:
    Path("groups.toml").write_text(TEXT)
    campaign = """
scenario = "groups.toml"
replications = 1
[[factor]]
name = "rate"
path = "link.r-d.rate"
levels = ["1Mbit/s", "2Mbit/s"]
[[response]]
name = "goodput"
measure = "mean(flows.goodput_bit_s) by congestion"
"""
    Path("campaign.toml").write_text(campaign)
    assert cli("check", "campaign.toml").code == 0
    Path("campaign.toml").write_text(campaign.replace("congestion", "congestoin"))
    refused = cli("check", "campaign.toml")
    assert refused.code == 3
    assert "congestion" in refused.out + refused.err
