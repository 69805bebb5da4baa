"""The time sliding window markers in a run, a replay, a campaign with claims, and its page."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from conftest import Cli, run_cli
from perhop import Scenario
from perhop.cli.exit import ExitCode

SCENARIO = """[run]
duration = "12s"
warmup = "2s"

[[node]]
name = "a"
count = 2
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"

[[link]]
ends = ["a[*]", "r"]
rate = "10Mbit/s"
delay = "1ms"
[[link]]
ends = ["r", "b"]
rate = "20Mbit/s"
delay = "5ms"

[[conditioner]]
name = "edge"
at = "r"
from = "a[*]"
per = "flow"
meter = { kind = "tsw3cm", cir = "1Mbit/s", pir = "2Mbit/s" }
marker = { green = "AF11", yellow = "AF12", red = "AF13" }

[[udp]]
name = "up"
from = "a[*]"
to = "b"
rate = "4Mbit/s"
"""
"""Two flows of 4 Mbit/s each: a quarter of each is green, a quarter yellow, half red."""

BUCKET = '{ kind = "tr-tcm", cir = "1Mbit/s", cbs = "5kB", pir = "2Mbit/s", pbs = "5kB" }'
CAMPAIGN = f"""scenario = "edge.toml"
replications = 10

[[factor]]
name = "meter"
levels.tsw = []
levels.bucket = ['conditioner.edge.meter={BUCKET}']

[[response]]
name = "green"
measure = "sum(conditioners.green_bytes)"
[[response]]
name = "red"
measure = "sum(conditioners.red_bytes)"
"""

CLAIMS = """campaign = "sweep.toml"

[[claim]]
id = "assured"
statement = "Beyond the rate, green is what is assured: 2 Mbit/s for ten seconds, within 3 %."
response = "green"
at = { meter = "tsw" }
low = 2.425e6
high = 2.575e6

[[claim]]
id = "excess"
statement = "Half of the stream exceeds the peak rate."
response = "red"
at = { meter = "tsw" }
low = 4.85e6
high = 5.15e6

[[claim]]
id = "alike"
statement = "A bucket makes as much green, within 3 %."
response = "green"
at = { meter = "tsw" }
over = { meter = "bucket" }
low = 0.97
high = 1.03
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tsw")
    for name, text in (("edge", SCENARIO), ("sweep", CAMPAIGN), ("claims", CLAIMS)):
        (folder / f"{name}.toml").write_text(text)
    assert (
        run_cli(["campaign", "run", str(folder / "sweep.toml"), "-o", str(folder / "store"), "-j", "1"]) == 0
    )
    return folder


def counts(*overrides: str) -> dict[str, int]:
    result = Scenario.from_text(SCENARIO).override(*overrides).run()
    assert result.invariants == []
    (row,) = result.conditioners.rows(named=True)
    return {color: row[f"{color}_packets"] for color in ("green", "yellow", "red")}


def test_each_flow_is_coloured_in_proportion_and_draws_apart() -> None:
    result = Scenario.from_text(SCENARIO).run()
    marks = result.marks.pivot("mark", index="flow", values="arrived_packets").sort("flow")
    # four standard deviations of 5000 draws are 0.025 at a half and 0.022 at a quarter
    for row in marks.with_columns(total=pl.sum_horizontal("AF11", "AF12", "AF13")).rows(named=True):
        assert row["total"] == pytest.approx(5000, abs=2)
        for mark, part in (("AF11", 0.25), ("AF12", 0.25), ("AF13", 0.5)):
            assert row[mark] / row["total"] == pytest.approx(part, abs=0.025)
    first, second = marks.drop("flow").rows()
    assert first != second
    two = 'conditioner.edge.meter={ kind = "tsw2cm", cir = "1Mbit/s" }'
    found = counts(two, 'conditioner.edge.marker={ green = "AF11", red = "AF13" }')
    assert found["yellow"] == 0
    assert found["green"] / sum(found.values()) == pytest.approx(0.25, abs=0.018)


def test_seed_and_replication_alone_decide_the_colours() -> None:
    assert counts() == counts()
    assert counts() != counts("run.seed=2")
    assert counts() != counts("run.replication=1")


def test_a_run_is_replayed_bit_for_bit(cli: Cli, lab: Path) -> None:
    assert cli("run", lab / "edge.toml", "-o", "run").code == 0
    done = cli("replay", "run")
    assert (done.code, done.err) == (0, "")


def test_a_campaign_judges_claims_and_its_page_shows_them(cli: Cli, lab: Path) -> None:
    assert "valid; 3 claims about sweep.toml" in cli("check", lab / "claims.toml").out
    done = cli("analyze", lab / "store", "--claims", lab / "claims.toml", "--json")
    assert done.code == 0
    assert [(one["id"], one["verdict"]) for one in done.json()["claims"]] == [
        ("assured", "supported"),
        ("excess", "supported"),
        ("alike", "supported"),
    ]
    assert cli("report", lab / "store", "-o", "page.html").code == 0
    assert "tsw" in Path("page.html").read_text()


def test_a_rate_that_is_promised_over_is_warned_of_and_a_wrong_word_gets_a_hint(cli: Cli, lab: Path) -> None:
    done = cli("check", lab / "edge.toml", "-s", "link.r-b.rate=1500kbit/s")
    assert "the meters commit 2Mbit/s on `r->b`, which has 1500kbit/s" in done.out + done.err
    (lab / "wrong.toml").write_text(SCENARIO.replace("tsw3cm", "tsw"))
    done = cli("check", lab / "wrong.toml")
    assert done.code == ExitCode.INVALID
    assert "perhaps `tsw2cm` or `tsw3cm`" in done.out
