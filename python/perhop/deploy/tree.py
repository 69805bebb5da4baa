"""Parts of OpenConfig's tree of QoS, as RFC 7951 writes them.

Integers of 64 bits are strings, and identities have the name of their module. The key of a list refers to a
leaf of the same name in `config`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from perhop.deploy.ports import Table

FAMILIES = ("IPV4", "IPV6")
"""A classifier is for one of them."""
ONE_RATE, TWO_RATES = (
    {"type": f"openconfig-qos-types:{one}"} for one in ("ONE_RATE_TWO_COLOR", "TWO_RATE_THREE_COLOR")
)
_MATCH = "openconfig-packet-match-types"

Scheduler = tuple[Table, dict[str, int | None], Table]
"""Its leaves, the weights of its queues, and what else it has."""


def entry(name: Any, config: Table | None = None, parts: Table | None = None, key: str = "name") -> Table:
    """Return an entry of a list: its key, the leaves of its `config`, and what else it has."""
    return {key: name, "config": {key: name, **(config or {})}, **(parts or {})}


def listed(container: str, entries: Iterable[Table]) -> Table:
    """Return a list in its container, whose name is the plural of the list's."""
    item = f"{container[:-3]}y" if container.endswith("ies") else container[:-1]
    return {container: {item: list(entries)}}


def policy(name: str, schedulers: Iterable[Scheduler]) -> Table:
    """Return a scheduler policy."""
    made = []
    for sequence, (config, weights, parts) in enumerate(schedulers, 1):
        inputs = []
        for queue, weight in weights.items():
            own = {} if weight is None else {"weight": str(weight)}
            inputs.append(entry(queue, {"input-type": "QUEUE", "queue": queue} | own, key="id"))
        made.append(entry(sequence, config, listed("inputs", inputs) | parts, key="sequence"))
    return entry(name, None, listed("schedulers", made))


def shaping(rate_bit_s: float, more: Table) -> Table:
    """Return the part of a scheduler that holds packets to a rate."""
    config = {"cir": str(round(rate_bit_s)), **more, "queuing-behavior": "SHAPE"}
    return {"one-rate-two-color": {"config": config}}


def classifier(name: str, family: str, terms: Iterable[tuple[Table, Table]]) -> Table:
    """Return a classifier of a family from what its terms match, in order, and their actions."""
    every = [
        {"conditions": conditions, "actions": actions}
        for match, actions in terms
        for conditions in _conditions(family, **match)
    ]
    own = [entry(f"{place:03}", None, one, key="id") for place, one in enumerate(every, 1)]
    return entry(f"{name}.{family}", {"type": family}, listed("terms", own))


def _conditions(
    family: str, marks: list[int] | None = None, protocol: str = "", pure_acks: bool = False, **ports: Any
) -> Iterator[Table]:
    """Go through the conditions of the terms that take some packets: one, of pure ACKs one for each length.

    Those have TCP headers of 20 to 60 bytes behind one of IP without options or extensions; the length of
    IPv6 leaves its own header out.
    """
    network: Table = {"dscp-set": marks} if marks else {}
    transport = {f"{side}-port": wanted for side, wanted in ports.items()}
    lengths: list[Table] = [{}]
    if pure_acks:
        before, protocol = 20 if family == "IPV4" else 0, "tcp"
        lengths = [{"length": before + size} for size in range(20, 61, 4)]
        transport |= {
            "detail-mode": "EXPLICIT",
            "explicit-detail-match-mode": "ALL",
            "explicit-tcp-flags": [f"{_MATCH}:TCP_ACK"],
        }
    if protocol:
        network["protocol"] = f"{_MATCH}:IP_{protocol.upper()}"
    for length in lengths:
        parts = {family.lower(): network | length, "transport": transport}
        yield {layer: {"config": config} for layer, config in parts.items() if config}
