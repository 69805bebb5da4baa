"""A study on record: its verdicts at once, once runs drawn by seed have come out again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Cli, Done
from perhop import RESULTS_VERSION
from perhop.cli.exit import ExitCode
from perhop.experiment.executors import open_executor
from perhop.experiment.response import Response
from perhop.papers import on_record
from perhop.papers.again import differences, draw
from test_papers_study import Tiny, known

RECORD = Path("papers/tiny/recorded")
RUNS, RESULTS = RECORD / "runs.csv", RECORD / "results.json"


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Tiny:
    return known(monkeypatch)


@pytest.fixture
def recorded(cli: Cli, tiny: Tiny) -> Cli:
    """Give a command line in whose folder the tiny study is on record, its twin is not."""
    for key in ("tiny", "twin"):
        Path("papers", key).mkdir(parents=True)
    assert cli("reproduce", "tiny", "--record").code == 0
    shutil.rmtree("out")
    return cli


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))


def digest() -> str:
    """Give the event digest of the first run on record."""
    return RUNS.read_text().splitlines()[1].split(",")[4]


def test_what_is_on_record_is_shown_once_drawn_runs_have_come_out_again(recorded: Cli) -> None:
    done = recorded("reproduce", "tiny", "--verify", "4", "--seed", "7")
    assert done.code == 0
    told = (
        r"These verdicts are of 6 runs on record, made by perhop reproduce tiny --record on "
        rf"\d{{4}}-\d\d-\d\d, at results_version {RESULTS_VERSION}.*\."
    )
    again = (
        "Just now 4 of them were rerun, and each came out equal. "
        "Rerun these 4: perhop reproduce tiny --verify 4 --seed 7."
    )
    assert re.search(told, done.out)
    assert again in done.out
    assert "T1 " in done.out
    assert "tiny, rerunning 4 of 6 runs on record, drawn by seed 7: less than a second" in done.err
    page = Path("out/tiny/report.html").read_text()
    assert re.search(told, page)
    assert again in page
    assert "on record in the study's <code>recorded/runs.csv</code>" in page
    assert not Path("out/tiny.runs").exists()
    document = json.loads(Path("out/tiny/result.json").read_text())
    verified = {"runs": 4, "of": 6, "drawn": 4, "seed": 7, "results_version": RESULTS_VERSION}
    assert document.pop("verified") == verified
    assert document == json.loads(RESULTS.read_text())
    again = recorded("reproduce", "tiny", "--verify", "4", "--seed", "7", "--json").json()
    assert again == document | {"verified": verified}


def test_no_more_runs_are_drawn_than_there_are_and_others_each_time(recorded: Cli) -> None:
    said = [recorded("reproduce", "tiny", "--json") for _ in range(2)]
    first, second = (done.json()["verified"] for done in said)
    assert first["runs"] == first["drawn"] == first["of"] == 6
    assert first["seed"] != second["seed"]


def test_a_seed_draws_the_same_runs_and_none_twice(recorded: Cli) -> None:
    plan = Tiny().plan(False)
    record = on_record.read(plan.study)
    assert record is not None

    def drawn(number: int, seed: int) -> list[tuple[str, str]]:
        again = draw(plan, record, number, seed)
        return [(one.line["treatment"], one.line["replication"]) for one in again]

    assert drawn(3, 1) == drawn(3, 1)
    assert len({tuple(drawn(3, seed)) for seed in range(20)}) > 10
    assert len(drawn(9, 1)) == len(set(drawn(9, 1))) == 6
    # a line more of a run that is there, as of a reading that shares it
    twice = replace(record, lines=(*record.lines, *record.lines))
    assert len(draw(plan, twice, 99, 1)) == 6


def test_a_run_is_made_again_by_the_command_that_is_told(recorded: Cli) -> None:
    plan = Tiny().plan(False)
    record = on_record.read(plan.study)
    assert record is not None
    one = draw(plan, record, 1, 1)[0]
    settings = f"-s run.duration={one.line['treatment'].removeprefix('time=')}"
    replication = f"-s run.replication={one.line['replication']}"
    assert one.command == f"perhop run tiny.toml {settings} {replication}"


def refused(done: Done, *told: str) -> None:
    """Check that nothing was shown, with a status of its own."""
    assert (done.code, done.out) == (ExitCode.DIFFERS, "")
    for text in told:
        assert text in done.err
    assert not Path("out/tiny").exists()


def test_a_digest_that_differs_is_told_with_its_run_and_nothing_is_shown(recorded: Cli) -> None:
    found = digest()
    change(RUNS, found, "0123456789abcdef")
    refused(
        recorded("reproduce", "tiny"),
        f"as fitted, time=2s, replication 0 has event_digest {found}, on record 0123456789abcdef; it is "
        "perhop run tiny.toml -s run.duration=2s -s run.replication=0",
        "tiny: of 6 reruns 1 differs from the record; nothing of it is shown",
        "hint: perhop reproduce tiny --verify all",
    )


def test_a_value_that_differs_in_its_last_digit_is_told(recorded: Cli) -> None:
    value = RUNS.read_text().splitlines()[1].split(",")[5]
    change(RUNS, f",{value}\n", f",{value}.0001\n")
    refused(recorded("reproduce", "tiny"), f"bytes {value}, on record {value}.0001", "1 differs")


def test_a_seed_that_differs_is_told(recorded: Cli) -> None:
    change(RUNS, f",0,1,{digest()}", f",0,2,{digest()}")
    refused(recorded("reproduce", "tiny"), "replication 0 has seed 1, on record 2")


def test_a_run_that_fails_differs(recorded: Cli) -> None:
    plan = Tiny().plan(False)
    record = on_record.read(plan.study)
    assert record is not None
    (campaign,) = plan.fitted
    wrong = replace(campaign, responses=(Response.parse("bytes", "sum(flows.no_such_column)"),))
    done: list[float] = []
    with open_executor(None, 1) as executor:
        drawn = draw(replace(plan, fitted=(wrong,)), record, 2, 1)
        told = differences(drawn, executor, lambda now, of: done.append(now / of))
    assert len(told) == 2
    assert all("failed: " in one and "no_such_column" in one and "perhop run" in one for one in told)
    assert done[-1] == pytest.approx(1)


@pytest.mark.parametrize("name", ["results_version", "measures_version"])
def test_nothing_is_shown_of_a_record_of_another_version(recorded: Cli, name: str) -> None:
    now = json.loads(RESULTS.read_text())[name]
    change(RESULTS, f'"{name}": {now}', f'"{name}": {now + 1}')
    done = recorded("reproduce", "tiny")
    refused(done, f"recorded under {name} {now + 1}, this perhop has {now}", "not current", "--verify all")
    assert "again" not in done.err.partition("hint")[0]
    whole = recorded("reproduce", "tiny", "--verify", "all")
    assert whole.code == 0
    assert "not compared with what is run now: " in whole.err
    assert "on record" not in whole.out


def test_a_record_holds_until_a_version_changes_what_the_scenarios_give(recorded: Cli) -> None:
    """What versions 8 and 9 changed, this study has not."""
    change(RESULTS, f'"results_version": {RESULTS_VERSION}', '"results_version": 7')
    done = recorded("reproduce", "tiny", "--verify", "2")
    assert done.code == 0
    assert "at results_version 7" in done.out
    under = f"under results_version {RESULTS_VERSION}"
    assert f"Just now 2 of them were rerun {under}, and each came out equal" in done.out
    shutil.rmtree("out")
    change(RESULTS, '"results_version": 7', '"results_version": 6')
    told = "recorded under results_version 6, and 7 changed what its scenarios give"
    refused(recorded("reproduce", "tiny"), told)


def test_nothing_is_shown_of_a_record_of_other_runs(
    recorded: Cli, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Tiny.plan

    def longer(self: Tiny, quick: bool) -> object:
        once = plan(self, quick)
        (one,) = once.fitted
        return replace(once, fitted=(replace(one, scenario=one.scenario.override("link.a-b.delay=2ms")),))

    monkeypatch.setattr(Tiny, "plan", longer)
    refused(recorded("reproduce", "tiny"), "the files of tiny ask for other runs than are on record")


def test_nothing_is_shown_of_verdicts_that_do_not_follow_from_the_values(recorded: Cli) -> None:
    change(RESULTS, '"verdict": "not judged"', '"verdict": "supported"')
    refused(recorded("reproduce", "tiny"), "give other verdicts than results.json has: T1; nothing of it")


def test_nothing_is_shown_of_rows_that_do_not_follow_from_the_values(recorded: Cli) -> None:
    change(RESULTS, '"mean": 41.5', '"mean": 41.6')
    refused(recorded("reproduce", "tiny"), "give other rows than results.json has; nothing of it")


def test_the_last_digits_of_a_record_hang_on_the_processor(recorded: Cli) -> None:
    change(RESULTS, '"mean": 41.5', '"mean": 41.50000000001')
    assert recorded("reproduce", "tiny").code == 0


def first_line(edit: Callable[[str], str]) -> Callable[[], None]:
    def write() -> None:
        names, line, *rest = RUNS.read_text().splitlines()
        RUNS.write_text("\n".join([names, edit(line), *rest, ""]))

    return write


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda: RUNS.unlink(), "runs.csv: No such file"),
        (lambda: RESULTS.unlink(), "results.json: No such file"),
        (lambda: RUNS.write_text(""), "runs.csv: line 1: begins with '', not of, treatment"),
        (lambda: RUNS.write_bytes(b"of,\xff"), "runs.csv: not UTF-8 at byte 3"),
        (lambda: change(RUNS, "event_digest", "digest"), "runs.csv: line 1: begins with"),
        (lambda: change(RUNS, ",0,1,", ",x,1,"), "runs.csv: line 2: replication is 'x', not a whole number"),
        (first_line(lambda line: f"{line}x"), "runs.csv: line 2: bytes is"),
        (first_line(lambda line: f"{line},1"), "runs.csv: line 2: has 7 values, the first line 6 names"),
        (first_line(lambda line: ""), "runs.csv: line 2: has 0 values, the first line 6 names"),
        (first_line(lambda line: line.replace("as fitted", "")), "runs.csv: line 2: has no of"),
        (first_line(lambda line: line.replace("2s", "4s")), "time=2s, replication 0 has 0 lines, not 1"),
        (first_line(lambda line: f"{line}\n{line}"), "time=2s, replication 0 has 2 lines, not 1"),
        (lambda: RESULTS.write_text("{"), "results.json: not JSON"),
        (lambda: RESULTS.write_text("{}"), "results.json: has no 'paper'"),
        (
            lambda: change(RESULTS, '"runs": 6, "began"', '"began"'),
            "results.json: Object missing required field `runs`",
        ),
        (lambda: change(RESULTS, '"claims": [', '"claim": ['), "Object missing required field `claims`"),
    ],
)
def test_a_record_that_cannot_be_read_is_told_with_its_place(
    recorded: Cli, spoil: Callable[[], object], told: str
) -> None:
    spoil()
    done = recorded("reproduce", "tiny")
    assert (done.code, done.out) == (ExitCode.INVALID, "")
    assert told in done.err
    assert not Path("out/tiny").exists()


def test_all_is_the_whole_study_and_each_run_is_compared(recorded: Cli) -> None:
    done = recorded("reproduce", "tiny", "--verify", "all")
    assert done.code == 0
    assert "All 6 runs on record were rerun just now; each came out equal." in done.out
    document = json.loads(Path("out/tiny/result.json").read_text())
    assert document["command"] == "perhop reproduce tiny --verify all"
    assert Path("out/tiny.runs").is_dir()
    change(RUNS, digest(), "0123456789abcdef")
    told = recorded("reproduce", "tiny", "--verify", "all")
    assert told.code == ExitCode.DIFFERS
    assert "tiny: of 6 reruns 1 differs from the record; out/tiny shows what was run now" in told.err
    assert "on record 0123456789abcdef" in told.err
    assert "On record" not in Path("out/tiny/report.html").read_text()


def test_many_differences_are_not_all_told(recorded: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perhop.papers.reproduce._TOLD", 2)
    RUNS.write_text(re.sub(r"[0-9a-f]{16}", "0123456789abcdef", RUNS.read_text()))
    told = recorded("reproduce", "tiny")
    refused(told, "and 4 more", "of 6 reruns 6 differ from the record")
    assert told.err.count("on record 0123456789abcdef") == 2


def test_the_index_says_what_was_made_again_of_each(recorded: Cli) -> None:
    done = recorded("reproduce", "-o", "all", "--seed", "3")
    assert done.code == 0
    assert "twin: nothing is on record, so every run is made now" in done.err
    index = Path("all/report.html").read_text()
    assert index.count("Just now 6 of them were rerun, and each came out equal") == 1
    assert done.out.splitlines()[-2] == "None of 2 claims of 2 papers is judged."


def test_a_study_in_any_folder_is_recorded_and_shown_from_elsewhere(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("init", "--study", "mine")
    assert cli("reproduce", "mine", "--record").code == 0
    claims = json.loads(Path("out/mine/result.json").read_text())["claims"]
    Path("elsewhere").mkdir()
    Path("mine").rename("elsewhere/yours")
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = cli("reproduce", "yours", "--json", "--verify", "3", "--seed", "1").json()
    assert done["claims"] == claims
    assert done["verified"]["runs"] == 3
    assert done["command"] == "perhop reproduce yours"
    assert all(one["command"].startswith("perhop run yours/") for one in done["runs"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--verify", "0"), "--verify: '0' is neither all nor a whole number from 1"),
        (("--verify", "-1"), "--verify: '-1' is neither all nor a whole number from 1"),
        (("--verify", "some"), "--verify: 'some' is neither all nor a whole number from 1"),
        (("--verify", "all", "--seed", "1"), "--seed: --verify all draws no runs"),
        (("--verify", "all", "--quick"), "--verify, --seed: "),
        (("--seed", "1", "--record"), "--verify, --seed: "),
        (("--seed", "1", "--fitted"), "--verify, --seed: "),
        (("--verify", "3", "--calibrate"), "--verify, --seed: "),
        (("--verify", "3", "--on", "kernel"), "--verify, --seed: "),
        (("--seed", "-1"), "--seed: -1 is below 0"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    cli: Cli, tiny: Tiny, options: tuple[str, ...], told: str
) -> None:
    done = cli("reproduce", "tiny", *options)
    assert done.code == ExitCode.USAGE
    assert told in done.err
