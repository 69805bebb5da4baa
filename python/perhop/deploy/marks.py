"""Code points by name, and the map from the mark of data to that of its ACK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Code points that have a name (RFC 2474, 2597, 3246, 5865, 8622).
NAMED = {
    "BE": 0,
    "LE": 1,
    "VA": 44,
    "EF": 46,
    **{f"CS{n}": 8 * n for n in range(8)},
    **{f"AF{c}{p}": 8 * c + 2 * p for c in range(1, 5) for p in range(1, 4)},
}
_NAMES = {number: name for name, number in reversed(NAMED.items())}

TRIGGERING = "triggering-segment"


def number(mark: str) -> int:
    """Return a code point as a number from 0 to 63, from its name or its number."""
    return NAMED[mark] if mark in NAMED else int(mark)


def name(dscp: int) -> str:
    """Return a code point's name, or its number where it has none."""
    return _NAMES.get(dscp, str(dscp))


@dataclass(frozen=True, order=True)
class Marking:
    """Which mark a pure ACK gets."""

    given: tuple[int, ...]
    """The mark of the ACK for each of the 64 marks of data."""
    rule: str = TRIGGERING
    """Whose mark counts, of several segments that one ACK answers."""

    @property
    def fixed(self) -> int | None:
        """The mark, where all ACKs get the same."""
        return self.given[0] if len(set(self.given)) == 1 else None

    def __str__(self) -> str:
        if self.fixed is not None:
            return f"every ACK {name(self.fixed)}"
        what = "the mark of the data"
        if self.given != tuple(range(64)):
            named = [f"{name(data)} to {name(ack)}" for data, ack in enumerate(self.given) if ack]
            what = f"by the mark of the data: {', '.join(named)}, all else BE"
        return what if self.rule == TRIGGERING else f"{what}, {self.rule}"


COPY = Marking(tuple(range(64)))


def fixed(dscp: int) -> Marking:
    """Return the marking that gives every ACK one mark."""
    return Marking((dscp,) * 64)


def marking(table: Mapping[str, Any], class_: str) -> Marking:
    """Return the meaning of an `ack_marking` table of a resolved file for a flow of a class."""
    marks = {key: number(mark) for key, mark in table.get("marks", {}).items()}
    match table["kind"]:
        case "best-effort":
            return fixed(0)
        case "per-class":
            return fixed(marks.get(class_, 0))
        case "per-mark":
            by_data = {number(data): ack for data, ack in marks.items()}
            found = Marking(tuple(by_data.get(data, 0) for data in range(64)), table["rule"])
            return found if found.fixed is None else fixed(found.given[0])
        case "copy":
            return Marking(COPY.given, table["rule"])
        case kind:
            raise ValueError(f"ack_marking of kind {kind} is not known")
