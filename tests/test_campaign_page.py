"""`perhop analyze` and the page of a store, from small campaigns that were really run."""

from __future__ import annotations

import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from scipy.special import stdtrit

from conftest import Cli
from perhop import Scenario
from perhop.experiment.analyze import analyze, asked_of
from perhop.experiment.campaign import run_campaign
from perhop.experiment.definition import Campaign
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor
from perhop.experiment.store import Store
from perhop.plot import style
from perhop.report.campaign import render
from perhop.report.effects import changes
from perhop.say.analysis import scale, what_mattered
from test_campaign_run import EACH, GOODPUT, RATES, SCENARIO

LOSSES = Factor.vary("link.a-b.loss", ["0.01", "0.05"], "loss")


def made(folder: Path, factors: list[Factor], replications: int = 3) -> Path:
    design = Design.full(factors, replications=replications)
    campaign = Campaign(
        "small <b>", Scenario.from_text(SCENARIO), design, (GOODPUT, EACH), None, b"# the file\n"
    )
    with ThreadPoolExecutor(2) as executor:
        run_campaign(campaign, folder, executor)
    return folder


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("store") / "sweep", [RATES])


@pytest.fixture(scope="module")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("store") / "crossed", [RATES, LOSSES])


def words(html: str) -> str:
    body = html[html.index("<body>") :]
    return re.sub(r"\s+", " ", re.sub(r"<svg.*?</svg>|<[^>]+>", " ", body, flags=re.DOTALL))


def test_the_page_begins_with_what_was_varied_and_what_mattered(crossed: Path) -> None:
    html = render(Store.open(crossed))
    assert html == render(Store.open(crossed))
    assert "default-src 'none'" in html
    assert not re.search(r'(src|href)="(?!#|data:)', html), "the page asks for nothing"
    assert "small &lt;b&gt;" in html
    told = words(html)
    first = told[: told.index("How it was made", told.index("What next"))]
    parts = [
        "Varied: rate (1Mbit/s, 2Mbit/s, 4Mbit/s) and loss (0.01, 0.05); all 6 combinations, each in 3 "
        "replications, with the same random numbers for every treatment: 18 runs.",
        "Measured within each run by name.",
        "all 18 done",
        "What mattered",
        "By how much each setting changes goodput",
        "The strongest: rate = 4Mbit/s raises it by",
        "How sure",
        "Such a campaign finds a difference of",
        "No run failed.",
        "What next",
        f"perhop campaign run {crossed} --until-ci goodput=",
        "effects are larger than chance explains (at 5 % false discoveries)",
        "Largest at rate = 4Mbit/s, loss = 0.01 (",
    ]
    places = [first.index(part) for part in parts]
    assert places == sorted(places)
    assert f"perhop analyze {crossed} --response each" in told
    assert {"main", "variation"} <= set(re.findall(r'id="response-1-(\w+)"', html))


def test_a_sweep_shows_its_curve_beside_the_first_words(sweep: Path) -> None:
    html = render(Store.open(sweep))
    curve = html.index('id="response-1-curve"')
    assert html.index("What mattered") < curve < html.index("What failed")
    assert "goodput in kbit/s. rate in Mbit/s: 1 " in html or "goodput in Mbit/s. rate in Mbit/s: 1 " in html
    assert "Mean and its 95 % interval over 3 replications; the dots are single runs." in words(html)
    # each group of a response has a curve of its own, on its own axis
    for place, name in ((2, "down"), (3, "up")):
        figure = html[html.index(f'id="response-{place}-curve"') :]
        assert f"<title>each, name {name} by rate</title>" in figure[: figure.index("</svg>")]
    # groups and tables of a response share their command
    rerun = re.findall(r'<p class="rerun"><code>(perhop analyze .*?)</code>', html)
    assert sorted(set(rerun)) == sorted(rerun)
    assert html.count("--until-ci") <= 1


