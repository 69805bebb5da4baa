"""Tables of a run: their columns with unit, meaning, and the first format that has them."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import polars as pl

from perhop import _core

FORMAT = _core.FORMAT
"""Version of a run folder's layout; rises with the first change after a release."""


class Column(msgspec.Struct, frozen=True):
    """A column: ``type`` is ``text``, ``count``, ``modulo32``, ``integer`` or ``real``."""

    name: str
    unit: str
    since: int
    doc: str
    type: str


class Table(msgspec.Struct, frozen=True):
    """A table; a ``trace`` is there only where it was asked for, an ``optional`` one where it has rows."""

    name: str
    since: int
    doc: str
    trace: bool
    optional: bool
    columns: list[Column]


SCHEMA = {table.name: table for table in msgspec.convert(_core.tables(), list[Table])}
"""Every table by its name."""

TABLES = tuple(table.name for table in SCHEMA.values() if not table.trace)
"""The tables of runs, in the order in which they are hashed; those that few runs have come last."""

OPTIONAL = tuple(name for name in TABLES if SCHEMA[name].optional)
"""Those of `TABLES` that a run has only where they have rows."""

TRACES = tuple(table.name for table in SCHEMA.values() if table.trace)
"""What can be traced."""

_TYPES = {
    "text": pl.String(),
    "count": pl.UInt64(),
    "modulo32": pl.UInt32(),
    "integer": pl.Int64(),
    "real": pl.Float64(),
}


def tables_of(version: int) -> tuple[str, ...]:
    """Return those of `TABLES` that every folder of a format has."""
    return tuple(name for name in TABLES if name not in OPTIONAL and SCHEMA[name].since <= version)


def missing(name: str) -> pl.DataFrame:
    """Return what stands for a table that a run does not have: an optional one has no rows."""
    return complete(name, None) if name in OPTIONAL else pl.DataFrame()


def labels_of(name: str, table: pl.DataFrame) -> list[str]:
    """Return the columns that labels have made in a table, after those of every run."""
    own = {column.name for column in SCHEMA[name].columns}
    return [column for column in table.columns if column not in own]


@cache
def _empty(name: str) -> pl.DataFrame:
    return pl.DataFrame(schema={column.name: _TYPES[column.type] for column in SCHEMA[name].columns})


def frame(name: str, columns: dict[str, list[Any]]) -> pl.DataFrame:
    """Return a table from lists, None where a value is missing; unknown columns are labels."""
    types = _empty(name).schema
    return pl.DataFrame(
        [pl.Series(column, values, types.get(column, pl.String())) for column, values in columns.items()]
    )


def complete(name: str, table: pl.DataFrame | None) -> pl.DataFrame:
    """Return a table of a run of any format with every column of today; what it lacks is null."""
    if table is None:
        return _empty(name).clone()
    lacking = (item for item in _empty(name).schema.items() if item[0] not in table.columns)
    return table.with_columns(pl.lit(None, kind).alias(column) for column, kind in lacking)
