"""Overrides in Python values: ``path=value`` as the core reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import Any, TypeAlias, Union

Value: TypeAlias = Union[str, bool, int, float, "list[Value]", "tuple[Value, ...]", "Mapping[str, Value]"]
"""What TOML has and a scenario uses; a number of NumPy is a number, too."""


def assignments(given: tuple[object, ...], named: Mapping[str, object]) -> Iterator[str]:
    """Write overrides as ``path=value``; arguments as of `Scenario.override`."""
    for one in given:
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            for path, value in one.items():
                yield f"{path}={toml(value, path)}"
        else:
            raise TypeError(
                f"override takes 'path=value' or a mapping of paths to values, not {one!r}: "
                "write override('run.seed=3'), override({'run.seed': 3}) or override(run__seed=3)"
            )
    for name, value in named.items():
        path = name.replace("__", ".")
        yield f"{path}={toml(value, path)}"


def ends(table: Mapping[str, Any]) -> str:
    """Return the name that paths have for a link or port of a resolved scenario: its ends, ``a-b``."""
    nodes = table.get("ends") or table.get("between") or (table["at"], table["to"])
    return "-".join(nodes).replace("[*]", "")


def toml(value: object, path: object) -> str:
    """Return a value as TOML on one line; errors name it by `path`."""
    if not isinstance(path, str):
        raise TypeError(f"a path of an override is text, not {path!r}")
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(one, path) for one in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_text(key)} = {toml(one, key)}" for key, one in value.items()) + " }"
    raise TypeError(f"{path}: {value!r} is of type {type(value).__name__}, which a scenario file cannot hold")


def _text(text: str) -> str:
    # a basic string of TOML is one of JSON, but for DEL
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
