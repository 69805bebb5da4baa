"""The part of a run's page that plays: what it is given, and that a browser shows it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import StoredRun
from perhop.report import player
from test_report import CHROMIUM, check_page, needs_chromium

EXAMPLES = Path(__file__).parents[1] / "examples"
SHORT = ("-s", "run.duration=2s", "-s", "run.warmup=500ms", "-s", "run.interval=100ms")


@pytest.fixture
def traced(cli: Cli) -> Path:
    assert cli("init", "--pack", "diffserv", "lab").code == 0
    assert cli("run", "lab/diffserv.toml", *SHORT, "--trace", "packets", "-o", "traced", "--report").code == 0
    return Path("traced")


@pytest.mark.usefixtures("undrawn")
def test_links_queues_and_packets_are_those_of_the_run(cli: Cli, traced: Path) -> None:
    run = StoredRun.load(traced)
    text = player.data(run, run.scenario().describe())
    assert text is not None
    found = json.loads(text)
    names = [node["name"] for node in found["nodes"]]
    assert {"edge", "core", "bulk_host", "server"} <= set(names)  # members of a counted node share one place
    assert [node["name"] for node in found["nodes"] if node["router"]] == ["edge", "core"]
    ends = [(names[link["from"]], names[link["to"]]) for link in found["links"]]
    bottleneck = found["links"][ends.index(("edge", "core"))]
    series = run.tables["series"]
    sent, arrived, link, color, ack = found["packets"]
    own = series.filter(path="link.edge->core", quantity="utilization").sort("time_s")
    busy = own.filter(pl.col("time_s") <= max(arrived))["value"]
    assert bottleneck["busy"] == [round(100 * share) for share in busy]
    assert len(bottleneck["waiting"]) == len(found["times"]) == len(busy) > 2
    assert max(bottleneck["waiting"]) > 0
    assert len(sent) == len(arrived) == len(link) == len(color) == len(ack) > 500
    assert sent[0] < 0.1, "the queues are seen to fill"
    assert all(after > before for before, after in zip(sent, arrived, strict=True))
    assert set(color) <= {0, 1, 2}
    # on one link packets arrive in the order in which they were sent
    own = [end for end, place in zip(arrived, link, strict=True) if ends[place] == ("edge", "core")]
    assert own == sorted(own)


def test_the_same_run_is_played_alike_each_time(cli: Cli, traced: Path) -> None:
    """Many packets are sent at one time; in what order a join gives them is no one's choice."""
    run = StoredRun.load(traced)
    assert len({player.data(run, run.scenario().describe()) for _ in range(5)}) == 1


def test_limits_and_drops_are_those_of_the_queue(cli: Cli) -> None:
    lesson = EXAMPLES / "lessons" / "drop-tail.toml"
    assert (
        cli("run", lesson, "--until", "11s", "-s", "run.warmup=0s", "--trace", "packets", "-o", "traced").code
        == 0
    )
    run = StoredRun.load("traced")
    text = player.data(run, run.scenario().describe())
    assert text is not None
    found = json.loads(text)
    names = [node["name"] for node in found["nodes"]]
    (slow,) = [
        place
        for place, link in enumerate(found["links"])
        if (names[link["from"]], names[link["to"]]) == ("r1", "r2")
    ]
    assert found["links"][slow]["room"] == 100
    trace = run.trace("packets")
    assert trace is not None
    dropped = trace.filter(pl.col("event") == "dropped", pl.col("time_s") <= max(found["packets"][1]))
    times, places = found["drops"]
    assert len(times) == dropped.collect().height > 0
    assert set(places) == {slow}


@pytest.mark.usefixtures("undrawn")
def test_without_a_trace_the_series_is_played(cli: Cli, traced: Path) -> None:
    assert cli("run", "lab/diffserv.toml", *SHORT, "-o", "plain", "--report").code == 0
    run = StoredRun.load("plain")
    text = player.data(run, run.scenario().describe())
    assert text is not None
    assert json.loads(text)["packets"] is None
    assert "--trace packets" in Path("plain/report.html").read_text()


@needs_chromium
def test_a_browser_shows_it_and_nothing_moves_unasked(traced: Path) -> None:
    page = traced / "report.html"
    check_page(page)
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", page.resolve().as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    (stage,) = re.findall(r'<div class="stage" tabindex="0">(.*?)</div>', done.stdout, re.DOTALL)
    assert stage.count("<line") == 12  # two directions of six links
    assert ">edge</text>" in stage
    assert re.search(r"<output>0\.0\d\d s</output>", done.stdout)
    assert '<div id="play"' in done.stdout
    assert not re.search(r'<div id="play"[^>]*\shidden', done.stdout)
    assert ">Play</button>" in done.stdout


@pytest.mark.usefixtures("undrawn")
def test_packets_that_are_over_before_the_second_sample_are_played(
    traced: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player, "MOST_PACKETS", 100)
    run = StoredRun.load(traced)
    text = player.data(run, run.scenario().describe())
    assert text is not None
    found = json.loads(text)
    assert len(found["packets"][0]) == 100
    assert max(found["packets"][1]) < found["times"][1]
    assert len(found["times"]) == len(found["links"][0]["busy"]) == 2
