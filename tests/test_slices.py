"""`--where`: the sub-design of some levels is analysed, drawn, compared and judged as if it were all."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop.experiment.analyze import analyze, asked_of
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor
from perhop.experiment.slices import SliceError, read
from perhop.experiment.store import Store
from perhop.report.campaign import render
from perhop.say.analysis import varied
from perhop.stats.anova import anova
from test_campaign_page import LOSSES, made, words
from test_campaign_run import RATES

DELAYS = Factor.vary("link.a-b.delay", ["5ms", "20ms"], "delay")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("store") / "three", [RATES, LOSSES, DELAYS])


def test_conditions_add_up_and_keep_the_order_of_the_design() -> None:
    known = {"net": ["over", "exact", "a|b"], "class": ["gold", "be"]}
    found = read(["class=be", "net=exact", "net=over"], known)
    assert str(found) == "net=over|exact, class=be"
    assert read(["net=exact|over"], known).kept == {"net": ("over", "exact")}
    assert read(["net=a|b"], known).kept == {"net": ("a|b",)}
    for condition, message, hint in (
        ("nett=over", "no factor and no group is called 'nett'", "did you mean `net`?"),
        ("net=ovr", "'net' has no level 'ovr'", "did you mean `over`?"),
        ("net=over|x", "'net' has no level 'x'", "known here: over, exact, a|b"),
        ("net", "which level?", "write FACTOR=LEVEL"),
    ):
        with pytest.raises(SliceError) as raised:
            read([condition], known)
        assert message in str(raised.value)
        assert hint in raised.value.hint


def test_the_analysis_of_a_slice_is_that_of_its_rows_alone(store: Path) -> None:
    part = Store.open(store).where(["loss=0.05"])
    (goodput, _) = analyze(part.scalars(), asked_of(part.campaign))
    rows = Store.open(store).scalars().filter(response="goodput", loss="0.05")
    alone = anova(rows, ["rate", "delay"], block="replication").table
    assert goodput.factors == ("rate", "delay")
    columns = ["source", "df", "sum_of_squares", "f", "p"]
    assert goodput.tests.select(columns).equals(alone.select(columns))
    assert goodput.means.height == 6


def test_an_analysis_of_a_campaign_that_runs_says_what_is_made(store: Path) -> None:
    opened = Store.open(store)
    late = pl.when(pl.col("replication") == 2).then(pl.lit("missing")).otherwise("state")
    told = varied(opened, opened.runs().with_columns(state=late))
    assert "all 12 combinations, each in up to 3 replications, with the same random numbers" in told
    assert told.endswith(": 24 of 36 runs made so far.")


def test_a_slice_by_group_keeps_responses_without_the_group(store: Path) -> None:
    part = Store.open(store).where(["name=up", "rate=1Mbit/s|4Mbit/s"])
    scalars = part.scalars()
    assert set(scalars.filter(response="each")["name"]) == {"up"}
    assert scalars.filter(response="goodput").height == 2 * 2 * 2 * 3
    assert part.runs().height == 24


def test_analyze_says_which_slice(cli: Cli, store: Path) -> None:
    done = cli("analyze", store, "--where", "loss=0.05", "--response", "goodput")
    assert done.code == 0, done.err
    assert done.out.startswith(
        "Only loss=0.05. Varied: rate (1Mbit/s, 2Mbit/s, 4Mbit/s) and delay (5ms, 20ms); all 6 combinations"
    )
    assert ": 18 runs." in done.out
    assert "rate × delay" in done.out
    assert "rate × loss" not in done.out
    found = cli("analyze", store, "--where", "loss=0.05", "--json").json()
    assert found["where"] == ["loss=0.05"]
    assert cli("analyze", store, "--json").json().keys() == {"store", "analyses"}
    csv = cli("analyze", store, "--where", "loss=0.05", "--csv").out.splitlines()
    assert len(csv) == 1 + 6 * 3
    wrong = cli("analyze", store, "--where", "los=0.05")
    assert wrong.code == 2
    assert "error: --where los=0.05: no factor and no group is called 'los'" in wrong.err
    assert "did you mean `loss`?" in wrong.err


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_a_slice_has_a_place_of_its_own_and_commands_that_make_it_again(
    cli: Cli, store: Path, tmp_path: Path
) -> None:
    refused = cli("report", store, "--where", "loss=0.05")
    assert (refused.code, "add -o FILE" in refused.err) == (2, True)
    page = tmp_path / "page.html"
    assert cli("report", store, "--where", "loss=0.05", "-o", page).code == 0
    html = page.read_text()
    told = words(html)
    assert "Only loss=0.05. Varied: rate" in told
    assert f"perhop analyze {store} --where loss=0.05 --response goodput" in told
    assert f"perhop figure {store} response-1-main --where loss=0.05" in told
    assert html != render(Store.open(store))


def test_figures_of_a_slice(cli: Cli, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "curve.csv"
    done = cli("figure", store, "curve", "--where", "loss=0.05", "--where", "delay=5ms", "-o", out)
    assert done.code == 0, done.err
    assert pl.read_csv(out)["rate"].to_list() == ["1Mbit/s", "2Mbit/s", "4Mbit/s"]


def test_treatments_of_a_slice_are_called_by_what_varies(cli: Cli, store: Path) -> None:
    done = cli("compare", store, "1Mbit/s", "4Mbit/s", "--where", "loss=0.05", "--where", "delay=5ms")
    assert done.code == 0, done.err
    assert done.out.startswith("Only loss=0.05, delay=5ms.\n")
    assert "rate=4Mbit/s loss=0.05 delay=5ms less rate=1Mbit/s loss=0.05 delay=5ms" in done.out
    short = cli("compare", store, "rate=1Mbit/s delay=5ms", "rate=4Mbit/s delay=5ms", "--where", "loss=0.05")
    assert short.code == 0, short.err


def test_claims_are_judged_on_a_slice(cli: Cli, store: Path, tmp_path: Path) -> None:
    claims = tmp_path / "claims.toml"
    claims.write_text("""
