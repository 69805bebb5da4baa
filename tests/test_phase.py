"""What is said of equal flows that are in step with a queue."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario
from perhop.run import phase

TOP = Path(__file__).parents[1]
LESSONS = TOP / "examples" / "lessons"
EXACT = "run.processing_jitter=0s"
OLD = "flow.bulk.tcp.profile=rfc"
SHORT = "run.duration=25s"

CONSTANT = """
[run]
duration = "5s"
[[node]]
name = "s"
count = 2
[[node]]
name = "r"
kind = "router"
[[node]]
name = "d"
[[link]]
ends = ["s[*]", "r"]
rate = "100Mbit/s"
delay = ["1ms", "1300us"]
[[link]]
ends = ["r", "d"]
rate = "10Mbit/s"
[[port]]
at = "r"
to = "d"
class = [{ name = "all", queue = { kind = "fifo", limit = "10p" } }]
[[udp]]
name = "video"
from = "s[*]"
to = "d"
rate = "6Mbit/s"
packet_size = "1500B"
"""


def effect(scenario: Scenario) -> str | None:
    return phase.effect(scenario.run().tables(), scenario.describe())


def test_a_locked_flow_is_named_with_the_cure() -> None:
    exact = Scenario.load(LESSONS / "drop-tail.toml").override(EXACT, OLD)
    said = effect(exact)
    assert said is not None
    assert said.startswith("bulk[1] lost none of 9070 packets and its equals 1.29 %: nothing here is random")
    assert said.endswith("run.processing_jitter of one packet time, 1.2 ms, puts them out of step")


@pytest.mark.parametrize(
    "change", ["run.processing_jitter=1ms", "link.r1-r2.loss=0.0002", "flow.bulk.tcp.profile=default"]
)
def test_nothing_is_said_where_chance_or_the_hosts_mix_the_phases(change: str) -> None:
    assert effect(Scenario.load(LESSONS / "drop-tail.toml").override(EXACT, OLD, SHORT, change)) is None


@pytest.mark.parametrize("name", ["red", "af", "upload", "acks-first"])
def test_nothing_is_said_of_the_other_lessons_with_exact_hosts(name: str) -> None:
    assert effect(Scenario.load(LESSONS / f"{name}.toml").override(EXACT, SHORT)) is None


def test_what_was_on_its_way_when_the_measured_time_began_is_no_loss() -> None:
    equal = Scenario.from_text(CONSTANT.replace('"1300us"', '"1ms"'), "x.toml").override(
        "link.r-d.rate=1Gbit/s"
    )
    tables = equal.run().tables()
    more = (pl.col("name") == "video[1]").cast(pl.UInt64)
    tables["udp"] = tables["udp"].with_columns(arrived_packets=pl.col("sent_packets") + more)
    assert phase.effect(tables, equal.describe()) is None


def test_constant_streams_are_equal_only_over_equal_links() -> None:
    equal = Scenario.from_text(CONSTANT.replace('"1300us"', '"1ms"'), "x.toml")
    said = effect(equal)
    assert said is not None
    assert said.startswith("video[0] lost 6 of 2500 packets and its equals 33.2 %")
    assert effect(equal.override("run.processing_jitter=1200us")) is None
    # one is further away; or one is policed
    apart = Scenario.from_text(CONSTANT, "x.toml")
    assert apart.run().udp["arrived_packets"].to_list() == [2494, 1671]
    assert effect(apart) is None
    edge = (
        '[[conditioner]]\nname = "edge"\nat = "r"\nfrom = "s[1]"\n'
        'meter = { kind = "token-bucket", cir = "3Mbit/s", cbs = "3kB" }\n'
    )
    policed = equal.source.decode() + edge + 'marker = { green = "pass", red = "drop" }\n'
    assert effect(Scenario.from_text(policed, "x.toml")) is None


@pytest.mark.usefixtures("undrawn")
def test_the_terminal_the_json_and_the_page_say_it(cli: Cli) -> None:
    done = cli("run", LESSONS / "drop-tail.toml", "-s", EXACT, "-s", OLD, "-o", "exact", "--report", "--json")
    assert done.err.startswith("warning: bulk[1] lost none of 9070 packets")
    assert done.json()["warnings"][0].startswith("bulk[1] lost none")
    page = Path("exact/report.html").read_text()
    assert '<p id="phase"><span class="badge open">phase effect</span> bulk[1] lost none' in page
    assert 'href="#phase"' in page


def test_a_campaign_says_in_how_many_runs_flows_are_in_step(cli: Cli) -> None:
    asked = ["--vary", "run.processing_jitter=0s,1.2ms", "--measure", "jain(flows.goodput_bit_s)"]
    done = cli("sweep", LESSONS / "drop-tail.toml", "-s", OLD, *asked, "--replications", "2")
    assert done.code == 0
    (said,) = (line for line in done.err.splitlines() if "in step:" in line)
    assert said.startswith("warning: in 2 runs flows are in step: bulk[1] lost none of")
