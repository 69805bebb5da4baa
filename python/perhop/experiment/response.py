"""Responses: named expressions over the tables of a run, checked before anything runs."""

from __future__ import annotations

import functools
import hashlib
import math
import operator
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from perhop import _core
from perhop._core import ScenarioError
from perhop.experiment import derived, function, levels
from perhop.experiment.derived import LackingSource, Measured
from perhop.experiment.expression import (
    Condition,
    Expression,
    Function,
    Junction,
    LevelOf,
    Measure,
    Name,
    Negative,
    Not,
    Number,
    Statistic,
    SyntaxFault,
    columns,
    comparisons,
    statistics,
)
from perhop.experiment.expression_check import Checker, unit
from perhop.experiment.parser import parse
from perhop.experiment.vocabulary import NO_WORDS, Vocabulary
from perhop.run.tables import SCHEMA
from perhop.units import UNLIMITED

if TYPE_CHECKING:
    from perhop.experiment.factors import Factor
    from perhop.run.run import Result
    from perhop.scenario.scenario import Description

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_TESTS: dict[str, Callable[[pl.Series, Any], pl.Series]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "and": operator.and_,
    "or": operator.or_,
}

_LIMITS = {("calls", "mos"): (1.0, 4.5)}
"""The least and the greatest value of a column: ITU-T G.107 annex B."""
_STAYING = ("mean", "min", "max", "median", "quantile")
"""Statistics that are within the limits of their column."""

Group = tuple[str, ...]
"""Values of the columns after ``by``; empty where there is none."""


class ResponseError(ScenarioError):
    """An invalid response; `diagnostics` gives the places in its text."""

    def __init__(self, name: str, text: str, faults: Sequence[SyntaxFault]) -> None:
        self.diagnostics = [_core.diagnostic(text, name, *one.span, one.rule, one.hint) for one in faults]
        super().__init__("\n".join(one["rendered"] for one in self.diagnostics))
        self.name, self.text, self.faults = name, text, tuple(faults)

    def __reduce__(self) -> tuple[type[ResponseError], tuple[str, str, tuple[SyntaxFault, ...]]]:
        return ResponseError, (self.name, self.text, self.faults)


