"""A parser of Tcl scripts: commands, braces, brackets, quotes, substitutions, comments.

Rules: the manual page Tcl(n) of Tcl 8.6. ``{*}`` is refused.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from perhop.import_ns2.remarks import LineRefused
from perhop.import_ns2.syntax import Bracket, Command, Literal, Part, Variable, Word

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

MOST_NESTED = 25
"""Brackets within brackets."""

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_BLANK = " \t\r\f\v"


class Parsed(NamedTuple):
    """The commands of a script, and the unreadable ones."""

    commands: tuple[Command, ...]
    mistakes: tuple[LineRefused, ...]


@lru_cache(maxsize=2000)
def parse(text: str, line: int = 1) -> Parsed:
    """Parse a script that begins at a line.

    After a mistake in a line the next one is read; what is never closed ends the script.
    """
    return _Parser(text, line).script()


def _names(char: str) -> bool:
    """Return whether a character can be in the name of a variable."""
    return char.isascii() and (char.isalnum() or char in "_:")


class _Unclosed(LineRefused):
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

    def continued(self) -> bool:
        """Return whether a backslash joins this line to the next."""
        return self.text.startswith("\\\n", self.at) or self.text.startswith("\\\r\n", self.at)

    def join(self) -> None:
        self.at = self.text.index("\n", self.at) + 1
        while self.peek() and self.peek() in " \t":
            self.at += 1

    def script(self) -> Parsed:
        commands: list[Command] = []
        mistakes: list[LineRefused] = []
        while self.at < len(self.text):
            try:
                found = self.command("")
                if found is not None:
                    commands.append(found)
            except _Unclosed as error:
                mistakes.append(error)
                break
            except LineRefused as error:
                mistakes.append(error)
                self.at = (self.text.find("\n", self.at) + 1) or len(self.text)
        return Parsed(tuple(commands), tuple(mistakes))

    def command(self, end: str) -> Command | None:
        """Read a command; at the end of a script, or before `end`, there is none."""
        self.skip(_BLANK + "\n;")
        while self.peek() == "#":
            self.comment()
            self.skip(_BLANK + "\n;")
        begin = self.at
        words: list[Word] = []
        while char := self.peek():
            if char in "\n;" or (end and char == end):
                break
            if char in _BLANK:
                self.at += 1
            elif self.continued():
                self.join()
            else:
                words.append(self.word(end))
        if not words:
            return None
        return Command(self.line(begin), self.text[begin : self.at], tuple(words))

    def skip(self, chars: str) -> None:
        while self.peek() and (self.peek() in chars or self.continued()):
            if self.peek() == "\\":
                self.join()
            else:
                self.at += 1

    def comment(self) -> None:
        while self.peek() and self.peek() != "\n":
            self.at += 2 if self.text.startswith("\\\n", self.at) else 1

    def word(self, end: str) -> Word:
        line = self.line()
        if self.text.startswith("{*}", self.at) and self.text[self.at + 3 : self.at + 4].strip():
            self.at += 3
            raise LineRefused(line, "`{*}` is not taken: write the words out")
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
        return Word(line, self.parts(_BLANK + "\n;" + end, line))

    def must_end(self, line: int, end: str, what: str) -> None:
        char = self.peek()
        if char and char not in _BLANK + "\n;" + end and not self.continued():
            raise LineRefused(line, f"`{char}` follows a closing {what} without a blank")

    def braces(self) -> str:
        begin, depth = self.at, 0
        while char := self.peek():
            if char == "\\":
                self.at += 1
            elif char == "{":
                depth += 1
            elif char == "}":
                depth -= 1
                if not depth:
                    self.at += 1
                    return self.text[begin + 1 : self.at - 1]
            self.at += 1
        raise _Unclosed(self.line(begin), "`{` is never closed, so nothing after it could be read")

    def parts(self, ends: str, line: int) -> tuple[Part, ...]:
        """Read up to one of the characters `ends`; a quote or parenthesis must be there."""
        found: list[Part] = []
        text = ""
        while (char := self.peek()) and char not in ends:
            if self.continued():
                if ends != '"' and ends != ")":
                    break
                self.join()
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
            raise _Unclosed(line, f"`{opened}` is never closed, so nothing after it could be read")
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
        begin = self.at
        while (char := self.peek()) and _names(char):
            self.at += 1
        name = self.text[begin : self.at]
        if self.peek() == "(" and name:
            self.at += 1
            index = self.nest(lambda: self.parts(")", line), line)
            self.at += 1
            return Variable(name, index)
        return Variable(name) if name else Literal("$")

    def named(self, name: str) -> Variable:
        head, opened, index = name.partition("(")
        if opened and index.endswith(")"):
            return Variable(head, (Literal(index[:-1]),))
        return Variable(name)

    def bracket(self) -> Bracket:
        begin = self.line()
        self.at += 1

        def commands() -> tuple[Command, ...]:
            found = []
            while True:
                command = self.command("]")
                if command is not None:
                    found.append(command)
                if self.peek() == "]":
                    self.at += 1
                    return tuple(found)
                if not self.peek():
                    raise _Unclosed(begin, "`[` is never closed, so nothing after it could be read")

        return Bracket(self.nest(commands, begin))

    def nest(self, read: Callable[[], _T], line: int) -> _T:
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise _Unclosed(line, f"more than {MOST_NESTED} brackets within brackets")
        try:
            return read()
        finally:
            self.nested -= 1