@pytest.mark.usefixtures("undrawn")
def test_report_writes_the_page_of_a_store(cli: Cli, sweep: Path, tmp_path: Path) -> None:
    done = cli("report", str(sweep), "-o", str(tmp_path / "page.html"))
    assert done.code == 0, done.err
    assert (tmp_path / "page.html").read_text() == render(Store.open(sweep))
    refused = cli("report", str(sweep), "--flow", "up", "-o", str(tmp_path / "other.html"))
    assert refused.code == 2
    assert "this is the store of a campaign" in refused.err
    assert not (tmp_path / "other.html").exists()


@pytest.mark.usefixtures("undrawn")
def test_the_responses_of_a_store_are_a_table(cli: Cli, sweep: Path) -> None:
    done = cli("table", str(sweep), "scalars")
    assert done.code == 0, done.err
    assert len(done.out.strip().splitlines()) == 1 + Store.open(sweep).scalars().height
    assert f"perhop table {sweep} scalars" in render(Store.open(sweep))
    refused = cli("table", str(sweep), "flows")
    assert refused.code == 2
    assert "a store has scalars" in refused.err


def test_analyze_prints_and_writes_nothing(cli: Cli, crossed: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in crossed.iterdir()}
    done = cli("analyze", str(crossed))
    assert done.code == 0, done.err
    assert "Varied: rate" in done.out
    assert "rate × loss" in done.out
    # groups of a response are no setting: each is analysed for itself, unless effects are asked for
    assert "each, name up" in done.out
    assert "error within runs" not in done.out
    kept = cli("analyze", str(crossed), "--response", "each", "--keep", "rate")
    assert "error within runs" in kept.out
    assert {path.name: path.stat().st_mtime_ns for path in crossed.iterdir()} == before


def test_analyze_as_json(cli: Cli, crossed: Path, tmp_path: Path) -> None:
    out = tmp_path / "analysis.json"
    done = cli("analyze", str(crossed), "--json", "--response", "goodput", "--level", "0.9", "-o", str(out))
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert json.loads(out.read_text()) == found
    (one,) = found["analyses"]
    assert (one["response"], one["unit"], one["method"], one["level"]) == (
        "goodput",
        "bit/s",
        "factorial",
        0.9,
    )
    assert [row["source"] for row in one["tests"]] == [
        "rate",
        "loss",
        "rate:loss",
        "blocks",
        "error",
        "total",
    ]
    values = Store.open(crossed).scalars().filter(response="goodput")
    assert one["mean"]["mean"] == pytest.approx(values["value"].mean())
    row = next(row for row in one["effects"] if (row["term"], row["level"]) == ("rate", "4Mbit/s"))
    own = values.filter(pl.col("rate") == "4Mbit/s")["value"].mean()
    assert isinstance(own, float)
    assert row["effect"] == pytest.approx(own - one["mean"]["mean"])
    trimmed = json.loads(
        cli("analyze", str(crossed), "--json", "--response", "goodput", "--keep", "rate").out
    )
    assert [row["source"] for row in trimmed["analyses"][0]["tests"]] == ["rate", "blocks", "error", "total"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--response", "speed"], 2, "--response speed: no such response"),
        (["--keep", "speed"], 2, "'speed' is no effect of the factors rate, loss"),
        (["--level", "95"], 2, "--level 95: must lie inside (0, 1)"),
    ],
)
def test_analyze_refuses(cli: Cli, crossed: Path, arguments: list[str], code: int, said: str) -> None:
    done = cli("analyze", str(crossed), *arguments)
    assert (done.code, said in done.err) == (code, True), done.err