@dataclass(frozen=True)
class Response:
    """A number measured in each run, or one for each group.

    Parameters
    ----------
    text
        The expression, in the language of `perhop.experiment.parser`, or a function: ``my.py:p99 by class``.
    given
        Its unit, where that does not follow from the columns.
    source
        Of a function, the text of its file; None of an expression.
    units
        Of the levels in it, by factor.
    """

    name: str
    text: str
    given: str | None = None
    source: str | None = field(default=None, repr=False)
    measure: Measure = field(default=Measure(Number(0.0)), repr=False, compare=False)
    units: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def parse(
        cls,
        name: str,
        text: str,
        unit: str | None = None,
        source: str | None = None,
        folder: str | Path = ".",
    ) -> Response:
        """Read a response.

        Parameters
        ----------
        source
            Of a function, for who has it; else its file is read.
        folder
            Where the path of the file begins.

        Raises
        ------
        ResponseError
            The text is no expression, or the function is not there.
        """
        try:
            measure = parse(text)
            if isinstance(measure.of, Function) and source is None:
                source = function.read(measure.of, Path(folder))
            return cls(name, text, unit, source, measure)
        except SyntaxFault as fault:
            raise ResponseError(name, text, [fault]) from None

    @cached_property
    def key(self) -> str:
        """The name of its values in a ledger: the text, of a function with the hash of its file."""
        return self.text if self.source is None else f"{self.text} sha256:{self.digest}"

    @property
    def digest(self) -> str:
        """SHA-256 of the file of a function, in hexadecimal."""
        return hashlib.sha256((self.source or "").encode()).hexdigest()

    @property
    def by(self) -> Group:
        """The columns that make groups."""
        return tuple(column.text for column in self.measure.by)

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistics of the expression, from left to right; none of a function."""
        return tuple(statistics(self.measure.of))

    @property
    def reads_series(self) -> bool:
        """Return whether it may look at the table of series, as any function may."""
        return self.source is not None or any(one.table.text == "series" for one in self.statistics)

    @cached_property
    def columns(self) -> Mapping[str, frozenset[str]] | None:
        """The columns of tables that it looks at; None where it may look at others, or they are computed."""
        if self.source is not None:
            return None
        found = defaultdict[str, frozenset[str]](frozenset)
        for one in self.statistics:
            table, names = one.table.text, {name.text for name in self._named(one)}
            if table not in SCHEMA or any(derived.is_computed(table, name) for name in names):
                return None
            # rows are counted by a column
            found[table] |= names or {SCHEMA[table].columns[0].name}
        return found

    @cached_property
    def traces(self) -> list[str]:
        """Traces that it needs, as a function may."""
        of = self.measure.of
        return function.traces(of, self.source or "") if isinstance(of, Function) else []

    @cached_property
    def unit(self) -> str | None:
        """The unit: as given, or as it follows from the columns; None without either."""
        if self.given is not None or isinstance(self.measure.of, Function):
            return self.given
        return unit(self.measure.of, self.units)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest value that there is, of a statistic of a column that has them."""
        of = self.measure.of
        if isinstance(of, Statistic) and isinstance(of.of, Name) and of.name.text in _STAYING:
            return _LIMITS.get((of.table.text, of.of.text), UNLIMITED)
        return UNLIMITED

    def faults(self, vocabulary: Vocabulary = NO_WORDS) -> list[SyntaxFault]:
        """Return mistakes in the names and values of the expression."""
        found = [fault for one in self._checkers(vocabulary) for fault in one.found(self.measure.by)]
        if not self.statistics and not isinstance(self.measure.of, Function):
            found.append(SyntaxFault((0, len(self.text)), "a response has at least one statistic of a table"))
        # a column after `by` is missing in one table after the other
        return list({(one.span, one.rule): one for one in found}.values())

    def doubts(self, vocabulary: Vocabulary) -> list[SyntaxFault]:
        """Return the words that the expression looks for and no row will have."""
        return [fault for one in self._checkers(vocabulary) for fault in one.doubtful()]

    def _checkers(self, vocabulary: Vocabulary) -> list[Checker]:
        return [Checker(one, vocabulary) for one in self.statistics]

    def of_design(self, factors: Sequence[Factor]) -> Response:
        """Return the response with the units that levels of these factors have."""
        found = levels.units(self.measure.of, factors)
        return replace(self, units={**self.units, **found}) if found else self

    def at(self, numbers: Mapping[str, float]) -> Response:
        """Return the response of a treatment: with the numbers of its levels, by factor."""
        if isinstance(self.measure.of, Function) or not levels.named(self.measure.of):
            return self
        measure = replace(self.measure, of=levels.put(self.measure.of, numbers))
        return replace(self, text=str(measure), measure=measure)

    def check(self, vocabulary: Vocabulary = NO_WORDS, factors: Sequence[Factor] = ()) -> None:
        """Refuse names and values that no run has, and levels that are no numbers.

        Raises
        ------
        ResponseError
            A table, a column or a statistic is unknown, or is used for what it cannot do.
        """
        faults = [*self.faults(vocabulary), *levels.faults(self.measure.of, factors)]
        if faults:
            raise ResponseError(self.name, self.text, faults)

    def evaluate(
        self, result: Result | Mapping[str, pl.DataFrame], meaning: Description | None = None
    ) -> dict[Group, float | None]:
        """Measure a run.

        Nulls are left out. The count and the sum of nothing are 0; any other statistic of nothing is None,
        and so are a division by zero and all that is computed from None.

        Parameters
        ----------
        result
            A run, or tables alone: they have no columns that are known from a scenario.
        meaning
            Of the run's scenario, for who has it already.

        Returns
        -------
        dict
            By group, sorted; rows where a column after ``by`` is null are in none. A group of which no
            statistic has a row is there only if it has a value: a count that is 0, not a mean that is None.
            ``{(): value}`` without groups.

        Raises
        ------
        ResponseError
            A table lacks a column.
        FunctionError
            A function raises an error, or returns what is no value.
        """
        of, run = self.measure.of, _measured(result, meaning)
        if isinstance(of, Function):
            there = {} if isinstance(result, Mapping) else result.trace
            lacking = [name for name in self.traces if name not in there]
            if lacking:
                raise self._refusal(of, f"this run lacks the trace of {lacking[0]}")
            given = [there[name] for name in self.traces]
            return function.call(of, self.source or "", self.by, derived.all_tables(run), given)
        for level in levels.named(of):
            raise self._refusal(level, f"`{level}` is a number of a treatment, and this is a run alone")
        tables = self._tables(run)
        found = {one: self._statistic(one, tables[one.table.text]) for one in self.statistics}
        values = {
            group: _value(of, {one: groups.get(group) for one, groups in found.items()})
            for group in self._groups([tables[one.table.text] for one in found])
        }
        return {
            group: value
            for group, value in values.items()
            if value is not None or any(group in groups for groups in found.values())
        }

    def _tables(self, run: Measured) -> Mapping[str, pl.DataFrame]:
        """Return the tables that are measured, with the columns that are computed for it."""
        found = dict(run.tables)
        for one in self.statistics:
            own, names = run._replace(tables=found), [name.text for name in self._named(one)]
            try:
                found[one.table.text] = derived.extended(own, one.table.text, names)
            except LackingSource as error:
                raise self._refusal(one.table, f"this run lacks a column: {error}") from None
        return found

    def _named(self, one: Statistic) -> list[Name]:
        """Return the columns that a statistic looks at."""
        return [*self.measure.by, *columns(one.of), *(each.column for each in comparisons(one.where))]

    def _refusal(self, of: Name | LevelOf | Function, rule: str) -> ResponseError:
        return ResponseError(self.name, self.text, [SyntaxFault(of.span, rule)])

    def _groups(self, tables: Sequence[pl.DataFrame]) -> list[Group]:
        """Return the groups of all rows, whatever the conditions: a count of 0 is a value."""
        if not self.by:
            return [()]
        named = pl.col(list(self.by)).cast(pl.String)
        rows = (one.select(named).drop_nulls().unique().iter_rows() for one in tables)
        return sorted(set(chain.from_iterable(rows)))

    def _statistic(self, one: Statistic, table: pl.DataFrame) -> dict[Group, float | None]:
        """Return a statistic of each group of a table."""
        for name in self._named(one):
            if name.text not in table.columns:
                raise self._refusal(name, f"this run's `{one.table}` has no column `{name}`")
        # column by column: planning a query takes longer than all else here
        rows = {name: table[name] for name in (*self.by, *map(str, columns(one.of)))}
        rows = rows or {"": table.to_series()}
        if one.where is not None:
            mask = _holds(one.where, table)
            rows = {name: column.filter(mask) for name, column in rows.items()}
        values = _values(one, rows)
        if not self.by:
            return {(): _aggregate(one, [value for value in values.to_list() if value is not None])}
        named = pl.DataFrame({name: rows[name].cast(pl.String) for name in self.by} | {"": values})
        known = named.drop_nulls(self.by).group_by(self.by, maintain_order=True)
        found = known.agg(pl.col("").drop_nulls())
        return {tuple(group): _aggregate(one, own) for *group, own in found.iter_rows()}


