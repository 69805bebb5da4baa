"""A study that is a folder: it runs without Python, and every mistake in its files has its place."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from perhop.cli.exit import ExitCode
from perhop.papers import form
from perhop.papers.error import PackError
from perhop.papers.folder import check, find_study, load, own_folder
from perhop.papers.form import StudyError
from perhop.papers.plan import NO_READINGS
from perhop.papers.reproduce import Form, reproduce
from perhop.papers.study import Study


@pytest.fixture
def mine(cli: Cli) -> Path:
    """Give the study that `perhop init --study` writes, with runs as short as can be judged."""
    assert cli("init", "--study", "mine").code == ExitCode.DONE
    shorten(Path("mine"))
    return Path("mine")


def shorten(folder: Path) -> None:
    campaign = folder / "campaign.toml"
    campaign.write_text(campaign.read_text().replace("run.duration=22s", "run.duration=8s"))
    change(folder / "study.toml", 'set = ["run.duration=12s"]', 'set = ["run.duration=6s"]')


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, f"{file}: {old}"
    file.write_text(text.replace(old, new, 1))


def test_a_folder_is_written_checked_and_run_at_once(cli: Cli, mine: Path) -> None:
    checked = cli("check", mine)
    assert (checked.code, checked.out) == (0, "mine: valid; study: 3 claims, 1 campaign, 2 readings\n")
    assert cli("check", "mine/study.toml", "--json").json()["files"][0]["kind"] == "study"
    done = cli("reproduce", mine, "--quick", "-j", "1")
    assert done.code == 0, done.err
    assert "left out of mine: runs with run.duration=6s" in done.err
    assert "left out of mine: verdicts on fair" in done.err
    document = json.loads(Path("out/mine/result.json").read_text())
    assert document["command"] == "perhop reproduce mine --quick"
    assert document["paper"] == "mine"
    assert {claim["id"]: claim["verdict"] for claim in document["claims"]} == {
        "more": "supported",
        "printed": "supported",
        "fair": "not judged",
    }
    assert document["claims"][2]["reason"] == "a quick reproduction leaves it out"
    assert document["claims"][0]["readings"] == []
    (first, *_) = document["rows"]
    assert (first["table"], first["id"], first["quantity"], first["unit"], first["published"]) == (
        *("table1", "0.2, 0ms, up", "goodput", "kbit/s"),
        19.0,
    )
    assert first["simulated"]["mean"] == pytest.approx(19, rel=0.1)
    assert first["simulated"]["n"] == 10
    # a part is told in a unit that can be read, and so is what is claimed of it
    part = document["claims"][1]["parts"][0]
    assert part["quantity"] == "goodput at up, 0ms, 0.2, kbit/s"
    assert part["claimed"] == pytest.approx([17.1, 20.9])
    assert part["printed"] == 19.0
    page = Path("out/mine/report.html").read_text()
    for text in (
        "Who gets how much of it?",
        "Table 1",
        "Goodput over the share",
        "What matters to fairness",
        "A. Author, A paper that is made up, Journal of Examples, 1999.",
        "The files of this study: CC-BY-4.0.",
        "Left out here:",
        "The price for the download",
    ):
        assert text in page, text
    assert re.search(r"has 3\.\d+ ± [\d.]+ Mbit/s less than with the smallest", page)
    assert "never starve" not in page


def test_the_runs_behind_a_verdict_are_made_again_by_their_command(cli: Cli, mine: Path) -> None:
    assert cli("reproduce", mine, "--quick", "-j", "1").code == 0
    document = json.loads(Path("out/mine/result.json").read_text())
    (runs,) = document["runs"]
    assert runs["command"].startswith("perhop run mine/two-way.toml -s run.duration=8s")
    settings = document["treatments"][0]["settings"]
    command = f"{runs['command']} {settings} -s run.replication=0 --json"
    assert cli(*command.replace("perhop ", "", 1).replace("-s ", "-s\n").split()).code == 0


def test_claims_are_judged_under_readings_and_broken_assumptions_are_warned_of(cli: Cli, mine: Path) -> None:
    change(mine / "study.toml", "low = 10e3", "low = 40e3")
    change(mine / "readings.toml", '"flow.down.tcp.window=256KiB"]', '"port.slow-fast.scheduler.share=0.9"]')
    # a reading's settings come before those of the treatments, and by level after them
    change(mine / "readings.toml", 'claims = ["more", "fair"]', 'change = { "0.8" = ["run.seed=7"] }')
    done = cli("reproduce", mine, "-j", "1", "--json")
    assert done.code == 0, done.err
    claims = {claim["id"]: claim for claim in done.json()["claims"]}
    assert [one["id"] for one in claims["printed"]["readings"]] == ["window", "ns-2"]
    assert claims["printed"]["judged_under"] == {"readings": 2, "of": 2, "without": []}
    means = [one["parts"][0]["mean"] for one in claims["printed"]["readings"]]
    assert means[0] == pytest.approx(claims["printed"]["parts"][0]["mean"], rel=0.1)
    page = Path("out/mine/report.html").read_text()
    assert re.search(
        r"The upload should never starve: goodput at up, 0\.2, 0ms is 19\.\d+ ± \S+ kbit/s", page
    )
    fitted = cli("reproduce", mine, "--fitted", "-j", "1", "--json", "-o", "out/fitted")
    assert fitted.json()["command"] == "perhop reproduce mine --fitted"
    assert f"left out of mine: {NO_READINGS}" in fitted.err


@pytest.mark.parametrize(
    ("file", "old", "new", "told", "line"),
    [
        ("study.toml", 'title = "A share', 'titel = "A share', "there is no setting `titel` here", 5),
        ("study.toml", 'title = "A share of a slow link"', "title = 3", "must be a string that is not", 5),
        ("study.toml", "# claims = [", "claims = []  # [", "there is no file of claims", 8),
        ("study.toml", '# claims = ["claims', 'claims = ["claim', "claim.toml: No such file", 8),
        (
            "study.toml",
            "# under = { replications = 10 }",
            "under = { replications = 0 }",
            "0 replications are none",
            9,
        ),
        (
            "study.toml",
            "# under = { replications = 10 }",
            'under = { set = ["run.duraton=6s"] }',
            "under.set[0]: run.duraton: there is no setting `duraton`",
            9,
        ),
        ("study.toml", "run.duration=6s", "run.duraton=6s", "there is no setting `duraton`", 13),
        ("study.toml", '["more", "printed"]', '["more", "print"]', "there is no claim `print`", 14),
        ("study.toml", 'goodput = "goodput"', 'godput = "goodput"', "did you mean `goodput`?", 19),
        ("study.toml", 'share = "share of', '"40ms" = "share of', "[words] of the claims", 18),
        ("study.toml", 'table1 = "Table 1"', 'table2 = "Table 1"', "or table is called `table2`", 20),
        ("study.toml", 'response = "goodput"', 'response = "godput"', "there is no response `godput`", 25),
        ("study.toml", '{ delay = "0ms" }', '{ delay = "1ms" }', "`delay` has no level `1ms`", 26),
        ("study.toml", 'at = { delay = "0ms" }', "", "which level of `delay` is meant", 23),
        ("study.toml", 'share = "all" }', 'shares = "all" }', "there is no factor and no group `shares`", 27),
        ("study.toml", 'kind = "main"', 'kind = "mean"', "there is no figure `mean`", 31),
        ("study.toml", 'response = "fairness"', 'response = "fair"', "there is no response `fair`", 32),
        ("study.toml", "low = 10e3", "", "nothing is claimed of the quantity", 35),
        ("study.toml", "{loss}", "{lost}", "there is no value `lost`", 45),
        ("study.toml", "{loss}", "{loss", "expected '}' before end of string", 45),
        ("study.toml", 'share = "0.2", delay', "delay", "which level of `share` is meant", 48),
        ("study.toml", "year = 1999", 'year = "1999"', "must be an integer, not a string", 55),
        ("claims.toml", 'campaign = "campaign.toml"', "", "which campaign is it about?", 1),
        ("claims.toml", 'id = "fair"', 'id = "more"', "a second claim is called `more`", 33),
        ("claims.toml", 'delay = "40ms"', 'delay = "41ms"', "`delay` has no level `41ms`", 39),
        ("claims.toml", "above = 0", 'predicate = "mine"', "no predicate 'mine'; known here: none", 19),
        ("campaign.toml", 'levels = ["0ms", "40ms"]', 'levels = ["0ms", "40"]', "link.slow-fast.delay", 15),
        ("readings.toml", 'id = "ns-2"', 'id = "window"', "a second reading is called `window`", 9),
        ("readings.toml", '["more", "fair"]', '["mor", "fair"]', "there is no claim `mor`", 12),
        ("readings.toml", '["more", "fair"]', "[]", "it is about no claim", 12),
        ("readings.toml", "profile=ns2", "profile=ns3", "flow.up.tcp.profile", 11),
        (
            "readings.toml",
            'claims = ["more',
            'change = { x = ["run.seed=1"] }\n# ["more',
            "'change' has x",
            12,
        ),
        ("readings.toml", 'claims = ["more', '[[pair]]\nof = ["window"]\n# ["more', "make a pair", 13),
        ("published/table1.csv", "0.5", "0.6", "table1.csv, line 3: `share` has no level `0.6`", 6),
        ("two-way.toml", 'from = "slow"', 'from = "slo"', "there is no node `slo`", None),
    ],
)
def test_a_mistake_is_told_with_its_place(
    file: str, old: str, new: str, told: str, line: int | None, cli: Cli, mine: Path
) -> None:
    change(mine / file, old, new)
    done = cli("check", mine)
    assert done.code == ExitCode.INVALID, done.out
    assert told in " ".join(done.out.split()), done.out
    where = "claims.toml" if file.endswith(".csv") else file
    assert f"[mine/{where}:{'' if line is None else f'{line}:'}" in done.out, done.out
    refused = cli("reproduce", mine)
    assert refused.code == ExitCode.INVALID
    assert told in " ".join(refused.err.split())
    assert not Path("out").exists()


def test_what_a_file_as_a_whole_lacks_is_on_no_line(cli: Cli, mine: Path) -> None:
    change(mine / "study.toml", 'title = "A share of a slow link"', "")
    done = cli("check", mine)
    assert done.code == ExitCode.INVALID
    assert done.out.startswith("  × mine/study.toml: `title` is missing\n  help: add")


def test_mistakes_of_several_files_are_told_together(cli: Cli, mine: Path) -> None:
    change(mine / "claims.toml", 'delay = "40ms"', 'delay = "41ms"')
    change(mine / "study.toml", "# claims = [", 'claims = ["claims.toml", "more.toml"]  # [')
    _, mistakes, warnings = check(mine)
    assert [one["path"] for one in mistakes] == ["claim[2].part[0].effect.delay", "claims[1]"]
    assert warnings == []


def test_claims_may_stand_in_a_folder_below_with_their_campaign(mine: Path) -> None:
    for name in ("campaign.toml", "claims.toml", "two-way.toml", "published/table1.csv"):
        (mine / "sub" / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).rename(mine / "sub" / name)
    change(mine / "study.toml", "# claims = [", 'claims = ["sub/claims.toml"]  # [')
    found, mistakes, warnings = check(mine)
    assert found is not None
    assert (len(found.claims), mistakes, warnings) == (3, [], [])


def test_a_study_may_have_several_campaigns_each_with_its_claims(cli: Cli, mine: Path) -> None:
    second = (mine / "campaign.toml").read_text().replace("[0.2, 0.5, 0.8]", "[0.3, 0.7]")
    second = second.replace('levels = ["0ms", "40ms"]', 'levels = ["10ms", "20ms"]')
    rate = '\n[[response]]\nname = "throughput"\nmeasure = "mean(flows.throughput_bit_s) by name"\n'
    (mine / "other.toml").write_text(second + rate)
    (mine / "of-other.toml").write_text(
        'campaign = "other.toml"\n[[claim]]\nid = "other"\nstatement = "So it is."\nresponse = "goodput"\n'
        'at = { name = "up", delay = "10ms", share = "0.7" }\nless = { share = "0.3" }\nabove = 0\n'
    )
    change(mine / "study.toml", "# claims = [", 'claims = ["claims.toml", "of-other.toml"]  # [')
    change(
        mine / "study.toml",
        "[[assumption]]",
        '[[figure]]\ntitle = "Elsewhere"\ncampaign = "other.toml"\nresponse = "goodput"\n'
        'at = { name = "up" }\neach = { delay = "all", share = "all" }\n\n'
        '[[figure]]\ntitle = "Two responses"\ncampaign = "other.toml"\nat = { name = "up", delay = "10ms" }\n'
        'each = { response = ["goodput", "throughput"], share = "all" }\n\n[[assumption]]',
    )
    change(
        mine / "readings.toml",
        "[[reading]]",
        '[[reading]]\nid = "seed"\nmeaning = "m"\nset = ["run.seed=2"]\nclaims = ["other"]\n\n[[reading]]',
    )
    study = load(mine)
    assert [one.name for one in study.about] == ["campaign.toml", "other.toml"]
    assert [[each.name for each in study.reads(one)] for one in study.readings] == [
        ["other"],
        ["mine", "other"],
        ["mine"],
    ]
    done = cli("reproduce", mine, "--json", "-j", "1")
    assert done.code == 0, done.err
    claims = {claim["id"]: claim for claim in done.json()["claims"]}
    assert claims["other"]["verdict"] == "supported"
    assert [one["id"] for one in claims["other"]["readings"]] == ["seed", "window"]
    page = Path("out/mine/report.html").read_text()
    assert "Elsewhere" in page
    assert "Two responses" in page
    (mine / "of-other.toml").write_text((mine / "claims.toml").read_text())
    refused = cli("check", mine)
    assert "campaign.toml has claims already" in refused.out
    assert "claims.toml has a claim `more` already" in refused.out


CODE = """
from perhop.judge.verdict import Hypothesis
from perhop.report.study import Section


