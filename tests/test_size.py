"""How large the Python package may be (decision 0144): who needs more says so there."""

from __future__ import annotations

import ast
from pathlib import Path

TOP = Path(__file__).parents[1] / "python" / "perhop"
MOST_LINES = 31_000
"""Lines of code: neither empty, nor a comment, nor of a text that stands alone, such as a docstring."""


def lines_of_code(text: str) -> int:
    """Count the lines of a module that hold code."""
    aside = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(text.splitlines(), 1)
    return sum(number not in aside and line.strip()[:1] not in ("", "#") for number, line in lines)


def test_code_is_counted_without_what_is_said_of_it() -> None:
    text = '"""A module."""\n\n# a comment\nimport ast  # another\n\n\nX = """\ntext\n"""\n"""What X is."""\n'
    assert lines_of_code(text) == 4


def test_the_package_is_within_its_size() -> None:
    sizes = {path: lines_of_code(path.read_text(encoding="utf-8")) for path in TOP.rglob("*.py")}
    assert len(sizes) > 200
    assert sum(sizes.values()) <= MOST_LINES
