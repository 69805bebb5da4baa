"""Docstrings of functions as the site reads them: every parameter that one describes is in the signature."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import griffe

PYTHON = Path(__file__).parents[1] / "python"


def functions(of: griffe.Module | griffe.Class) -> Iterator[griffe.Function]:
    for one in of.members.values():
        if isinstance(one, griffe.Function):
            yield one
        elif isinstance(one, griffe.Module | griffe.Class):
            yield from functions(one)


def test_only_parameters_that_there_are_are_described() -> None:
    package = griffe.load("perhop", search_paths=[PYTHON], allow_inspection=False)
    assert isinstance(package, griffe.Module)
    wrong, described = [], 0
    for one in functions(package):
        for section in one.docstring.parse("numpy", warnings=False) if one.docstring else ():
            if section.kind == griffe.DocstringSectionKind.parameters:
                names = [name for item in section.value for name in item.name.replace("*", "").split(", ")]
                described += len(names)
                known = {parameter.name for parameter in one.parameters}
                wrong += [f"{one.path}: {name}" for name in names if name not in known]
    assert wrong == []
    assert described > 200
