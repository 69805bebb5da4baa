"""The cells of Tables 2 and 4: what flows of a class got under each marking of ACKs and each congestion."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl

from perhop.papers.error import PackError
from perhop.papers.factorial import Cells, Floats, Layout, mean
from perhop.papers.pack import Pack

MARKS = ("p", "a", "b")
CONGESTION = ("r", "f", "t")
FACTORS = ("P", "A", "B", "C")
LEVELS = (MARKS, MARKS, MARKS, CONGESTION)
CLASSES = ("premium", "assured")
EVERYWHERE = "everywhere"
"""The arm of the 27 treatments; the other arms have one treatment each."""

MARKINGS = tuple("".join(marks) for marks in product(MARKS, repeat=3))
SHAPE = (3, 3, 3, 3)
LAYOUT = Layout(FACTORS, LEVELS)

KEPT = {"premium": ("P", "A", "B", "C", "P:A", "P:C"), "assured": ("B", "C", "A:C")}
"""Terms of the trimmed models: (2), of Premium, and (3), of Assured."""


def replications(scalars: pl.DataFrame) -> list[Cells]:
    """Arrange what a campaign measured, one table for each replication.

    Parameters
    ----------
    scalars
        A row for each value: columns `arm`, P, A, B, `replication`, `response`, `congestion`, `value`.

    Raises
    ------
    KeyError
        A response is missing in some of the 81 cells.
    """
    found = []
    for _, frame in sorted(scalars.group_by("replication")):
        values: dict[str, Floats] = {}
        arms: dict[tuple[str, str], Floats] = {}
        for row in frame.iter_rows(named=True):
            *treatment, c = (
                own.index(row[name]) for name, own in zip((*"PAB", "congestion"), LEVELS, strict=True)
            )
            if row["arm"] == EVERYWHERE:
                values.setdefault(row["response"], np.full(SHAPE, np.nan))[(*treatment, c)] = row["value"]
            else:
                arms.setdefault((row["arm"], row["response"]), np.full(3, np.nan))[c] = row["value"]
        empty = [name for name, cells in values.items() if np.isnan(cells).any()]
        if empty:
            raise KeyError(f"no value of {', '.join(empty)} in some of the 81 cells")
        found.append(Cells(LAYOUT, values, arms))
    return found


def printed_cells(pack: Pack) -> Cells:
    """Give Tables 2 and 4 of the paper."""
    values = {}
    for name, stem in (("premium", "table2_premium"), ("assured", "table4_assured")):
        found = np.full(SHAPE, np.nan)
        for row in pack.table(stem):
            place = []
            for factor, own in zip(FACTORS, LEVELS, strict=True):
                if row[factor] not in own:
                    raise row.error(factor, " or ".join(own))
                place.append(own.index(row[factor]))
            found[tuple(place)] = row.number("throughput_mbps")
        if np.isnan(found).any():
            raise PackError(f"{pack.folder / 'published' / stem}.csv: has not all 81 cells")
        values[name] = found
    return Cells(LAYOUT, values)


def at(samples: Sequence[Cells], response: str, treatment: str, c: str) -> float:
    """Average one cell: of a marking, `pab`, or of an arm."""
    place = CONGESTION.index(c)
    if treatment in MARKINGS:
        row = tuple(MARKS.index(mark) for mark in treatment)
        return float(np.mean([one.values[response][(*row, place)] for one in samples]))
    return float(np.mean([one.arms[treatment, response][place] for one in samples]))


def regrets(samples: Sequence[Cells], response: str) -> Floats:
    """Give what each marking loses against the best of the same congestion, as a part of the best."""
    y = mean(samples, response).reshape(27, 3)
    found: Floats = 1.0 - y / y.max(axis=0)
    return found
