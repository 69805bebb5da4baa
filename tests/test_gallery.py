"""Every command of the gallery runs, and its figure appears."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from scripts import script

TOP = Path(__file__).parents[1]
GALLERY = TOP / "docs" / "gallery"
TABLE = tomllib.loads((GALLERY / "gallery.toml").read_text())
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def make() -> ModuleType:
    return script(GALLERY / "make.py")


def test_the_page_is_that_of_the_table() -> None:
    done = subprocess.run([sys.executable, GALLERY / "make.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(TABLE["figure"]) >= 20


@pytest.mark.parametrize("run", TABLE["run"])
def test_the_commands_of_a_run_draw_its_figures(
    make: ModuleType, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(TOP / "examples")
    for command in TABLE["run"][run]["make"]:
        make.execute(command)
    figures = [figure for figure in TABLE["figure"] if figure["of"] == run]
    assert figures
    for figure in figures:
        make.execute(make.draws(figure))
        drawn = ElementTree.parse(f"{make.title(figure)}.svg").getroot()
        assert drawn.tag == f"{SVG}svg"
        assert len(list(drawn.iter(f"{SVG}path"))) > 3
        assert any("".join(text.itertext()).strip() for text in drawn.iter(f"{SVG}text"))
