"""The wheel, built from this checkout, installed in an environment of its own and used there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from perhop.run.record import checkout

UV = Path(sysconfig.get_path("scripts")) / "uv"


@pytest.mark.skipif(checkout() is None, reason="not run from a source checkout: there is nothing to build")
@pytest.mark.skipif(not UV.exists(), reason="uv is not in this environment: make build puts it there")
def test_the_wheel_works_where_nothing_else_is(tmp_path: Path) -> None:
    top = checkout()
    assert top is not None
    environment = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")
    }

    def call(*words: str | Path, cwd: Path = tmp_path) -> str:
        done = subprocess.run(
            [str(word) for word in words],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    maturin = Path(sysconfig.get_path("scripts")) / "maturin"
    call(maturin, "build", "--release", "--locked", "-i", sys.executable, "-o", tmp_path / "dist", cwd=top)
    (wheel,) = (tmp_path / "dist").glob("perhop-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "perhop/py.typed" in names
    assert "perhop/_core.pyi" in names
    assert "perhop/report/templates/run.html.j2" in names
    assert "perhop/serve/serve.js" in names
    assert "perhop/serve/templates/form.html.j2" in names
    assert "perhop/lesson/room.html.j2" in names
    lessons = [path.relative_to(top / "python") for path in top.glob("python/perhop/starters/lesson-*/*")]
    assert {str(path) for path in lessons} <= set(names)
    assert "-abi3-" in wheel.name
    packs = sorted(path.parent.name for path in top.glob("papers/*/claims.toml"))
    assert len(packs) >= 4
    assert {f"perhop/papers_data/{pack}/claims.toml" for pack in packs} <= set(names)

    call(sys.executable, "-m", "venv", "clean")
    python = tmp_path / "clean" / "bin" / "python"
    call(UV, "export", "--frozen", "--no-dev", "--no-emit-project", "-o", tmp_path / "locked.txt", cwd=top)
    call(UV, "pip", "install", "--python", python, "-r", "locked.txt", wheel)

    perhop = tmp_path / "clean" / "bin" / "perhop"
    call(perhop, "init", "lab")
    call(perhop, "run", "lab/two-way.toml", "--until", "15s", "-o", "run")
    call(perhop, "replay", "run")
    call(perhop, "report", "run")
    assert "<svg" in (tmp_path / "run" / "report.html").read_text()
    call(perhop, "init", "--pack", "lesson-recoveries", "lesson")
    answers = tmp_path / "lesson" / "answers.toml"
    answers.write_text('first = "sack"\ntimeouts = 1\nrepeated = 4\nlead = "2 s"\none = "0 s"\n')
    assert "5 of 5 right" in call(perhop, "lesson", "check", answers)
    call(perhop, "init", "--study", "mine")
    mine = json.loads(call(perhop, "reproduce", "mine", "--quick", "--json"))
    assert [claim["verdict"] for claim in mine["claims"]] == ["supported", "supported", "not judged"]
    reproduced = json.loads(call(perhop, "reproduce", "laatu", "--verify", "3", "--json"))
    assert reproduced["verified"]["runs"] == 3
    assert {row["table"] for row in reproduced["rows"]} >= {"throughput", "fairness"}
    assert json.loads((tmp_path / "run" / "record.json").read_text())["commit"] is None
