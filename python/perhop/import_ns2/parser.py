"""A parser of Tcl scripts: commands, words, substitutions. Nothing here is executed.

Rules: the manual page Tcl(n) of Tcl 8.6. ``{*}`` is refused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from perhop.import_ns2.remarks import Refused

MOST_NESTED = 25
"""Brackets within brackets."""

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_BLANK = " \t\r\f\v"
_ENDS = _BLANK + "\n;"
_JOIN = re.compile(r"\\\r?\n[ \t]*")
"""A backslash that joins a line to the next."""
_BLANKS = re.compile(rf"(?:[{_BLANK}]|{_JOIN.pattern})*")
_BETWEEN = re.compile(rf"(?:[{_ENDS}]|{_JOIN.pattern}|#(?:\\\n|[^\n])*)*")
"""What is between commands, with comments."""
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9_:]+")


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


class Parsed(NamedTuple):
    """The commands of a script, and the unreadable ones."""

    commands: tuple[Command, ...]
    mistakes: tuple[Refused, ...]


@lru_cache(maxsize=2000)
def parse(text: str, line: int = 1) -> Parsed:
    """Parse a script that begins at a line.

    After a mistake in a line the next one is read; what is never closed ends the script.
    """
    return _Parser(text, line).script()


class _Unclosed(Refused):
    """A quote or brace that is open at the end of the script."""


class _Parser:
    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.at = 0
        self.nested = 0
        self.first = line
        self.newlines = [at for at, char in enumerate(text) if char == "\n"]

    def line(self, at: int | None = None) -> int:
        return self.first + bisect_right(self.newlines, (self.at if at is None else at) - 1)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Go past what a pattern matches here, and return it."""
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found[0] if found else ""

    def script(self) -> Parsed:
        commands: list[Command] = []
        mistakes: list[Refused] = []
        while self.at < len(self.text):
            try:
                if found := self.command(""):
                    commands.append(found)
            except _Unclosed as error:
                mistakes.append(error)
                break
            except Refused as error:
                mistakes.append(error)
                self.at = (self.text.find("\n", self.at) + 1) or len(self.text)
        return Parsed(tuple(commands), tuple(mistakes))

    def command(self, end: str) -> Command | None:
        """Read a command; at the end of a script, or before `end`, there is none."""
        self.skip(_BETWEEN)
        begin = self.at
        words: list[Word] = []
        while (char := self.peek()) and char not in "\n;" + end:
            words.append(self.word(end))
            self.skip(_BLANKS)
        return Command(self.line(begin), self.text[begin : self.at], tuple(words)) if words else None

    def word(self, end: str) -> Word:
        line = self.line()
        if self.text.startswith("{*}", self.at) and self.text[self.at + 3 : self.at + 4].strip():
            self.at += 3
            raise Refused("`{*}` is not taken: write the words out", line)
        if self.peek() == "{":
            text = self.braces()
            self.must_end(line, end, "brace")
            return Word(line, (Literal(text),), braced=True)
        if self.peek() == '"':
            self.at += 1
            parts = self.parts('"', line)
            self.at += 1
            self.must_end(line, end, "quote")
            return Word(line, parts)
        return Word(line, self.parts(_ENDS + end, line))

    def must_end(self, line: int, end: str, what: str) -> None:
        char = self.peek()
        if char and char not in _ENDS + end and not _JOIN.match(self.text, self.at):
            raise Refused(f"`{char}` follows a closing {what} without a blank", line)

    def braces(self) -> str:
        begin, depth = self.at, 0
        for found in _BRACE.finditer(self.text, begin):
            depth += {"{": 1, "}": -1}.get(found[0], 0)
            if not depth:
                self.at = found.end()
                return self.text[begin + 1 : self.at - 1]
        raise _Unclosed("`{` is never closed, so nothing after it could be read", self.line(begin))

    def parts(self, ends: str, line: int) -> tuple[Part, ...]:
        """Read up to one of the characters `ends`; a quote or parenthesis must be there."""
        found: list[Part] = []
        text = ""
        while (char := self.peek()) and char not in ends:
            if _JOIN.match(self.text, self.at):
                if ends not in ('"', ")"):
                    break
                self.skip(_JOIN)
                text += " "
            elif char == "\\":
                text += self.escape()
            elif char in "$[":
                part = self.variable() if char == "$" else self.bracket()
                if text:
                    found.append(Literal(text))
                    text = ""
                found.append(part)
            else:
                text += char
                self.at += 1
        if not char and ends in ('"', ")"):
            opened = '"' if ends == '"' else "("
            raise _Unclosed(f"`{opened}` is never closed, so nothing after it could be read", line)
        if text or not found:
            found.append(Literal(text))
        return tuple(found)

    def escape(self) -> str:
        char = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        return _ESCAPES.get(char, char or "\\")

    def variable(self) -> Part:
        line = self.line()
        self.at += 1
        if self.peek() == "{":
            return self.named(self.braces())
        name = self.skip(_NAME)
        if self.peek() == "(" and name:
            self.at += 1
            with self.nest(line):
                index = self.parts(")", line)
            self.at += 1
            return Variable(name, index)
        return Variable(name) if name else Literal("$")

    def named(self, name: str) -> Variable:
        head, opened, index = name.partition("(")
        if opened and index.endswith(")"):
            return Variable(head, (Literal(index[:-1]),))
        return Variable(name)

    def bracket(self) -> Bracket:
        line = self.line()
        self.at += 1
        found: list[Command] = []
        with self.nest(line):
            while self.peek() != "]":
                if not self.peek():
                    raise _Unclosed("`[` is never closed, so nothing after it could be read", line)
                if command := self.command("]"):
                    found.append(command)
        self.at += 1
        return Bracket(tuple(found))

    @contextmanager
    def nest(self, line: int) -> Iterator[None]:
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise _Unclosed(f"more than {MOST_NESTED} brackets within brackets", line)
        try:
            yield
        finally:
            self.nested -= 1
