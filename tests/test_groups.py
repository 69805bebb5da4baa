"""Groups of flows and ports: labels as columns of a run's tables, and where both are shown."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.report import figures
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


CROWD = """
[run]
duration = "4s"
warmup = "1s"
[[node]]
name = "sub"
count = 30
[[node]]
name = "r"
kind = "router"
[[node]]
name = "srv"
[[link]]
ends = ["sub[*]", "r"]
rate = "10Mbit/s"
delay = ["1ms", "2ms", "30ms"]
[[link]]
ends = ["r", "srv"]
rate = "50Mbit/s"
[[flow]]
name = "download"
from = "srv"
to = "sub[0..21]"
count = 2
[[flow]]
name = "few"
from = "srv"
to = "sub[0..20]"
[[flow]]
name = "page"
from = "srv"
to = "sub[0..22]"
application = { kind = "requests", size = { kind = "fixed", size = "20kB" } }
[[flow]]
name = "web"
from = "srv"
to = "sub[*]"
arrivals = { mean_interval = "20ms", size = { kind = "exponential", mean = "20kB" } }
[[udp]]
name = "voice"
from = "sub[0..25]"
to = "srv"
mark = "EF"
application = { kind = "call" }
"""


def test_groups_of_many_are_told_by_quantiles_over_their_members(tmp_path: Path) -> None:
    result = Scenario.from_text(CROWD, "crowd.toml").run()
    groups = {(one.table, one.name): one for one in summary.groups(result.tables(), 20)}
    # both ways of a call are members; twenty are not many
    sizes = {key: len(one.values) for key, one in groups.items()}
    assert sizes == {
        ("flows", "download"): 21,
        ("flows", "page"): 22,
        ("flows", "web"): 30,
        ("udp", "voice"): 50,
        ("applications", "page"): 22,
        ("calls", "voice"): 50,
    }
    # the two connections of a subscriber are one member
    of_download = result.flows.filter(pl.col("name").str.starts_with("download["))
    each = of_download.group_by("to").agg(pl.sum("goodput_bit_s"))["goodput_bit_s"].sort()
    download = groups["flows", "download"]
    assert download.values.to_list() == pytest.approx(each.to_list())
    assert [download.quantile(permille) for permille in (1, 50, 500, 1000)] == pytest.approx(
        [each[0], each[1], each[10], each[20]]
    )
    transfers = result.flows.filter(pl.col("name").str.starts_with("web["))["goodput_bit_s"]
    assert groups["flows", "web"].values.sum() == pytest.approx(transfers.sum())
    stored = result.save(tmp_path / "run")
    numbers = figures.find(stored, "members").data()
    assert numbers["group"].unique(maintain_order=True).to_list() == ["download", "page", "web", "voice"]
    drawn = numbers.filter(pl.col("group") == "download")
    below = each.filter(each <= each[6]).len() / len(each)
    assert drawn.filter(pl.col("rate_bit_s") <= each[6] + 1)["share"].max() == pytest.approx(below, abs=0.005)


@pytest.mark.usefixtures("undrawn")
def test_groups_of_many_take_a_row(cli: Cli) -> None:
    Path("crowd.toml").write_text(CROWD)
    ran = cli("run", "crowd.toml", "-o", "run", "--report").out
    lines = ran.splitlines()
    at = lines.index("Groups of many after the warm-up: what 5, 50 and 95 % of the members do not exceed")
    rows = [line.split()[:4] for line in lines[at + 3 : at + 9]]
    assert [row[0] for row in rows] == ["download", "page", "web", "voice", "page", "voice"]
    assert rows[4][1:4] == ["median", "load", "22"]
    assert rows[5][1:3] == ["MOS", "50"]
    for members in ("download[", "page[", "voice["):
        assert members not in ran
    assert "voice (50 flows)" in ran
    # what is not in a group of many is still told flow by flow
    assert sum(line.startswith("few[") for line in lines) == 20
    page = Path("run/report.html").read_text()
    assert '<h2 id="groups">' in page
    assert page.count("Groups of many after the warm-up") == 1
    few = cli(
        "run", "crowd.toml", "-s", "udp.voice.from=sub[0..10]", "-s", "flow=[]", "-o", "few", "--report"
    )
    assert "Groups of many" not in few.out
    assert "groups" not in Path("few/report.html").read_text().split("</nav>")[0]


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