def ratio(measured, share: str, least: float):
    first = measured.values("goodput", name="up", share=share, delay="0ms")
    second = measured.values("goodput", name="down", share=share, delay="0ms")
    return [Hypothesis("up over down", "size", low=least).mean(first / second)]


PREDICATES = {"ratio": ratio}


def sections(outcome):
    return [Section("own", "Mine", [f"Measured: {', '.join(outcome.measured)}."])]


def findings(outcome):
    return [("Own finding", f"{len(outcome.document['claims'])} claims")]
"""


def test_code_of_a_study_adds_predicates_sections_and_findings(cli: Cli, mine: Path) -> None:
    (mine / "study.py").write_text(CODE)
    with (mine / "claims.toml").open("a") as file:
        file.write(
            '\n[[claim]]\nid = "own"\nstatement = "By code."\npredicate = "ratio"\n'
            'parameters = { share = "0.8", least = 0.05 }\n'
        )
    change(mine / "study.toml", 'claims = ["more", "printed"]', 'claims = ["own"]')
    done = cli("reproduce", mine, "--quick", "-j", "1", "--json")
    assert done.code == 0, done.err
    own = done.json()["claims"][-1]
    assert (own["id"], own["verdict"], own["parts"][0]["quantity"]) == ("own", "supported", "up over down")
    page = Path("out/mine/report.html").read_text()
    for text in ("Measured: campaign.toml.", "Own finding", "4 claims"):
        assert text in page
    with pytest.raises(PackError, match="runs only if it is trusted"):
        load(mine, trust=False)
    change(mine / "claims.toml", "least = 0.05", "most = 0.05")
    assert "no parameter 'most'; known here: share, least" in cli("check", mine).out
    for error in ("RuntimeError", "SystemExit"):
        (mine / "study.py").write_text(f"raise {error}('no')")
        for command in ("reproduce", "check", "pack"):
            broken = cli(command, mine)
            assert (broken.code, f"study.py: {error}: no" in broken.err) == (ExitCode.INVALID, True)


def test_a_study_is_found_by_its_folder_or_its_name(cli: Cli, mine: Path) -> None:
    found = find_study("mine")
    assert found is not None
    assert (found.key, found.called, found.file.title) == ("mine", "mine", "A share of a slow link")
    assert find_study(str(mine / "study.toml")).called == "mine"  # type: ignore[union-attr]
    laatu = find_study("laatu")
    assert laatu is not None
    assert laatu.key == "laatu"
    assert find_study("out/laatu") is None
    unknown = cli("reproduce", "lattu")
    assert unknown.code == ExitCode.USAGE
    assert "did you mean laatu?" in unknown.err
    Path("empty").mkdir()
    empty = cli("reproduce", "empty")
    assert (empty.code, "has no study.toml" in empty.err) == (ExitCode.USAGE, True)
    for command in ("check", "pack"):
        told = cli(command, "empty")
        assert (told.code, told.out, told.err) == (ExitCode.USAGE, "", empty.err)
    Path("empty/line.toml").touch()
    assert cli("check", "empty").err.endswith("hint: its files: perhop check empty/*.toml\n")
    for missing in ("elsewhere/laatu", "mine.zip"):
        told = cli("reproduce", missing)
        assert (told.code, told.err) == (ExitCode.USAGE, f"error: {missing}: No such file or directory\n")


def test_equal_runs_give_equal_bytes_from_any_folder(mine: Path, tmp_path: Path) -> None:
    def made(out: str) -> tuple[bytes, bytes]:
        study = find_study("mine")
        assert study is not None
        reproduce([study], Form(quick=True), Path(out), 1)
        return Path(out, "result.json").read_bytes(), Path(out, "report.html").read_bytes()

    assert made("first/mine") == made("second/mine")


def test_the_schema_knows_every_key() -> None:
    schema: dict[str, Any] = json.loads(form.schema())
    assert {
        "StudyFile",
        "Figure",
        "Rows",
        "Section",
        "Value",
        "Assumption",
        "Finding",
        "Quick",
        "RunChanges",
        "Citation",
    } <= schema["$defs"].keys()
    assert set(schema["$defs"]["StudyFile"]["properties"]) == {
        *("under", "refit", "rows_of", "told", "holds_on"),
        *("title", "question", "about", "claims", "quick"),
        *("beyond", "row", "by_row", "section", "draw", "read_by", "trace"),
        *("figure", "assumption", "finding", "labels", "citation"),
    }


def test_a_study_with_mistakes_is_none(mine: Path) -> None:
    assert isinstance(load(mine), Study)
    shutil.rmtree(mine / "published")
    with pytest.raises(StudyError, match=r"table1\.csv: No such file"):
        load(mine)


def test_a_reading_that_takes_away_what_a_response_looks_for_is_warned_of(cli: Cli) -> None:
    assert cli("init", "--study", "mine").code == 0
    campaign = Path("mine/campaign.toml")
    by_name = '[[response]]\nname = "upload"\nmeasure = \'sum(flows.goodput_bit_s where name = "up")\'\n'
    campaign.write_text(f"{campaign.read_text()}\n{by_name}")
    readings = Path("mine/readings.toml")
    two = '[[reading]]\nid = "two"\nmeaning = "two uploads"\nset = ["flow.up.count=2"]\nclaims = ["more"]\n'
    readings.write_text(f"{readings.read_text()}\n{two}")
    checked = cli("check", "mine")
    said = checked.out + checked.err
    assert "`upload`: no row of `flows` will have name" in said
    assert said.count("readings.toml:") == 1


@pytest.mark.parametrize(
    ("name", "about"), [("readings.toml", "18 readings"), ("kernel.toml", "4 arms on real packets")]
)
def test_a_file_that_means_nothing_alone_is_checked_with_its_study(cli: Cli, name: str, about: str) -> None:
    own = own_folder("laatu")
    shutil.copytree(own, "mine")
    done = cli("check", f"mine/{name}")
    assert (done.code, done.out) == (ExitCode.DONE, f"mine/{name}: valid; {about}\n")
    refused = cli("check", f"mine/{name}", "-s", "run.seed=2")
    assert (refused.code, f"mine/{name} takes no -s" in refused.err) == (ExitCode.USAGE, True)
    text = (own / name).read_text().replace("meaning", "meanin", 1)
    Path("mine", name).write_text(text)
    wrong = cli("check", f"mine/{name}")
    assert wrong.code == ExitCode.INVALID
    assert f"mine/{name}:{text[: text.index('meanin')].count(chr(10)) + 1}:" in wrong.out
    Path("mine", name).write_text("[[[")
    assert "not TOML" in cli("check", f"mine/{name}").out


def test_a_folder_in_the_place_of_a_file_is_named_for_what_it_is(cli: Cli) -> None:
    assert cli("init", "--study", "mine").code == ExitCode.DONE
    assert "hint: it is a study: perhop reproduce mine" in cli("describe", "mine").err
    Path("other").mkdir()
    Path("other", "a.toml").touch()
    assert "hint: it has a.toml" in cli("run", "other").err


def test_readings_that_cannot_be_read_are_a_mistake(mine: Path) -> None:
    (mine / "readings.toml").unlink()
    (mine / "readings.toml").mkdir()
    assert "readings.toml: Is a directory" in check(mine)[1][0]["rule"]
    (mine / "readings.toml").rmdir()
    (mine / "readings.toml").symlink_to("nowhere")
    assert "readings.toml: No such file" in check(mine)[1][0]["rule"]
