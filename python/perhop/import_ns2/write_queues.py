"""Queues of ns-2 as queues of perhop."""

from __future__ import annotations

from perhop.import_ns2 import toml
from perhop.import_ns2.quantities import real, truth, whole
from perhop.import_ns2.queues import MODES, Curve, DsRed, Queue
from perhop.import_ns2.remarks import LineRefused, Refused

_COLORS = {1: ("green",), 2: ("green", "red"), 3: ("green", "yellow", "red")}
HARDLY = "0.000000001"
"""A probability by which nothing is dropped, where a limit alone counts."""
_SCHEDULERS = {"RR": "wrr", "WRR": "wrr", "PRI": "strict-priority"}


def port(queue: Queue) -> list[str]:
    """Return the lines of a port behind its nodes.

    Raises
    ------
    LineRefused
        The queue has what perhop has not.
    """
    try:
        if isinstance(queue, DsRed):
            return _ds_red(queue)
        lines = _red(queue) if queue.kind == "Queue/RED" else _drop_tail(queue)
        return ["[[port.class]]", 'name = "all"', "[port.class.queue]", *lines]
    except LineRefused:
        raise
    except Refused as error:
        raise LineRefused(queue.line, str(error)) from None


def _limit(queue: Queue, room: int, why: str = "") -> tuple[str, str, str]:
    return "limit", f'"{room}p"', toml.origin("limit_", queue.settings["limit_"]) + why


def _drop_tail(queue: Queue) -> list[str]:
    if queue.limit < 2:
        raise Refused("a drop-tail queue of ns-2 with `limit_` 1 lets nothing wait")
    limit = _limit(queue, queue.limit - 1, ", where one place is never used")
    return toml.table([("kind", '"fifo"', ""), limit])


def _red(queue: Queue) -> list[str]:
    get = queue.settings
    for name in ("bytes_", "queue_in_bytes_"):
        if truth(queue.value(name), name):
            raise Refused(f"`Queue/RED set {name} false` is missing: perhop has ns-2's RED in packets alone")
    for name in ("thresh_", "maxthresh_", "q_weight_"):
        if real(queue.value(name), name) <= 0:
            raise Refused(f"`Queue/RED set {name}` is missing: ns-2 reckons it from the link, perhop is told")
    low, high = (whole(queue.value(name), name, least=1) for name in ("thresh_", "maxthresh_"))
    term = real(queue.value("linterm_"), "linterm_")
    if term < 1:
        raise Refused("`linterm_` is below 1")
    wait = truth(queue.value("wait_"), "wait_")
    mean = whole(queue.value("mean_pktsize_"), "mean_pktsize_", least=1)
    gentle = truth(queue.value("gentle_"), "gentle_")
    like = '{ like = "ns2-red" }' if wait else '{ like = "ns2-red", wait = false }'
    return toml.table(
        [
            ("kind", '"red"', ""),
            _limit(queue, queue.limit),
            ("min_th", f'"{low}p"', toml.origin("thresh_", get["thresh_"])),
            ("max_th", f'"{high}p"', toml.origin("maxthresh_", get["maxthresh_"])),
            ("max_p", toml.real(1 / term), toml.origin("1 / linterm_,", get["linterm_"])),
            (
                "w_q",
                toml.real(real(queue.value("q_weight_"), "q_weight_")),
                toml.origin("q_weight_", get["q_weight_"]),
            ),
            ("gentle", toml.truth(gentle), toml.origin("gentle_", get["gentle_"])),
            ("ecn", "false", "ns-2.35's default: setbit_ false"),
            ("mean_packet", f'"{mean}B"', toml.origin("mean_pktsize_", get["mean_pktsize_"])),
            ("conventions", like, toml.origin("wait_", get["wait_"])),
        ]
    )


