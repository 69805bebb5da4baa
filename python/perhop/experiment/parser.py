"""The language of responses and its parser; nothing is evaluated as Python.

::

    response   = ( sum | function ) [ "by" column { "," column } ]
    function   = file ".py:" name
    sum        = product { ( "+" | "-" ) product }
    product    = value { ( "*" | "/" ) value }
    value      = number | "-" value | "(" sum ")" | statistic | "level" "." ( factor | text in quotes )
    statistic  = name "(" ( table | values ) [ "," number ] [ "where" either ] ")"
    values     = a sum whose values are numbers, levels and columns: [ table "." ] column
    either     = both { "or" both }
    both       = condition { "and" condition }
    condition  = "not" condition | "(" either ")" | column ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) constant
               | column "in" "(" constant { "," constant } ")"
    constant   = text in quotes, ' or " | [ "-" ] number

The columns of a statistic are of one table, which one of them names unless only one table has them all.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeVar

from perhop import _core
from perhop.experiment.derived import column
from perhop.experiment.derived import columns as known_columns
from perhop.experiment.expression import (
    Comparison,
    Condition,
    Constant,
    Expression,
    Function,
    Junction,
    LevelOf,
    Measure,
    Name,
    Negative,
    Not,
    Number,
    Operation,
    Span,
    Statistic,
    SyntaxFault,
    columns,
)
from perhop.experiment.function import written
from perhop.run.tables import SCHEMA, TABLES

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
KEYWORDS = ("where", "by", "and", "or", "not", "in")

MOST_TOKENS = 200
MOST_NESTED = 30

T = TypeVar("T")


class _Token(NamedTuple):
    kind: str
    text: str
    span: Span


_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<text>"[^"\n]*"|'[^'\n]*')
    |(?P<sign>!=|<=|>=|[-+*/(),.=<>])""",
    re.VERBOSE | re.ASCII,
)


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at] in "\"'":
                raise SyntaxFault((at, len(text)), "the quote is not closed on its line")
            raise SyntaxFault((at, at + 1), f"`{text[at]}` means nothing here")
        if match.lastgroup != "space":
            found.append(_Token(match.lastgroup or "", match.group(), match.span()))
        at = match.end()
        if len(found) > MOST_TOKENS:
            raise SyntaxFault(
                (0, len(text)), f"longer than {MOST_TOKENS} words and signs", "make it two responses"
            )
    found.append(_Token("end", "", (len(text), len(text))))
    return found


