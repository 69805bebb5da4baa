"""Columns that responses have beside those of tables: computed when asked for, in no file of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from perhop.run.tables import SCHEMA, Column, missing

if TYPE_CHECKING:
    from perhop.run.run import DelayCounts
    from perhop.scenario.scenario import Description


class Measured(NamedTuple):
    """The run that columns are computed from; of tables alone there is no meaning, and no delays."""

    tables: Mapping[str, pl.DataFrame]
    meaning: Callable[[], Description] | None = None
    delays: Mapping[tuple[str, str], DelayCounts] = {}
    """Counts by class and quantity; none of a run on real packets."""


class LackingSource(Exception):
    """A run has not what a column is computed from; the message says what."""


class Derived(NamedTuple):
    """A column, and how it is computed from a run and the digits that stand for ``NN`` in its name.

    They are of a quantile, 95 for 95 %, 999 for 99.9 %, or of a mark.
    """

    table: str
    name: str
    unit: str
    type: str
    doc: str
    of: Callable[[Measured, str], pl.Series]


def _duration(run: Measured, _: str) -> pl.Series:
    flows = _having(run, "flows", "start_s", "completed_s")
    start, end = (flows[name].cast(pl.Float64).to_numpy() for name in ("start_s", "completed_s"))
    # times are whole nanoseconds: so is what lies between two of them
    return pl.Series(np.round((end - start) * 1e9) / 1e9, nan_to_null=True)


def _size(run: Measured, _: str) -> pl.Series:
    sizes = {flow.name: flow.size_bytes for flow in _meaning(run).flows if flow.is_transfer}
    return pl.Series([sizes.get(name) for name in _having(run, "flows", "name")["name"]], dtype=pl.UInt64)


def _cir(run: Measured, _: str) -> pl.Series:
    rates = {one.path: one.cir_bit_s for one in _meaning(run).conditioners}
    return pl.Series([rates[path] for path in _having(run, "conditioners", "path")["path"]], dtype=pl.Float64)


def _seconds(run: Measured) -> float:
    return (about := _meaning(run).run).duration_s - about.warmup_s


def _measured_time(run: Measured, _: str) -> pl.Series:
    return pl.Series([_seconds(run)] * len(_having(run, "queues", "path")), dtype=pl.Float64)


def _marked(run: Measured, digits: str) -> pl.Series:
    marks = _having(run, "marks", "flow", "mark", "arrived_bytes").filter(mark=f"AF{digits}")
    arrived = dict(marks.select("flow", "arrived_bytes").iter_rows())
    names = _having(run, "flows", "name")["name"]
    return pl.Series([8.0 * arrived.get(name, 0) / _seconds(run) for name in names], dtype=pl.Float64)


def _having(run: Measured, table: str, *columns: str) -> pl.DataFrame:
    """Return a table that has some columns."""
    frame = run.tables.get(table, missing(table))
    for name in columns:
        if name not in frame.columns:
            raise LackingSource(f"is computed from `{table}.{name}`, which is not there")
    return frame


def _meaning(run: Measured) -> Description:
    if run.meaning is None:
        raise LackingSource("is known from a scenario, and these are tables alone")
    return run.meaning()


def _transfer_quantile(run: Measured, digits: str) -> pl.Series:
    flows = _having(run, "flows", "class").with_columns(took=_duration(run, "")).drop_nulls("took")
    took = {class_: rows["took"].sort() for (class_,), rows in flows.group_by("class")}

    def of(class_: str) -> float | None:
        return float(took[class_][_rank(len(took[class_]), digits) - 1]) if class_ in took else None

    return _by_class(run, of)


def _delay_quantile(quantity: str, run: Measured, digits: str) -> pl.Series:
    def of(class_: str) -> float | None:
        values, packets = run.delays[class_, quantity]
        if not len(values):
            return None
        counted = np.cumsum(packets)
        return float(values[np.searchsorted(counted, _rank(int(counted[-1]), digits))]) / 1e9

    if not run.delays:
        known = [column.name for column in SCHEMA["classes"].columns if column.name.startswith(quantity)]
        has = ", ".join(f"`{column}`" for column in known if re.search(r"_p\d+_s$", column))
        raise LackingSource(f"needs the counters of a run in virtual time; these tables have {has}")
    return _by_class(run, of)


def _by_class(run: Measured, of: Callable[[str], float | None]) -> pl.Series:
    return pl.Series([of(class_) for class_ in run.tables["classes"]["class"]], dtype=pl.Float64)


def _rank(total: int, digits: str) -> int:
    """Return which of values in order, from 1, is the first that a part 0.digits of all are not above."""
    scale: int = 10 ** len(digits)
    return max(1, -(-total * int(digits) // scale))


COLUMNS = (
    Derived(
        *("flows", "duration_s", "s", "real"),
        "how long a transfer with a `size` took, `completed_s` less `start_s`; null where it did not finish",
        _duration,
    ),
    Derived(
        *("flows", "size_bytes", "byte", "count"),
        "the `size` of a transfer, drawn or written, also of one that did not finish; null of a flow without",
        _size,
    ),
    Derived(
        *("flows", "afNN_bit_s", "bit/s", "real"),
        "the rate at which its packets arrived with this mark, headers and repeats counted: `af11_bit_s` "
        "of AF11",
        _marked,
    ),
    Derived(
        *("queues", "measured_s", "s", "real"),
        "the measured time: a counter over it is a rate, `sum(queues.dropped_packets / queues.measured_s)`",
        _measured_time,
    ),
    Derived(
        *("conditioners", "cir_bit_s", "bit/s", "real"),
        "the rate that its meter commits; null without a meter, and of meters that commit none",
        _cir,
    ),
    Derived(
        *("classes", "transfer_pNN_s", "s", "real"),
        "what NN % of the complete transfers do not exceed, with any digits: `transfer_p99_s`, "
        "`transfer_p05_s`, `transfer_p999_s` for 99.9 %",
        _transfer_quantile,
    ),
    *(
        Derived(
            *("classes", f"{quantity}_pNN_s", "s", "real"),
            f"the same of {what}; of runs in virtual time",
            partial(_delay_quantile, quantity),
        )
        for quantity, what in (
            ("delay", "delays"),
            ("pdv", "packet delay variation"),
            ("ipdv", "inter-packet delay variation"),
        )
    ),
)


def columns(table: str) -> list[str]:
    """Return the names of a table's columns, those that are computed after its own; ``NN`` are any digits."""
    own = [one.name for one in SCHEMA[table].columns]
    return [*own, *(one.name for one in COLUMNS if one.table == table and one.name not in own)]


