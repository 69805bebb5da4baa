"""Numbers with their units, as people read them; a value that does not exist is a dash."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

_PREFIXES = {
    "": 1.0,
    **{letter: 1e3**n for n, letter in enumerate("kMGT", 1)},
    **{letter + "i": 1024.0**n for n, letter in enumerate(["K", "M", "G", "T"], 1)},
}
_BASES = {"bit/s": ("bit/s", 1.0), "bps": ("bit/s", 1.0), "B/s": ("bit/s", 8.0), "B": ("B", 1.0)}
_UNITS = {
    "": ("", 1.0),
    "p": ("p", 1.0),
    **{
        unit: ("s", scale)
        for unit, scale in {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}.items()
    },
    **{
        letters + unit: (base, scale * factor)
        for letters, factor in _PREFIXES.items()
        for unit, (base, scale) in _BASES.items()
    },
}

UNLIMITED = (-math.inf, math.inf)
"""The limits of values that may be anything."""
UNITS = (*filter(None, _UNITS), "%")
"""All units as they are written."""


def quantity(text: str) -> tuple[float, str]:
    """Read a number as scenarios have them: in ``bit/s``, ``s``, ``B``, ``p`` (packets), or without unit.

    >>> quantity("1.5Mbit/s"), quantity("20 ms"), quantity("3")
    ((1500000.0, 'bit/s'), (0.02, 's'), (3.0, ''))
    """
    number, written = split(text)
    unit, scale = _UNITS[written]
    return number * scale, unit


def split(text: str) -> tuple[float, str]:
    """Read a number with or without a unit, and leave both as they are written.

    >>> split("1.5Mbit/s")
    (1.5, 'Mbit/s')
    """
    found = re.fullmatch(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\D*?)\s*", text, re.ASCII)
    if found is None or found[2] not in _UNITS:
        raise ValueError(f"`{text}` is not a number, with or without a unit")
    return float(found[1]), found[2]


_STEPS = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")),
    "B/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
}
"""From the largest prefix on; a number below the last is in the unit itself, of seconds in the last."""


@dataclass(frozen=True)
class Scale:
    """The unit that keeps numbers readable: a value is divided by `factor` to be in it.

    >>> Scale.of("bit/s", 2.5e6).value(1.5e6, half=2e4)
    '1.500 ± 0.020 Mbit/s'
    """

    factor: float
    unit: str
    limits: tuple[float, float] = UNLIMITED
    """The least and the greatest value that there is, where an interval that is shown is cut."""

    @classmethod
    def of(cls, unit: str | None, largest: float) -> Scale:
        """Choose for numbers of this unit (``1``: of none), the largest of which is given."""
        steps = _STEPS.get(unit or "", ())
        for factor, name in steps:
            if abs(largest) >= factor:
                return cls(factor, name)
        if unit == "s" and largest:
            return cls(*steps[-1])
        return cls(1.0, "" if unit is None or unit == "1" else unit)

    @classmethod
    def spanning(
        cls, unit: str | None, values: Iterable[float], limits: tuple[float, float] = UNLIMITED
    ) -> Scale:
        """Choose one unit for a column: smaller than the largest asks for, where the smallest would be lost.

        >>> Scale.spanning("bit/s", [4.17e6, 2.5e6]).unit, Scale.spanning("bit/s", [3.26e6, 35e3]).unit
        ('Mbit/s', 'kbit/s')
        >>> Scale.spanning("s", [10.8, 8.8e-5]).unit
        'ms'
        """
        known = [abs(value) for value in values if value and math.isfinite(value)]
        own = cls.of(unit, max(known, default=0.0))
        # five digits before the point are written as they are
        for factor, name in (*_STEPS[unit], (1.0, unit)) if known and unit in _STEPS else ():
            if factor < own.factor and min(known) < own.factor / 10 and max(known) < 1e5 * factor:
                own = cls(factor, name)
        return replace(own, limits=limits)

    def within(self, low: float, high: float) -> tuple[float, float]:
        """Return the ends of an interval as it is shown, within the limits; one without ends stays.

        >>> Scale(1.0, "", (1.0, 4.5)).within(4.1, 4.7)
        (4.1, 4.5)
        """
        if not math.isfinite(high - low):
            return low, high
        return max(low, self.limits[0]), min(high, self.limits[1])

    def cut_note(self, intervals: Iterable[tuple[float, float]]) -> str:
        """Return words for a heading if any of these intervals is cut, else nothing."""
        is_cut = any(self.within(*one) != one for one in intervals)
        return ", cut to the scale from {:g} to {:g}".format(*self.limits) if is_cut else ""

    @property
    def in_unit(self) -> str:
        """The end of a heading of numbers in this unit; empty where there is none.

        >>> f"rate{Scale(1e6, 'Mbit/s').in_unit}, fairness{Scale(1.0, '').in_unit}"
        'rate in Mbit/s, fairness'
        """
        return f" in {self.unit}" if self.unit else ""

    def mean(self, mean: float, low: float, high: float) -> str:
        """Return a mean with its interval, cut where that goes beyond the limits.

        >>> Scale(1.0, "", (1.0, 4.5)).mean(4.4, 4.1, 4.7)
        '4.4 (4.1 to 4.5)'
        """
        least, most = self.within(low, high)
        if (least, most) == (low, high):
            return self.value(mean, (high - low) / 2)
        return f"{self.value(mean)} ({self.value(least)} to {self.value(most)})"

    def value(self, value: float, half: float = math.nan, digits: int = 4) -> str:
        """Return a value, with what is to either side of it if that is finite, and the unit."""
        unit = f" {self.unit}".rstrip()
        x, spread = value / self.factor, half / self.factor
        if not math.isfinite(spread):
            return f"{x:.{digits}g}{unit}"
        # what rounding leaves of values that are all the same is no spread
        if spread <= 1e-12 * abs(x):
            return f"{x:.5g} ± 0{unit}"
        places = max(0, 1 - math.floor(math.log10(spread)))
        if places > 8:
            return f"{x:.5g} ± {spread:.2g}{unit}"
        return f"{x:.{places}f} ± {spread:.{places}f}{unit}"


def _scaled(value: float | None, unit: str, digits: int = 4) -> str:
    return "-" if value is None else Scale.of(unit, value).value(value, digits=digits)


def bit_rate(value: float | None) -> str:
    """Return a rate in bit/s with the prefix that keeps it readable.

    >>> bit_rate(1_500_000.0)
    '1.5 Mbit/s'
    """
    return _scaled(value, "bit/s")


def duration(value: float | None) -> str:
    """Return a time in seconds with the prefix that keeps it readable.

    >>> duration(0.0125), duration(1.8e-8)
    ('12.5 ms', '18 ns')
    """
    return "0 ms" if value == 0 else _scaled(value, "s")


def size(value: float | None) -> str:
    """Return a size in bytes with the prefix that keeps it readable (1 kB is 1000 B).

    >>> size(65536)
    '65.5 kB'
    """
    return _scaled(value, "B", 3)


def exact(value: float) -> str:
    """Return a number with every digit it has, and none for the fraction of a whole one.

    >>> exact(1234567), exact(0.1234567), exact(30.0)
    ('1234567', '0.1234567', '30')
    """
    return repr(value).removesuffix(".0")


_TIMES = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))
_RATES = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"), (1, "bit/s"))


def written_time(ns: int) -> str:
    """Return a time as scenarios have it, exact.

    >>> written_time(5_000_000), written_time(0)
    ('5ms', '0s')
    """
    return _written(ns, _TIMES, "0s")


def written_rate(bit_s: int) -> str:
    """Return a rate as scenarios have it, exact.

    >>> written_rate(1_500_000)
    '1.5Mbit/s'
    """
    return _written(bit_s, _RATES, "0bit/s")


def _written(value: int, units: tuple[tuple[int, str], ...], none: str) -> str:
    for size, unit in units:
        if value >= size:
            return f"{(Decimal(value) / size).normalize():f}{unit}"
    return none


def digits(value: float, count: int, sign: str = "") -> str:
    """Return a number with so many digits, and with all before the point where these are more.

    >>> digits(0.034993, 4), digits(10807.3, 4), digits(389.6, 2), digits(5, 4, "+")
    ('0.03499', '10807', '390', '+5')
    """
    large = 10.0**count <= abs(value) < 1e6
    return format(value, f"{sign}.0f" if large else f"{sign}.{count}g")


def counted(count: int, what: str) -> str:
    """Return a number of things.

    >>> counted(1, "packet"), counted(2, "packet")
    ('1 packet', '2 packets')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def percent(value: float | None) -> str:
    """Return a fraction as a percentage.

    >>> percent(0.9873)
    '98.7 %'
    """
    return "-" if value is None else f"{value * 100:.3g} %"


def fraction(text: str) -> float:
    """Return a percentage as a fraction; NaN for any other text.

    >>> fraction("95%")
    0.95
    """
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else math.nan
    except ValueError:
        return math.nan
