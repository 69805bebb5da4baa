"""The configurations that both simulators run, as changes of the defaults of feroz.tcl."""

from __future__ import annotations

from typing import Any, NamedTuple

INTERVAL_S = 0.25
PACKET_BYTES = 1024


class Configuration(NamedTuple):
    """What a configuration changes, and how many seeds ns-2 runs."""

    settings: dict[str, Any]
    seeds: int


def bucket(tokens: int, depth: int) -> dict[str, Any]:
    """Give the bucket of an edge: packets in an interval of 250 ms, depth in packets."""
    return {
        "marker": "bucket",
        "cir": round(tokens * PACKET_BYTES * 8 / INTERVAL_S),
        "cbs": depth * PACKET_BYTES,
    }


MARKERS: dict[str, dict[str, Any]] = {
    "bucket-46": bucket(23, 46),
    "bucket-1": bucket(23, 1),
    "in": {"marker": "in"},
    "out": {"marker": "out"},
}
_TCP = ("Reno", "Newreno", "Sack1")
_LARGE = {"flows": 100, "core": "15Mb", "duration": 30, "spread_ms": 0.0173}
_FAST = {"flows": 100, "core": "150Mb", "host": "15Mb", "edge": "100Mb", "duration": 10, "spread_ms": 0.0173}
#: ns-2.35 as it comes.
_DEFAULTS = {"minrto": 0.2, "initial": 2, "limited": 1, "syn": 1}


def _all() -> dict[str, Configuration]:
    found = {
        f"{tcp}-{name}": Configuration({"tcp": tcp} | marker, 16)
        for tcp in _TCP
        for name, marker in MARKERS.items()
    }
    full = MARKERS["bucket-46"]
    for tcp in _TCP:
        found[f"{tcp}-bucket-46-coupled"] = Configuration({"tcp": tcp, "averaging": "RIO-C"} | full, 16)
    reno = {"tcp": "Reno"}
    more: dict[str, tuple[dict[str, Any], int]] = {
        "Reno-bucket-46-delay-50ms": (reno | full | {"delay_ms": 50}, 16),
        "Sack1-bucket-46-delay-50ms": ({"tcp": "Sack1"} | full | {"delay_ms": 50}, 16),
        "Reno-out-delay-50ms": (reno | MARKERS["out"] | {"delay_ms": 50}, 16),
        "Reno-bucket-46-limit-50": (reno | full | {"limit": 50}, 16),
        "Reno-in-limit-5000": (reno | MARKERS["in"] | {"limit": 5000}, 16),
        "Reno-bucket-46-defaults": (reno | full | _DEFAULTS, 16),
        "Newreno-bucket-46-defaults": ({"tcp": "Newreno"} | full | _DEFAULTS, 16),
        "Reno-bucket-46-tick-100ms": (reno | full | {"tick": 0.1}, 16),
        "Reno-bucket-46-tick-500ms": (reno | full | {"tick": 0.5}, 16),
        "Reno-bucket-10-tokens": (reno | bucket(10, 20), 16),
        "Reno-bucket-15-tokens": (reno | bucket(15, 30), 16),
        "Reno-bucket-46-15Mbit": (reno | full | _LARGE, 5),
        "Newreno-bucket-46-15Mbit": ({"tcp": "Newreno"} | full | _LARGE, 5),
        "Sack1-out-15Mbit": ({"tcp": "Sack1"} | MARKERS["out"] | _LARGE, 5),
        "Reno-bucket-460-150Mbit": (reno | bucket(230, 460) | _FAST, 4),
    }
    return found | {name: Configuration(*row) for name, row in more.items()}


CONFIGURATIONS = _all()
