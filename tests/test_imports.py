"""Modules of Python use one another in one direction, as docs/architecture.md says, and never in a circle."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Mapping, Set
from graphlib import TopologicalSorter

import pytest

from importing import MODULES, ROOT, imported

ARCHITECTURE = (ROOT.parents[1] / "docs" / "architecture.md").read_text()

#: the rooms from the top downwards: none imports of one that is above it
ORDER = (
    *("cli", "serve", "notebook", "papers", "lesson", "report", "say", "recommend", "plot", "judge"),
    *("experiment", "run", "import_tc", "deploy", "import_ns2", "models", "stats", "scenario"),
)

#: below `serve`, which gives them by the command line alone
NOT_SERVED = {"papers", "import_tc", "deploy", "import_ns2"}

#: not in a room: the public face, which only `cli` uses, and what every room needs
FACE, SHARED, CORE = "perhop", "perhop.units", "perhop._core"

#: what an installation need not have: nothing else is imported in a function outside `cli`
OPTIONAL = {"pandas", "distributed"}


IMPORTS = {
    name: imported(file.read_text(), {*MODULES, CORE}) & {*MODULES} - {name} for name, file in MODULES.items()
}


def room_of(name: str) -> str:
    """Give the room of a module, empty of one at the root."""
    return name.split(".")[1] if name.startswith("perhop.") and name != SHARED else ""


@pytest.mark.parametrize("room", ORDER)
def test_a_room_imports_nothing_above_it(room: str) -> None:
    above = {*ORDER[: ORDER.index(room)], *(NOT_SERVED if room == "serve" else ())}
    own = [name for name in MODULES if room_of(name) == room]
    assert own
    found = [f"{name} imports {other}" for name in own for other in IMPORTS[name] if room_of(other) in above]
    assert not found


def test_every_module_is_in_a_room() -> None:
    assert {name for name in MODULES if not room_of(name)} == {FACE, SHARED}
    assert {room_of(name) for name in MODULES} - {""} == set(ORDER)
    assert not IMPORTS[SHARED]
    assert {room_of(name) for name in MODULES if FACE in IMPORTS[name]} <= {"cli"}
    listed = ", ".join(f"`{room}`" for room in ORDER[:-1])
    assert f"downwards only: {listed} and `{ORDER[-1]}`" in " ".join(ARCHITECTURE.split())


def test_no_module_is_in_a_circle() -> None:
    assert list(TopologicalSorter(IMPORTS).static_order())


def test_a_circle_is_seen() -> None:
    with pytest.raises(ValueError, match="cycle"):
        list(TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())


def test_what_is_imported_in_a_function_is_optional() -> None:
    found = [
        f"{name} imports {one}"
        for name, file in MODULES.items()
        if room_of(name) != "cli"
        for function in ast.walk(ast.parse(file.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for one in imported(ast.unparse(function), set(MODULES))
        if one not in OPTIONAL
    ]
    assert not found


PAPERS = ROOT.parents[1] / "papers"
STUDIES = {file.parent.name for file in PAPERS.glob("*/study.py")}

#: with the programs of the studies, as if these were modules of the frame
WITH_STUDIES = IMPORTS | {
    f"perhop.papers.{file.parent.name}.{file.stem}": imported(file.read_text(), {*MODULES})
    for file in sorted(PAPERS.glob("*/*.py"))
}


def study_of(name: str) -> str:
    """Give the study that a module belongs to, empty of one of the frame or of another room."""
    parts = name.split(".")
    return parts[2] if parts[:2] == ["perhop", "papers"] and parts[2:] and parts[2] in STUDIES else ""


def test_a_study_imports_no_other() -> None:
    assert STUDIES
    found = [
        f"{name} imports {other}"
        for name, others in WITH_STUDIES.items()
        if room_of(name) == "papers"
        for other in others
        if study_of(other) not in ("", study_of(name))
    ]
    assert not found


def users_of_the_frame(imports: Mapping[str, Set[str]]) -> dict[str, set[str]]:
    """Give for each module of the frame who reaches it: studies, by name, and `perhop`, any other room.

    What the package `perhop.papers` itself imports is used by nobody for that.
    """
    users: dict[str, set[str]] = {
        name: set() for name in imports if name.startswith("perhop.papers.") and not study_of(name)
    }
    for start in imports:
        user = study_of(start) or ("" if room_of(start) == "papers" else "perhop")
        reached, ahead = set[str](), [start] if user else []
        while ahead:
            new = imports[ahead.pop()] & users.keys() - reached
            reached |= new
            ahead += new
        for name in reached:
            users[name].add(user)
    return users


def test_a_module_of_the_frame_has_two_users() -> None:
    users = users_of_the_frame(WITH_STUDIES)
    assert users
    assert not {name: who for name, who in users.items() if len(who) < 2 and who != {"perhop"}}


def test_a_module_of_the_frame_with_one_user_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "STUDIES", {"first", "second"})
    one, other = (f"perhop.papers.{study}.study" for study in ("first", "second"))
    shared, own, below, left = (f"perhop.papers.{name}" for name in ("shared", "own", "below", "left"))
    imports = {
        one: {shared, own},
        other: {shared},
        "perhop.cli.a": {"perhop.papers"},
        "perhop.papers": {left},
        shared: set(),
        own: {below},
        below: set(),
        left: set(),
    }
    users = users_of_the_frame(imports)
    assert users == {
        shared: {"first", "second"},
        own: {"first"},
        below: {"first"},
        left: set(),
    }


def test_every_form_of_import_is_seen() -> None:
    text = "import a.cli\nfrom a import b, c\nif 1:\n    from a.plot.bars import Bar\n"
    assert imported(text, {"a.b"}) == {"a.cli", "a.b", "a", "a.plot.bars"}


def test_a_run_needs_no_judge() -> None:
    """Who runs one scenario does not wait for SciPy."""
    heavy = "[one for one in ('scipy', 'perhop.judge') if one in sys.modules]"
    code = f"import sys, perhop.say.run_tables; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
