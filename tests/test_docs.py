"""What README.md, the guide and the page about Python print is what their commands print."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from perhop.report.answer_study import main_claims, stand

TOP = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n(?:\nSave it as `(.+?)`)?", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(r"make |pip |source |perhop emulate |perhop reproduce (?!\./)")
"""Building, installing, the environment, real packets, and studies, which have tests of their own."""


def blocks(page: Path) -> Iterator[tuple[str, str, str]]:
    """Give the kind of each block of a page, its text, and the file that it is to be saved as."""
    for language, text, name in BLOCK.findall(page.read_text()):
        first = text.split(maxsplit=1)[0]
        yield language or ("shell" if first in ("cd", "make", "perhop", "source") else "output"), text, name


def words(text: str) -> list[str]:
    """Give the lines without their spacing, and without those that only underline."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return [line for line in lines if line.strip("─ ")]


PAGES = (
    "README.md",
    "docs/guide.md",
    "docs/import-ns2.md",
    "docs/import-tc.md",
    "docs/python.md",
    "docs/campaigns.md",
    "docs/claims.md",
    "docs/coming-from.md",
    "docs/estimate.md",
    "docs/figures.md",
    "docs/lessons.md",
    "docs/own-elements.md",
    "docs/recommend.md",
    "docs/statistics.md",
    "docs/studies.md",
    "python/perhop/starters/tutorial/tutorial.md",
)


LONG = {"docs/recommend.md"}
"""Pages for make test-long: races of a minute. test_recommend*.py have shorter ones on the same scenarios."""


@pytest.mark.parametrize(
    "name", [pytest.param(page, marks=pytest.mark.long) if page in LONG else page for page in PAGES]
)
def test_a_page_prints_what_its_commands_print(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("papers", "examples"):
        (tmp_path / folder).symlink_to(TOP / folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "120", "NO_COLOR": "1"}
    where, printed, compared = tmp_path, [], 0
    session: dict[str, object] = {}
    for kind, text, file in blocks(TOP / name):
        if kind == "toml":
            (where / file).write_text(text)
        elif kind == "output" and not text.startswith("  ×"):
            at = 0
            for line in words(text):
                assert line in printed[at:], f"{name}: {line!r} is not printed (any more)"
                at += printed[at:].index(line) + 1
                compared += 1
        elif kind == "python":
            monkeypatch.chdir(where)
            with redirect_stdout(StringIO()) as out:
                exec(text, session)
            printed += words(out.getvalue())
        elif kind == "shell":
            commands = "".join(line for line in text.splitlines(True) if not LEFT_OUT.match(line))
            done = subprocess.run(
                ["bash", "-ec", f"{commands}\npwd"],
                cwd=where,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            where = Path(done.stdout.splitlines()[-1])
            printed = words(done.stdout)
    assert compared > 1


TWO_WAY = (TOP / "python/perhop/starters/two-way/two-way.toml").read_text()
GIVEN = {
    "docs/pcap.md": {"two-way.toml": TWO_WAY.replace('duration = "60s"', 'duration = "12s"')},
}
"""Pages about files of the reader's own, and such files."""


@pytest.mark.parametrize("name", GIVEN)
def test_the_commands_of_a_page_work_with_a_readers_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file, text in GIVEN[name].items():
        Path(file).write_text(text)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}{os.pathsep}/usr/sbin"
    ran = 0
    for kind, text, _ in blocks(TOP / name):
        if kind == "python":
            exec(text, {})
        elif kind in ("sh", "shell"):
            for line in text.splitlines():
                program = line.split()[0]
                if shutil.which(program, path=path) is None:
                    pytest.skip(f"{program} is not installed")
                done = subprocess.run(
                    ["bash", "-c", line], env=os.environ | {"PATH": path}, capture_output=True, text=True
                )
                assert done.returncode == 0, f"{line}\n{done.stderr}"
                ran += 1
    assert ran >= 4


def test_the_guide_shows_the_first_mistake_as_check_does(tmp_path: Path) -> None:
    (shown,) = (text for kind, text, _ in blocks(TOP / "docs/guide.md") if text.startswith("  ×"))
    perhop = Path(sys.executable).with_name("perhop")
    subprocess.run([perhop, "init", "lab"], cwd=tmp_path, check=True, capture_output=True)
    scenario = tmp_path / "lab" / "two-way.toml"
    text = scenario.read_text()
    for right, wrong in (('"100kbit/s"', '"100"'), ("share = 0.5", "shaer = 0.5")):
        assert right in text
        text = text.replace(right, wrong, 1)
    scenario.write_text(text)
    done = subprocess.run(
        [perhop, "check", "two-way.toml"], cwd=scenario.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert shown.strip() in done.stdout
    assert done.stdout.count("×") == 3
    assert "did you mean `share`?" in done.stdout


def test_the_readme_says_what_came_of_the_claims() -> None:
    records = sorted(TOP.glob("papers/*/recorded/results.json"))
    claims = [claim for record in records for claim in main_claims(json.loads(record.read_text()))]
    assert stand(claims, f" of {len(records)} studies") in " ".join((TOP / "README.md").read_text().split())


@pytest.mark.parametrize(
    ("page", "file", "right", "wrong"),
    [
        ("docs/claims.md", "claims.toml", 'share = "0.5"', 'share = "0.4"'),
        ("docs/studies.md", "study.toml", 'at = { delay = "0ms" }', 'at = { delay = "1ms" }'),
    ],
)
def test_a_page_shows_a_mistake_as_check_does(
    page: str, file: str, right: str, wrong: str, tmp_path: Path
) -> None:
    perhop = Path(sys.executable).with_name("perhop")
    found = list(blocks(TOP / page))
    shown = next(text for kind, text, _ in found if text.startswith("  ×"))
    study = file == "study.toml"
    subprocess.run(
        [perhop, "init", *(["--study", "share"] if study else ["lab"])],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    folder = tmp_path / ("share" if study else "lab")
    if not study:
        for kind, text, name in found:
            if kind == "toml":
                (folder / name).write_text(text)
            elif text.startswith("printf"):
                subprocess.run(["bash", "-c", text], cwd=folder, check=True)
    text = (folder / file).read_text()
    assert right in text
    (folder / file).write_text(text.replace(right, wrong, 1))
    checked, where = ("share", tmp_path) if study else (file, folder)
    done = subprocess.run([perhop, "check", checked], cwd=where, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert shown.strip() in done.stdout
