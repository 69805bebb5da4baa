"""Arrange values, measured or printed, in the cells of a factorial experiment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from perhop.papers.error import PackError
from perhop.papers.pack import Pack
from perhop.papers.papagiannaki.factorial import Cells, Floats, Layout


def replications(
    scalars: pl.DataFrame, layout: Layout, columns: Sequence[str], arm: str, factorial: str
) -> list[Cells]:
    """Arrange what a campaign measured, one table for each replication.

    The levels of each factor stand in `columns`. In the column `arm` the treatments of the factorial have the
    value `factorial`; an arm beside it has a value for each level of the last factor.

    Raises
    ------
    KeyError
        A response is missing in some of the cells.
    """
    found, shape = [], [len(own) for own in layout.levels]
    for _, frame in sorted(scalars.group_by("replication")):
        values: dict[str, Floats] = {}
        arms: dict[tuple[str, str], Floats] = {}
        for row in frame.iter_rows(named=True):
            place = tuple(own.index(row[name]) for name, own in zip(columns, layout.levels, strict=True))
            if row[arm] == factorial:
                values.setdefault(row["response"], np.full(shape, np.nan))[place] = row["value"]
            else:
                own = arms.setdefault((row[arm], row["response"]), np.full(shape[-1], np.nan))
                own[place[-1]] = row["value"]
        empty = [name for name, cells in values.items() if np.isnan(cells).any()]
        if empty:
            raise KeyError(f"no value of {', '.join(empty)} in some of the {np.prod(shape)} cells")
        found.append(Cells(layout, values, arms))
    return found


def printed_table(pack: Pack, name: str, layout: Layout, column: str) -> Floats:
    """Arrange a printed table, which has a column of each factor's name, and the values in `column`.

    Raises
    ------
    PackError
        There is no such table, it has another level, a cell without a number, or not all cells.
    """
    found = np.full([len(own) for own in layout.levels], np.nan)
    for row in pack.table(name):
        place = []
        for factor, own in zip(layout.factors, layout.levels, strict=True):
            if row[factor] not in own:
                raise row.error(factor, " or ".join(own))
            place.append(own.index(row[factor]))
        found[tuple(place)] = row.number(column)
    if np.isnan(found).any():
        raise PackError(f"{pack.folder / 'published' / name}.csv: has not all {found.size} cells")
    return found
