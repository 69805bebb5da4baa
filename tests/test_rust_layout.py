"""Every file of Rust tests is in its crate's one test program; modules use one another in one direction."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CRATES = sorted(file.parent for file in Path(__file__).parents[1].glob("crates/*/src"))
PROGRAMS = sorted(Path(__file__).parents[1].glob("crates/*/tests/all.rs"))


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.parts[-3] for program in PROGRAMS])
def test_every_file_is_compiled(program: Path) -> None:
    files = {file.stem for file in program.parent.glob("*.rs")} - {"all"}
    folders = {file.parent.name for file in program.parent.glob("*/mod.rs")}
    assert set(re.findall(r"^mod (\w+);$", program.read_text(), re.MULTILINE)) == files | folders


def test_every_crate_with_tests_has_a_program() -> None:
    crates = Path(__file__).parents[1].glob("crates/*/tests")
    assert [folder / "all.rs" for folder in sorted(crates)] == PROGRAMS


@pytest.mark.parametrize("crate", CRATES, ids=[crate.name for crate in CRATES])
def test_no_module_is_in_a_circle(crate: Path) -> None:
    TopologicalSorter(uses(code(crate))).prepare()


@pytest.mark.parametrize("crate", CRATES, ids=[crate.name for crate in CRATES])
def test_no_room_is_in_a_circle(crate: Path) -> None:
    TopologicalSorter(rooms(uses(code(crate)))).prepare()


def test_a_circle_is_seen() -> None:
    texts = {
        "crate": "pub use a::b;",
        "crate::a": "pub mod b;\npub use b::{deep::{B, C}, d};",
        "crate::a::b": "use crate::{x, y};\nfn f() { super::super::z::g() }",
        "crate::x": "use std::fmt;\nuse crate::b::B as Other;",
        "crate::y": "fn f() -> crate::a::d {}",
        "crate::z": "",
    }
    used = uses(texts)
    assert used == {
        "crate": {"crate::a::b"},
        "crate::a": {"crate::a::b"},
        "crate::a::b": {"crate::x", "crate::y", "crate::z"},
        "crate::x": {"crate::a::b"},
        "crate::y": {"crate::a::b"},
        "crate::z": set(),
    }
    assert rooms(used)["crate::a"] == {"crate::x", "crate::y", "crate::z"}
    for circle in (used, rooms(used)):
        with pytest.raises(CycleError):
            TopologicalSorter(circle).prepare()


def code(crate: Path) -> dict[str, str]:
    """Give the code of each module, such as `crate::written::port`, without comments and tests."""
    texts = {}
    for file in sorted((crate / "src").rglob("*.rs")):
        parts = file.relative_to(crate / "src").with_suffix("").parts
        if parts[-1] in ("tests", "testing", "main"):
            continue
        text = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
        text = re.sub(r"#\[cfg\(test\)\]\s+mod \w+ \{.*?^\}$", "", text, flags=re.DOTALL | re.MULTILINE)
        texts["::".join(("crate", *(parts[:-1] if parts[-1] in ("lib", "mod") else parts)))] = text
    return texts


def uses(texts: dict[str, str]) -> dict[str, set[str]]:
    """Give what each module uses of its crate; its own parents, which declare it, do not count."""
    names = {module: module for module in texts}
    for module, text in texts.items():
        for tree in re.findall(r"\bpub(?:\(crate\))? use ([^;]+);", text):
            given = {f"{module}::{path.rsplit('::', 1)[-1]}": path for path in written_out(tree)}
            names |= {name: led(path, module, names) for name, path in given.items()}
    used = {module: {led(path, module, names) for path in paths(text)} for module, text in texts.items()}
    return {
        module: {to for to in others if not f"{module}::".startswith(f"{to}::")}
        for module, others in used.items()
    }


def rooms(used: dict[str, set[str]]) -> dict[str, set[str]]:
    """Give what each room, a module or a folder right below the crate, uses of other rooms."""
    found: dict[str, set[str]] = {}
    for module, others in used.items():
        room = found.setdefault(room_of(module), set())
        room |= {room_of(other) for other in others} - {room_of(module)}
    return {room: others - {"crate"} for room, others in found.items() if room != "crate"}


def room_of(module: str) -> str:
    """Give the room of a module."""
    return "::".join(module.split("::")[:2])


def paths(text: str) -> Iterator[str]:
    """Give the paths in a text: what it imports, and what it names where it needs it."""
    for tree in re.findall(r"\buse ([^;]+);", text):
        yield from written_out(tree)
    yield from re.findall(r"(?<![\w:])[a-z]\w*(?:::\w+)+", re.sub(r"\buse [^;]+;", "", text))


def written_out(tree: str) -> Iterator[str]:
    """Give the paths of `a::{b, c::{d, e}}`."""
    head, brace, rest = re.sub(r" as \w+|\s", "", tree).partition("{")
    if not brace:
        yield head
    for part in re.findall(r"(?:[^,{}]|\{(?:[^{}]|\{[^{}]*\})*\})+", rest[:-1]):
        yield from (head + path for path in written_out(part))


def led(path: str, module: str, names: dict[str, str]) -> str:
    """Give the module to which a path in `module` leads: itself, where the path is of another crate."""
    path = path.removeprefix("self::")
    if path.startswith("super::"):
        return led(path.removeprefix("super::"), module.rsplit("::", 1)[0], names)
    at, rest = ("crate", path.split("::")[1:]) if path.startswith("crate::") else (module, path.split("::"))
    while rest and f"{at}::{rest[0]}" in names:
        at = names[f"{at}::{rest.pop(0)}"]
    return at
