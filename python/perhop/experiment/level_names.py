"""Names of levels that have none of their own."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence


def level_names(values: Sequence[str]) -> list[str]:
    """Return names of levels: their values; tables by the settings that differ, their kind first.

    Parameters
    ----------
    values
        As in ``path=value``.

    Examples
    --------
    >>> level_names(['{ kind = "fifo", limit = "9p" }', '{ kind = "red", limit = "9p" }'])
    ['fifo', 'red']
    """
    try:
        tables = [tomllib.loads(f"value = {text}")["value"] for text in values]
    except tomllib.TOMLDecodeError:
        return list(values)
    if not all(isinstance(table, dict) for table in tables):
        return list(values)
    keys = sorted({key for table in tables for key in table}, key=lambda key: (key != "kind", key))
    telling = [key for key in keys if len({repr(table.get(key)) for table in tables}) > 1]
    for many in range(1, len(telling) + 1):
        called = [" ".join(str(table.get(key, f"no {key}")) for key in telling[:many]) for table in tables]
        if len(set(called)) == len(called):
            return called
    return list(values)
