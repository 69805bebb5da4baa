"""`perhop compare`: runs side by side, and two treatments of a campaign."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import StoredRun
from perhop.plot import cdf, panels
from test_report import check_page

CLASSES = ("assured", "web", "rest", "premium")
SHORT = ("-s", "run.duration=6s", "-s", "run.warmup=1s")


@pytest.fixture
def runs(cli: Cli) -> tuple[str, str]:
    assert cli("init", "--pack", "diffserv", "lab").code == 0
    assert cli("run", "lab/diffserv.toml", *SHORT, "-o", "slow").code == 0
    assert (
        cli("run", "lab/diffserv.toml", *SHORT, "-s", "link.edge-core.rate=8Mbit/s", "-o", "fast").code == 0
    )
    return "slow", "fast"


def test_runs_side_by_side_in_words_a_table_and_a_page(cli: Cli, runs: tuple[str, str]) -> None:
    done = cli("compare", *runs, "-o", "both.html")
    assert done.code == 0
    assert done.out.startswith("assured: ")
    assert "in slow; " in done.out
    assert done.out.rstrip().endswith("both.html")
    check_page(Path("both.html"))
    text = Path("both.html").read_text()
    assert "<code>perhop compare slow fast -o both.html</code>" in text
    assert "+link.edge-core.rate = &#34;8Mbit/s&#34;" in text
    printed = cli("compare", *runs, "-o", "-")
    assert printed.out.rstrip() == text.replace("-o both.html", "-o -").rstrip()
    assert not Path("-").exists()
    assert cli("compare", *runs, "-o", "-", "--json").code == 2
    rows = {row["class"]: row for row in json.loads(cli("compare", *runs, "--json").out)}
    assert rows["assured"]["fast"]["goodput_bit_s"] > 1.3 * rows["assured"]["slow"]["goodput_bit_s"]
    assert rows["premium"]["slow"]["retransmitted"] is None  # UDP repeats nothing


def test_a_figure_of_runs_side_by_side_leaves_the_page(cli: Cli, runs: tuple[str, str]) -> None:
    assert cli("compare", *runs, "--figure", "over-time", "-o", "both.pdf").out.strip() == "both.pdf"
    assert Path("both.pdf").read_bytes().startswith(b"%PDF")
    assert cli("compare", *runs, "--figure", "over-time", "-o", "both.csv").code == 0
    table = pl.read_csv("both.csv")
    assert table["panel"].unique(maintain_order=True).to_list() == [
        *(
            f"throughput of edge->core, Mbit/s: {name}"
            for name in ("total", "assured", "web", "rest", "premium")
        ),
        "packets waiting",
        "round-trip time, ms",
        "mean congestion window, kB",
    ]
    total = table.filter(pl.col("panel").str.ends_with(": total"))
    assert total["line"].unique(maintain_order=True).to_list() == [
        "slow",
        "fast",
        "rate 4 Mbit/s",
        "rate 8 Mbit/s",
    ]
    busy = StoredRun.load("fast").table("series").filter(path="link.edge->core", quantity="utilization")
    assert total.filter(line="fast")["value"].to_list() == pytest.approx([8 * one for one in busy["value"]])
    assert cli("compare", *runs, "--figure", "delays", "-o", "delays.csv").code == 0
    assert Path("delays.csv").read_text().startswith("label,delay_s,share\n")
    assert cli("compare", *runs, "--figure", "delays", "-o", "-").out.startswith("<svg")
    assert cli("compare", *runs, "--figure", "over-time", "-o", "both.pdf").code == 2  # what is there stays
    refused = cli("compare", *runs, "--figure", "nix")
    assert (refused.code, "known here: over-time, delays" in refused.err) == (2, True)


@pytest.mark.usefixtures("undrawn")
def test_a_run_beside_itself_differs_in_nothing(cli: Cli, runs: tuple[str, str]) -> None:
    assert cli("run", "lab/diffserv.toml", *SHORT, "-o", "again").code == 0
    done = cli("compare", "slow", "again", "-o", "same.html")
    assert done.out.count("(the same)") == 4
    assert "In nothing." in Path("same.html").read_text()


def test_two_treatments_of_a_campaign_differ_by_an_interval(cli: Cli) -> None:
    assert cli("init", "lab").code == 0
    swept = ("--vary", "port.slow-fast.scheduler.share=0.2,0.5", "--replications", "3", "-o", "store")
    measure = ("--measure", 'mean(flows.goodput_bit_s where name = "up")')
    assert cli("sweep", "lab/two-way.toml", "-s", "run.duration=20s", *swept, *measure).code == 0
    told = cli("compare", "store", "0.2", "0.5")
    assert told.code == 0
    assert "95 % intervals" in told.out
    (found,) = json.loads(cli("compare", "store", "0.2", "0.5", "--json").out)
    assert found["difference"]["low"] <= found["difference"]["mean"] <= found["difference"]["high"]
    refused = cli("compare", "store", "0.2")
    assert (refused.code, "--pairs" in refused.err) == (2, True)
    assert cli("compare", "store", "0.2", "0.5", "-o", "x.html").code == 2
    assert "response-1-curve" in cli("figure", "store").out
    for form, begins in (("pdf", b"%PDF"), ("svg", b"<svg"), ("csv", b"share,mean,")):
        assert cli("figure", "store", "curve", "-o", f"x.{form}").code == 0
        assert Path(f"x.{form}").read_bytes().startswith(begins)
    cli("report", "store")
    assert "perhop figure store response-1-curve" in Path("store/report.html").read_text()
    assert cli("figure", "store", "cwnd").code == cli("figure", "store", "curve", "--from", "1s").code == 2


def test_what_cannot_be_compared_is_told(cli: Cli, runs: tuple[str, str]) -> None:
    for arguments, code, told in (
        (("slow",), 2, "2 to 8"),
        (("slow", "slow"), 2, "twice"),
        (("slow", "nowhere"), 2, "nowhere: no such folder"),
        (("slow", "fast", "--margin", "2%"), 2, "campaign"),
    ):
        done = cli("compare", *arguments)
        assert (done.code, told in done.err) == (code, True), done.err


def test_runs_of_other_samples_have_their_next_values() -> None:
    """A value covers the interval before its time; after its end a run has none."""
    long = panels.Panels(
        [1.0, 2.0, 3.0], [panels.Panel("p", [panels.Line("all", [1.0, 2.0, 3.0])], True)], 1.0
    )
    level = panels.Line("rate", [5.0], None, 1)
    short = panels.Panels([1.5], [panels.Panel("p", [panels.Line("all", [9.0]), level], True)], 0.0)
    both = panels.beside({"long": long, "short": short})
    assert both.time_s == [1.0, 1.5, 2.0, 3.0]
    assert both.warmup_s == 0.0  # they are not of one mind
    (one,) = both.panels
    assert {line.name: line.values for line in one.lines} == {
        "long": [1.0, 2.0, 2.0, 3.0],
        "short": [9.0, 9.0, None, None],
        "rate": [5.0] * 4,
    }


def test_a_class_of_unlike_flows_is_pointed_out(cli: Cli) -> None:
    assert cli("init", "lab").code == 0
    for name, share in (("a", "0.3"), ("b", "0.6")):
        changed = ("-s", f"port.slow-fast.scheduler.share={share}")
        assert cli("run", "lab/two-way.toml", *SHORT, *changed, "-o", name).code == 0
    told = cli("compare", "a", "b", "-o", "both.html")
    assert told.code == 0
    text = Path("both.html").read_text()
    assert "In a default has unlike flows: their mean delays are from " in text


def test_a_distribution_goes_through_what_was_measured() -> None:
    row = {"delay_min_s": 0.01, "delay_p50_s": 0.02, "delay_p95_s": 0.03, "delay_max_s": 0.05}
    found = cdf.curve("gold", row)
    assert found is not None
    assert (found.delays_s, found.shares) == ((0.01, 0.02, 0.03, 0.05), (0.0, 0.5, 0.95, 1.0))
    assert cdf.curve("tcp", {"delay_min_s": None}) is None
