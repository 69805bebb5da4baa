"""The cells of Tables 2 and 4: throughput of a class by marking of ACKs and congestion."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import product

import numpy as np
import polars as pl

from perhop.judge.quantity import Place, Subject
from perhop.papers.error import PackError
from perhop.papers.pack import Pack
from perhop.papers.papagiannaki.factorial import Cells, Floats, Layout, at, mean, value, value_or_none
from perhop.papers.papagiannaki.fit import Cell

MARKS = ("p", "a", "b")
CONGESTION = ("r", "f", "t")
CLASSES = ("premium", "assured")
EVERYWHERE = "everywhere"
"""The arm of the 27 treatments; the other arms have one treatment each."""

ARMS = ("copy", "network 3")
"""The other arms that claims are about."""

MARKINGS = tuple("".join(marks) for marks in product(MARKS, repeat=3))
LAYOUT = Layout(("P", "A", "B", "C"), (MARKS, MARKS, MARKS, CONGESTION))

KEPT = {"premium": ("P", "A", "B", "C", "P:A", "P:C"), "assured": ("B", "C", "A:C")}
"""Terms of the trimmed models: (2), of Premium, and (3), of Assured."""


def replications(
    scalars: pl.DataFrame, layout: Layout = LAYOUT, columns: Sequence[str] = (*"PAB", "congestion")
) -> list[Cells]:
    """Return what a campaign measured, as one table for each replication.

    The levels of each factor stand in `columns`. An arm beside the 27 has a value for each level of the last.

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
            if row["arm"] == EVERYWHERE:
                values.setdefault(row["response"], np.full(shape, np.nan))[place] = row["value"]
            else:
                own = arms.setdefault((row["arm"], row["response"]), np.full(shape[-1], np.nan))
                own[place[-1]] = row["value"]
        empty = [name for name, cells in values.items() if np.isnan(cells).any()]
        if empty:
            raise KeyError(f"no value of {', '.join(empty)} in some of the {np.prod(shape)} cells")
        found.append(Cells(layout, values, arms))
    return found


def printed_cells(pack: Pack) -> Cells:
    """Return Tables 2 and 4 of the paper."""
    stems = zip(CLASSES, ("table2_premium", "table4_assured"), strict=True)
    return Cells(LAYOUT, {name: printed_table(pack, stem, "throughput_mbps") for name, stem in stems})


def printed_table(pack: Pack, name: str, column: str, layout: Layout = LAYOUT) -> Floats:
    """Return a printed table: levels in a column for each factor, the values in `column`.

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


def stated_cells(printed: Cells) -> Cells:
    """Return what the paper states: its tables, and arms that give what p-a-b gives."""
    own = tuple(MARKS.index(mark) for mark in "pab")
    arms = {(arm, name): cells[own] for arm in ARMS for name, cells in printed.values.items()}
    return Cells(printed.layout, printed.values, arms)


def every_cell(markings: Sequence[str] = MARKINGS) -> list[Cell]:
    """Return class, congestion and marking of each cell of these markings."""
    return [(name, c, marking) for marking in markings for name in CLASSES for c in CONGESTION]


def by_cell(samples: Sequence[Cells]) -> dict[Cell, float]:
    """Return the mean of every cell over the replications."""
    return {cell: at(samples, cell[0], cell[2], cell[1]) for cell in every_cell()}


def subject_of(printed: Cells, in_sample: Collection[tuple[str, str]], responses: Iterable[str]) -> Subject:
    """Return what claims may be about: cells, effects of P, A, B and C, printed tables."""
    every = [(dict(zip("PAB", marking, strict=True)), marking) for marking in MARKINGS]
    treatments = [{**marks, "marking": name, "C": c} for marks, name in every for c in CONGESTION]
    treatments += [{"marking": arm, "C": c} for arm in ARMS for c in CONGESTION]

    def reference(_: str, response: str, place: Place, effect: Place | None) -> float | None:
        return value_or_none(lambda cells: value(cells, response, place, effect), [printed])

    levels = {**dict(zip(LAYOUT.factors, LAYOUT.levels, strict=True)), "marking": (*MARKINGS, *ARMS)}
    return Subject(
        {one: {} for one in responses},
        levels,
        treatments,
        reference,
        lambda response, place: (response, place["marking"]) in in_sample,
        derived=("marking",),
    )


def regrets(samples: Sequence[Cells], response: str) -> Floats:
    """Return what each marking loses against the best at equal congestion, as a part of it."""
    y = mean(samples, response).reshape(27, 3)
    found: Floats = 1.0 - y / y.max(axis=0)
    return found
