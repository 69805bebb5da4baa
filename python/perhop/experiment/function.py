"""Responses that are functions of Python: read and kept as text, and called where the runs are made."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from perhop import _core
from perhop.experiment.expression import Function, SyntaxFault
from perhop.run.tables import TRACES
from perhop.scenario.trust import is_trusted

_MOST_BYTES = 1 << 20

_WRITTEN = re.compile(r"\s*(?P<file>[^:\"'()*]*\.py)\s*:\s*(?P<name>[^\W\d]\w*)?", re.ASCII)

Group = tuple[str, ...]


class FunctionError(Exception):
    """An error of a user's function: where in its file, and what."""


def written(text: str) -> tuple[Function, int] | None:
    """Return the function that a response begins with, and where it ends; None of an expression."""
    found = _WRITTEN.match(text)
    if found is None:
        return None
    if not found["name"]:
        end = found.end()
        raise SyntaxFault((end, end + 1), "a function of this file should stand here", "such as `my.py:p99`")
    span = (found.start("file"), found.end())
    return Function(found["file"].strip(), found["name"], span), found.end()


def read(one: Function, folder: Path) -> str:
    """Return the text of a function's file, whose path begins at a folder; refuse one without it."""
    span = (one.span[0], one.span[0] + len(one.file))
    try:
        source = (folder / one.file).read_bytes()[: _MOST_BYTES + 1].decode()
    except OSError as error:
        hint = f"its path begins at {folder.resolve()}"
        raise SyntaxFault(span, f"{one.file}: {error.strerror}", hint) from None
    except UnicodeDecodeError:
        raise SyntaxFault(span, f"{one.file} is not UTF-8, so that it is no Python") from None
    if len(source) > _MOST_BYTES:
        raise SyntaxFault(span, f"{one.file} is longer than a megabyte")
    try:
        own = _defined(source)
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        why = error.msg if isinstance(error, SyntaxError) else error
        raise SyntaxFault(span, f"{one.file}{line}: {why}") from None
    named = (one.span[1] - len(one.name), one.span[1])
    if one.name not in own:
        rule = f"{one.file} has no function `{one.name}`"
        raise SyntaxFault(named, rule, _core.suggest(one.name, list(own)))
    arguments = own[one.name].args
    tables = arguments.posonlyargs or arguments.args or arguments.vararg
    if None in arguments.kw_defaults or {*traces(one, source)} - {*TRACES} or not tables:
        rule = f"{one.file}:{own[one.name].lineno}: `{one.name}` is called with the tables, and with traces"
        raise SyntaxFault(named, rule, f"`def {one.name}(tables):`, or `def {one.name}(tables, packets):`")
    return source


def _defined(source: str) -> dict[str, ast.FunctionDef]:
    return {each.name: each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)}


def traces(one: Function, source: str) -> list[str]:
    """Return the traces that a function asks for: its arguments after the tables that have no default."""
    arguments = _defined(source)[one.name].args
    given = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    return given[1 : len(given) - len(arguments.defaults)]


@lru_cache(maxsize=64)
def _function(file: str, name: str, source: str) -> Callable[..., Any]:
    """Return a function of a module that is made of its text."""
    module = ModuleType(f"perhop_response_{hashlib.sha256(source.encode()).hexdigest()}")
    module.__file__ = file
    sys.modules[module.__name__] = module  # where dataclasses look for theirs
    exec(compile(source, file, "exec"), module.__dict__)
    found: Callable[..., Any] = getattr(module, name)
    return found


def call(
    one: Function,
    source: str,
    by: Group,
    tables: Mapping[str, pl.DataFrame],
    given: Sequence[pl.DataFrame] = (),
) -> dict[Group, float | None]:
    """Measure a run by a function, `given` the traces that it asks for.

    Without names of groups it returns one value. Its errors, and values that are none, are `FunctionError`.
    """
    if not is_trusted():
        raise FunctionError(f"{one.file}: is a program, and programs of users do not run here")
    try:
        found = _function(one.file, one.name, source)(dict(tables), *given)
        return _values(one, by, found)
    except FunctionError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == one.file]
        where = f"{one.file}:{lines[-1]}" if lines else one.file
        why = next(iter(str(error).splitlines()), "")
        raise FunctionError(f"{where}: {type(error).__name__}{f': {why}' if why else ''}") from None


def _values(one: Function, by: Group, found: object) -> dict[Group, float | None]:
    """Return the values that a function has returned, by group and sorted."""
    if not by:
        if isinstance(found, Mapping):
            raise _wrong(one, f"a mapping: say what its keys are, as in `{one} by class`")
        return {(): _number(one, found)}
    names = " and ".join(by)
    if not isinstance(found, Mapping):
        raise _wrong(one, f"a value of type {type(found).__name__}, not a mapping of {names} to a value")
    values = {}
    for key, value in found.items():
        group = key if isinstance(key, tuple) else (key,)
        if len(group) != len(by):
            raise _wrong(one, f"a value of {key!r}, not one of {names}")
        values[tuple(map(str, group))] = _number(one, value)
    return dict(sorted(values.items()))


def _number(one: Function, value: object) -> float | None:
    """Return a value; None also of what is not finite, as of an expression."""
    if value is None:
        return None
    if not isinstance(value, Real):
        raise _wrong(one, f"a value of type {type(value).__name__}, not a number or None")
    number = float(value)
    return number if isfinite(number) else None


def _wrong(one: Function, returned: str) -> FunctionError:
    return FunctionError(f"{one.file}: `{one.name}` returned {returned}")
