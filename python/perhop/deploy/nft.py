"""Rules for nftables that mark pure ACKs where they are sent: the table `inet perhop_ackmark`.

Of a connection the mark of the last data that came in is kept in the highest byte of its conntrack mark; the
other bits are left alone. Only a pure ACK is as long as its headers. nft 1.0.6 can neither compute that, nor
take `tcp doff` into a set, nor set a code point from a map: there is a rule for each length of options and a
chain for each mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perhop.deploy.marks import TRIGGERING, Marking

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from perhop.deploy.asked import Selector

TABLE = "inet perhop_ackmark"

_KEPT, _OURS = 0x00FFFFFF, 0xFF000000
_SEEN = 0x80
"""Set beside the mark, so that best effort differs from no data."""

_OPTIONS = range(5, 16)
"""Words of a TCP header."""


def rules(asked: Mapping[Marking, Sequence[Selector]], comments: Sequence[str] = ()) -> str:
    """Return a rule set for `nft -f`.

    Parameters
    ----------
    asked
        Markings, each with which connections it is for; no selectors are all connections.
    comments
        Lines at the top.

    Raises
    ------
    ValueError
        A marking has a rule for covered segments that nftables cannot follow.
    """
    markings = list(asked)
    wrong = [one.rule for one in markings if one.fixed is None and one.rule != TRIGGERING]
    if wrong:
        raise ValueError(f"nftables cannot follow {wrong[0]}")
    lines = [*(f"# {comment}" for comment in comments), f"table {TABLE} {{"]
    used = sorted({ack for one in markings for ack in one.given})
    lines += [f"  chain mark_{dscp} {{ ip dscp set {dscp}; ip6 dscp set {dscp}; }}" for dscp in used]
    if any(one.fixed is None for one in markings):
        lines += _remember()
    for place, one in enumerate(markings):
        lines += _answer(place, one)
    lines += ["  chain ack {", *_choose(asked), "  }"]
    lines += ["  chain out {", "    type filter hook output priority mangle; policy accept;"]
    lines += [f"    tcp flags & (syn|fin|rst|ack) == ack {length} goto ack" for length in _without_payload()]
    return "\n".join([*lines, "  }", "}", ""])


def _without_payload() -> Iterator[str]:
    for words in _OPTIONS:
        yield f"tcp doff {words} ip hdrlength 5 ip length {20 + 4 * words}"
    for words in _OPTIONS:
        yield f"tcp doff {words} ip6 length {4 * words}"


def _remember() -> list[str]:
    marks = range(64)
    kept = [
        f"  chain data_{dscp} {{ ct mark set ct mark & {_KEPT:#010x} | {_mark(dscp)}; }}" for dscp in marks
    ]
    chosen = ", ".join(f"{dscp} : goto data_{dscp}" for dscp in marks)
    return [
        *kept,
        "  chain data {",
        f"    ip dscp vmap {{ {chosen} }}",
        f"    ip6 dscp vmap {{ {chosen} }}",
        "  }",
        "  chain in {",
        "    type filter hook input priority mangle; policy accept;",
        "    meta l4proto != tcp return",
        *(f"    {length} return" for length in _without_payload()),
        "    goto data",
        "  }",
    ]


def _answer(place: int, marking: Marking) -> list[str]:
    """Return the chain that marks an ACK by the data remembered, else best effort."""
    head = f"  chain answer_{place} {{"
    if marking.fixed is not None:
        return [head, f"    goto mark_{marking.fixed}", "  }"]
    chosen = ", ".join(f"{_mark(data)} : goto mark_{ack}" for data, ack in enumerate(marking.given))
    return [
        head,
        f"    ct mark & {_OURS:#010x} vmap {{ {chosen} }}",
        f"    goto mark_{marking.given[0]}",
        "  }",
    ]


def _mark(dscp: int) -> str:
    return f"{(_SEEN | dscp) << 24:#010x}"


def _choose(asked: Mapping[Marking, Sequence[Selector]]) -> Iterator[str]:
    for place, selectors in enumerate(asked.values()):
        for one in selectors:
            yield f"    {one.nft()} goto answer_{place}".replace("     ", "    ")
        if not selectors:
            yield f"    goto answer_{place}"
