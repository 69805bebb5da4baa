"""`perhop compare`: runs side by side, and two treatments of a campaign."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli
from perhop.plot import cdf
from test_report import check_page

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


def test_a_distribution_goes_through_what_was_measured() -> None:
    row = {"delay_min_s": 0.01, "delay_p50_s": 0.02, "delay_p95_s": 0.03, "delay_max_s": 0.05}
    found = cdf.curve("gold", row)
    assert found is not None
    assert (found.delays_s, found.shares) == ((0.01, 0.02, 0.03, 0.05), (0.0, 0.5, 0.95, 1.0))
    assert cdf.curve("tcp", {"delay_min_s": None}) is None
