"""Packages of Python use one another in one direction, as docs/architecture.md says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "python" / "perhop"

#: what a package may not import, wherever in a file
NEVER = {
    "scenario": (),
    "run": (),
    "notebook": (),
    "models": ("cli", "deploy", "experiment", "papers", "plot", "recommend", "report", "serve"),
    "stats": ("cli", "deploy", "experiment", "papers", "plot", "recommend", "report", "serve"),
    "experiment": ("cli", "deploy", "papers", "plot", "recommend", "report", "serve"),
    "plot": ("cli", "deploy", "papers", "recommend", "report", "serve"),
    "import_ns2": ("cli", "deploy", "experiment", "papers", "plot", "recommend", "report", "serve"),
    "deploy": ("cli", "experiment", "papers", "plot", "recommend", "report", "serve"),
    "recommend": ("cli", "deploy", "papers", "report", "serve"),
    "report": ("cli", "deploy", "papers", "serve"),
    "papers": ("cli", "deploy", "serve"),
    "serve": ("cli", "deploy", "import_ns2", "papers"),
    "cli": (),
}


def imported(source: str) -> set[str]:
    """Give the modules that a text imports, at its top, in functions, and for types alone."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


@pytest.mark.parametrize("package", NEVER)
def test_a_package_imports_nothing_above_it(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    found = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in files
        for name in sorted(imported(file.read_text()))
        for above in NEVER[package]
        if f"{name}.".startswith(f"perhop.{above}.")
    ]
    assert not found


def test_every_package_has_its_place() -> None:
    assert {file.parent.name for file in ROOT.glob("*/__init__.py")} == set(NEVER)
    said = " ".join((ROOT.parents[1] / "docs" / "architecture.md").read_text().split())
    above = "`cli`, `serve`, `deploy`, `import_ns2`, `papers`, `report`, `recommend`"
    order = f"{above}, `plot`, `experiment`, `stats` and `models`"
    assert f"use one another downwards only: {order}" in said


def test_a_study_imports_no_other() -> None:
    studies = {file.parent.name for file in ROOT.glob("papers/*/study.py")}
    assert studies
    found = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in sorted((ROOT / "papers").rglob("*.py"))
        for name in sorted(imported(file.read_text()))
        for other in studies - {file.parent.name}
        if f"{name}.".startswith(f"perhop.papers.{other}.")
    ]
    assert not found


def test_every_form_of_import_is_seen() -> None:
    text = "import perhop.cli.run\nfrom perhop import papers\nif 1:\n    from perhop.plot.bars import Bar\n"
    assert imported(text) == {"perhop.cli.run", "perhop.papers", "perhop.plot.bars.Bar"}
