"""Settings of queues by the words that `tc` has for them, for `deploy` and for `import tc`.

iproute2 7.1, `tc/q_*.c`: `*_parse_opt` for commands, `*_print_opt` for what `tc -j` shows.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Setting(NamedTuple):
    """A setting that both have."""

    word: str
    """That of `tc`, before the value in commands; where `tc -j` has another, that follows behind a blank."""
    key: str
    """That of a scenario."""
    unit: str | dict[Any, str]
    """Of the value, or the words that stand for the values."""


_LIMIT = Setting("limit", "limit", "packets")
_ECN = Setting("ecn", "ecn", {True: "ecn", False: "noecn"})
_TARGET = Setting("target", "target", "time")
_UPDATE = Setting("tupdate", "t_update", "time")
_CLOCKS = {"departure-rate": "dq_rate_estimator", "timestamps": "no_dq_rate_estimator"}
_TINS = ("besteffort", "diffserv3", "diffserv4", "diffserv8")
_FLOWS = ("flowblind", "srchost", "dsthost", "hosts", "flows")
_FAIR = ("dual-srchost", "dual-dsthost", "triple-isolate")
_FILTERS = {"conservative": "ack-filter", "aggressive": "ack-filter-aggressive", "off": "no-ack-filter"}

SETTINGS: dict[str, tuple[Setting, ...]] = {
    "codel": (
        _LIMIT,
        _TARGET,
        Setting("interval", "interval", "time"),
        Setting("ce_threshold", "ce_threshold", "time"),
        _ECN,
    ),
    "pie": (
        _LIMIT,
        _TARGET,
        _UPDATE,
        Setting("alpha", "alpha", "sixteenths"),
        Setting("beta", "beta", "sixteenths"),
        Setting("bytemode", "byte_mode", {True: "bytemode", False: "nobytemode"}),
        Setting("dq_rate_estimator", "delay_from", _CLOCKS),
        _ECN,
    ),
    "fq": (
        _LIMIT,
        Setting("flows", "queues", "count"),
        Setting("quantum", "quantum", "bytes"),
        Setting("drop_batch", "drop_batch", "count"),
    ),
    "cake": (
        Setting("bandwidth", "rate", "rate"),
        Setting("diffserv", "tins", {one: one for one in _TINS}),
        Setting("flowmode", "isolation", {one: one for one in (*_FLOWS, *_FAIR)}),
        Setting("rtt", "rtt", "time"),
        Setting("ack-filter", "ack_filter", _FILTERS),
        Setting("overhead", "overhead", "bytes"),
        Setting("mpu", "mpu", "bytes"),
    ),
    "dualpi2": (
        _LIMIT,
        _TARGET,
        Setting("coupling_factor coupling", "coupling", "number"),
        _UPDATE,
        Setting("alpha", "alpha", "gain"),
        Setting("beta", "beta", "gain"),
        Setting("step_thresh step-thresh-us", "l4s_threshold", "time"),
        Setting("classic_protection c-protection", "classic_share", "percent"),
    ),
}
"""By the kind of a queue, in the order in which commands have them."""
