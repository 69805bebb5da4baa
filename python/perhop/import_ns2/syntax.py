"""Tcl's commands, words and substitutions as values. Nothing here is executed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Literal:
    """Text as it stands."""

    text: str


@dataclass(frozen=True)
class Variable:
    """``$name``, or ``$name(index)``."""

    name: str
    index: tuple[Part, ...] | None = None


@dataclass(frozen=True)
class Bracket:
    """``[commands]``."""

    commands: tuple[Command, ...]


Part = Literal | Variable | Bracket


@dataclass(frozen=True)
class Word:
    """A word and its parts; in braces nothing is substituted."""

    line: int
    parts: tuple[Part, ...]
    braced: bool = False

    @property
    def plain(self) -> str | None:
        """Its text where nothing is substituted."""
        if all(isinstance(part, Literal) for part in self.parts):
            return "".join(part.text for part in self.parts if isinstance(part, Literal))
        return None


@dataclass(frozen=True)
class Command:
    """A command: its words, where it begins, and its text."""

    line: int
    text: str
    words: tuple[Word, ...]
