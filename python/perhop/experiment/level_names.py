"""Names of levels that have none of their own."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from typing import Any


def level_names(values: Sequence[str]) -> list[str]:
    """Return names of levels: their values; tables by the settings that differ, their kind first.

    >>> level_names(['{ kind = "fifo", limit = "9p" }', '{ kind = "red", limit = "9p" }'])
    ['fifo', 'red']
    >>> level_names(['{ kind = "codel" }', '{ kind = "fq" }', '{ kind = "fq", queue = { kind = "fifo" } }'])
    ['codel', 'fq', 'fq fifo']
    """
    try:
        tables = [tomllib.loads(f"value = {text}")["value"] for text in values]
    except tomllib.TOMLDecodeError:
        return list(values)
    if not all(isinstance(table, dict) for table in tables):
        return list(values)
    flat = [dict(_settings(table)) for table in tables]
    keys = sorted({key for table in flat for key in table}, key=lambda key: (key != "kind", key))
    telling = [key for key in keys if len({repr(table.get(key)) for table in flat}) > 1]
    for many in range(1, len(telling) + 1):
        called = [_name(table, telling[:many]) for table in flat]
        if len(set(called)) == len(called):
            return called
    return list(values)


def _settings(table: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings of a table and of those in it, by their paths."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _settings(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _name(table: dict[str, Any], telling: Sequence[str]) -> str:
    """Return the values of some settings; without one in a table within, the others may say enough."""
    said = [str(table.get(key, f"no {key}")) for key in telling if key in table or "." not in key]
    return " ".join(said) or f"no {telling[0]}"
