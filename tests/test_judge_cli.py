"""Claims at the command line: checked, judged on a store, printed as text, JSON and CSV."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claims_made import CAMPAIGN, HEAD, PLACE, laid
from conftest import Cli, run_cli
from perhop.cli.exit import ExitCode
from perhop.experiment.store import Store
from perhop.report.campaign import render
from perhop.say.terminal import _folded
from test_campaign_page import words


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = laid(tmp_path_factory.mktemp("store"))
    (folder / "claims.toml").write_text(
        HEAD + PLACE + 'less = { rate = "2Mbit/s" }\nbelow = 0\nhigh = -1e5\n'
    )
    return folder


@pytest.fixture(scope="module")
def ran(store: Path) -> Path:
    assert run_cli(["campaign", "run", str(store / "sweep.toml"), "-o", str(store / "store")]) == 0
    return store


def test_claims_are_checked_before_anything_runs(cli: Cli, store: Path) -> None:
    found = cli("check", store / "claims.toml", store / "sweep.toml", "--json").json()["files"]
    assert [(one["kind"], one["ok"]) for one in found] == [("claims", True), ("campaign", True)]
    assert "claims.toml: valid; 1 claim about sweep.toml" in cli("check", store / "claims.toml").out
    (store / "bad.toml").write_text((store / "claims.toml").read_text().replace("5ms", "7ms"))
    done = cli("check", store / "bad.toml")
    assert done.code == ExitCode.INVALID
    assert "claim[0].at.delay: `delay` has no level `7ms`" in done.out
    assert "bad.toml: 1 mistake; claims" in done.out
    text = (store / "claims.toml").read_text().replace('campaign = "sweep.toml"\n', "")
    (store / "alone.toml").write_text(text)
    own = cli("check", store / "alone.toml")
    assert "valid; 1 claim of no campaign: what it names is not checked" in own.out
    assert '"WrittenClaim"' in cli("schema", "--claims").out
    assert cli("schema", "--claims", "--campaign").code == ExitCode.USAGE


def test_verdicts_are_printed_with_their_reason_and_no_number_is_cut(cli: Cli, ran: Path) -> None:
    judge = ("analyze", ran / "store", "--claims", ran / "claims.toml")
    done = cli(*judge)
    assert done.code == 0
    assert done.out.startswith(
        "X not judged: Something arrives.\n  not judged    goodput at 1Mbit/s, 5ms, less"
    )
    assert "; claimed less than 0; 2 replications, 10 are needed\n" in done.out
    assert "; claimed at most -100 kbit/s; 2 replications, 10 are needed\n" in done.out
    narrow = [line for part in done.out.splitlines() for line in _folded(part, 40)]
    assert max(map(len, narrow)) <= 40
    # no number is parted from its unit
    assert "\n".join(narrow).count(" kbit/s") == 3


def test_verdicts_are_json_and_csv(cli: Cli, ran: Path, tmp_path: Path) -> None:
    judge = ("analyze", ran / "store", "--claims", ran / "claims.toml")
    (claim,) = cli(*judge, "--json").json()["claims"]
    assert (claim["id"], claim["verdict"]) == ("X", "not judged")
    assert claim["reason"] == "2 replications, 10 are needed"
    assert [part["kind"] for part in claim["parts"]] == ["direction", "size"]
    assert cli(*judge, "-o", tmp_path / "claims.json").code == 0
    assert json.loads((tmp_path / "claims.json").read_text())["claims"] == [claim]
    first, second, *_ = cli(*judge, "--csv").out.splitlines()
    columns = "claim,verdict_of_claim,part,verdict_of_part,quantity,kind,unit,low,high,mean,from,to,n,reason"
    assert first == columns
    quantity = '"goodput at 1Mbit/s, 5ms, less that at 2Mbit/s, 5ms"'
    assert second.startswith(f"X,not judged,1,not judged,{quantity},direction,bit/s,,0,-")
    assert second.endswith(',2,"2 replications, 10 are needed"')
    assert [part["unit"] for part in claim["parts"]] == ["bit/s", "bit/s"]
    assert cli("analyze", ran / "store", "--csv").out.startswith("rate,delay,response,class,mean,from,to,n\n")
    for beside in (("--pairs",), ("--level", "0.9"), ("--response", "goodput"), ("--keep", "rate")):
        done = cli(*judge, *beside)
        assert (done.code, f"--claims does not go with {beside[0]}" in done.err) == (ExitCode.USAGE, True)
    assert cli("analyze", ran / "store", "--csv", "--response", "goodput").code == ExitCode.USAGE
    assert "the option is given twice" in cli(*judge, "--claims", ran / "claims.toml").err
    done = cli(*judge, "--csv", "--json")
    assert (done.code, "--csv does not go with --json" in done.err) == (ExitCode.USAGE, True)


@pytest.mark.usefixtures("undrawn")
def test_claims_are_judged_on_the_page_of_a_campaign(cli: Cli, ran: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    judge = ("report", ran / "store", "--claims", ran / "claims.toml")
    done = cli(*judge, "-o", page)
    assert done.code == 0, done.err
    html = page.read_text()
    told = words(html)
    first = told[told.index("What is claimed") : told.index("What mattered")]
    assert "X not judged Something arrives. 2 not judged 2 replications, 10 are needed" in first
    assert html.count('<span class="badge not-judged">not judged</span>') == 3
    own = told[told.index("A part is judged by its 95 % interval") : told.index("How it was made", 900)]
    assert "claimed replications why not judged" in own
    assert "at most -100 kbit/s 2 2 replications, 10 are needed" in own
    assert f"perhop analyze {ran / 'store'} --claims {ran / 'claims.toml'}" in own
    assert f"perhop report {ran / 'store'} --claims {ran / 'claims.toml'}" in told
    assert "What is claimed" not in render(Store.open(ran / "store"))
    (ran / "wrong.toml").write_text((ran / "claims.toml").read_text().replace("5ms", "7ms"))
    wrong = cli("report", ran / "store", "--claims", ran / "wrong.toml", "-o", page, "--force")
    assert (wrong.code, page.read_text()) == (ExitCode.INVALID, html)
    assert "`delay` has no level `7ms`" in wrong.err


def test_claims_of_another_campaign_are_refused(cli: Cli, ran: Path) -> None:
    other = ran / "other.toml"
    other.write_text(CAMPAIGN.replace("3Mbit/s", "4Mbit/s"))
    (ran / "others.toml").write_text((ran / "claims.toml").read_text().replace("sweep.toml", "other.toml"))
    done = cli("analyze", ran / "store", "--claims", ran / "others.toml")
    assert done.code == ExitCode.INVALID
    assert "other.toml has other treatments or responses than the store" in done.err
    assert "git checkout" not in done.err
    for changed, told in (
        (
            CAMPAIGN.replace("\nrepl", '\nset = ["run.duration=1.5s"]\nrepl', 1),
            "another scenario or other settings",
        ),
        (CAMPAIGN.replace("\nrepl", '\nset = ["run.seed=77"]\nrepl', 1), "another seed"),
    ):
        other.write_text(changed)
        done = cli("analyze", ran / "store", "--claims", ran / "others.toml")
        assert (done.code, f"other.toml has {told}" in done.err) == (ExitCode.INVALID, True), done.err
    # more runs of the same
    other.write_text(CAMPAIGN.replace("replications = 2", "replications = 3"))
    assert cli("analyze", ran / "store", "--claims", ran / "others.toml").code == 0
    assert cli("analyze", ran / "store", "--claims", ran / "none.toml").code == ExitCode.USAGE


@pytest.mark.parametrize("words", [("run",), ("describe",), ("campaign", "run")])
def test_claims_in_the_place_of_another_file_are_told_as_such(
    cli: Cli, store: Path, words: tuple[str, ...]
) -> None:
    done = cli(*words, store / "claims.toml")
    assert done.code == ExitCode.USAGE
    assert "claims.toml is a file of claims, which are judged on what a campaign measured" in done.err
    assert "perhop analyze STORE --claims" in done.err
