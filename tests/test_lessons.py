"""Lessons as packs: what their pages print, and the numbers in their text."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import perhop
from conftest import Cli
from perhop import Scenario
from perhop.lesson import form
from perhop.stats.intervals import mean_interval
from test_docs import blocks, words
from test_docs_commands import _words

TOP = Path(__file__).parents[1]
STARTERS = Path(perhop.__file__).parent / "starters"
LESSONS = sorted(path.parent.name for path in STARTERS.glob("*/lesson.toml"))
NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?= (?:s|ms|%|[kM]bit/s|packets)(?!\w))")
"""Numbers of which the text says the unit."""
PROSE = re.compile(r"^```.*?^```|`[^`]*`", re.MULTILINE | re.DOTALL)


def test_there_are_six() -> None:
    assert len(LESSONS) == 6


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_is_what_init_writes_and_all_that_it_needs(cli: Cli, lesson: str) -> None:
    done = cli("init", "--pack", lesson)
    assert done.out.splitlines()[-2:] == [
        "first: read lesson.md and fill in answers.toml",
        "next: perhop lesson check answers.toml",
    ]
    assert {one.name for one in Path().iterdir()} == {one.name for one in (STARTERS / lesson).iterdir()}
    for one in form.load(Path()).questions:
        assert {arm.scenario.warnings() == [] for arm in one.arms.values()} == {True}
    checked = cli("check", "lesson.toml")
    assert (checked.code, checked.out) == (0, "lesson.toml: valid; lesson: 5 questions\n")
    page = Path("lesson.md").read_text()
    assert not re.search(r"\]\((?!https?:)", page), "a link that leads out of the folder"


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_page_asks_what_is_asked(lesson: str) -> None:
    folder = STARTERS / lesson
    asked = {
        one["key"]: one["text"] for one in tomllib.loads((folder / "lesson.toml").read_text())["question"]
    }
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", (folder / "lesson.md").read_text(), re.MULTILINE)
    assert dict(rows) == asked
    empty = tomllib.loads((folder / "answers.toml").read_text())
    assert [key for key in empty if key not in ("student", "seed")] == list(asked)
    assert {empty[key] for key in asked} == {""}


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_page_says_what_its_commands_print(cli: Cli, lesson: str) -> None:
    """Every line that it shows, and every number with a unit in its text; a minute of CPU time in all."""
    assert cli("init", "--pack", lesson).code == 0
    page, out, shown = Path("lesson.md").read_text(), list[str](), list[str]()
    for kind, text, _ in blocks(Path("lesson.md")):
        if kind == "output":
            shown += words(text)
        for line in text.splitlines() if kind == "shell" else ():
            # answers are to be filled in first
            if line != "perhop lesson check answers.toml":
                done = cli(*_words(line))
                assert done.code == 0, done.err
                out += words(done.out)
    assert len(shown) > 5
    assert [line for line in shown if line not in out] == []
    settings = [one.read_text() for one in Path().glob("*.toml")]
    known = re.sub(r"(?<=\d)(?=[a-zA-Z%])", " ", "\n".join([*out, *settings, *GIVEN.get(lesson, ())]))
    assert [number for number in NUMBER.findall(PROSE.sub("", page)) if not near(number, known)] == []


GIVEN = {
    "lesson-bufferbloat": ("24 ms to send 1500 bytes at 500 kbit/s", "CoDel's 5 ms and 100 ms, RFC 8289"),
    "lesson-red": ("120 ms to send 100 packets of 1500 bytes at 10 Mbit/s",),
    "lesson-af": ("14 22 52 112 ms: twice the delays of three links",),
    "lesson-upload": ("1.8 Mbit/s: 64 KiB in 295 ms",),
    "lesson-chance": ("95 %",),
}
"""Numbers that follow from settings or are those of a source."""


def near(number: str, known: str) -> bool:
    """Return whether a number is there, or is one that is there with fewer digits."""
    digits = len(number.partition(".")[2])
    return any(f"{float(one):.{digits}f}" == number for one in re.findall(r"\d+(?:\.\d+)?", known))


def test_given_numbers_follow_from_settings() -> None:
    assert 1500 * 8 / 500e3 == 0.024
    assert round(100 * 1500 * 8 / 10e6, 6) == 0.12
    assert round(64 * 1024 * 8 / 0.295 / 1e6, 1) == 1.8
    scenario = Scenario.load(STARTERS / "lesson-af" / "af.toml")
    to_edge = [link.delay_s for link in scenario.describe().links if link.target == "edge"][:4]
    assert [round(2e3 * (one + 0.006)) for one in to_edge] == [14, 22, 52, 112]


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_examples_of_the_checkout_are_those_of_the_packs(lesson: str) -> None:
    for file in (STARTERS / lesson).glob("*.toml"):
        for example in (TOP / "examples" / "lessons" / file.name, TOP / "examples" / file.name):
            assert not example.exists() or example.resolve() == file.resolve()


def test_the_wheel_takes_the_packs_along() -> None:
    """It has the files below `python-source` that git keeps and nothing leaves out."""
    maturin = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["maturin"]
    assert "exclude" not in maturin
    packs = [one for lesson in LESSONS for one in (STARTERS / lesson).iterdir()]
    assert all(one.is_relative_to(TOP / maturin["python-source"]) for one in packs)
    # what a link points to may be elsewhere when the wheel is made
    assert not [one for one in packs if one.is_symlink()]
    listed = ["git", "ls-files", "--error-unmatch", *map(str, packs)]
    if (TOP / ".git").exists():
        subprocess.run(listed, cwd=TOP, check=True, capture_output=True)


@pytest.mark.long
def test_as_many_intervals_hold_the_mean_as_the_lesson_says() -> None:
    """A quarter of a minute of CPU time."""
    scenario = Scenario.load(STARTERS / "lesson-chance" / "transfer.toml")
    times = [
        [
            scenario.override(f"run.seed={seed}", f"run.replication={k}").run().flows["completed_s"][0]
            for k in range(10)
        ]
        for seed in range(1, 61)
    ]
    far = scenario.override(
        "link.server-laptop.delay=32ms", 'link.server-laptop.loss={ "server->laptop" = 0.0005 }'
    )
    once = [far.override(f"run.seed={seed}").run().flows["completed_s"][0] for seed in range(1, 61)]
    wins = sum(near[0] < other for near, other in zip(times, once, strict=True))
    assert 20 < wins < 40, "in one run the near path wins about as often"
    mean = sum(map(sum, times)) / 600
    holding = sum(one.low <= mean <= one.high for one in map(mean_interval, times))
    assert f"{holding} contain the mean" in (STARTERS / "lesson-chance" / "lesson.md").read_text()