def _ds_red(queue: DsRed) -> list[str]:
    count = whole(queue.value("numQueues_"), "numQueues_", least=1)
    used = sorted({place[0] for place in queue.marks.values()})
    if not used:
        raise Refused("there is no addPHBEntry for it")
    for code, (number, precedence) in queue.marks.items():
        if number >= count or precedence >= queue.precedences:
            raise Refused(f"code point {code} is for a queue or precedence that the queue has not")
    lines = []
    if len(used) > 1:
        default = "; ns-2.35's default: RR" if queue.scheduler == "RR" else ""
        lines = toml.table(
            [("scheduler", f'{{ kind = "{_SCHEDULERS[queue.scheduler]}" }}', f"{queue.scheduler}{default}")]
        )
    for number in used:
        last = len(used) == 1 or number == used[-1]
        codes = [str(code) for code, place in queue.marks.items() if place[0] == number]
        lines += ["[[port.class]]", f'name = "q{number}"']
        lines += ['match = ["any"]' if last else f"match = [{', '.join(map(toml.text, codes))}]"]
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
    rows = [("kind", toml.text(kind), ""), _limit(queue, queue.limit)]
    if len(curves) > 1:
        colors = ", ".join(f'"{code}" = "{_COLORS[len(curves)][level]}"' for code, level in used.items())
        origin = "setMREDMode" if number in queue.modes else "ns-2.35's default:"
        rows += [
            ("colors", f"{{ {colors} }}", "addPHBEntry"),
            ("averaging", toml.text(MODES[mode]), f"{origin} {mode}"),
        ]
    rows += _curves(curves)
    rows += [
        ("gentle", "false", "dsRED has no gentle"),
        ("ecn", "false", "ns-2.35's default: ecn_ 0"),
        ("mean_packet", f'"{queue.mean:.0f}B"', "meanPktSize"),
        ("conventions", '{ like = "dsred" }', "what dsRED does otherwise than RED's paper"),
    ]
    return toml.table(rows)


def _curves(curves: list[Curve]) -> list[tuple[str, str, str]]:
    def keys(curve: Curve) -> list[tuple[str, str]]:
        if not 0 < curve.largest <= 1:
            raise LineRefused(curve.line, "perhop's `max_p` is above 0 and at most 1")
        shown = toml.real(curve.largest)
        return [("min_th", f'"{curve.low}p"'), ("max_th", f'"{curve.high}p"'), ("max_p", shown)]

    weights = [0.002 if curve.weight is None else curve.weight for curve in curves]
    default = "ns-2.35's default" if all(curve.weight is None for curve in curves) else "configQ"
    if len(curves) < 3 and len(set(weights)) > 1:
        raise LineRefused(curves[0].line, "perhop's `rio` has one weight for both")
    if len(curves) == 1:
        rows = [(key, value, f"line {curves[0].line}: configQ") for key, value in keys(curves[0])]
    else:
        own = len(set(weights)) > 1
        rows = [
            (
                color,
                "{ "
                + ", ".join(f"{key} = {value}" for key, value in keys(curve))
                + (f", w_q = {toml.real(weight)}" if own else "")
                + " }",
                f"line {curve.line}: configQ",
            )
            for color, curve, weight in zip(_COLORS[len(curves)], curves, weights, strict=True)
        ]
    return [*rows, ("w_q", toml.real(weights[0]), default)]


def _dropping(queue: DsRed, curves: list[Curve], used: dict[int, int]) -> list[str]:
    """Return a plain queue of mode DROP, with its limits by precedence and in all."""
    for curve in curves:
        if curve.low < 1:
            raise LineRefused(curve.line, "in mode DROP nothing may wait with `min` 0")
    if len(curves) == 1 or all(curve.low >= queue.limit for curve in curves):
        return toml.table(
            [("kind", '"fifo"', "setMREDMode DROP"), _limit(queue, min(queue.limit, curves[0].low))]
        )
    colors = ", ".join(f'"{code}" = "{_COLORS[3][level]}"' for code, level in used.items())
    rows = [("kind", '"gred"', "setMREDMode DROP: a limit for each precedence"), _limit(queue, queue.limit)]
    rows.append(("colors", f"{{ {colors} }}", "addPHBEntry"))
    for color, curve in zip(_COLORS[3], [*curves, *curves[-1:]][:3], strict=True):
        out_of_reach = f'min_th = "{curve.low - 1}p", max_th = "{curve.low}p", max_p = {HARDLY}'
        rows.append((color, f'{{ {out_of_reach}, limit = "{curve.low}p" }}', f"line {curve.line}: configQ"))
    return toml.table(rows)