def column(table: str, name: str) -> Column | None:
    """Return a column of a table, its own or one that is computed."""
    own = _own(table, name)
    found = _derived(table, name)
    return own or (found and Column(name, found[0].unit, 0, found[0].doc, found[0].type))


def is_computed(table: str, name: str) -> bool:
    """Return whether a table has a column only as it is computed."""
    return _own(table, name) is None and _derived(table, name) is not None


def _own(table: str, name: str) -> Column | None:
    columns = SCHEMA[table].columns if table in SCHEMA else ()
    return next((one for one in columns if one.name == name), None)


def _derived(table: str, name: str) -> tuple[Derived, str] | None:
    for one in COLUMNS:
        found = re.fullmatch(one.name.replace("NN", r"(\d\d+)"), name, re.ASCII)
        if found and one.table == table:
            return one, "".join(found.groups())
    return None


def all_tables(run: Measured) -> dict[str, pl.DataFrame]:
    """Return the tables with the computed columns that have one name, where the run has what they need."""
    tables = dict(run.tables)
    for one in COLUMNS:
        if "NN" not in one.name:
            with suppress(LackingSource):
                tables[one.table] = extended(run._replace(tables=tables), one.table, [one.name])
    return tables


def extended(run: Measured, table: str, names: Iterable[str]) -> pl.DataFrame:
    """Return a table with those columns of some names that it has not and that can be computed."""
    frame = run.tables.get(table, missing(table))
    for name in dict.fromkeys(names):
        found = _derived(table, name) if name not in frame.columns else None
        if found:
            one, digits = found
            try:
                frame = frame.with_columns(one.of(run, digits).alias(name))
            except LackingSource as error:
                raise LackingSource(f"`{name}` {error}") from None
    return frame
