"""Rules for nftables that mark pure ACKs, where they are sent or forwarded: the table `inet perhop_ackmark`.

Of a connection the mark of the last data that came in is kept in the highest byte of its conntrack mark; the
other bits are left alone. A router keeps that of each direction, in the two highest bytes, and answers an ACK
by the data of the other. Only a pure ACK is as long as its headers. nft 1.0.6 can neither compute that, nor
take `tcp doff` into a set, nor set a code point from a map: there is a rule for each length of options and a
chain for each mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from perhop.deploy.acks import Selector
from perhop.deploy.marks import TRIGGERING, Marking

TABLE = "inet perhop_ackmark"

_BYTES = {"original": 24, "reply": 16}
"""Bit at which the mark of data is kept, by its direction; a host keeps it as of `original`."""

_OTHER = {"original": "reply", "reply": "original"}
_SEEN = 0x80
"""Set beside the mark, so that best effort differs from no data."""

_OPTIONS = range(5, 16)
"""Words of a TCP header."""


def rules(
    asked: Mapping[Marking, Sequence[Selector]], comments: Sequence[str] = (), *, forwarded: bool = False
) -> str:
    """Return a rule set for `nft -f`, of a host or of a router that the ACKs pass (`forwarded`).

    A marking without selectors is for all connections. A `ValueError` names a rule for covered segments that
    nftables cannot follow.
    """
    markings = list(asked)
    if wrong := [one.rule for one in markings if one.fixed is None and one.rule != TRIGGERING]:
        raise ValueError(f"nftables cannot follow {wrong[0]}")
    lines = [*(f"# {comment}" for comment in comments), f"table {TABLE} {{"]
    used = sorted({ack for one in markings for ack in one.given})
    lines += [f"  chain mark_{dscp} {{ ip dscp set {dscp}; ip6 dscp set {dscp}; }}" for dscp in used]
    if any(one.fixed is None for one in markings):
        lines += _remember(forwarded)
    for place, one in enumerate(markings):
        lines += _answer(place, one, forwarded)
    lines += ["  chain ack {", *_choose(asked), "  }"]
    hook = "forward" if forwarded else "output"
    lines += ["  chain out {", f"    type filter hook {hook} priority mangle; policy accept;"]
    lines += [f"    tcp flags & (syn|fin|rst|ack) == ack {length} goto ack" for length in _without_payload()]
    return "\n".join([*lines, "  }", "}", ""])


def _without_payload() -> Iterator[str]:
    for words in _OPTIONS:
        yield f"tcp doff {words} ip hdrlength 5 ip length {20 + 4 * words}"
    for words in _OPTIONS:
        yield f"tcp doff {words} ip6 length {4 * words}"


def _remember(forwarded: bool) -> list[str]:
    names = {"original": "data", "reply": "reply"} if forwarded else {"original": "data"}
    lines = []
    for way, name in names.items():
        others = ~(0xFF << _BYTES[way]) & 0xFFFFFFFF
        lines += [
            f"  chain {name}_{dscp} {{ ct mark set ct mark & {others:#010x} | {_mark(dscp, way)}; }}"
            for dscp in range(64)
        ]
        chosen = ", ".join(f"{dscp} : goto {name}_{dscp}" for dscp in range(64))
        lines += [
            f"  chain {name} {{",
            f"    ip dscp vmap {{ {chosen} }}",
            f"    ip6 dscp vmap {{ {chosen} }}",
            "  }",
        ]
    ends = [f"    ct direction {way} goto {name}" for way, name in names.items()]
    return [
        *lines,
        "  chain in {",
        f"    type filter hook {'forward' if forwarded else 'input'} priority mangle; policy accept;",
        "    meta l4proto != tcp return",
        *(f"    {length} return" for length in _without_payload()),
        *(ends if forwarded else ["    goto data"]),
        "  }",
    ]


def _answer(place: int, marking: Marking, forwarded: bool) -> list[str]:
    """Return the chain that counts an ACK and marks it by the data remembered, else best effort."""
    head = [f"  chain answer_{place} {{", "    counter"]
    if marking.fixed is not None:
        return [*head, f"    goto mark_{marking.fixed}", "  }"]
    ways = {way: f"ct direction {way} " for way in _BYTES} if forwarded else {"reply": ""}
    lines = []
    for way, when in ways.items():
        data = _OTHER[way]
        chosen = ", ".join(f"{_mark(dscp, data)} : goto mark_{ack}" for dscp, ack in enumerate(marking.given))
        lines.append(f"    {when}ct mark & {0xFF << _BYTES[data]:#010x} vmap {{ {chosen} }}")
    return [*head, *lines, f"    goto mark_{marking.given[0]}", "  }"]


def _mark(dscp: int, way: str) -> str:
    return f"{(_SEEN | dscp) << _BYTES[way]:#010x}"


def _choose(asked: Mapping[Marking, Sequence[Selector]]) -> Iterator[str]:
    for place, selectors in enumerate(asked.values()):
        for chosen in [f"{one.nft()} " for one in selectors] or [""]:
            yield f"    {chosen}goto answer_{place}"
