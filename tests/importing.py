"""Which modules of perhop a text imports: for the test of its rooms, and for scripts/test."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1] / "python" / "perhop"


def name_of(file: Path) -> str:
    """Give the name of a module by its file."""
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in sorted(ROOT.rglob("*.py")) if "papers_data" not in file.parts}


def imported(source: str, known: set[str]) -> set[str]:
    """Give the modules that a text imports, at its top, in functions, and for types alone.

    ``from a import b`` is of `a.b` where that is one of the known modules, and of `a` where it is not.
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{name.name}" for name in node.names}
            found |= names & known
            found |= {node.module} if names - known else set()
    return found
