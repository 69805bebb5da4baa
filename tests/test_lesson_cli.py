"""`perhop lesson`: predictions judged by runs, of one student and of a room, and mistakes in files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import Cli
from perhop.lesson import form
from perhop.lesson.judging import judge

LESSON = """
title = "Two paths"

[[question]]
key = "time"
text = "How long does it take?"
scenario = "transfer.toml"
response = "mean(flows.completed_s)"
tolerance = "20%"

[[question]]
key = "spread"
text = "How wide is the interval of four runs?"
scenario = "transfer.toml"
response = "mean(flows.completed_s)"
tolerance = "1 ms"
runs = 4
half_width = true
range = ["-1 s", "5 s"]

[[question]]
key = "path"
text = "Which path is faster?"
scenario = "transfer.toml"
response = "mean(flows.completed_s)"
[question.choices]
near = []
far = ["link.server-laptop.delay=100ms"]

[[question]]
key = "more"
text = "Of which are there more?"
scenario = "transfer.toml"
most = true
[question.choices]
sent = "sum(flows.segments_sent)"
repeated = "sum(flows.retransmissions)"
"""
ANSWERS = 'student = "Ada"\nseed = 2\ntime = "900 ms"\nspread = "3 s"\npath = "far"\nmore = "sent"\n'


@pytest.fixture
def answers(cli: Cli) -> Path:
    """Give a file of answers beside a lesson of short runs."""
    assert cli("init", "--pack", "lesson-chance").code == 0
    Path("lesson.toml").write_text(LESSON)
    Path("answers.toml").write_text(ANSWERS)
    return Path("answers.toml")


def test_predictions_are_judged_by_runs_of_the_students_seed(cli: Cli, answers: Path) -> None:
    done = cli("lesson", "check", answers, "--json")
    assert (done.code, done.err) == (0, "")
    found = done.json()
    assert (found["student"], found["seed"]) == ("Ada", 2)
    time, spread, path, more = found["questions"]
    own = cli("run", "transfer.toml", "--seed", "2", "-o", "run", "--json").json()["flows"][0]
    assert time["seen"] == own["completed_s"]
    assert time["right"] is True
    assert spread["seen"] > 0.05
    assert spread["right"] is False
    assert path["seen"]["near"] == time["seen"] < path["seen"]["far"]
    assert path["right"] is False
    assert more["seen"] == {"sent": own["segments_sent"], "repeated": own["retransmissions"]}
    assert more["right"] is True
    told = cli("lesson", "check", answers).out
    assert "Ada: 2 of 4 right, on seed 2." in told
    assert re.search(
        r"^path +not right +far +near \(near \d+\.\d ms, far [\d.]+ s\) +0%$", told, re.MULTILINE
    )


def test_equal_runs_are_made_once(answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counting(jobs: list[object], *rest: object) -> list[dict[str, float]]:
        made.append(len(jobs))
        return [dict.fromkeys(["mean(flows.completed_s)", *MORE], 1.0) for _ in jobs]

    monkeypatch.setattr("perhop.lesson.judging.run_jobs", counting)
    lesson = form.load(Path())
    sheets = [form.answers(answers, lesson)] * 3
    assert len(judge(lesson, sheets, 1)) == 3
    # four replications of the near path, the first of which answers two questions more, and one of the far
    assert made == [5]


MORE = ("sum(flows.segments_sent)", "sum(flows.retransmissions)")


def test_a_choice_within_the_tolerance_of_the_best_is_right(cli: Cli, answers: Path) -> None:
    text = LESSON.replace('"link.server-laptop.delay=100ms"', '"link.server-laptop.delay=20001us"')
    Path("lesson.toml").write_text(text)
    assert cli("lesson", "check", answers, "--json").json()["questions"][2]["right"] is False
    Path("lesson.toml").write_text(
        text.replace("[question.choices]\nnear", 'tolerance = "5 ms"\n[question.choices]\nnear')
    )
    assert cli("lesson", "check", answers, "--json").json()["questions"][2]["right"] is True


def test_without_a_seed_it_is_1(cli: Cli, answers: Path) -> None:
    answers.write_text(ANSWERS.replace("seed = 2\n", "").replace('student = "Ada"\n', ""))
    done = cli("lesson", "check", answers)
    assert "\n1 of 4 right, on seed 1." in done.out


def test_a_run_without_a_number_judges_nothing(cli: Cli, answers: Path) -> None:
    Path("lesson.toml").write_text(
        LESSON.replace('key = "time"', 'key = "time"\nset = ["run.duration=100ms"]')
    )
    done = cli("lesson", "check", answers)
    assert done.code == 0
    assert re.search(r"^time +not measured +900 ms +- +20%$", done.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('"far"', '"fra"', ["path: must be one of near, far", "answers.toml:5:8", "did you mean `far`?"]),
        ('path = "far"', "path = 3", ["path: must be one of near, far"]),
        ('"900 ms"', "900", ["time: must be a number with its unit", 'such as "150 ms"']),
        ('"900 ms"', '"900 kB"', ["time: must be a number with its unit"]),
        ('"900 ms"', '"-900 ms"', ["time: must be a number with its unit", "from 0 up"]),
        ('"3 s"', '"9 s"', ["spread: must be a number with its unit", "from -1 s to 5 s"]),
        ('"900 ms"', "true", ["time: must be a number with its unit"]),
        ('"900 ms"', '""', ["time: left empty", "predict before you run: How long does it take?"]),
        ('time = "900 ms"', "time = ", ["answers.toml:3"]),
        (
            "time",
            "tiem",
            ["there is no setting `tiem` here", "did you mean `time`?", "answers.toml: `time` is missing"],
        ),
        ("seed = 2", 'seed = "2"', ["seed: must be an integer, not a string"]),
        ("seed = 2", "seed = 2\nseed = 3", ["`seed` is set twice", "answers.toml:3:1"]),
        ("seed = 2", "seed = -1", ["seed: -1 is outside the range"]),
        ('"Ada"', '"\\u001b[2J"', ["student: must be a name of printable characters"]),
    ],
)
def test_a_mistake_in_answers_has_its_place_and_a_hint(
    cli: Cli, answers: Path, right: str, wrong: str, said: list[str]
) -> None:
    answers.write_text(ANSWERS.replace(right, wrong))
    done = cli("lesson", "check", answers)
    assert done.code == 3
    assert done.out == ""
    assert [one for one in said if one not in done.err] == []


@pytest.mark.parametrize("what", ["check", "collect"])
def test_an_empty_file_of_answers_is_told_where_lessons_are_from(cli: Cli, answers: Path, what: str) -> None:
    answers.write_text("\n")
    done = cli("lesson", what, answers)
    assert done.code == 3
    assert "answers.toml is empty" in done.err
    assert "perhop init --pack lesson-bufferbloat" in done.err


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("title", "titel", ["did you mean `title`?"]),
        ('key = "path"', 'key = "time"', ["question[2].key: `time` is taken"]),
        ('key = "path"', 'key = "seed"', ["`seed` is taken"]),
        ('key = "path"', 'key = "the path"', ["`the path` is no name"]),
        (
            "delay=100ms",
            "dealy=100ms",
            ["question[2].choices.far: link.server-laptop.dealy: there is no", "delay"],
        ),
        ("completed_s", "complete_s", ["question[0].response", "did you mean `completed_s`?"]),
        (
            '"mean(flows.completed_s)"',
            '"mean(flows.completed_s) by name"',
            ["a question is about one number"],
        ),
        ('"mean(flows.completed_s)"', '"answers.py:f"', ["question[0].response: answers.py: No such file"]),
        ('"20%"', '"20 kB"', ["neither a share nor a number in the unit", 'such as "20%" or "150 ms"']),
        ('"20%"', '"-20%"', ["question[0].tolerance"]),
        ('key = "path"', 'key = "__slots__"', ["`__slots__` is no name"]),
        ("runs = 4", "runs = 1000000000", ["1000000000 is not from 1 to 1000"]),
        ("runs = 4", "runs = 0", ["0 is not from 1 to 1000"]),
        (
            "runs = 4",
            "runs = 1",
            ["question[1].half_width: the interval of a mean takes two runs", "runs = 10"],
        ),
        ("runs = 4", "most = true\nruns = 4", ["question[1].most: `most` says which choice", "no choices"]),
        ('"20%"', '"inf%"', ["question[0].tolerance: `inf%` is neither"]),
        ('"5 s"]', '"5 kB"]', ["question[1].range: must be the least and the most"]),
        ('"5 s"]', '"-2 s"]', ["question[1].range: must be the least and the most"]),
        ("most = true", 'most = true\nrange = ["0", "1"]', ["question[3].range", "there are choices"]),
        ("near = []", '"" = []', ["question[2].choices: a choice needs a name"]),
        (
            'title = "Two paths"',
            'title = "A"\ntitle = "B"',
            ["`title` is set twice", "lesson.toml:3:1", "leave one"],
        ),
        (
            'key = "time"',
            'key = "time"\nset = ["run.duratoin=1s"]',
            ["question[0].set: run.duratoin: there is no", "lesson.toml:6:7"],
        ),
        ("most = true", "most = 1", ["question[3].most: must be a boolean, not an integer"]),
        ('far = ["link.server-laptop.delay=100ms"]\n', "", ["there is one choice alone"]),
        (LESSON[LESSON.index("\n[[question]]") :], "question = []", ["a lesson asks something"]),
    ],
)
def test_a_mistake_in_a_lesson_has_its_place(
    cli: Cli, answers: Path, right: str, wrong: str, said: list[str]
) -> None:
    assert right in LESSON
    Path("lesson.toml").write_text(LESSON.replace(right, wrong))
    done = cli("lesson", "check", answers)
    assert done.code == 3
    assert "lesson.toml:" in done.err
    assert [one for one in said if one not in done.err] == []
    checked = cli("check", "lesson.toml")
    assert checked.code == 3
    assert [one for one in said if one not in checked.out] == []


def test_a_mistake_of_the_scenario_is_told_once_and_where_it_is(cli: Cli, answers: Path) -> None:
    scenario = Path("transfer.toml")
    scenario.write_text(scenario.read_text().replace('delay = "', 'dealy = "', 1))
    done = cli("check", "lesson.toml")
    assert done.code == 3
    assert done.out.count("there is no setting `dealy` here") == 1
    assert "transfer.toml:" in done.out
    assert "question" not in done.out


@pytest.mark.parametrize("words", [("run",), ("campaign", "run"), ("estimate",)])
def test_a_lesson_is_no_scenario_and_no_campaign(cli: Cli, answers: Path, words: tuple[str, ...]) -> None:
    done = cli(*words, "lesson.toml")
    assert done.code == 2
    assert "lesson.toml has the questions of a lesson, and is no scenario" in done.err
    assert "perhop lesson check answers.toml" in done.err


def test_no_program_of_a_lesson_runs(cli: Cli, answers: Path) -> None:
    Path("own.py").write_text("raise SystemExit('it ran')\ndef f(tables):\n    return 1\n")
    Path("lesson.toml").write_text(LESSON.replace('"mean(flows.completed_s)"', '"own.py:f"'))
    done = cli("lesson", "check", answers)
    assert done.code == 3
    assert "an expression without `by`" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "nothing.toml"], "nothing.toml: No such file"),
        (["check", "answers.toml", "--lesson", "elsewhere"], "elsewhere: has no lesson.toml"),
        (["check", "elsewhere/answers.toml"], "--lesson DIR says where"),
        (["collect", "empty"], "no file in it ends in answers.toml"),
        (["collect", ".", "-o", "no/room.html"], "there is no folder no"),
    ],
)
def test_what_cannot_be_is_refused(cli: Cli, answers: Path, words: list[str], said: str) -> None:
    for name in ("empty", "elsewhere"):
        Path(name).mkdir()
    Path("elsewhere/answers.toml").write_text(ANSWERS)
    done = cli("lesson", *words)
    assert done.code == 2
    assert said in done.err


def handed_in() -> Path:
    """Write files of a room: three students of two seeds, and one file with a mistake."""
    folder = Path("in")
    for name, seed, time in (("ada", 2, "900 ms"), ("bo", 2, "100 ms"), ("<cy>", 3, "1 s")):
        own = ANSWERS.replace("Ada", name).replace("seed = 2", f"seed = {seed}").replace("900 ms", time)
        (folder / name.strip("<>")).mkdir(parents=True)
        (folder / name.strip("<>") / "answers.toml").write_text(own)
    (folder / "bad-answers.toml").write_text(ANSWERS.replace("far", "nowhere"))
    return folder


def test_a_room_is_put_beside_its_runs(cli: Cli, answers: Path) -> None:
    folder = handed_in()
    done = cli("lesson", "collect", folder, "--lesson", ".", "-o", "room.html")
    assert done.code == 3
    assert "path: must be one of near, far" in done.err
    assert "warning: 1 of 4 files left out: they have mistakes" in done.err
    assert "3 students, 2 seeds." in done.out
    each = [cli("run", "transfer.toml", "--seed", s, "-o", f"r{s}", "--json").json() for s in ("2", "3")]
    mean = sum(one["flows"][0]["completed_s"] for one in each) / 2
    assert "Fewer than 5 seeds are too few for an interval of the mean." in done.out
    told = re.search(r"^time +900 ms, the middle half 500 ms to 950 ms +([\d.]+) (m?s) ", done.out, re.M)
    assert told is not None
    assert float(told[1]) * (1e-3 if told[2] == "ms" else 1) == pytest.approx(mean, rel=0.1)
    assert re.search(r"^path +far 3 +near 2 +0 of 3$", done.out, re.M)
    page = Path("room.html").read_text()
    assert "&lt;cy&gt;" in page
    assert "<cy>" not in page
    assert page.count("<figure") == 2
    assert "perhop lesson collect in --lesson . -o room.html" in page


def test_a_room_without_mistakes(cli: Cli, answers: Path) -> None:
    folder = handed_in()
    (folder / "bad-answers.toml").unlink()
    Path("lesson.toml").rename("in/lesson.toml")
    Path("transfer.toml").rename("in/transfer.toml")
    found = cli("lesson", "collect", folder, "--json")
    assert (found.code, found.err) == (0, "")
    assert [one["student"] for one in found.json()] == ["ada", "bo", "<cy>"]
    assert "next: perhop lesson collect in -o room.html" in cli("lesson", "collect", folder).out
    assert cli("lesson", "collect", folder, "-o", "page.html").code == 0
    assert cli("lesson", "collect", folder, "-o", "page.html").code == 2
    assert cli("lesson", "collect", folder, "-o", "page.html", "--force").code == 0


def test_five_seeds_have_an_interval_and_files_without_a_name_are_told_apart(cli: Cli, answers: Path) -> None:
    for seed in range(5):
        folder = Path("in", str(seed))
        folder.mkdir(parents=True)
        own = ANSWERS.replace('student = "Ada"\n', "").replace("seed = 2", f"seed = {seed}")
        (folder / "answers.toml").write_text(own)
    done = cli("lesson", "collect", Path("in").resolve(), "--lesson", ".", "-o", "room.html")
    assert (done.code, "5 students, 5 seeds. After ± stands" in done.out) == (0, True)
    assert re.search(r"^time +900 ms +[\d.]+ ± [\d.]+ m?s", done.out, re.M)
    page = Path("room.html").read_text()
    assert [page.count(f">in/{seed}/answers.toml<") for seed in range(5)] == [1] * 5


def test_a_room_of_mistakes_alone_is_refused(cli: Cli, answers: Path) -> None:
    answers.write_text(ANSWERS.replace("far", "nowhere"))
    done = cli("lesson", "collect", answers)
    assert done.code == 3
    assert "no file of answers is without mistakes" in done.err


def test_no_notebook_and_no_second_lesson_in_a_folder(cli: Cli, answers: Path) -> None:
    done = cli("init", "--pack", "lesson-red", "--notebook", "other")
    assert done.code == 2
    assert "--notebook goes with no lesson" in done.err
    assert cli("init", "--pack", "lesson-red").code == 2
