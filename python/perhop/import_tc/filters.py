"""Which packets a filter takes, as far as ports of perhop tell them apart: by mark, and ACKs without data.

iproute2 7.1, `tc/f_u32.c`, `f_flower.c`, `f_matchall.c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from perhop.deploy.marks import name
from perhop.import_ns2.remarks import Refused
from perhop.import_tc.reading import Id, Part, ident

Kind = tuple[int, bool]
"""A kind of packets: the code point, and whether it is an ACK without data."""

ALL: frozenset[Kind] = frozenset((mark, ack) for mark in range(64) for ack in (False, True))

_FIELDS = {"ip dsfield": (8, 1), "ip tos": (8, 1), "ip precedence": (8, 1), "ip protocol": (8, 9)}
_FIELDS |= {"ip6 protocol": (8, 6), "ip6 priority": (12, 0), "u8": (8, 0), "u16": (16, 0), "u32": (32, 0)}
"""Bits and offset of what is compared; the traffic class of IPv6 ends 12 bits behind the start."""
_MATCH = re.compile(rf"match ({'|'.join(_FIELDS)}) (\S+) (\S+)(?: at (\d+))?(?= |$)")
_TOS = re.compile(r"ip_tos (\w+)(?:/(\w+))?(?= |$)")
_BESIDE = re.compile(r"\b(?:not_in_hw|skip_hw|skip_sw)\b|match ip6? (?:src|dst) \S+/0(?= |$)")
"""What says nothing of packets; an address of which no bit counts takes all."""
_GOAL = re.compile(r"(?:flowid|classid) (\S+)")


def target(part: Part) -> Id | None:
    """Return the class that a filter leads to."""
    found = _GOAL.search(" ".join(part.options["words"]))
    return ident(found[1]) if found else None


def compared(part: Part) -> list[tuple[tuple[int, int], int, int]]:
    """Return what a filter compares: bits and offset, value, mask; refuse what `tc` would not take."""
    text, found = _words(part), list[tuple[tuple[int, int], int, int]]()
    given = [(*_FIELDS[field], value, mask, at) for field, value, mask, at in _MATCH.findall(text)]
    if is_flower := part.kind == "flower":
        given = [(*_FIELDS["ip tos"], value, mask or "ff", "") for value, mask in _TOS.findall(text)]
    for bits, offset, value, mask, at in given:
        # beside 0x and decimal numbers flower has others by 16, and u32 those with a 0 by 8
        base = 0 if re.fullmatch("0[xX].*|0|[1-9][0-9]*", value) else 16 if is_flower else 8
        try:
            found.append(((bits, int(at or offset)), int(value, base), int(mask, 16)))
        except ValueError:
            raise Refused(f"match {value} {mask}: a value or a mask is not a number") from None
    return found


def _words(part: Part) -> str:
    return _BESIDE.sub("", _GOAL.sub("", " ".join(part.options["words"])))


def taken(part: Part) -> frozenset[Kind]:
    """Return what a filter takes; refuse one that looks at more than marks and ACKs, or does more."""
    if part.kind not in ("u32", "flower", "matchall"):
        raise Refused(f"filters of kind {part.kind}")
    version, chain = part.options.get("protocol", "all"), part.options.get("chain", "0")
    text = _words(part)
    header: dict[int, tuple[int, int]] = {}
    for (bits, offset), value, mask in compared(part):
        shift = 32 - bits - 8 * (offset % 4)
        if shift < 0:
            raise Refused(f"match {value:#x} {mask:#x} at {offset}")
        before = header.get(offset & ~3, (0, 0))
        header[offset & ~3] = before[0] | value << shift, before[1] | mask << shift
    more = (_TOS if part.kind == "flower" else _MATCH).sub("", text).strip()
    if more or chain != "0" or version not in ("all", "ip", "ipv6"):
        raise Refused(more or f"chain {chain}, protocol {version}")
    return _of_header(header, version == "ipv6" and part.kind == "u32")


def _of_header(header: dict[int, tuple[int, int]], is_six: bool) -> frozenset[Kind]:
    """Read comparisons, each a value and a mask of 32 bits of the header, by offset.

    An ACK without data is TCP of less than 128 bytes. The filters of `perhop deploy` and of the Linux
    Advanced Routing HOWTO look at the flag ACK as well, those of wondershaper do not.
    """
    shift, length, protocol, flags = (
        (22, (4, 0xFFFF0000), (4, 0xFF00), 52) if is_six else (18, (0, 0xFFFF), (8, 0xFF0000), 32)
    )
    least = length[1] // 0xFFFF

    def field(word: int, mask: int) -> tuple[int, int]:
        value, own = header.get(word, (0, 0))
        return value & mask, own & mask

    value, mask = (number >> shift for number in field(0, 63 << shift))
    is_tcp = field(*protocol) == (6 * protocol[1] // 255, protocol[1])
    is_short = field(length[0], 0xFF80 * least) == (0, 0xFF80 * least)
    is_ack = is_tcp and is_short and (flags not in header or field(flags, 1 << 20) == (1 << 20, 1 << 20))
    others = {word for word, (_, own) in header.items() if own} - {0}
    if others - ({length[0], protocol[0], flags} if is_ack else set()) or (
        not is_ack and field(0, (1 << shift - 2) - 1)[1]
    ):
        raise Refused("more than the DS field")
    return frozenset((mark, ack) for mark, ack in ALL if mark & mask == value & mask and (ack or not is_ack))


def selectors(kinds: Iterable[Kind], rest: set[Kind]) -> list[str]:
    """Return what a class has to match to get these of the packets that classes before it leave."""
    wanted, found = rest & set(kinds), list[str]()
    choices: dict[str, Iterable[Kind]] = {
        "any": ALL,
        "pure-ack": {one for one in ALL if one[1]},
        "data": {one for one in ALL if not one[1]},
    }
    choices |= {named(mark): {(mark, False), (mark, True)} for mark in range(64)}
    for word, gets in choices.items():
        if wanted.intersection(gets) and rest.intersection(gets) <= set(kinds):
            found.append(word)
            wanted = wanted.difference(gets)
    if wanted:
        raise Refused("its ACKs and its data go to classes in an order that a port does not have")
    return found


def named(mark: int) -> str:
    """Return a code point as scenarios have it; they know neither LE nor VA."""
    found = name(mark)
    return str(mark) if found in ("LE", "VA") else found
