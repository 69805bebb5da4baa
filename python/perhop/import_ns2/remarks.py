"""Parts of a script that are refused or left out, and the reason in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MOST_SHOWN = 100
"""Characters of a line that a remark or a comment shows."""
MOST_LEFT_OUT = 20
"""Remarks that the head of a file repeats."""


class Refused(Exception):
    """A command that cannot be taken: the reason in a sentence, and its line if that is another one."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.line = line


class LeftOut(Exception):
    """A command without an effect on results; the text is its purpose."""


def need(holds: bool, form: str) -> None:
    """Refuse a command that is not in the form in which it is taken."""
    if not holds:
        raise Refused(f"it is taken in the form `{form}`")


class Remark(NamedTuple):
    """A line of the script and the remark on it."""

    line: int
    """Its number, from 1; 0 where no line is meant."""
    text: str
    """The line, cut to one line of `MOST_SHOWN` characters."""
    why: str

    def __str__(self) -> str:
        shown = f": {self.text}" if self.text else ""
        return f"line {self.line}{shown}: {self.why}" if self.line else self.why


def shown(text: str) -> str:
    """Return the first line of a command as messages and comments repeat it."""
    first = text.strip().partition("\n")[0]
    plain = "".join(char if char.isprintable() else " " for char in first).strip()
    return plain if len(plain) <= MOST_SHOWN else f"{plain[: MOST_SHOWN - 3]}..."


def listed(left_out: Sequence[Remark], what: str) -> list[str]:
    """Return comments for the head of a file: the first remarks, and how many more there are."""
    lines = ["#", f"# {what}:", *(f"#   {remark}" for remark in left_out[:MOST_LEFT_OUT])] if left_out else []
    more = len(left_out) - MOST_LEFT_OUT
    return [*lines, f"#   and {more} more"] if more > 0 else lines


class Remarks:
    """Remarks in the order of lines, each once, however often a loop comes by."""

    def __init__(self) -> None:
        self._seen: dict[Remark, None] = {}

    def add(self, line: int, text: str, why: str) -> None:
        """Add one."""
        self._seen.setdefault(Remark(line, shown(text), why))

    def __bool__(self) -> bool:
        return bool(self._seen)

    def sorted(self) -> tuple[Remark, ...]:
        """Return them by line."""
        return tuple(sorted(self._seen, key=lambda remark: remark.line))
