"""What is wrong with an element in Python, or what it does wrong, is told at its place."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from conftest import Cli
from elements_made import DEQUEUE, ENQUEUE, FRAME, MINE, PORT, Make, laid
from perhop import ScenarioError, _core
from perhop.cli.exit import ExitCode
from perhop.run.run import run


@pytest.fixture
def of(tmp_path: Path) -> Make:
    return partial(laid, tmp_path)


@pytest.mark.parametrize(
    ("enqueue", "dequeue", "said"),
    [
        ("return 1 / 0", DEQUEUE, "mine.py:6, in enqueue: ZeroDivisionError: division by zero"),
        ("raise SystemExit(9)", DEQUEUE, "mine.py:6, in enqueue: SystemExit: 9"),
        (ENQUEUE, "raise RuntimeError", "mine.py:8, in dequeue: RuntimeError\n"),
        (
            "return 'tired'",
            DEQUEUE,
            'mine.py: Mine: enqueue returned the reason "tired", which is not one of',
        ),
        (
            "return 7",
            DEQUEUE,
            "mine.py: Mine: enqueue returned <class 'int'>: None, or a reason to drop, is asked",
        ),
        ("self.packets.append(packet)", DEQUEUE, "mine.py: Mine: enqueue took more than the limit of 9p"),
        (ENQUEUE, "return None", "mine.py: Mine: dequeue returned nothing although packets wait: 1"),
        (ENQUEUE, "return 3", "mine.py: Mine: dequeue returned <class 'int'>: a packet or None is asked for"),
        (
            ENQUEUE,
            "return self.packets[0]",
            "mine.py: Mine: dequeue returned a packet that does not wait here",
        ),
        (
            "self.place.drop(packet, 'early')",
            DEQUEUE,
            "mine.py:6, in enqueue: ValueError: drop: this packet does not",
        ),
        (
            ENQUEUE,
            "p = self.packets.popleft(); self.place.drop(p, 'bored'); return p",
            'ValueError: drop: the reason "bored" is not one of',
        ),
    ],
)
def test_what_breaks_the_rules_ends_the_run(
    of: Make, cli: Cli, enqueue: str, dequeue: str, said: str
) -> None:
    of(MINE, FRAME.format(enqueue=enqueue, dequeue=dequeue))
    done = cli("run", "scenario.toml", "-o", "out")
    assert done.code == ExitCode.FAILED_RUNS
    assert said in re.sub(r" at [\d.e-]+ s:", ":", done.err)
    assert " s: " in done.err
    assert "Traceback" not in done.err
    assert not Path("out").exists()


def test_a_deadline_that_would_never_end_is_caught(of: Make, cli: Cli) -> None:
    more = "\n    def next_timeout(self):\n        return {}\n    def on_timeout(self, now):\n        pass\n"
    for returned, said in (
        ("5", "on_timeout would be called for ever: after on_timeout(5) next_timeout returned 5\n"),
        ("-1", "next_timeout returned -1: a time in ns from 0 on, or None, is asked for\n"),
    ):
        of(MINE, FRAME.format(enqueue=ENQUEUE, dequeue=DEQUEUE) + more.format(returned))
        done = cli("run", "scenario.toml", "-o", "out")
        assert (done.code, said in done.err) == (ExitCode.FAILED_RUNS, True)


def test_an_api_error_has_the_traceback_as_its_cause(of: Make) -> None:
    with pytest.raises(_core.ElementError, match=r"mine\.py:6, in enqueue") as caught:
        run(of(MINE, FRAME.format(enqueue="return [][1]", dequeue=DEQUEUE)))
    assert isinstance(caught.value.__cause__, IndexError)


def test_ctrl_c_in_an_element_is_ctrl_c(of: Make) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(of(MINE, FRAME.format(enqueue="raise KeyboardInterrupt", dequeue=DEQUEUE)))


@pytest.mark.parametrize(
    ("queue", "program", "path", "rule"),
    [
        (MINE, None, "file", "`mine.py` cannot be read in"),
        (MINE, "class Mine(:\n", "file", "mine.py:1: SyntaxError: invalid syntax"),
        (MINE, "class Main:\n    pass\n", "name", "mine.py has no class `Mine`"),
        (
            MINE,
            "class Mine:\n    def enqueue(self, now, packet): ...\n",
            "name",
            "`Mine` has no method `dequeue`",
        ),
    ],
)
def test_mistakes_are_found_without_running_anything(
    of: Make, queue: str, program: str | None, path: str, rule: str
) -> None:
    text = None if program is None else program + "\nraise SystemExit('it ran')\n"
    (found,) = of(queue, text).check()
    assert (found["path"], found["line"]) == (f"{PORT}.{path}", 27)
    assert found["rule"].startswith(rule)


@pytest.mark.parametrize(
    ("settings", "program", "path", "rule"),
    [
        ("bom = 1", "", "settings.bom", "`Mine` has no setting `bom`"),
        ("boom = 1", "    def __init__(self, place, boom, bang): ...\n", "settings.bang", "bang is missing"),
        (
            "boom = 1",
            "    def __init__(self): ...\n",
            "name",
            "`Mine` takes nothing: it is given its place first",
        ),
        (
            "boom = -1",
            "    def __init__(self, place, boom):\n        raise ValueError('boom must exceed 0')\n",
            "settings.boom",
            "boom must exceed 0",
        ),
        (
            "boom = 1",
            "    def __init__(self, place, boom):\n        boom[1]\n",
            "name",
            "mine.py:10: in __init__: TypeError",
        ),
        ("boom = 1", "1 / 0\n", "file", "mine.py:9: ZeroDivisionError: division by zero"),
    ],
)
def test_mistakes_in_settings_have_their_place(
    of: Make, settings: str, program: str, path: str, rule: str
) -> None:
    text = FRAME.format(enqueue=ENQUEUE, dequeue=DEQUEUE) + program
    scenario = of(f"{MINE}, settings = {{ {settings} }}", text)
    assert scenario.check() == []
    with pytest.raises(ScenarioError) as caught:
        run(scenario)
    (found,) = caught.value.diagnostics
    assert (found["path"], found["line"]) == (f"{PORT}.{path}", 27)
    assert found["rule"].replace(", in", ": in").startswith(rule)
