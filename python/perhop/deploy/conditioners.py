"""A conditioner as terms of an OpenConfig classifier with a policer, a shaper or a mark behind them."""

from __future__ import annotations

from typing import NamedTuple

from perhop.deploy.marks import number
from perhop.deploy.ports import Table, octets, several
from perhop.deploy.tree import ONE_RATE, TWO_RATES, Scheduler, shaping
from perhop.units import quantity

_ACKS = "ack_marking: not in the model"


class CannotSayError(ValueError):
    """A conditioner that the model has nothing for; the message is the reason."""


class Rule(NamedTuple):
    """The nearest rule to a conditioner: which packets, what is done, and their scheduler if there is one.

    The model wants a queue between classifier and scheduler; it has the name of the rule.
    """

    name: str
    match: Table
    actions: Table
    scheduler: Scheduler | None = None


def rule(one: Table, packet: int, cannot: list[str]) -> Rule:
    """Return what comes nearest to a conditioner of a resolved file; add what it leaves out to `cannot`.

    A packet has `packet` bytes. CannotSayError says why nothing comes near.
    """
    name, marker = f"conditioner.{one['name']}", one["marker"]
    green = marker["green"]
    if "meter" not in one and green in {"pass", "drop"}:
        # what passes everything marks ACKs, or it would do nothing
        raise CannotSayError(_ACKS if green == "pass" else "a classifier drops nothing")
    if "ack_marking" in one:
        cannot.append(_ACKS)
    match = _match(one["match"], cannot)
    if "meter" not in one and green != "shape":
        return Rule(name, match, {"remark": {"config": {"set-dscp": number(green)}}})
    if one["per"] != "aggregate" and "meter" in one:
        raise CannotSayError(f"per {one['per']}: a policer has one bucket for all")
    config, parts = _policer(one["meter"], marker, packet, cannot) if "meter" in one else _shaper(one, packet)
    return Rule(name, match, {"config": {"target-group": name}}, (config, {name: None}, parts))


def _shaper(one: Table, packet: int) -> tuple[Table, Table]:
    shaper = one["shaper"]
    limit, unit = quantity(shaper["limit"])
    depth = {f"max-queue-depth-{'packets' if unit == 'p' else 'bytes'}": round(limit)}
    return ONE_RATE, shaping(quantity(shaper["rate"])[0], {"bc": octets(shaper["burst"], packet)} | depth)


def _policer(meter: Table, marker: Table, packet: int, cannot: list[str]) -> tuple[Table, Table]:
    kind = meter["kind"]
    if kind not in {"token-bucket", "sr-tcm", "tr-tcm", "tr-tcm-diffserv"}:
        raise CannotSayError(f"meter {kind}: not in the model")
    if meter.get("color_aware"):
        cannot.append("color_aware: a policer looks at no colour that a packet has")
    cir, bc = quantity(meter["cir"])[0], octets(meter["cbs"], packet)
    config: Table = {"cir": str(round(cir)), "bc": bc}
    if kind == "token-bucket":
        config["queuing-behavior"] = "POLICE"
        actions = _actions(marker, conform="green", exceed="red")
        return ONE_RATE, {"one-rate-two-color": {"config": config, **actions}}
    if kind == "sr-tcm":
        pir, be = cir, octets(meter["ebs"], packet)
        cannot.append(
            "meter sr-tcm: pir is cir; whether the second bucket waits for the first is the device's"
        )
    elif kind == "tr-tcm":
        pir, be = quantity(meter["pir"])[0], octets(meter["pbs"], packet)
    else:
        pir, be = cir + quantity(meter["eir"])[0], bc + octets(meter["ebs"], packet)
        cannot.append("meter tr-tcm-diffserv: pir is cir and eir; what is green may use up the peak")
    config |= {"pir": str(round(pir)), "be": be}
    actions = _actions(marker, conform="green", exceed="yellow", violate="red")
    return TWO_RATES, {"two-rate-three-color": {"config": config, **actions}}


def _actions(marker: Table, **colours: str) -> Table:
    made = {}
    for level, colour in colours.items():
        action = marker[colour]
        if action == "shape" or (action == "drop" and level == "conform"):
            raise CannotSayError(f"{colour} {action}: no action of a policer")
        if action != "pass":
            config = {"drop": True} if action == "drop" else {"set-dscp": number(action)}
            made[f"{level}-action"] = {"config": config}
    return made


def _match(match: Table, cannot: list[str]) -> Table:
    made: Table = {}
    for key, wanted in match.items():
        own = several(wanted)
        match key:
            case "mark":
                made["marks"] = [number(one) for one in own]
            case "protocol":
                made["protocol"] = wanted
            case "src_port" | "dst_port":
                side = "source" if key == "src_port" else "destination"
                made[side] = own[0] if own[0] == own[-1] else f"{own[0]}..{own[-1]}"
            case "kind" if wanted == "pure-ack":
                made["pure_acks"] = True
            case _:
                cannot.append(f"{key} {', '.join(own)}: no field of a packet; what fits otherwise is taken")
    return made
