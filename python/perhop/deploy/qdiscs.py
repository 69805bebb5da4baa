"""The qdisc of Linux that comes nearest to a queue, as `tc` has it, and what it leaves out.

`tc-codel(8)`, `tc-fq_codel(8)`, `tc-pie(8)`, `tc-red(8)`, `tc-cake(8)`, `tc-dualpi2(8)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from perhop.deploy.ports import PACKET, Table, octets
from perhop.deploy.words import SETTINGS
from perhop.units import quantity

DEFAULTS: dict[str, Table] = {
    "pie": {
        "max_burst": "150ms",
        "delay_from": "timestamps",
        "alpha": 0.125,
        "beta": 1.25,
        "byte_mode": False,
    },
    "red": {"byte_mode": False, "gentle": False},
    "cake": {"mtu": "1500B", "limit": "10240p"},
}
"""What a queue has beyond its qdisc's settings where it is as by default."""


_LARGEST = 65_536
"""Bytes of what Linux makes of several packets, at most: `GSO_LEGACY_MAX_SIZE`."""


def qdisc(queue: Table, rate_bit_s: float, cannot: list[str]) -> str:
    """Return the qdisc that comes nearest to a queue; add what it leaves out to `cannot`."""
    kind = queue["kind"]
    make = _MAKERS.get(kind)
    if make is None:
        cannot.append(f"queue {kind}: no qdisc; fq_codel by its defaults comes nearest")
        return "fq_codel"
    rest = {key: one for key, one in queue.items() if key != "kind" and (one != "off" or kind == "cake")}
    if rest.get("conventions", {}).get("like") == "linux" and rest["conventions"].keys() <= {"like", "mtu"}:
        del rest["conventions"]
    made = make(rest, rate_bit_s, cannot)
    left = [key for key, value in rest.items() if value != DEFAULTS.get(kind, {}).get(key)]
    if "ack_filter" in left:
        left.remove("ack_filter")
        cannot.append(f"ack_filter: {made.split()[0]} has none; cake has")
    if left:
        cannot.append(f"queue {kind}: {', '.join(left)}: no setting of {made.split()[0]}")
    return made


Maker = Callable[[Table, float, list[str]], str]
"""Takes out of a queue what its qdisc says; the rest is left."""


def _fifo(queue: Table, _rate: float, cannot: list[str]) -> str:
    amount, unit = quantity(queue.pop("limit"))
    if unit == "B":
        cannot += _at_once(amount)
    return f"{'pfifo' if unit == 'p' else 'bfifo'} limit {amount:.0f}"


def _own(kind: str, queue: Table, _rate: float, cannot: list[str]) -> str:
    """Write a queue whose qdisc has its name."""
    return " ".join([kind, *_said(kind, queue, cannot)])


def _said(kind: str, queue: Table, cannot: list[str]) -> Iterator[str]:
    """Go through the words for the settings of a queue that are not as by default."""
    for setting in SETTINGS[kind]:
        key, unit = setting.key, setting.unit
        if key not in queue or queue[key] == DEFAULTS.get(kind, {}).get(key):
            continue
        value = queue.pop(key)
        if isinstance(unit, dict):
            yield unit[value]
        else:
            written = _packets(value, cannot) if unit == "packets" else _WRITTEN[unit](value)
            yield f"{setting.word.split()[0]} {written}"


def _red(queue: Table, rate: float, cannot: list[str]) -> str:
    low, high, limit = (octets(queue.pop(key)) for key in ("min_th", "max_th", "limit"))
    burst = max(1, round((2 * low + high) / (3 * PACKET)))
    cannot += _at_once(limit)
    cannot.append("queue red: `w_q` follows from avpkt and burst, and max_th is a limit (no `gentle`)")
    del queue["w_q"]
    queue.pop("gentle", None)
    marks = " ecn" if queue.pop("ecn", False) else ""
    return (
        f"red limit {limit} min {low} max {high} avpkt {PACKET} burst {burst} "
        f"probability {queue.pop('max_p'):g} bandwidth {rate:.0f}bit{marks}"
    )


def _fq(queue: Table, rate: float, cannot: list[str]) -> str:
    inner = queue.pop("queue")
    kind, settings = inner["kind"], list[str]()
    if kind in {"codel", "pie"}:
        # the limit of one flow is none of Linux's
        settings = qdisc(inner | {"limit": "1p"}, rate, cannot).split()[3:]
    else:
        cannot.append(f"queue fq with {kind}: fq_codel comes nearest")
        kind = "codel"
    if kind == "pie":
        queue.pop("drop_batch")
    return " ".join([f"fq_{kind}", *_said("fq", queue, cannot), *settings])


def _cake(queue: Table, _rate: float, cannot: list[str]) -> str:
    if queue["limit"] != DEFAULTS["cake"]["limit"]:
        cannot.append("limit: cake counts memory; it is left as by default")
        del queue["limit"]
    unlimited = "" if "rate" in queue else " unlimited"
    return " ".join([f"cake{unlimited}", *_said("cake", queue, cannot)])


_MAKERS: dict[str, Maker] = {
    "fifo": _fifo,
    "red": _red,
    "fq": _fq,
    "cake": _cake,
    **{kind: partial(_own, kind) for kind in ("codel", "pie", "dualpi2")},
}


def _at_once(limit: float) -> list[str]:
    """Return a warning of a limit in bytes that a large packet of Linux itself exceeds."""
    if limit >= _LARGEST:
        return []
    return [
        f"limit: Linux hands over up to {_LARGEST} bytes at once (GSO, GRO), which {limit:.0f} drop: "
        "ethtool -K DEV tso off gso off, and gro off where packets come in"
    ]


def _packets(limit: str, cannot: list[str]) -> str:
    amount, unit = quantity(limit)
    if unit == "B":
        cannot.append(f"limit: {amount:.0f} bytes are counted in packets of {PACKET}")
    return str(max(1, round(amount / (1 if unit == "p" else PACKET))))


def bits(rate: str) -> str:
    """Return a rate as tc has it."""
    return f"{quantity(rate)[0]:.0f}bit"


def time(text: str) -> str:
    """Return a time as tc has it."""
    return f"{quantity(text)[0] * 1e6:.0f}us"


_WRITTEN: dict[str, Callable[[Any], str]] = {
    "time": time,
    "bytes": lambda size: str(octets(size)),
    "rate": bits,
    "count": str,
    "number": lambda value: f"{value:g}",
    "gain": lambda value: f"{value:.10g}",
    "sixteenths": lambda value: f"{16 * value:.0f}",
    "percent": lambda value: f"{100 * value:.0f}%",
}
"""A value as tc has it, by its unit."""
