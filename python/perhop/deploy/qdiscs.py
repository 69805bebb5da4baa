"""The qdisc of Linux that comes nearest to a queue, as `tc` has it, and what it leaves out.

`tc-codel(8)`, `tc-fq_codel(8)`, `tc-pie(8)`, `tc-red(8)`, `tc-cake(8)`, `tc-dualpi2(8)`.
"""

from __future__ import annotations

from collections.abc import Callable

from perhop.deploy.ports import PACKET, Table, octets
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


def qdisc(queue: Table, rate_bit_s: float) -> tuple[str, list[str]]:
    """Return the qdisc that comes nearest to a queue, and what it leaves out."""
    make = _MAKERS.get(queue["kind"])
    if make is None:
        return "fq_codel", [f"queue {queue['kind']}: no qdisc; fq_codel by its defaults comes nearest"]
    rest = {key: value for key, value in queue.items() if value != "off"}
    kind = rest.pop("kind")
    cannot: list[str] = []
    made = make(rest, rate_bit_s, cannot)
    left = [key for key, value in rest.items() if value != DEFAULTS.get(kind, {}).get(key)]
    if "ack_filter" in left:
        left.remove("ack_filter")
        cannot.append(f"ack_filter: {made.split()[0]} has none; cake has")
    if left:
        cannot.append(f"queue {kind}: {', '.join(left)}: no setting of {made.split()[0]}")
    return made, cannot


Maker = Callable[[Table, float, list[str]], str]
"""Takes out of a queue what its qdisc says; the rest is left."""


def _fifo(queue: Table, rate: float, cannot: list[str]) -> str:
    del rate, cannot
    amount, unit = quantity(queue.pop("limit"))
    return f"{'pfifo' if unit == 'p' else 'bfifo'} limit {amount:.0f}"


def _codel(queue: Table, rate: float, cannot: list[str]) -> str:
    del rate
    times = _times(queue, target="target", interval="interval")
    return f"codel {_packets(queue, cannot)} {times}{_marks(queue)}"


def _pie(queue: Table, rate: float, cannot: list[str]) -> str:
    del rate
    made = f"pie {_packets(queue, cannot)} {_times(queue, target='target', tupdate='t_update')}"
    # tc counts in sixteenths
    for key in ("alpha", "beta"):
        if queue[key] != DEFAULTS["pie"][key]:
            made += f" {key} {16 * queue.pop(key):.0f}"
    return made + (" bytemode" if queue.pop("byte_mode", False) else "") + _marks(queue)


def _red(queue: Table, rate: float, cannot: list[str]) -> str:
    low, high, limit = (octets(queue.pop(key)) for key in ("min_th", "max_th", "limit"))
    burst = max(1, round((2 * low + high) / (3 * PACKET)))
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
        made, more = qdisc(inner | {"limit": "1p"}, rate)
        settings = made.split()[3:]
        cannot += more
    else:
        cannot.append(f"queue fq with {kind}: fq_codel comes nearest")
        kind = "codel"
    flows = f"flows {queue.pop('queues')} quantum {octets(queue.pop('quantum'))}"
    batch = f" drop_batch {queue.pop('drop_batch')}" if kind == "codel" else ""
    if kind == "pie":
        queue.pop("drop_batch")
    return " ".join([f"fq_{kind} {_packets(queue, cannot)} {flows}{batch}", *settings])


def _cake(queue: Table, rate: float, cannot: list[str]) -> str:
    del rate
    shaped = f"bandwidth {bits(queue.pop('rate'))}" if "rate" in queue else "unlimited"
    filters = {"conservative": "ack-filter", "aggressive": "ack-filter-aggressive"}
    acks = filters.get(queue.pop("ack_filter", "off"), "no-ack-filter")
    size = f"overhead {octets(queue.pop('overhead'))} mpu {octets(queue.pop('mpu'))}"
    if queue["limit"] != DEFAULTS["cake"]["limit"]:
        cannot.append("limit: cake counts memory; it is left as by default")
        del queue["limit"]
    tins, isolation, rtt = (queue.pop(key) for key in ("tins", "isolation", "rtt"))
    return f"cake {shaped} {tins} {isolation} rtt {time(rtt)} {acks} {size}"


def _dualpi2(queue: Table, rate: float, cannot: list[str]) -> str:
    del rate
    made = f"dualpi2 {_packets(queue, cannot)} target {time(queue.pop('target'))}"
    made += f" coupling_factor {queue.pop('coupling'):g}"
    for key, called in (("t_update", "tupdate"), ("l4s_threshold", "step_thresh")):
        made += f" {called} {time(queue.pop(key))}" if key in queue else ""
    share = queue.pop("classic_share", None)
    return made + (f" classic_protection {100 * share:.0f}%" if share is not None else "")


_MAKERS: dict[str, Maker] = {
    "fifo": _fifo,
    "codel": _codel,
    "pie": _pie,
    "red": _red,
    "fq": _fq,
    "cake": _cake,
    "dualpi2": _dualpi2,
}


def _packets(queue: Table, cannot: list[str]) -> str:
    amount, unit = quantity(queue.pop("limit"))
    if unit == "B":
        cannot.append(f"limit: {amount:.0f} bytes are counted in packets of {PACKET}")
    return f"limit {max(1, round(amount / (1 if unit == 'p' else PACKET)))}"


def _times(queue: Table, **names: str) -> str:
    return " ".join(f"{called} {time(queue.pop(key))}" for called, key in names.items())


def _marks(queue: Table) -> str:
    made = f" ce_threshold {time(queue.pop('ce_threshold'))}" if "ce_threshold" in queue else ""
    return made + (" ecn" if queue.pop("ecn", False) else " noecn")


def bits(rate: str) -> str:
    """Return a rate as tc has it."""
    return f"{quantity(rate)[0]:.0f}bit"


def time(text: str) -> str:
    """Return a time as tc has it."""
    return f"{quantity(text)[0] * 1e6:.0f}us"