def _measured(result: Result | Mapping[str, pl.DataFrame], meaning: Description | None) -> Measured:
    given = None if meaning is None else lambda: meaning
    if isinstance(result, Mapping):
        return Measured(result, given)
    return Measured(result.tables(), given or result.scenario.describe, result.delays)


def _values(one: Statistic, rows: Mapping[str, pl.Series]) -> pl.Series:
    """Return the value of each row that a statistic is of; null where it has none."""
    if one.of is None:
        return pl.Series([0.0] * len(next(iter(rows.values()))))
    if one.column is not None:
        column = rows[one.column.text]
        return column if one.name.text == "count" else column.cast(pl.Float64)
    # NumPy's, not polars', which takes the inverse of a number that divides: another last digit
    with np.errstate(all="ignore"):
        values = _row_values(one.of, rows)
    return pl.Series(np.where(np.isfinite(values), values, np.nan), nan_to_null=True)


def _row_values(one: Expression, rows: Mapping[str, pl.Series]) -> Any:
    """Return the value of each row; NaN where a column is null and where something is divided by 0."""
    match one:
        case Number():
            return one.value
        case Name():
            return rows[one.text].cast(pl.Float64).to_numpy()
        case Negative():
            return -_row_values(one.of, rows)
        case Statistic() | LevelOf():
            raise TypeError("neither has a value in each row")
    left, right = _row_values(one.left, rows), _row_values(one.right, rows)
    if one.operator == "/":
        return np.divide(left, np.where(right == 0, np.nan, right))
    return _SIGNS[one.operator](left, right)


