"""`perhop test-element`: the laws of perhop's own elements, asked of one in Python; what `init` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli
from elements_made import DEQUEUE, ELEMENTS, ENQUEUE, FRAME
from perhop.cli.exit import ExitCode


def test_laws_hold_for_what_keeps_them(cli: Cli) -> None:
    done = cli(
        "test-element",
        ELEMENTS / "early.py",
        "-s",
        "min_th=2",
        "-s",
        "max_th=6",
        "-s",
        "max_p=0.3",
        "--name",
        "Red",
    )
    assert done.code == ExitCode.DONE, done.out
    assert done.out.count("  holds ") == 4
    for name in ("Fifo", "DropFront"):
        assert (
            cli(
                "test-element", ELEMENTS / "early.py", "--name", name, "--limit", "4000B", "--cases", "64"
            ).code
            == 0
        )
    assert cli("test-element", ELEMENTS / "codel.py").code == ExitCode.DONE
    assert cli("test-element", ELEMENTS / "turns.py").code == ExitCode.DONE


@pytest.mark.parametrize(
    ("enqueue", "dequeue", "law", "why"),
    [
        (
            ENQUEUE,
            "return self.packets.pop() if self.packets else None",
            "books_balance",
            "dequeue and peek disagree",
        ),
        ("self.packets.append(packet)", DEQUEUE, "books_balance", "enqueue took more than the limit of 8p"),
        (
            "import random; return 'early' if random.random() < 0.5 else " + ENQUEUE[7:],
            DEQUEUE,
            "repeats",
            "left == right",
        ),
    ],
)
def test_laws_are_broken_by_what_breaks_them(
    cli: Cli, tmp_path: Path, enqueue: str, dequeue: str, law: str, why: str
) -> None:
    (tmp_path / "mine.py").write_text(FRAME.format(enqueue=enqueue, dequeue=dequeue))
    done = cli("test-element", "mine.py", "--json")
    assert done.code == ExitCode.INVALID
    (element,) = done.json()["elements"]
    broken = {one["law"]: one["broken"] for one in element["laws"] if not one["holds"]}
    assert why in broken[law]
    assert "minimal failing input" in broken[law]


SEVERAL = (
    FRAME.format(enqueue=ENQUEUE, dequeue=DEQUEUE)
    + """
class Fails(Mine):
    def __init__(self, place):
        {fails}
class Few(Mine):
    def __init__(self, place, boom=1):
        if boom < 2:
            raise ValueError("boom must be at least 2")
class Half(Mine):
    def next_timeout(self): ...
"""
)


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("raise RuntimeError('no')", "mine.py:12, in __init__: RuntimeError: no"),
        ("raise SystemExit(9)", "mine.py:12, in __init__: SystemExit: 9"),
    ],
)
def test_a_class_that_cannot_be_built_hides_no_other(cli: Cli, fails: str, said: str) -> None:
    Path("mine.py").write_text(SEVERAL.format(fails=fails))
    done = cli("test-element", "mine.py", "--cases", "2")
    assert (done.code, done.err) == (ExitCode.INVALID, "")
    lines = [line for line in done.out.splitlines() if not line.startswith(" ")]
    assert lines == [
        "mine.py: Mine, a queue, in 2 random sequences of calls for each law",
        f"mine.py: Fails, a queue, cannot be built: {said}",
        "mine.py: Few, a queue, cannot be built: boom must be at least 2",
        "mine.py: Half, a queue, cannot be built: "
        "`Half` has no method `on_timeout` (it has `next_timeout`: both or none)",
    ]
    assert done.out.count("  holds ") == 4
    found = cli("test-element", "mine.py", "--cases", "2", "--json").json()["elements"]
    assert [one["mistake"] for one in found] == [None, *(line.split(": ", 2)[2] for line in lines[1:])]


def test_a_setting_that_is_wrong_is_told_and_not_called_a_name(cli: Cli) -> None:
    Path("mine.py").write_text(SEVERAL.format(fails="pass"))
    done = cli("test-element", "mine.py", "--name", "Mine", "-s", "bom=1")
    assert (done.code, done.err) == (ExitCode.INVALID, "")
    told = "mine.py: Mine, a queue, cannot be built: `Mine` has no setting `bom` (did you mean `boom`?)\n"
    assert done.out == told


@pytest.mark.parametrize(
    ("limit", "said"),
    [("0p", "--limit 0p drops every packet"), ("3", "--limit 3 is wrong: an amount needs a unit")],
)
def test_a_limit_that_is_none_is_refused(cli: Cli, limit: str, said: str) -> None:
    Path("mine.py").write_text(SEVERAL.format(fails="pass"))
    done = cli("test-element", "mine.py", "--limit", limit)
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert said in done.err


def test_exit_in_a_call_breaks_the_law(cli: Cli) -> None:
    Path("mine.py").write_text(FRAME.format(enqueue="raise SystemExit(3)", dequeue=DEQUEUE))
    done = cli("test-element", "mine.py", "--cases", "20")
    assert (done.code, done.err) == (ExitCode.INVALID, "")
    assert "BROKEN  books_balance" in done.out
    assert "mine.py:6, in enqueue" in done.out
    assert "SystemExit: 3" in done.out
    assert "Traceback" not in done.out


@pytest.mark.parametrize("kind", ["queue", "meter", "scheduler", "control", "ack"])
def test_what_init_writes_works(cli: Cli, kind: str, tmp_path: Path) -> None:
    done = cli("init", "--element", kind)
    assert done.code == ExitCode.DONE
    (program,) = tmp_path.glob("*.py")
    assert len(program.read_text().splitlines()) <= 50
    settings = {
        "scheduler": ("-s", "gold=3", "--classes", "gold,rest,other"),
    }
    tested = cli("test-element", program.name, *settings.get(kind, ()))
    assert tested.code == ExitCode.DONE, tested.out
    for file in ("scenario.toml", "campaign.toml"):
        assert cli("check", file).code == ExitCode.DONE
    assert cli("run", "scenario.toml", "-o", "out", "-s", "run.duration=12s").code == ExitCode.DONE
    campaign = tmp_path / "campaign.toml"
    campaign.write_text(campaign.read_text().replace("set = [", 'set = ["run.duration=12s", '))
    assert cli("campaign", "run", "campaign.toml", "-o", "store", "-j", "1").code == ExitCode.DONE


def test_a_setting_that_is_missing_is_asked_for(cli: Cli) -> None:
    text = SEVERAL.format(fails="pass")
    Path("mine.py").write_text(
        text.replace("def __init__(self, place, boom=1)", "def __init__(self, place, boom)")
    )
    done = cli("test-element", "mine.py", "--name", "Few")
    assert done.out.splitlines()[1] == "  give it: -s boom=VALUE"
