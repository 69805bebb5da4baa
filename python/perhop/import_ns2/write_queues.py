"""Queues of ns-2 as queues of perhop."""

from __future__ import annotations

from decimal import Decimal

from perhop.import_ns2 import toml
from perhop.import_ns2.queues import MODES, Curve, DsRed, Queue
from perhop.import_ns2.remarks import Refused

_COLORS = {1: ("green",), 2: ("green", "red"), 3: ("green", "yellow", "red")}
HARDLY = Decimal("0.000000001")
"""A probability by which nothing is dropped, where a limit alone counts."""
_SCHEDULERS = {"RR": "wrr", "WRR": "wrr", "PRI": "strict-priority"}


def port(queue: Queue) -> list[str]:
    """Return the lines of a port behind its nodes, or refuse the line of a queue that perhop has not."""
    try:
        if isinstance(queue, DsRed):
            return _ds_red(queue)
        lines = _red(queue) if queue.kind == "Queue/RED" else _drop_tail(queue)
        return ["[[port.class]]", 'name = "all"', "[port.class.queue]", *lines]
    except Refused as error:
        raise Refused(str(error), error.line or queue.line) from None


def _limit(queue: Queue, room: int) -> toml.Row:
    return toml.row(queue, "limit", "limit_", f"{room}p")


def _drop_tail(queue: Queue) -> list[str]:
    if queue.limit < 2:
        raise Refused("a drop-tail queue of ns-2 with `limit_` 1 lets nothing wait")
    key, limit, origin = _limit(queue, queue.limit - 1)
    return toml.table([("kind", "fifo", ""), (key, limit, f"{origin}, where one place is never used")])


def _red(queue: Queue) -> list[str]:
    for name in ("bytes_", "queue_in_bytes_"):
        if queue.truth(name):
            raise Refused(f"`Queue/RED set {name} false` is missing: perhop has ns-2's RED in packets alone")
    for name in ("thresh_", "maxthresh_", "q_weight_"):
        if queue.real(name) <= 0:
            raise Refused(f"`Queue/RED set {name}` is missing: ns-2 reckons it from the link, perhop is told")
    low, high = (queue.whole(name, least=1) for name in ("thresh_", "maxthresh_"))
    term = queue.real("linterm_")
    if term < 1:
        raise Refused("`linterm_` is below 1")
    wait = queue.truth("wait_")
    mean = queue.whole("mean_pktsize_", least=1)
    gentle = queue.truth("gentle_")
    return toml.table(
        [
            ("kind", "red", ""),
            _limit(queue, queue.limit),
            toml.row(queue, "min_th", "thresh_", f"{low}p"),
            toml.row(queue, "max_th", "maxthresh_", f"{high}p"),
            ("max_p", toml.real(1 / term), toml.origin("1 / linterm_,", queue.settings["linterm_"])),
            toml.row(queue, "w_q", "q_weight_", toml.real(queue.real("q_weight_"))),
            toml.row(queue, "gentle", "gentle_", gentle),
            ("ecn", False, "ns-2.35's default: setbit_ false"),
            toml.row(queue, "mean_packet", "mean_pktsize_", f"{mean}B"),
            toml.row(queue, "conventions", "wait_", {"like": "ns2-red"} | ({} if wait else {"wait": False})),
        ]
    )


def _ds_red(queue: DsRed) -> list[str]:
    count = queue.whole("numQueues_", least=1)
    used = sorted({place[0] for place in queue.marks.values()})
    if not used:
        raise Refused("there is no addPHBEntry for it")
    for code, (number, precedence) in queue.marks.items():
        if number >= count or precedence >= queue.precedences:
            raise Refused(f"code point {code} is for a queue or precedence that the queue has not")
    lines = []
    if len(used) > 1:
        default = "; ns-2.35's default: RR" if queue.scheduler == "RR" else ""
        scheduler = {"kind": _SCHEDULERS[queue.scheduler]}
        lines = toml.table([("scheduler", scheduler, f"{queue.scheduler}{default}")])
    for number in used:
        last = len(used) == 1 or number == used[-1]
        codes = [str(code) for code, place in queue.marks.items() if place[0] == number]
        lines += ["[[port.class]]", f'name = "q{number}"']
        lines.append(f"match = {toml.written(['any'] if last else codes)}")
        if len(used) > 1 and queue.scheduler != "PRI":
            lines.append(f"weight = {queue.weights.get(number, 1) if queue.scheduler == 'WRR' else 1}")
        lines += ["[port.class.queue]", *_physical(queue, number)]
    return lines