def _aggregate(one: Statistic, x: list[float]) -> float | None:
    """Return a statistic of values, None where it has no value.

    Sums are rounded once: those of polars depend on the number of its threads, and a campaign's table must
    not depend on where it was run.
    """
    if one.name.text == "count":
        return float(len(x))
    if not x:
        return None
    total, n = math.fsum(x), len(x)
    mean = total / n
    made: dict[str, Callable[[], float | None]] = {
        "mean": lambda: mean,
        "sum": lambda: total,
        "min": lambda: min(x),
        "max": lambda: max(x),
        "std": lambda: _deviation(x, mean),
        "cov": lambda: _ratio(_deviation(x, mean), mean),
        "median": lambda: _quantile(x, 0.5),
        "quantile": lambda: _quantile(x, one.argument.value if one.argument else 0.5),
        "jain": lambda: _ratio(total * total, n * math.fsum(value * value for value in x)),
    }
    return made[one.name.text]()


def _deviation(x: list[float], mean: float) -> float | None:
    if len(x) < 2:
        return None
    return math.sqrt(math.fsum((value - mean) ** 2 for value in x) / (len(x) - 1))


def _ratio(over: float | None, under: float) -> float | None:
    return None if over is None or under == 0 else over / under


def _quantile(x: list[float], share: float) -> float:
    """Return a quantile, linear between the values beside it."""
    ordered, place = sorted(x), share * (len(x) - 1)
    low = math.floor(place)
    high = min(low + 1, len(x) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def _holds(one: Condition, rows: pl.DataFrame) -> pl.Series:
    """Return of each row whether a condition holds; null where that hangs on a null."""
    if isinstance(one, Not):
        return ~_holds(one.of, rows)
    if isinstance(one, Junction):
        return _TESTS[one.operator](_holds(one.left, rows), _holds(one.right, rows))
    column, test = rows[one.column.text], _TESTS["=" if one.operator == "in" else one.operator]
    return functools.reduce(_TESTS["or"], (test(column, constant) for constant in one.constants))


def _value(one: Expression, known: Mapping[Statistic, float | None]) -> float | None:
    """Compute an expression from the values of its statistics."""
    if isinstance(one, Number):
        return one.value
    if isinstance(one, Statistic):
        value = known[one]
        return (0.0 if one.name.text in ("sum", "count") else None) if value is None else value
    if isinstance(one, Negative):
        inner = _value(one.of, known)
        return None if inner is None else -inner
    if isinstance(one, Name | LevelOf):
        raise TypeError("neither has a value here")
    left, right = _value(one.left, known), _value(one.right, known)
    if left is None or right is None or (one.operator == "/" and right == 0):
        return None
    value = _SIGNS[one.operator](left, right)
    return value if math.isfinite(value) else None
