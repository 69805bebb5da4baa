"""The cells of Tables 2 and 4: what flows of a class got under each marking of ACKs and each congestion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import polars as pl

from perhop.papers.error import PackError
from perhop.papers.pack import Pack
from perhop.stats.layout import Cube

Floats = npt.NDArray[np.float64]

MARKS = ("p", "a", "b")
CONGESTION = ("r", "f", "t")
FACTORS = ("P", "A", "B", "C")
LEVELS = (MARKS, MARKS, MARKS, CONGESTION)
CLASSES = ("premium", "assured")
EVERYWHERE = "everywhere"
"""The arm of the 27 treatments; the other arms have one treatment each."""

MARKINGS = tuple("".join(marks) for marks in product(MARKS, repeat=3))
SHAPE = (3, 3, 3, 3)


@dataclass(frozen=True)
class Cells:
    """What one replication gave, or a printed table.

    Attributes
    ----------
    values
        By response (`premium` and `assured` in Mbit/s, and what else was counted): an axis for each of P, A,
        B and C.
    arms
        By arm beside the 27 treatments and response: one value for each level of C.
    """

    values: Mapping[str, Floats]
    arms: Mapping[tuple[str, str], Floats]


Statistic = Callable[[Sequence[Cells]], float]
"""A number that some replications together give, or a printed table alone."""


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
        found.append(Cells(values, arms))
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
    return Cells(values, {})


def cube(samples: Sequence[Cells], response: str) -> Cube:
    """Put replications together; the last axis is theirs."""
    values = np.stack([one.values[response] for one in samples], axis=-1)
    return Cube(FACTORS, LEVELS, values, np.zeros(values.shape, dtype=np.int64))


def mean(samples: Sequence[Cells], response: str) -> Floats:
    """Average the cells over replications."""
    found: Floats = np.mean([one.values[response] for one in samples], axis=0)
    return found


def at(samples: Sequence[Cells], response: str, treatment: str, c: str) -> float:
    """Average one cell: of a marking, `pab`, or of an arm."""
    place = CONGESTION.index(c)
    if treatment in MARKINGS:
        row = tuple(MARKS.index(mark) for mark in treatment)
        return float(np.mean([one.values[response][(*row, place)] for one in samples]))
    return float(np.mean([one.arms[treatment, response][place] for one in samples]))


def level_means(values: Floats, factor: str) -> dict[str, float]:
    """Average over all factors but one, by its levels."""
    place = FACTORS.index(factor)
    means = np.moveaxis(values, place, 0).reshape(3, -1).mean(axis=1)
    return dict(zip(LEVELS[place], map(float, means), strict=True))


def effect(samples: Sequence[Cells], response: str, name: str) -> float:
    """Give an effect, such as `P=b C=r`: the mean there less the mean and the effects of lower order."""
    wanted = {factor: level for factor, _, level in (part.partition("=") for part in name.split())}
    data = cube(samples, response)
    found = data.effect(data.term(wanted))
    place = [
        own.index(wanted[factor]) if factor in wanted else 0
        for factor, own in zip(FACTORS, LEVELS, strict=True)
    ]
    return float(found[tuple(place)])


def regrets(samples: Sequence[Cells], response: str) -> Floats:
    """Give what each marking loses against the best of the same congestion, as a part of the best."""
    y = mean(samples, response).reshape(27, 3)
    found: Floats = 1.0 - y / y.max(axis=0)
    return found