def _physical(queue: DsRed, number: int) -> list[str]:
    """Return the lines of one of its queues."""
    used = {code: place[1] for code, place in queue.marks.items() if place[0] == number}
    mode = queue.modes.get(number, "RIO-C")
    curves: list[Curve] = []
    for precedence in range(max(used.values()) + 1):
        curve = queue.curves.get((number, precedence))
        if curve is None:
            raise Refused(f"there is no `configQ {number} {precedence}`")
        curves.append(curve)
    if mode == "DROP":
        return _dropping(queue, curves, used)
    kind = {1: "red", 2: "rio", 3: "gred"}[len(curves)]
    rows: list[toml.Row] = [("kind", kind, ""), _limit(queue, queue.limit)]
    if len(curves) > 1:
        origin = "setMREDMode" if number in queue.modes else "ns-2.35's default:"
        rows += [_colors(used, len(curves)), ("averaging", MODES[mode], f"{origin} {mode}")]
    rows += _curves(curves)
    rows += [
        ("gentle", False, "dsRED has no gentle"),
        ("ecn", False, "ns-2.35's default: ecn_ 0"),
        ("mean_packet", f"{queue.mean:.0f}B", "meanPktSize"),
        ("conventions", {"like": "dsred"}, "what dsRED does otherwise than RED's paper"),
    ]
    return toml.table(rows)


def _colors(used: dict[int, int], levels: int) -> toml.Row:
    return "colors", {str(code): _COLORS[levels][level] for code, level in used.items()}, "addPHBEntry"


def _curves(curves: list[Curve]) -> list[toml.Row]:
    def keys(curve: Curve) -> dict[str, object]:
        if not 0 < curve.largest <= 1:
            raise Refused("perhop's `max_p` is above 0 and at most 1", curve.line)
        return {"min_th": f"{curve.low}p", "max_th": f"{curve.high}p", "max_p": toml.real(curve.largest)}

    weights = [0.002 if curve.weight is None else curve.weight for curve in curves]
    default = "ns-2.35's default" if all(curve.weight is None for curve in curves) else "configQ"
    differ = len(set(weights)) > 1
    if len(curves) < 3 and differ:
        raise Refused("perhop's `rio` has one weight for both", curves[0].line)
    if len(curves) == 1:
        rows: list[toml.Row] = [(*one, f"line {curves[0].line}: configQ") for one in keys(curves[0]).items()]
    else:
        rows = []
        for color, curve, weight in zip(_COLORS[len(curves)], curves, weights, strict=True):
            own = {"w_q": toml.real(weight)} if differ else {}
            rows.append((color, keys(curve) | own, f"line {curve.line}: configQ"))
    return [*rows, ("w_q", toml.real(weights[0]), default)]


def _dropping(queue: DsRed, curves: list[Curve], used: dict[int, int]) -> list[str]:
    """Return a plain queue of mode DROP, with its limits by precedence and in all."""
    for curve in curves:
        if curve.low < 1:
            raise Refused("in mode DROP nothing may wait with `min` 0", curve.line)
    if len(curves) == 1 or all(curve.low >= queue.limit for curve in curves):
        limit = _limit(queue, min(queue.limit, curves[0].low))
        return toml.table([("kind", "fifo", "setMREDMode DROP"), limit])
    rows: list[toml.Row] = [
        ("kind", "gred", "setMREDMode DROP: a limit for each precedence"),
        _limit(queue, queue.limit),
        _colors(used, 3),
    ]
    for color, curve in zip(_COLORS[3], [*curves, *curves[-1:]][:3], strict=True):
        out_of_reach = {"min_th": f"{curve.low - 1}p", "max_th": f"{curve.low}p", "max_p": HARDLY}
        rows.append((color, out_of_reach | {"limit": f"{curve.low}p"}, f"line {curve.line}: configQ"))
    return toml.table(rows)
