"""Applications from the file to the page: tables, responses, folders, sentences."""

from __future__ import annotations

import math
import re
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.experiment.response import Response
from perhop.run.tables import OPTIONAL
from perhop.say import run as sentences

HOUSEHOLD = Path(__file__).parents[1] / "examples" / "household.toml"
PLAIN = """
[run]
duration = "5s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
ends = ["a", "b"]
rate = "10Mbit/s"
delay = "10ms"
[[flow]]
name = "bulk"
from = "a"
to = "b"
tcp = { window = "64KiB" }
"""
WEB = """
[[flow]]
name = "web"
from = "a"
to = "b"
application = { kind = "requests", size = { kind = "fixed", size = "9kB" } }
"""


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    folder = tmp_path_factory.mktemp("applications") / "run"
    Scenario.load(HOUSEHOLD).override("run.duration=40s").run().save(folder)
    return StoredRun.load(folder)


def test_the_folder_has_the_tables_and_reads_them_back(household: StoredRun) -> None:
    assert [name for name in OPTIONAL if (household.folder / f"{name}.parquet").exists()] == list(OPTIONAL)
    kinds = [("pages", "pages"), ("chat", "requests"), ("film", "video")]
    assert household.applications.select("name", "kind").rows() == kinds
    assert household.videos["name"].to_list() == ["film"]
    assert household.calls["name"].to_list() == ["call[0]", "call[1]"]
    # the table of loads says what that of applications counts
    counts = household.loads.group_by("application").agg(pl.len(), pl.col("done_s").count().alias("done"))
    told = household.applications.select("name", "loads", "loads_done").rows()
    assert sorted(counts.rows()) == sorted(told)
    took = household.loads.filter(application="chat").select(pl.col("done_s") - pl.col("asked_s"))
    median = took.to_series().drop_nulls().quantile(0.5, "lower")
    assert household.applications.row(1, named=True)["load_p50_s"] == pytest.approx(median, abs=1e-9)
    assert household.loads["asked_s"].min() >= 10.0  # type: ignore[operator]


def test_the_same_run_has_the_same_tables(household: StoredRun) -> None:
    assert household.is_of(household.scenario().run())
    other = Scenario.load(HOUSEHOLD).override("run.duration=40s", "run.seed=2").run()
    assert not other.loads.equals(household.loads)


def test_a_queue_for_each_flow_spares_pages_and_calls_the_bulk(household: StoredRun) -> None:
    queue = 'port.isp-home.class.all.queue={ kind = "fq" }'
    apart = Scenario.load(HOUSEHOLD).override("run.duration=40s", queue).run()
    assert (apart.calls["mos"] > household.calls["mos"] + 0.5).all()
    assert (apart.applications["load_p50_s"] < household.applications["load_p50_s"]).all()
    assert (apart.videos["rate_mean_bit_s"] > household.videos["rate_mean_bit_s"]).all()


def test_responses_are_of_applications_and_calls(household: StoredRun) -> None:
    def value(text: str, tables: dict[str, pl.DataFrame]) -> object:
        return Response.parse("x", text).evaluate(tables)[()]

    mos = household.calls["mos"]
    assert value("min(calls.mos)", household.tables) == mos.min()
    by_kind = Response.parse("x", "max(applications.load_p95_s) by kind").evaluate(household.tables)
    assert set(by_kind) == {("pages",), ("requests",), ("video",)}
    plain = Scenario(PLAIN.encode(), "plain.toml").run().tables()
    assert value("count(loads.load_bytes)", plain) == 0
    assert value("max(applications.load_p95_s)", plain) is None


def test_a_run_without_them_has_no_such_table_and_its_other_tables_stay() -> None:
    alone = Scenario(PLAIN.encode(), "plain.toml").run()
    beside = Scenario((PLAIN + WEB).encode(), "plain.toml").run()
    assert not set(OPTIONAL) & set(alone.tables())
    assert set(OPTIONAL) & set(beside.tables()) == {"applications", "loads"}
    assert alone.applications.height == 0
    assert alone.applications.columns == beside.applications.columns


def test_sentences_begin_with_quantiles(household: StoredRun, tmp_path: Path) -> None:
    said = sentences.got(household, household.scenario().describe())
    assert "Loads: " in said
    assert "pages half within" in said
    assert "95 % within" in said
    assert "Video: film stood still " in said
    assert "Calls, mean opinion score of the worse way: call " in said
    Scenario((PLAIN.replace("bulk", "x") + WEB).encode(), "web.toml").run().save(tmp_path / "run")
    run = StoredRun.load(tmp_path / "run")
    said = sentences.got(run, run.scenario().describe())
    assert said.startswith("Goodput: x ")
    assert "not complete" not in said
    assert "Loads: web half within" in said


def test_the_page_and_the_terminal_have_them(household: StoredRun, cli: Cli) -> None:
    page = household.report().read_text()
    assert '<h2 id="applications">' in page
    assert '<h2 id="calls">' in page
    assert '<h2 id="videos">' in page
    assert "mouth to ear" in page
    meant = cli("describe", str(HOUSEHOLD)).out
    assert "Applications" in meant
    assert "Calls" in meant
    assert "requests" in meant
    again = cli("replay", str(household.folder)).out
    assert "equal, bit for bit" in again
    rows = cli("table", str(household.folder), "loads").out
    assert rows.splitlines()[0] == "application,number,asked_s,done_s,objects,load_bytes"


def test_estimates_hold_no_form_for_what_an_application_sends(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "web.toml"
    file.write_text(PLAIN + WEB)
    said = cli("estimate", str(file)).out
    assert "an application says what it sends" in said


def test_the_page_of_applications_has_the_numbers_of_its_two_runs() -> None:
    top = Path(__file__).parents[1]
    page = (top / "docs" / "applications.md").read_text()
    rows = {
        "a FIFO of 256 kB each way": (),
        "`fq` each way": ('port.isp-home.class.all.queue={ kind = "fq" }',),
    }
    for name, overrides in rows.items():
        (line,) = (one for one in page.splitlines() if one.startswith(f"| {name} |"))
        run = Scenario.load(HOUSEHOLD, overrides).run()
        pages, chat, _ = run.applications.to_dicts()
        (video,) = run.videos.to_dicts()
        values = [one[f"load_p{part}_s"] for one in (pages, chat) for part in (50, 95)]
        values += [video["rebuffering_s"], video["rate_mean_bit_s"] / 1e6, *run.calls["mos"]]
        told = re.findall(r"([\d.]+)( ms)?", line.split("|", 2)[2])
        scaled = [value * (1e3 if ms else 1) for value, (_, ms) in zip(values, told, strict=True)]
        digits = [len(number.partition(".")[2]) for number, _ in told]
        shown = [f"{value:.{count}f}" for value, count in zip(scaled, digits, strict=True)]
        assert shown == [number for number, _ in told]


def test_the_page_of_applications_says_what_the_oracle_has() -> None:
    top = Path(__file__).parents[1]
    page = (top / "docs" / "applications.md").read_text()
    found = re.search(r"\[(\d+ of \d+ means agree)\].* behind `fq` all within (\d+) %", page)
    assert found is not None
    agree, within = found.groups()
    assert f"**{agree}**" in (top / "oracles" / "kernel" / "README.md").read_text()
    measured = pl.read_csv(top / "oracles" / "kernel" / "household.csv").filter(queue="fq")
    means = measured.drop("queue", "replication").group_by("clock").mean().drop("clock")
    apart = [max(pair) / min(pair) - 1 for pair in means.iter_columns() if max(pair) > 0]
    assert math.ceil(100 * max(apart)) == int(within)
