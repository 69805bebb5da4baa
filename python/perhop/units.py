"""Numbers with their units, as people read them; a value that does not exist is a dash."""

import re

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


def quantity(text: str) -> tuple[float, str]:
    """Read a number with a unit as scenarios have them.

    Parameters
    ----------
    text
        A number, with or without a unit.

    Returns
    -------
    value, unit
        In ``bit/s``, ``s``, ``B``, ``p`` (packets), or without unit.

    Raises
    ------
    ValueError
        It is neither.

    >>> quantity("1.5Mbit/s"), quantity("20 ms"), quantity("3")
    ((1500000.0, 'bit/s'), (0.02, 's'), (3.0, ''))
    """
    number, written = split(text)
    unit, scale = _UNITS[written]
    return number * scale, unit


def split(text: str) -> tuple[float, str]:
    """Read a number with a unit and leave both as they are written.

    Raises
    ------
    ValueError
        It is neither.

    >>> split("1.5Mbit/s")
    (1.5, 'Mbit/s')
    """
    found = re.fullmatch(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\D*?)\s*", text, re.ASCII)
    if found is None or found[2] not in _UNITS:
        raise ValueError(f"`{text}` is not a number, with or without a unit")
    return float(found[1]), found[2]


def bit_rate(value: float | None) -> str:
    """Return a rate in bit/s with the prefix that keeps it readable.

    >>> bit_rate(1_500_000.0)
    '1.5 Mbit/s'
    """
    if value is None:
        return "-"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {prefix}bit/s"
    return f"{value:.4g} bit/s"


def duration(value: float | None) -> str:
    """Return a time in seconds, below a second as milliseconds.

    >>> duration(0.0125)
    '12.5 ms'
    """
    if value is None:
        return "-"
    return f"{value:.4g} s" if value >= 1 else f"{value * 1000:.4g} ms"


def size(value: float | None) -> str:
    """Return a size in bytes with the prefix that keeps it readable (1 kB is 1000 B).

    >>> size(65536)
    '65.5 kB'
    """
    if value is None:
        return "-"
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"


def exact(value: float) -> str:
    """Return a number with every digit it has, and none for the fraction of a whole one.

    >>> exact(1234567), exact(0.1234567), exact(30.0)
    ('1234567', '0.1234567', '30')
    """
    return repr(value).removesuffix(".0")


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