@pytest.mark.usefixtures("undrawn")
def test_what_failed_is_in_no_mean_and_told(
    cli: Cli, crossed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = Store.open(crossed).runs()["key"][0]
    runs, scalars = Store.runs, Store.scalars
    failed = pl.col("key") == lost
    monkeypatch.setattr(Store, "scalars", lambda self: scalars(self).filter(~failed))
    monkeypatch.setattr(
        Store,
        "runs",
        lambda self: runs(self).with_columns(
            state=pl.when(failed).then(pl.lit("failed")).otherwise("state"),
            failure=pl.when(failed).then(pl.lit("a packet <was> lost")),
        ),
    )
    told = words(render(Store.open(crossed)))
    assert "1 of 18 runs failed; the means leave it out." in told
    assert "a packet &lt;was&gt; lost" in told
    assert f"cd {crossed} &amp;&amp; perhop run" in told
    assert "The design is not balanced (treatments have 2 to 3 observations)" in told
    assert "each, name up" in told
    assert cli("analyze", str(crossed)).code == 0


def test_analyze_of_what_is_no_store(cli: Cli, tmp_path: Path) -> None:
    done = cli("analyze", str(tmp_path))
    assert done.code == 8
    assert "Traceback" not in done.err


def test_what_was_varied_is_found_before_groups_of_the_response_that_differ(sweep: Path) -> None:
    """Links up and down differ more than any level does, but nobody varied them."""
    (goodput, each) = analyze(Store.open(sweep).scalars(), asked_of(Store.open(sweep).campaign))
    told = what_mattered(each)
    (strongest,) = [text for text in told if text.startswith("The strongest: ")]
    assert strongest.startswith("The strongest: rate = ")
    assert "name from down to up" not in strongest
    assert not any(text.startswith("Within each run") for text in what_mattered(goodput))


def test_steps_have_the_intervals_of_pairs_of_levels(crossed: Path) -> None:
    """What is drawn of a factor is the difference of its ends, by Student's t of the model's error."""
    store = Store.open(crossed)
    (goodput,) = analyze(store.scalars().filter(response="goodput"), asked_of(store.campaign))
    figure = changes(goodput, "x")
    assert figure is not None
    table = figure.data()
    assert table["step"].to_list() == ["rate: 1Mbit/s → 4Mbit/s", "loss: 0.01 → 0.05"]
    rows = {row["step"].split(":")[0]: row for row in table.to_dicts()}
    values = store.scalars().filter(response="goodput")
    means = dict(values.group_by("rate").agg(pl.mean("value")).iter_rows())
    unit = scale(goodput).factor
    assert rows["rate"]["change"] * unit == pytest.approx(means["4Mbit/s"] - means["1Mbit/s"])
    assert goodput.strata is not None
    error = goodput.strata.between
    half = stdtrit(error.df, 0.975) * math.sqrt(2 * error.mean_square / 6) / unit
    assert (rows["rate"]["high"] - rows["rate"]["low"]) / 2 == pytest.approx(half)


def test_a_curve_that_needs_an_axis_is_listed_with_the_factors(cli: Cli, crossed: Path) -> None:
    told = cli("figure", crossed).out
    assert re.search(r"^curve .*--over rate or --over loss", told, re.MULTILINE)


def test_a_long_label_is_broken_or_made_smaller_until_nothing_is_cut() -> None:
    label = "mean(flows.goodput_bit_s) by name in kbit/s"
    with style.looking(style.Look((1.6, 1.2), 8, None)), style.figure() as (made, axes):
        axes.set_ylabel(label)
        axes.set_xlabel(label)
        style.svg(made, "", "")
        for text in (axes.xaxis.label, axes.yaxis.label):
            box = text.get_window_extent()
            assert " ".join(text.get_text().split()) == label
            assert min(box.x0, box.y0) > -1
            assert box.x1 < made.bbox.width + 1
            assert box.y1 < made.bbox.height + 1
    with style.figure() as (made, axes):
        axes.set_ylabel(short := "goodput in Mbit/s")
        style.svg(made, "", "")
        assert axes.yaxis.label.get_text() == short


def test_replications_that_are_all_alike_are_told_once(cli: Cli, tmp_path: Path) -> None:
    assert cli("init", "lab").code == 0
    measure = ("--measure", "sum(flows.goodput_bit_s)", "-s", "run.duration=20s", "-s", "run.warmup=10s")
    done = cli("sweep", "lab/two-way.toml", *measure, "--replications", "2", "-o", "alike")
    assert done.err.count("warning: all replications of each treatment gave the same values") == 1
    assert "All replications of each treatment gave the same values" in words(
        Path("alike/report.html").read_text()
    )
    lossy = ("-s", "link.slow-fast.loss=0.05")
    done = cli("sweep", "lab/two-way.toml", *measure, *lossy, "--replications", "2", "-o", "other")
    assert "all replications" not in done.err
