"""Numbers of Tcl and ns-2: plain ones, rates, times, truth; and drawn ones."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from perhop.import_ns2.remarks import Refused

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RATE = re.compile(rf"({_NUMBER})([kKmMgG]?)([bB]?)(?:ps|it/s)?")
_TIME = re.compile(rf"({_NUMBER})([munp]?)s?")
_PREFIX = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_PART = {"": 1, "m": 10**3, "u": 10**6, "n": 10**9, "p": 10**12}
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
MOST_DIGITS = 40


class Drawn(str):
    """The value of ``[$rng uniform LOW HIGH]``: no number, but its bounds.

    It can be the time of ``$ns at`` alone; everywhere else its text is none of a number's.
    """

    low: float
    high: float

    @classmethod
    def between(cls, low: float, high: float) -> Drawn:
        """Return the draw from `low` to `high`."""
        if not low <= high:
            raise Refused(f"`uniform {low:g} {high:g}` is empty")
        found = cls(f"uniform({low:g}, {high:g})")
        found.low, found.high = low, high
        return found


def number(text: str) -> int | float | None:
    """Return a number of Tcl, or None; a whole one stays whole."""
    text = text.strip()
    if len(text) > MOST_DIGITS or not re.fullmatch(rf"{_NUMBER}|0[xX][0-9a-fA-F]+", text):
        return None
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    found = float(text)
    return found if math.isfinite(found) else None


def real(text: str, what: str) -> float:
    """Return a number, or refuse."""
    found = number(text)
    if found is None:
        raise Refused(f"{what} `{text}` is no number")
    return float(found)


def whole(text: str, what: str, least: int = 0) -> int:
    """Return a whole number of at least `least`, or refuse."""
    found = real(text, what)
    if found != int(found) or found < least:
        raise Refused(f"{what} `{text}` is no whole number from {least}")
    return int(found)


def truth(text: str, what: str) -> bool:
    """Return a value as Tcl's true or false, or refuse."""
    if text.lower() in _TRUE + _FALSE:
        return text.lower() in _TRUE
    raise Refused(f"{what} `{text}` is neither true nor false")


def rate(text: str) -> int:
    """Return a rate in bit/s: ``10Mb``, ``64Kb``, ``1MB`` (bytes), ``2000000``."""
    found = _RATE.fullmatch(text.strip())
    if found is None or len(text) > MOST_DIGITS:
        raise Refused(f"rate `{text}` is none of ns-2's, such as 10Mb")
    exact = Fraction(float(found[1])) * _PREFIX[found[2].lower()] * (8 if found[3] == "B" else 1)
    if exact < 1:
        raise Refused(f"rate `{text}` is below 1 bit/s")
    return round(exact)


def nanoseconds(text: str) -> int:
    """Return a time in ns, rounded: ``10ms``, ``0.01``, ``5us``."""
    found = _TIME.fullmatch(text.strip())
    if found is None or len(text) > MOST_DIGITS:
        raise Refused(f"time `{text}` is none of ns-2's, such as 10ms")
    value = float(found[1])
    if not 0 <= value <= 1e9:
        raise Refused(f"time `{text}` is not from 0 to 1e9")
    return round(Fraction(value) * 10**9 / _PART[found[2]])


def same(one: str, other: str) -> bool:
    """Return whether two values of a setting mean the same."""
    numbers = number(one), number(other)
    if None not in numbers:
        return numbers[0] == numbers[1]
    pair = {one.lower(), other.lower()}
    return one == other or pair <= set(_TRUE) or pair <= set(_FALSE)
