"""Numbers as `tc` has them: text with its units in commands, plain numbers where `tc -j` shows them.

iproute2 7.1, `lib/utils_math.c`, `lib/utils.c`: a bare number is a rate in bit/s, a size in bytes, a time in
us; `bps` are bytes a second, and a `k` of a size is 1024. `tc -j` has rates in bytes a second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from perhop.import_ns2.remarks import Refused
from perhop.units import written_rate, written_time

_LETTERS = ("", "k", "m", "g", "t")
_PREFIXES = {a: 1e3**n for n, a in enumerate(_LETTERS)} | {
    f"{a}i": 1024.0**n for n, a in enumerate(_LETTERS) if a
}
_RATES = {"": 1.0} | {
    a + unit: n * by for a, n in _PREFIXES.items() for unit, by in (("bit", 1.0), ("bps", 8.0))
}
_SIZES = {
    a + b: 1024.0**n * by for n, a in enumerate(_LETTERS) for b, by in (("", 1.0), ("b", 1.0), ("bit", 0.125))
}
_TIMES = {"": 1e3} | {a + b: n for a, n in (("us", 1e3), ("ms", 1e6), ("s", 1e9)) for b in ("", "ec", "ecs")}
_MOST = 10**18


def rate(value: object) -> int:
    """Return a rate in bit/s."""
    return _number(value, _RATES, 8.0, "rate", least=1)


def size(value: object) -> int:
    """Return a size in bytes; ``5Kb/1`` has the cell of a rate table behind it."""
    return _number(value.partition("/")[0] if isinstance(value, str) else value, _SIZES, 1.0, "size")


def time(value: object) -> int:
    """Return a time in ns."""
    return _number(value, _TIMES, 1e3, "time")


def count(value: object) -> int:
    """Return a whole number; ``10p`` is one of packets."""
    return _number(value, {"": 1.0, "p": 1.0}, 1.0, "number")


def real(value: object) -> float:
    """Return a number; ``10%`` is 10."""
    try:
        found = float(value.removesuffix("%") if isinstance(value, str) else value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = -1.0
    if not 0 <= found <= _MOST or isinstance(value, bool):
        raise Refused(f"`{value}` is not taken as a number")
    return found


def _number(value: object, units: Mapping[str, float], shown: float, what: str, least: int = 0) -> int:
    number, unit = value, shown
    if isinstance(value, str):
        split = re.fullmatch(r"([\d.]+(?:e[+-]?\d+)?)([a-z]*)", value.lower(), re.ASCII)
        if split is None or split[2] not in units:
            raise Refused(f"`{value}` is not taken as a {what}")
        number, unit = split[1], units[split[2]]
    found = real(number) * unit
    if not least <= found <= _MOST:
        raise Refused(f"`{value}` is not taken as a {what}")
    return round(found)


WRITTEN: dict[str, Callable[[Any], Any]] = {
    "packets": lambda value: f"{count(value)}p",
    "bytes": lambda value: f"{size(value)}B",
    "time": lambda value: written_time(time(value)),
    "rate": lambda value: written_rate(rate(value)),
    "count": count,
    "number": real,
    # a kernel counts them in 256ths, of which tc -j shows six digits
    "gain": lambda value: round(256 * real(value)) / 256,
    "sixteenths": lambda value: count(value) / 16,
    "percent": lambda value: real(value) / 100,
}
"""A value as scenarios have it, by its unit."""
