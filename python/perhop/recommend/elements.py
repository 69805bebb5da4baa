"""Queues, schedulers and meters that a scenario can be given in the place of its own."""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from perhop.experiment.factors import Factor
from perhop.recommend.candidates import AS_IT_IS, KINDS_OF_PACKETS, checked, first_marks
from perhop.scenario.overrides import ends, toml
from perhop.units import quantity, split

if TYPE_CHECKING:
    from perhop.scenario.scenario import Scenario

Table = dict[str, Any]

Made = dict[str, tuple[str, ...]]
"""Overrides by candidate that fits somewhere; none where it is there already."""

Thresholds = tuple[int, int, float]
"""The limit over `min_th`, the limit over `max_th`, and `max_p`."""

OF_TODAY = ("codel", "pie", "cobalt", "fq", "cake")
"""Queues that are tried with the settings that they have by default."""

OF_SCHEDULERS = frozenset(
    (
        *("weight", "quantum", "share", "priority", "bounded", "isolated", "maxidle", "minidle", "offtime"),
        *("gain", "rate", "ceil", "burst", "cburst"),
    )
)
"""Settings of a class that some scheduler alone has a use for."""


def elements(kind: str, scenario: Scenario) -> tuple[Factor | None, tuple[str, ...]]:
    """Return a factor with elements of a kind as levels, in the place of the present ones.

    Queues and schedulers are those of the ports that tell packets apart by their marks, all at once; what a
    candidate does not fit stays as it is.

    Parameters
    ----------
    kind
        A key of `TRIED`.

    Returns
    -------
    factor
        Called as the kind; its first level leaves the scenario as it is. None if there is no other.
    left_out
        Candidates that there are not, each with the reason.
    """
    made = TRIED[kind](tomllib.loads(scenario.resolve()))
    levels, left_out = checked(scenario, {AS_IT_IS: ()} | {name: of for name, of in made.items() if of})
    left_out += [f"{name}: {why}" for name, why in _WHY[kind].items() if name not in made]
    factor = Factor(kind, tuple(levels)) if len(levels) > 1 else None
    return factor, tuple(left_out)


def _ports(resolved: Table) -> Iterator[tuple[str, Table]]:
    """Return the ports with classes by mark, by their paths."""
    for port in resolved.get("port", []):
        if first_marks(port):
            yield f"port.{ends(port)}", port


def _queues(resolved: Table) -> Made:
    found = defaultdict[str, list[str]](list)
    for path, port in _ports(resolved):
        for one in port["class"]:
            queue, marks = one["queue"], [word for word in one["match"] if word not in KINDS_OF_PACKETS]
            if "limit" not in queue:
                continue
            made: dict[str, Table] = {"fifo": {}}
            if marks != ["EF"]:
                made["red"] = _early(queue["limit"], 6, 2, 0.1) | {"gentle": True}
                made |= {kind: {} for kind in OF_TODAY}
            precedences = max((len(of) for of in _precedences(marks).values()), default=0)
            if precedences >= 2:
                made["rio"] = _colors(queue["limit"], green=(2, 1, 0.02), red=(6, 2, 0.1))
            if precedences >= 3:
                made["gred"] = _colors(queue["limit"], (2, 1, 0.02), (8, 4, 0.1), yellow=(4, 2, 0.05))
                made["gred"]["averaging"] = "coupled"
            for kind, settings in made.items():
                table = {"kind": kind, "limit": queue["limit"], **settings}
                change = f"{path}.class.{one['name']}.queue={toml(table, path)}"
                found[kind] += [change] if kind != queue["kind"] else []
    return {name: tuple(sets) for name, sets in found.items()}


def _early(limit: str, below: int, above: int, most: float) -> Table:
    """Return the thresholds of early detection as parts of a limit: 1/below and 1/above of it."""
    amount, unit = quantity(limit)
    low, high = (f"{max(1, math.floor(amount / part))}{unit}" for part in (below, above))
    return {"min_th": low, "max_th": high, "max_p": most}


def _colors(limit: str, green: Thresholds, red: Thresholds, yellow: Thresholds | None = None) -> Table:
    given = {"green": green, "red": red} | ({"yellow": yellow} if yellow else {})
    return {color: _early(limit, *parts) for color, parts in given.items()}


def _precedences(marks: list[str]) -> dict[str, set[str]]:
    """Return the drop precedences among marks, by AF class."""
    found: dict[str, set[str]] = {}
    for mark in marks:
        if mark.startswith("AF"):
            found.setdefault(mark[:-1], set()).add(mark[-1])
    return found


