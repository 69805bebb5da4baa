"""The check of an expression against tables and columns, and its unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from perhop import _core
from perhop.experiment import derived
from perhop.experiment.expression import (
    STATISTICS,
    Comparison,
    Expression,
    LevelOf,
    Name,
    Negative,
    Number,
    Statistic,
    SyntaxFault,
    columns,
    comparisons,
)
from perhop.experiment.vocabulary import Vocabulary, labels
from perhop.run.tables import SCHEMA, TABLES, Column


class Checker(NamedTuple):
    """One statistic, and the words that the tables will have."""

    statistic: Statistic
    vocabulary: Vocabulary

    def found(self, by: Sequence[Name]) -> Iterator[SyntaxFault]:
        """Yield mistakes in an expression, and in the columns it is grouped by."""
        one = self.statistic
        yield from self._arguments()
        table = one.table.text
        if table not in TABLES:
            rule = f"there is no table `{table}`"
            if table in SCHEMA:
                rule = f"`{table}` is a trace, which a campaign does not keep"
            yield SyntaxFault(one.table.span, rule, _suggest(table, TABLES))
            return
        yield from self._columns()
        for comparison in comparisons(one.where):
            yield from self._comparison(comparison)
        for name in by:
            column = self._known(name)
            if isinstance(column, SyntaxFault):
                yield column
            elif column.type == "real":
                rule = f"`{name}` is a measured number: hardly two rows have the same"
                yield SyntaxFault(name.span, rule, "group by a name, a class or a label")

    def _arguments(self) -> Iterator[SyntaxFault]:
        """Check the name of the statistic and its arguments."""
        one, name = self.statistic, self.statistic.name.text
        if name not in STATISTICS:
            yield SyntaxFault(one.name.span, f"there is no statistic `{name}`", _suggest(name, STATISTICS))
        elif one.of is None and name != "count":
            hint = f"write a column, as in `{name}({one.table}.column)`"
            yield SyntaxFault(one.table.span, f"`{name}` is of a column, not of a table", hint)
        elif name == "quantile" and one.argument is None:
            values = str(Statistic(one.name, one.table, one.of)).removesuffix(")")
            hint = f"write it behind the column: `{values}, 0.95)`"
            yield SyntaxFault(one.name.span, "`quantile` needs to know which, from 0 to 1", hint)
        if one.argument is not None:
            if name in STATISTICS and name != "quantile":
                yield SyntaxFault(one.argument.span, f"`{name}` takes no number")
            elif one.argument.value > 1:
                rule = f"{one.argument} is above 1, the most a quantile can be"
                percent = f"write {one.argument.value / 100:g}" if one.argument.value <= 100 else None
                yield SyntaxFault(one.argument.span, rule, percent)

    def _columns(self) -> Iterator[SyntaxFault]:
        """Check the columns that give values."""
        one = self.statistic
        for name in columns(one.of):
            column = self._known(name)
            if isinstance(column, SyntaxFault):
                yield column
            elif column.type == "text" and not (name == one.of and one.name.text == "count"):
                rule = f"`{name}` is text, which has no {one.name}"
                if name != one.of:
                    rule = f"`{name}` is text, with which nothing is computed"
                yield SyntaxFault(name.span, rule, f"count its rows: `count({one.table} where ...)`")

    def _comparison(self, comparison: Comparison) -> Iterator[SyntaxFault]:
        column = self._known(comparison.column)
        if isinstance(column, SyntaxFault):
            yield column
            return
        is_text = column.type == "text"
        if is_text and comparison.operator not in ("=", "!=", "in"):
            rule = f"`{comparison.column}` is text, which is compared with `=`, `!=` or `in`"
            yield SyntaxFault(comparison.column.span, rule)
            return
        for constant, span in zip(comparison.constants, comparison.spans, strict=True):
            if isinstance(constant, str) and not is_text:
                yield SyntaxFault(span, f"`{comparison.column}` is a number", "write a number without quotes")
            elif not isinstance(constant, str) and is_text:
                hint = f'write it in quotes: `"{constant:g}"`'
                yield SyntaxFault(span, f"`{comparison.column}` is text, not a number", hint)

    def _known(self, name: Name) -> Column | SyntaxFault:
        """Return a column of the table, or a mistake."""
        table = self.statistic.table.text
        if name.text in labels(self.vocabulary, table):
            return Column(name.text, "", 0, "label", "text")
        if known := derived.column(table, name.text):
            return known
        rule = f"`{table}` has no column `{name}`"
        return SyntaxFault(name.span, rule, self._column_hint(name.text, self._names(table)))

    def _names(self, table: str) -> list[str]:
        return [*labels(self.vocabulary, table), *derived.columns(table)]

    def _column_hint(self, wrong: str, known: Sequence[str]) -> str | None:
        """Name the column that is meant, or the tables that have one called so."""
        longer = [name for name in known if name.startswith(f"{wrong}_")]
        if len(longer) == 1:
            return f"did you mean `{longer[0]}`?"
        if longer:
            return f"did you mean one of {', '.join(f'`{name}`' for name in longer)}?"
        spelled = wrong.replace("colour", "color")
        having = [table for table in SCHEMA if spelled in self._names(table)]
        kept = [f"`{table}`" for table in having if table in TABLES]
        if kept:
            return f"`{spelled}` is a column of {', '.join(kept)}"
        if having:
            return f"`{spelled}` is a column of the trace `{having[0]}`, which a campaign does not keep"
        same = [name for name in known if sorted(name.split("_")) == sorted(wrong.split("_"))]
        if same:
            return f"did you mean `{same[0]}`?"
        return _suggest(wrong, known) or f"it has {', '.join(known)}"

    def doubtful(self) -> Iterator[SyntaxFault]:
        """Yield the words that no row of a sound statistic will have."""
        table = self.statistic.table.text
        for comparison in comparisons(self.statistic.where):
            known = self.vocabulary.get(table, {}).get(comparison.column.text)
            if known is None:
                continue
            for constant, span in zip(comparison.constants, comparison.spans, strict=True):
                if isinstance(constant, str) and constant not in known:
                    rule = f'no row of `{table}` will have {comparison.column} "{constant}"'
                    yield SyntaxFault(span, rule, _suggest(constant, sorted(known)))


def _suggest(wrong: str, known: Sequence[str]) -> str | None:
    return _core.suggest(wrong, list(known))


def unit(one: Expression, levels: Mapping[str, str], table: str = "") -> str | None:
    """Return the unit of an expression, of a row of a table or of a run; None where its columns give none.

    A number that scales may turn bytes into megabytes: what is multiplied by one, or divided by one, has no
    unit that is known. Sums have the unit of their parts where these are of one unit.
    """
    if isinstance(one, Number):
        return "1"
    if isinstance(one, Negative):
        return unit(one.of, levels, table)
    if isinstance(one, LevelOf):
        return levels.get(one.factor)
    if isinstance(one, Statistic):
        if one.name.text in ("jain", "cov"):
            return "1"
        if one.of is None or one.name.text == "count":
            return ""
        return unit(one.of, levels, one.table.text)
    if isinstance(one, Name):
        known = derived.column(table, one.text)
        return known.unit if known else None
    left, right = unit(one.left, levels, table), unit(one.right, levels, table)
    scaled = isinstance(one.left, Number) or isinstance(one.right, Number)
    if left is None or right is None or (scaled and one.operator in "*/"):
        return None
    if one.operator in "+-":
        return left if left == right else None
    if one.operator == "*":
        return right if left == "1" else left if right == "1" else None
    if right == "1":
        return left
    return "1" if left == right else f"{left}/{right}" if "/" not in left + right else None
