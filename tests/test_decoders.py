"""Types that msgspec decodes are known to it since import; threads that are first to decode one crash it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PERHOP = Path(__file__).parents[1] / "python" / "perhop"


def own(node: ast.AST) -> set[str]:
    """Return the names of classes in an expression."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return {name for name in names if name.lstrip("_")[:1].isupper()} - {"Any"}


def calls(node: ast.AST, name: str) -> Iterator[ast.Call]:
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and ast.unparse(one.func) == name:
            yield one


def test_no_thread_is_the_first_to_decode_a_type() -> None:
    known, asked = set[str](), list[tuple[str, str]]()
    for file in PERHOP.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for statement in tree.body:
            if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                at_import = [*calls(statement, "msgspec.json.Decoder"), *calls(statement, "msgspec.convert")]
                known |= own(statement) if at_import else set()
        for call in calls(tree, "msgspec.json.decode"):
            types = [word.value for word in call.keywords if word.arg == "type"]
            assert not [name for one in types for name in own(one)], f"{file.name}: {ast.unparse(call)}"
        asked += [(file.name, name) for call in calls(tree, "msgspec.convert") for name in own(call.args[1])]
    assert len(known) > 10
    assert [one for one in asked if one[1] not in known] == []