class _Parser:
    """Reads tokens from left to right; each method reads one rule of the grammar."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0
        #: of the statistic that is being read: the tables that its columns name
        self.tables: list[Name] | None = None

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self, *texts: str) -> _Token | None:
        """Take the next token if it is one of some words or signs."""
        token = self.next
        if token.kind in ("name", "sign") and token.text in texts:
            self.at += 1
            return token
        return None

    def need(self, text: str, hint: str | None = None) -> _Token:
        return self.take(text) or self.refuse(f"`{text}`", hint)

    def close(self, opened: _Token) -> None:
        """Take the parenthesis that closes another."""
        ended = self.next.kind == "end" or self.next.text == "by"
        hint = f"it closes the `(` at character {opened.span[0] + 1}" if ended else None
        self.need(")", hint)

    def refuse(self, wanted: str, hint: str | None = None) -> NoReturn:
        """Raise a mistake about the next token, with the words that could stand there."""
        token = self.next
        found = f"`{token.text}`" if token.kind != "end" else "the end"
        meant = difflib.get_close_matches(token.text, KEYWORDS, 1) if token.kind == "name" else []
        if hint is None and meant and token.text not in KEYWORDS:
            hint = f"did you mean `{meant[0]}`?"
        raise SyntaxFault(token.span, f"{wanted} should stand here, not {found}", hint)

    def nested(self, part: Callable[[], T]) -> T:
        """Read a part that may have parts like itself."""
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise SyntaxFault(self.next.span, f"nested more than {MOST_NESTED} deep")
        one = part()
        self.depth -= 1
        return one

    def joined(self, part: Callable[[], T], signs: tuple[str, ...], kind: Callable[[T, str, T], T]) -> T:
        """Read one part or several with signs between them, from the left."""
        one = part()
        while sign := self.take(*signs):
            one = kind(one, sign.text, part())
        return one

    def listed(self, part: Callable[[], T]) -> list[T]:
        """Read one part or several with commas between them."""
        found = [part()]
        while self.take(","):
            found.append(part())
        return found

    def measure(self, function: Function | None = None) -> Measure:
        of = function or self.sum()
        by = self.listed(lambda: self.name("a column to group by")) if self.take("by") else []
        if self.next.kind != "end":
            wanted = "`by` or the end" if function else "an operator, `by` or the end"
            self.refuse("`,` or the end" if by else wanted)
        return Measure(of, tuple(by))

    def sum(self) -> Expression:
        return self.joined(self.product, ("+", "-"), Operation)

    def product(self) -> Expression:
        return self.joined(lambda: self.nested(self.value), ("*", "/"), Operation)

    def value(self) -> Expression:
        if self.take("-"):
            return Negative(self.nested(self.value))
        if opened := self.take("("):
            inner = self.sum()
            self.close(opened)
            return inner
        if self.next.kind == "number":
            return self.number()
        if self.is_level():
            return self.level()
        return self.statistic() if self.tables is None else self.column()

    def number(self) -> Number:
        token = self.next
        if token.kind != "number":
            self.refuse("a number")
        value = float(token.text)
        if not math.isfinite(value):
            raise SyntaxFault(token.span, f"`{token.text}` is too large a number")
        self.at += 1
        return Number(value, token.span)

    def name(self, wanted: str, hint: str | None = None) -> Name:
        token = self.next
        if token.kind != "name" or token.text in KEYWORDS:
            self.refuse(wanted, hint)
        self.at += 1
        return Name(token.text, token.span)

    def is_level(self) -> bool:
        return self.next.text == "level" and self.tokens[self.at + 1].text == "."

    def level(self) -> LevelOf:
        start = self.next.span[0]
        self.at += 2
        token = self.next
        if token.kind not in ("name", "text"):
            self.refuse("a factor", 'such as `level.target` or `level."two words"`')
        self.at += 1
        return LevelOf(token.text.strip("\"'"), (start, token.span[1]))

    def statistic(self) -> Statistic:
        name = self.name("a number or a statistic", "such as `mean(flows.goodput_bit_s)`")
        opened = self.need("(", f"a statistic has its column in parentheses: `{name}(table.column)`")
        start, self.tables = self.next, []
        of: Expression | None = self.sum()
        tables, self.tables = self.tables, None
        argument = self.number() if self.take(",") else None
        where = self.either() if self.take("where") else None
        self.close(opened)
        if isinstance(of, Name) and not tables and (name.text == "count" or of.text in SCHEMA):
            table, of = of, None
        else:
            table = tables[0] if tables else _table_of(list(columns(of)), start.span)
        return Statistic(name, table, of, argument, where)

    def column(self) -> Name:
        name = self.name("a table", "such as `flows.goodput_bit_s`")
        if self.next.text == "(":
            hint = "compute with statistics outside: `mean(flows.srtt_s) - min(flows.srtt_s)`"
            raise SyntaxFault(name.span, f"`{name}` is a statistic in another", hint)
        if not self.take("."):
            return name
        assert self.tables is not None
        if self.tables and self.tables[0] != name:
            rule = f"`{name}` is another table than `{self.tables[0]}`: a statistic is of one"
            raise SyntaxFault(name.span, rule, "compute with a statistic of each")
        self.tables.append(name)
        return self.name("a column")

    def either(self) -> Condition:
        return self.joined(self.both, ("or",), Junction)

    def both(self) -> Condition:
        return self.joined(lambda: self.nested(self.condition), ("and",), Junction)

    def condition(self) -> Condition:
        if self.take("not"):
            return Not(self.nested(self.condition))
        if opened := self.take("("):
            inner = self.either()
            self.close(opened)
            return inner
        column = self.name("a column", 'a condition compares a column: `class = "premium"`')
        if self.take("in"):
            opened = self.need("(", 'write the values in parentheses: `in ("a", "b")`')
            found, operator = self.listed(self.constant), "in"
            self.close(opened)
        else:
            sign = self.take(*COMPARISONS) or self.refuse(f"one of {' '.join(COMPARISONS)} or `in`")
            found, operator = [self.constant()], sign.text
        constants, spans = zip(*found, strict=True)
        return Comparison(column, operator, constants, spans)

    def constant(self) -> tuple[Constant, Span]:
        token = self.next
        if token.kind == "text":
            self.at += 1
            return token.text[1:-1], token.span
        if self.take("-"):
            number = self.number()
            return -number.value, (token.span[0], number.span[1])
        if token.kind == "number":
            return self.number().value, token.span
        text = "a condition has no levels" if self.is_level() else f'write text in quotes: `"{token.text}"`'
        hints = {"name": text, "sign": "compare with one sign, such as `=`"}
        return self.refuse("a text in quotes or a number", hints.get(token.kind))


def _table_of(named: list[Name], start: Span) -> Name:
    """Return the only table that has some columns, which do not say of which they are."""
    if not named:
        raise SyntaxFault(start, "a statistic is of a column", "such as `mean(flows.goodput_bit_s)`")
    having = {name: [table for table in TABLES if column(table, name.text)] for name in named}
    for name, tables in having.items():
        if not tables:
            known = [*TABLES, *sorted({one for table in TABLES for one in known_columns(table)})]
            hint = _core.suggest(name.text, known) or f"write its table before it: `flows.{name}`"
            raise SyntaxFault(name.span, f"no table has a column `{name}`", hint)
    found = [table for table in TABLES if all(table in tables for tables in having.values())]
    first = named[0]
    if len(found) == 1:
        return Name(found[0], first.span)
    if found:
        listed = ", ".join(f"`{table}`" for table in found)
        hint = f"write which, as in `{found[0]}.{first}`"
        raise SyntaxFault(first.span, f"`{first}` is a column of {listed}", hint)
    listed = ", ".join(f"`{name}`" for name in named)
    raise SyntaxFault(first.span, f"no table has all of {listed}", "compute with a statistic of each table")


def parse(text: str) -> Measure:
    """Read an expression, or raise `SyntaxFault` with its first mistake.

    >>> str(parse("mean(flows.goodput_bit_s where class='ef')/1e6 by name"))
    'mean(flows.goodput_bit_s where class = "ef") / 1000000 by name'
    """
    function, end = written(text) or (None, 0)
    # spaces, so that what follows keeps its place
    return _Parser(" " * end + text[end:]).measure(function)
