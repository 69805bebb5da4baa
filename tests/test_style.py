"""`make prose` sees what docs/style.md forbids, as far as a machine can; the pages are checked by it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
VALE = shutil.which("vale")
GOOD = "Describe identical nodes once. Give flows `is told` to tell them apart.\n"

pytestmark = pytest.mark.skipif(VALE is None, reason="no vale: `make prose` says how to install it")


def found(page: Path, text: str) -> list[str]:
    """Give the rules that a text breaks."""
    assert VALE is not None
    page.write_text(text)
    settings = str(TOP / "docs" / "prose" / "vale.ini")
    done = subprocess.run(
        [VALE, "--config", settings, "--output", "line", page], capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    return re.findall(r":perhop\.(\w+):", done.stdout)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (GOOD, []),
        ("The rest is told before.", ["Turns"]),
        ("What is alike is written once.", ["Subjects"]),
        ("Here it is. What falls was dropped.", ["Subjects"]),
        ("What is a queue? What it holds: packets.", []),
        ("It is made, was sent and is never kept.", ["Passives"]),
        ("It is made, and was sent.", []),
        ("word " * 45 + "ends.", ["Length"]),
        ("word " * 44 + "ends.", []),
        ("| Not |\n|---|\n| It is told. |", []),
    ],
)
def test_a_rule_sees_what_it_forbids_and_nothing_else(tmp_path: Path, text: str, rules: list[str]) -> None:
    assert found(tmp_path / "page.md", text) == rules


def test_the_rules_see_turns_of_the_table(tmp_path: Path) -> None:
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", (TOP / "docs" / "style.md").read_text(), re.MULTILINE)[2:]
    seen = [found(tmp_path / "page.md", bad) != [] for bad, _ in rows]
    assert sum(seen) >= 8
    assert [good for _, good in rows if found(tmp_path / "page.md", good)] == []
