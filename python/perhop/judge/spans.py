"""Places of the keys and values in a TOML text that is known to be valid."""

from __future__ import annotations

import re
import tomllib

from perhop.experiment.fault import At

Span = tuple[int, int]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)[ \t]*""")
_TEXT = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
_PLAIN = re.compile(r"[^\s,\]}#]+(?: \d[^\s,\]}#]*)?")


def spans(text: str) -> dict[At, tuple[Span, Span]]:
    """Return where each key stands, and where its value.

    Of a table under a header, both are the header.

    >>> spans('a = { b = ["x", "y"] }')["a", "b", 1]
    ((16, 19), (16, 19))
    """
    return _Scanner(text).found


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[At, tuple[Span, Span]] = {}
        self.arrays: dict[At, int] = {}
        self.statements()

    def blank(self) -> str:
        """Skip blanks and comments, and return the character after them."""
        if found := _BLANK.match(self.text, self.at):
            self.at = found.end()
        return self.text[self.at : self.at + 1]

    def take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise ValueError(f"no {pattern.pattern} at {self.at}")
        self.at = found.end()
        return found[0]

    def keys(self) -> list[str]:
        names = []
        while True:
            written = self.take(_KEY).strip()
            names.append(tomllib.loads(f"k={written}")["k"] if written[0] in "\"'" else written)
            if self.text[self.at] != ".":
                return names
            self.at += 1

    def statements(self) -> None:
        inside: At = ()
        while begins := self.blank():
            if begins == "[":
                inside = self.header()
            else:
                self.pair(inside)

    def header(self) -> At:
        start, brackets = self.at, 2 if self.text.startswith("[[", self.at) else 1
        self.at += brackets
        place: At = ()
        *names, last = self.keys()
        self.at += brackets
        for name in names:
            place = (*place, name)
            place = (*place, self.arrays[place]) if place in self.arrays else place
        place = (*place, last)
        if brackets == 2:
            self.arrays[place] = self.arrays.get(place, -1) + 1
            place = (*place, self.arrays[place])
        self.found[place] = ((start, self.at),) * 2
        return place

    def pair(self, inside: At) -> None:
        start = self.at
        place = (*inside, *self.keys())
        end = start + len(self.text[start : self.at].rstrip())
        self.at += 1
        self.found[place] = (start, end), self.value(place)

    def value(self, place: At) -> Span:
        begins, n = self.blank(), 0
        start = self.at
        if begins in "[{":
            self.at += 1
            while self.blank() not in "]}":
                if begins == "{":
                    self.pair(place)
                else:
                    self.found[*place, n] = (self.value((*place, n)),) * 2
                    n += 1
                if self.blank() == ",":
                    self.at += 1
            self.at += 1
        else:
            self.take(_TEXT if begins in "\"'" else _PLAIN)
        return start, self.at
