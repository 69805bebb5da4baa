"""A docstring's first line begins with the thing itself, not with what, who, such, tell or say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parents[1]
ROUNDABOUT = re.compile(r"(What|Whose|Who|Whom|Such|Tells?|Says?)\b")


def python() -> Iterator[tuple[str, str]]:
    """Yield place and docstring of modules, classes and functions, but of commands: these are printed."""
    for file in sorted((TOP / "python/perhop").rglob("*.py")):
        place = file.relative_to(TOP / "python/perhop")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            if isinstance(node, documented):
                name = getattr(node, "name", "module")
                if not (place.parts[0] == "cli" and name.endswith("command")):
                    yield f"{place}: {name}", ast.get_docstring(node) or ""


def rust() -> Iterator[tuple[str, str]]:
    """Yield place and first line of every documented item."""
    for file in sorted(TOP.glob("crates/*/src/**/*.rs")):
        text = file.read_text(encoding="utf-8")
        for first in re.finditer(r"(?:\A|^(?!\s*//[/!]).*\n)\s*//[/!] (.*)", text, re.MULTILINE):
            yield f"{file.relative_to(TOP)}:{text.count(chr(10), 0, first.start(1)) + 1}", first[1]


def test_no_first_line_is_roundabout() -> None:
    places = [*python(), *rust()]
    assert len(places) > 4000
    assert [(place, text) for place, text in places if ROUNDABOUT.match(text)] == []
