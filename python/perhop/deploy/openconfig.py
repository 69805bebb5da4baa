"""The QoS configuration of OpenConfig that comes nearest to a node's ports and conditioners.

The model is `openconfig-qos.yang` 2.2.0. A port classifies what leaves, so its classifier is at the output of
an interface; conditioners are at the input of those that their packets come by.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from perhop.deploy import tree
from perhop.deploy.conditioners import CannotSayError, Rule, rule
from perhop.deploy.ports import Node, Table, has_a_rate, octets, rates, selectors, several
from perhop.models.network import is_member
from perhop.scenario.scenario import LinkView
from perhop.units import quantity

_WEIGHTS = {"drr": "quantum", "wrr": "weight", "wfq": "weight"}
"""What the classes of a scheduler have as weights."""
_SAID = {"kind", "data", "share", "name", "match", "queue", "ceil", "cburst", "bounded"}
"""What weights and ceilings say of a scheduler and its classes, beside `rate` of a class."""


class Configuration:
    """The configuration of a node."""

    def __init__(self, asked: Node) -> None:
        self._packet = asked.packet
        self._lists: dict[str, dict[str, Table]] = {}
        self.interfaces: dict[str, Table] = {}
        """By the node at the other end of the link."""
        self.cannot: list[str] = []
        """What is not said, each with what comes nearest."""
        for link, table in asked.ports:
            self._port(link, table)
        for end, why in asked.wandering.items():
            self._tell(f"to {end}", [f"--shape: {why}"])
        self._conditioners(asked)

    def document(self, names: Mapping[str, str]) -> Table:
        """Return the tree from its root, with names for the interfaces."""
        own = []
        for end, parts in self.interfaces.items():
            name = names[end]
            parts = {"interface-ref": {"config": {"interface": name}}, **parts}
            own.append(tree.entry(name, None, parts, key="interface-id"))
        made = tree.listed("interfaces", own)
        for container, entries in self._lists.items():
            made |= tree.listed(container, entries.values())
        return {"openconfig-qos:qos": made}

    def _put(self, container: str, made: Table) -> str:
        self._lists.setdefault(container, {})[made["name"]] = made
        return str(made["name"])

    def _group(self, name: str) -> None:
        """Have a forwarding group, and the queue of the same name that it goes to."""
        self._put("queues", tree.entry(name))
        self._put("forwarding-groups", tree.entry(name, {"output-queue": name}))

    def _classifiers(self, name: str, terms: list[tuple[Table, Table]], cannot: list[str]) -> Table:
        """Have a classifier for each family; return what refers to them at an interface."""
        if any(match.get("pure_acks") for match, _ in terms):
            cannot.append("pure-ack: by length and flag, so SYN-ACKs and segments of a few bytes count too")
        references = []
        for family in tree.FAMILIES:
            called = self._put("classifiers", tree.classifier(name, family, terms))
            references.append(tree.entry(family, {"name": called}, key="type"))
        return tree.listed("classifiers", references)

    def _policy(self, name: str, schedulers: Iterable[tree.Scheduler]) -> Table:
        """Have a policy; return what refers to it at an interface."""
        self._put("scheduler-policies", tree.policy(name, schedulers))
        return {"scheduler-policy": {"config": {"name": name}}}

    def _tell(self, where: str, cannot: list[str]) -> None:
        self.cannot += [f"{where}: {why}" for why in dict.fromkeys(cannot)]

    def _port(self, link: LinkView, table: Table) -> None:
        path, cannot = link.port.path, list[str]()
        queues, buffers = [], []
        for one in table["class"]:
            name, queue = one["name"], one["queue"]
            self._group(name)
            refers: Table = {}
            if profile := _wred(queue, self._packet, cannot):
                parts = {"wred": {"uniform": {"config": profile}}}
                called = self._put("queue-management-profiles", tree.entry(f"{path}.{name}", None, parts))
                refers = {"queue-management-profile": called}
            queues.append(tree.entry(name, refers))
            if "limit" in queue:
                size = str(octets(queue["limit"], self._packet))
                buffers.append(tree.entry(name, {"dedicated-buffer": size, "use-shared-buffer": False}))
        self._put("buffer-allocation-profiles", tree.entry(path, None, tree.listed("queues", buffers)))
        self.interfaces.setdefault(link.target, {})["output"] = {
            "config": {"buffer-allocation-profile": path},
            **self._classifiers(path, list(_terms(table["class"])), cannot),
            **tree.listed("queues", queues),
            **self._policy(path, self._held(path, table, link.rate_bit_s, cannot)),
        }
        self._tell(f"to {link.target}", cannot)

    def _held(self, path: str, table: Table, rate_bit_s: float, cannot: list[str]) -> list[tree.Scheduler]:
        """Return the schedulers of a port, behind them its shaper if it has one; CAKE shapes by itself."""
        classes, first = table["class"], table["class"][0]["queue"]
        shaper = table.get("shaper") or (first if len(classes) == 1 and "rate" in first else None)
        if shaper is None:
            return _schedulers(table, rate_bit_s, self._packet, cannot)
        rate = quantity(shaper["rate"])[0]
        if any(octets(shaper.get(key, "0B")) for key in ("overhead", "mpu")):
            cannot.append("shaper: overhead and mpu: no leaf of the model")
        shaping = tree.shaping(rate, {"bc": octets(shaper["burst"])} if "burst" in shaper else {})
        schedulers = _schedulers(table, min(rate_bit_s, rate), self._packet, cannot)
        if len(classes) == 1 and not has_a_rate(table):
            return [(tree.ONE_RATE, weights, shaping) for _, weights, _ in schedulers]
        self._policy(f"{path}.shaper", [(tree.ONE_RATE, {}, shaping)])
        child = {"output": {"config": {"output-type": "SCHEDULER", "child-scheduler": f"{path}.shaper"}}}
        return [(config, weights, parts | child) for config, weights, parts in schedulers]

    def _conditioners(self, asked: Node) -> None:
        found: dict[str, list[Rule]] = {}
        for one in asked.conditioners:
            ends = [end for end in asked.neighbours if any(is_member(end, by) for by in several(one["from"]))]
            cannot: list[str] = []
            try:
                made = rule(one, self._packet, cannot)
            except CannotSayError as error:
                cannot.append(str(error))
            else:
                if made.scheduler and len(ends) > 1:
                    cannot.append(f"one meter or shaper for {len(ends)} interfaces: each has its own")
                for end in ends:
                    found.setdefault(end, []).append(made)
            self._tell(f"conditioner {one['name']}", cannot)
        for end, rules in found.items():
            name, cannot = "+".join(one.name for one in rules), []
            if len(rules) > 1:
                cannot.append("a packet passes the first of them alone that it fits")
            own = self._classifiers(name, [(one.match, one.actions) for one in rules], cannot)
            metered = {one.name: one.scheduler for one in rules if one.scheduler}
            for each in metered:
                self._group(each)
            if metered:
                own |= self._policy(name, metered.values())
            self.interfaces.setdefault(end, {})["input"] = own
            self._tell(name, cannot)


def _terms(classes: list[Table]) -> Iterator[tuple[Table, Table]]:
    """Go through what the terms of a port match, the code points of a class together, and their actions."""
    found = groupby(selectors(classes), lambda one: (one[1], "" if isinstance(one[0], int) else one[0]))
    for (place, word), run in found:
        match = {"marks": [mark for mark, _ in run if not word], "pure_acks": word == "pure-ack"}
        yield match, {"config": {"target-group": classes[place - 1]["name"]}}


def _schedulers(table: Table, rate_bit_s: float, packet: int, cannot: list[str]) -> list[tree.Scheduler]:
    scheduler, classes = table["scheduler"], table["class"]
    kind, names = scheduler["kind"], [one["name"] for one in classes]
    if len(classes) == 1 and not has_a_rate(table):
        return [({}, {names[0]: None}, {})]
    if kind == "strict-priority":
        return [({"priority": "STRICT"}, dict(zip(names, range(len(names), 0, -1), strict=True)), {})]
    if kind in _WEIGHTS:
        cannot.append(f"scheduler {kind}: whether weights share bytes or packets is the device's")
        return [({}, _ratio(names, [octets(str(one[_WEIGHTS[kind]]), packet) for one in classes]), {})]
    own = rates(table, rate_bit_s)
    weights = _ratio(names, [round(own[name][0]) for name in names])
    free = {name: weights[name] for name in names if own[name][1] >= rate_bit_s}
    schedulers: list[tree.Scheduler] = [({}, free, {})] if free else []
    for one in classes:
        if (name := one["name"]) not in free:
            burst = {"bc": octets(one["cburst"])} if "cburst" in one else {}
            ceiling = tree.shaping(own[name][1], burst)
            schedulers.append((tree.ONE_RATE, {name: weights[name]}, ceiling))
    cannot.append(f"scheduler {kind}: not in the model; weights in the ratio of the rates come nearest")
    if len(schedulers) > 1:
        cannot.append("a class with a ceiling has its own scheduler: how weights compare is the device's")
    left = {f"scheduler.{key}" for key in scheduler.keys() - _SAID}
    left |= {key for one in classes for key in one.keys() - _SAID - {"rate"}}
    if left:
        cannot.append(f"scheduler {kind}: {', '.join(sorted(left))}: no leaf of the model")
    return schedulers


def _ratio(names: list[str], weights: list[int]) -> dict[str, int | None]:
    """Return the smallest whole weights in the ratio of some."""
    least = math.gcd(*weights)
    return {name: one // least for name, one in zip(names, weights, strict=True)}


def _wred(queue: Table, packet: int, cannot: list[str]) -> Table:
    """Return the leaves of a queue's WRED; none where it drops by its limit alone, in the model at least."""
    kind, sizes = queue["kind"], [queue.get("limit", "0B")]
    curve: Table | None = queue if kind == "red" else queue["green"] if kind in {"gred", "rio"} else None
    profile: Table = {}
    if queue.get("ack_filter", "off") != "off":
        cannot.append("ack_filter: not in the model")
    if curve is not None:
        sizes += [curve["min_th"], curve["max_th"]]
        max_p, w_q = curve["max_p"], curve["w_q"] if "w_q" in curve else queue["w_q"]
        percent, exponent = max(1, round(100 * max_p)), round(-math.log2(w_q))
        profile = {
            "min-threshold": str(octets(curve["min_th"], packet)),
            "max-threshold": str(octets(curve["max_th"], packet)),
            "max-drop-probability-percent": percent,
            "weight": exponent,
            "enable-ecn": queue["ecn"],
            "drop": True,
        }
        for what, asked, said in (("max_p", max_p, percent / 100), ("w_q", w_q, 2.0**-exponent)):
            if asked != said:
                cannot.append(f"queue {kind}: {what} {asked:g} is written as {said:g}")
        if kind != "red":
            cannot.append(f"queue {kind}: one curve for all colours, that of green")
        if left := [key for key in ("gentle", "byte_mode", "conventions", "mean_packet") if queue.get(key)]:
            cannot.append(f"queue {kind}: {', '.join(left)}: no leaf of the model")
    elif kind != "fifo":
        cannot.append(f"queue {kind}: not in the model; tail drop at its limit comes nearest")
    if any(size.endswith("p") for size in sizes):
        cannot.append(f"limits and thresholds in packets are of {packet} bytes each")
    return profile
