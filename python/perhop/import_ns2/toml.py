"""Quantities, names and comments as a scenario file has them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

from perhop.units import written_rate, written_time

if TYPE_CHECKING:
    from perhop.import_ns2.defaults import Setting


def time(ns: int) -> str:
    """Return a time, exact."""
    return text(written_time(ns))


def rate(bit_s: int) -> str:
    """Return a rate, exact."""
    return text(written_rate(bit_s))


def real(value: float) -> str:
    """Return a number of at most ten digits."""
    return f"{Decimal(f'{value:.10g}'):f}"


def text(value: str) -> str:
    """Return a string; names and code points have nothing to escape."""
    return f'"{value}"'


def strings(values: Iterable[str]) -> str:
    """Return a string, or a list of several."""
    several = [text(value) for value in values]
    return several[0] if len(several) == 1 else f"[{', '.join(several)}]"


def truth(value: bool) -> str:
    """Return true or false."""
    return "true" if value else "false"


def source(line: int, command: str) -> str:
    """Return a comment with the line that a part is from."""
    return f"# line {line}: {command}"


def origin(name: str, setting: Setting) -> str:
    """Return a comment with the origin of a setting."""
    value = "".join(char for char in setting.value if char.isprintable())[:40]
    where = "ns-2.35's default" if setting.line is None else f"line {setting.line}"
    return f"{where}: {name} {value}"


def table(entries: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return lines of key, value and comment, the comments in a column."""
    rows = list(entries)
    width = min(max((len(f"{key} = {value}") for key, value, _ in rows), default=0), 44)
    return [
        f"{f'{key} = {value}':{width}}  # {comment}" if comment else f"{key} = {value}"
        for key, value, comment in rows
    ]
