"""Expressions over the tables of a run as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

Span = tuple[int, int]
"""Characters of a text: the first, and the one after the last."""

STATISTICS = ("mean", "sum", "min", "max", "std", "cov", "median", "quantile", "count", "jain")


@dataclass(frozen=True)
class Number:
    """A number that is written in an expression, not negative."""

    value: float
    span: Span = field(default=(0, 0), compare=False)

    def __str__(self) -> str:
        return repr(self.value).removesuffix(".0")


@dataclass(frozen=True)
class Negative:
    """An expression with a minus sign."""

    of: Expression

    def __str__(self) -> str:
        return f"-{_inner(self.of, 2)}"


@dataclass(frozen=True)
class Operation:
    """Two values and ``+``, ``-``, ``*`` or ``/``."""

    left: Expression
    operator: str
    right: Expression

    def __str__(self) -> str:
        rank = _rank(self)
        return f"{_inner(self.left, rank)} {self.operator} {_inner(self.right, rank + 1)}"


@dataclass(frozen=True)
class Name:
    """A table, a column or a statistic as it is written."""

    text: str
    span: Span = field(default=(0, 0), compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Function:
    """A function of Python in a file: it stands in the place of an expression."""

    file: str
    name: str
    span: Span = field(default=(0, 0), compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.name}"


Constant = str | float


@dataclass(frozen=True)
class Comparison:
    """A column compared with one constant, or with several after ``in``."""

    column: Name
    operator: str
    constants: tuple[Constant, ...]
    spans: tuple[Span, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        constants = ", ".join(map(_written, self.constants))
        return f"{self.column} {self.operator} " + (f"({constants})" if self.operator == "in" else constants)


@dataclass(frozen=True)
class Not:
    """The opposite of a condition."""

    of: Condition

    def __str__(self) -> str:
        return f"not ({self.of})" if isinstance(self.of, Junction) else f"not {self.of}"


@dataclass(frozen=True)
class Junction:
    """Two conditions and ``and`` or ``or``."""

    left: Condition
    operator: str
    right: Condition

    def __str__(self) -> str:
        def inner(one: Condition, right: bool) -> str:
            looser = isinstance(one, Junction) and (one.operator != self.operator or right)
            return f"({one})" if looser else str(one)

        return f"{inner(self.left, False)} {self.operator} {inner(self.right, True)}"


@dataclass(frozen=True)
class LevelOf:
    """The number of the level that a factor has in a treatment."""

    factor: str
    span: Span = field(default=(0, 0), compare=False)

    def __str__(self) -> str:
        plain = self.factor.isascii() and self.factor.isidentifier()
        return f"level.{self.factor if plain else _written(self.factor)}"


@dataclass(frozen=True)
class Statistic:
    """One of `STATISTICS` of the rows of a table that a condition chooses."""

    name: Name
    table: Name
    of: Expression | None = None
    """The value of a row: a column, or an expression over columns and numbers; ``count`` can do without."""
    argument: Number | None = None
    """Of ``quantile``: which, from 0 to 1."""
    where: Condition | None = None

    def __str__(self) -> str:
        of = self.table if self.of is None else _qualified(self.of, self.table)
        argument = f", {self.argument}" if self.argument else ""
        where = f" where {self.where}" if self.where else ""
        return f"{self.name}({of}{argument}{where})"

    @property
    def column(self) -> Name | None:
        """The column, where the values are those of one as they are."""
        return self.of if isinstance(self.of, Name) else None


Expression = Number | Negative | Operation | Statistic | Name | LevelOf
"""What may be computed; a name is a column, and stands in a statistic only."""

Condition = Comparison | Not | Junction


@dataclass(frozen=True)
class Measure:
    """An expression or a function, and the columns that make groups."""

    of: Expression | Function
    by: tuple[Name, ...] = ()

    def __str__(self) -> str:
        return f"{self.of}" + (f" by {', '.join(map(str, self.by))}" if self.by else "")


def _rank(one: Expression) -> int:
    """Return how closely an expression binds."""
    if isinstance(one, Operation):
        return 0 if one.operator in "+-" else 1
    return 3


def _inner(one: Expression, rank: int) -> str:
    return f"({one})" if _rank(one) < rank else str(one)


def _qualified(one: Expression, table: Name) -> Expression:
    """Return an expression over columns with the table before each of them."""
    match one:
        case Name():
            return Name(f"{table}.{one}")
        case Negative():
            return Negative(_qualified(one.of, table))
        case Operation():
            left, right = _qualified(one.left, table), _qualified(one.right, table)
            return Operation(left, one.operator, right)
    return one


def _written(constant: Constant) -> str:
    if isinstance(constant, float):
        return repr(constant).removesuffix(".0")
    quote = "'" if '"' in constant else '"'
    return quote + constant + quote


def statistics(one: Expression | Function) -> Iterator[Statistic]:
    """Yield the statistics in an expression, from left to right."""
    return (leaf for leaf in leaves(one) if isinstance(leaf, Statistic))


def columns(one: Expression | None) -> Iterator[Name]:
    """Yield the columns in the values of a statistic, from left to right."""
    return (leaf for leaf in leaves(one) if isinstance(leaf, Name))


def leaves(one: Expression | Function | None) -> Iterator[Number | Statistic | Name | LevelOf]:
    """Yield what an expression computes with, from left to right."""
    match one:
        case Negative():
            yield from leaves(one.of)
        case Operation():
            yield from leaves(one.left)
            yield from leaves(one.right)
        case Number() | Statistic() | Name() | LevelOf():
            yield one


def comparisons(one: Condition | None) -> Iterator[Comparison]:
    """Yield the comparisons in a condition, from left to right."""
    if isinstance(one, Comparison):
        yield one
    elif isinstance(one, Not):
        yield from comparisons(one.of)
    elif isinstance(one, Junction):
        yield from comparisons(one.left)
        yield from comparisons(one.right)


class SyntaxFault(Exception):
    """A mistake in an expression."""

    def __init__(self, span: Span, rule: str, hint: str | None = None) -> None:
        super().__init__(rule)
        self.span, self.rule, self.hint = span, rule, hint