def _schedulers(resolved: Table) -> Made:
    found = defaultdict[str, list[str]](list)
    longest = _longest(resolved)
    for path, port in _ports(resolved):
        shares = _shares(port)
        percents = [max(1, round(100 * share)) for share in shares]
        settings: dict[str, list[Table]] = {
            "strict-priority": [{} for _ in shares],
            "wrr": [{"weight": one // math.gcd(*percents)} for one in percents],
            "drr": [{"quantum": f"{round(longest * share / min(shares))}B"} for share in shares],
            "wfq": [{"weight": one // math.gcd(*percents)} for one in percents],
            # rounded down, or all together may exceed the link
            "cbq": [{"share": math.floor(1e6 * share) / 1e6} for share in shares],
        }
        for kind, of_classes in settings.items() if len(shares) > 1 else ():
            if kind == port["scheduler"]["kind"]:
                found[kind] += []
                continue
            classes = [
                {key: value for key, value in one.items() if key not in OF_SCHEDULERS} | own
                for one, own in zip(port["class"], of_classes, strict=True)
            ]
            found[kind] += [
                f"{path}.scheduler={toml({'kind': kind}, path)}",
                f"{path}.class={toml(classes, path)}",
            ]
    return {name: tuple(sets) for name, sets in found.items()}


def _shares(port: Table) -> list[float]:
    """Return the share of a port that its scheduler gives each class; equal where it has none."""
    scheduler, classes = port["scheduler"], port["class"]
    of: Callable[[Table], float] = {
        "wrr": lambda one: float(one["weight"]),
        "wfq": lambda one: float(one["weight"]),
        "drr": lambda one: quantity(one["quantum"])[0],
        "cbq": lambda one: float(one["share"]),
        "htb": lambda one: quantity(one["rate"])[0],
        "paired-counter": lambda one: (
            scheduler["share"] if one["name"] == scheduler["data"] else 1.0 - scheduler["share"]
        ),
    }.get(scheduler["kind"], lambda one: 1.0)
    total = math.fsum(of(one) for one in classes)
    return [of(one) / total for one in classes]


def _longest(resolved: Table) -> float:
    """Return the length of the longest packet that is sent, in bytes."""
    tcp = [quantity(one["tcp"]["mss"])[0] + quantity(one["tcp"]["header"])[0] for one in resolved["flow"]]
    return max([*tcp, *(quantity(one["packet_size"])[0] for one in resolved.get("udp", []))])


def _meters(resolved: Table) -> Made:
    found = defaultdict[str, list[str]](list)
    taken = [one["match"] for _, port in _ports(resolved) for one in port["class"]]
    for one in resolved.get("conditioner", []):
        meter, path = one.get("meter", {}), f"conditioner.{one['name']}"
        if "cbs" not in meter:
            continue
        colors = {key: meter[key] for key in ("color_aware", "colors") if key in meter}
        made: dict[str, Table] = {
            "token-bucket": {},
            "sr-tcm": {"ebs": meter["cbs"], **colors},
            "tr-tcm": {"pir": _twice(meter["cir"]), "pbs": _twice(meter["cbs"]), **colors},
            "tsw3cm": {"pir": _twice(meter["cir"])},
        }
        green = str(one["marker"]["green"])
        worse = f"{green[:-1]}2"
        alike = green.startswith("AF") and green[-1] == "1" and any({green, worse} <= {*of} for of in taken)
        if meter["kind"] == "token-bucket" and not alike:
            del made["sr-tcm"], made["tr-tcm"], made["tsw3cm"]
        for kind, settings in made.items():
            marker = dict(one["marker"])
            if kind == "token-bucket":
                del marker["yellow"]
            elif meter["kind"] == "token-bucket":
                marker["yellow"] = worse
            burst = {} if kind == "tsw3cm" else {"cbs": meter["cbs"]}
            table = {"kind": kind, "cir": meter["cir"], **burst, **settings}
            changes = [f"{path}.meter={toml(table, path)}"]
            changes += [f"{path}.marker={toml(marker, path)}"] if marker != one["marker"] else []
            found[kind] += changes if kind != meter["kind"] else []
    return {name: tuple(sets) for name, sets in found.items()}


def _twice(text: str) -> str:
    number, unit = split(text)
    return f"{2 * number:.15g}{unit}"


TRIED: dict[str, Callable[[Table], Made]] = {
    "queue": _queues,
    "scheduler": _schedulers,
    "meter": _meters,
}
"""What can be tried beside ACK markings."""

_ALIKE = "no meter with cbs has a green AFx1 that shares a class with AFx2, so that yellow would be red"
_EARLY = "no class that looks at marks has a limit and is not EF's alone"
_WHY = {
    "queue": {
        "fifo": "no class that looks at marks has a limit",
        **dict.fromkeys(("red", *OF_TODAY), _EARLY),
        "rio": "no class with a limit takes two drop precedences of an AF class",
        "gred": "no class with a limit takes three drop precedences of an AF class",
    },
    "scheduler": dict.fromkeys(
        ("strict-priority", "wrr", "drr", "wfq", "cbq"), "no port that looks at marks has two classes"
    ),
    "meter": {
        "token-bucket": "no conditioner has a meter with cbs",
        **dict.fromkeys(("sr-tcm", "tr-tcm", "tsw3cm"), _ALIKE),
    },
}
"""Why a candidate may fit nowhere; of one that is everywhere already there is nothing to tell."""