[[claim]]
id = "inside"
statement = "A faster link brings more, by itself."
response = "goodput"
effect = { rate = "4Mbit/s" }
above = 0
[[claim]]
id = "outside"
statement = "With little loss something arrives."
response = "goodput"
at = { loss = "0.01", rate = "1Mbit/s", delay = "5ms" }
above = 0
[[claim]]
id = "short"
statement = "What the slice keeps one level of need not be said."
response = "goodput"
at = { rate = "1Mbit/s", delay = "5ms" }
above = 0
[[claim]]
id = "fixed"
statement = "Loss has an effect."
response = "goodput"
effect = { loss = "0.05" }
below = 0
""")
    found = cli("analyze", store, "--where", "loss=0.05", "--claims", claims, "--json").json()
    assert found["where"] == ["loss=0.05"]
    parts = {one["id"]: one["parts"][0] for one in found["claims"]}
    frame = Store.open(store).scalars().filter(response="goodput", loss="0.05")
    effect = frame.filter(rate="4Mbit/s")["value"].mean() - frame["value"].mean()
    assert parts["inside"]["mean"] == pytest.approx(effect)
    assert parts["short"]["n"] == 3
    assert parts["outside"]["reason"] == parts["fixed"]["reason"] == "outside of loss=0.05"
    told = cli("analyze", store, "--where", "loss=0.05", "--claims", claims).out
    assert told.startswith("Only loss=0.05.\n\ninside not judged: A faster link")
    # of the whole campaign the level must be said
    whole = cli("analyze", store, "--claims", claims)
    assert whole.code == 3
    assert "which level of `loss` is meant: 0.01, 0.05?" in whole.err


def test_a_fraction_has_no_slices() -> None:
    two = [Factor.vary(f"link.a-b.{name}", [1, 2], name.upper()) for name in "abc"]
    whole = Design.fractional(two, ["C=AB"])
    with pytest.raises(SliceError, match="a slice of it confounds other effects"):
        read(["A=1"], {"A": ["1", "2"]}).design(whole)
    assert read(["name=up"], {"name": ["up"]}).design(whole) is whole
