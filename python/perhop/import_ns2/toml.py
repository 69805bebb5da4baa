"""Values, tables and comments as a scenario file has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

from perhop.import_ns2.defaults import Setting
from perhop.import_ns2.things import Thing
from perhop.scenario import overrides

Row = tuple[str, object, str]
"""Key, value and comment."""


def written(value: object) -> str:
    """Return a value on one line; quotes are about those keys alone that need them."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Mapping):
        keys = [key if re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII) else written(key) for key in value]
        pairs = zip(keys, map(written, value.values()), strict=True)
        return f"{{ {', '.join(f'{key} = {one}' for key, one in pairs)} }}"
    return overrides.toml(value, "")


def real(value: float) -> Decimal:
    """Return a number of at most ten digits."""
    return Decimal(f"{value:.10g}")


def source(line: int, command: str) -> str:
    """Return a comment with the line that a part is from."""
    return f"# line {line}: {command}"


def origin(name: str, setting: Setting) -> str:
    """Return a comment with the origin of a setting."""
    value = "".join(char for char in setting.value if char.isprintable())[:40]
    where = "ns-2.35's default" if setting.line is None else f"line {setting.line}"
    return f"{where}: {name} {value}"


def row(thing: Thing, key: str, name: str, value: object, before: str = "") -> Row:
    """Return a row whose value is from a setting of ns-2."""
    return key, value, before + origin(name, thing.settings[name])


def table(rows: Iterable[Row]) -> list[str]:
    """Return lines of rows, the comments in a column."""
    lines = [(f"{key} = {written(value)}", comment) for key, value, comment in rows]
    width = min(max((len(line) for line, _ in lines), default=0), 44)
    return [f"{line:{width}}  # {comment}" if comment else line for line, comment in lines]
