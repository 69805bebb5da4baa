"""What the terminal and the page both show of a run: which rows, how long transfers took, which columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from perhop.scenario import Description

COLORS = ("green", "yellow", "red")

_COLORED_QUEUES = frozenset({"rio", "gred"})


def first_of_each(table: pl.DataFrame, most: int, name: str = "name") -> pl.DataFrame:
    """Return at most so many rows, in their order: the first of each table of the scenario file.

    Every table of the file, such as a ``[[flow]]`` that stands for ``web[0]`` to ``web[122]``, gets as many
    rows as every other as long as it has them.

    Parameters
    ----------
    table
        Rows in the order of the file.
    most
        Rows returned.
    name
        Column with the names.
    """
    place = pl.int_range(pl.len()).over(_group(name))
    return table.with_row_index("_row").sort(place, "_row").head(most).sort("_row").drop("_row")


def with_time(flows: pl.DataFrame) -> pl.DataFrame:
    """Return the flows with a column ``took_s``: from start to end, null where a transfer has not ended."""
    return flows.with_columns(took_s=pl.col("completed_s") - pl.col("start_s"))


def transfers(flows: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each ``[[flow]]`` of which several transfers began and one ended.

    Columns: ``group``, ``begun``, ``completed``, and ``mean_s`` and ``median_s``, how long those that
    completed took.
    """
    if "completed_s" not in flows.columns:
        return pl.DataFrame()
    took = pl.col("took_s")
    groups = with_time(flows).group_by(_group("name").alias("group"), maintain_order=True)
    return groups.agg(
        begun=(pl.col("segments_sent") > 0).sum(),
        completed=took.count(),
        mean_s=took.mean(),
        median_s=took.median(),
    ).filter((pl.col("begun") > 1) & (pl.col("completed") > 0))


def drops_have_colors(queues: pl.DataFrame, meaning: Description) -> bool:
    """Whether drops by colour say more than drops: a queue looks at colours, or dropped what is not green."""
    if not {f"dropped_{color}" for color in COLORS} <= set(queues.columns):
        return False
    kinds = {one.queue for link in meaning.links for one in link.port.classes}
    worse = queues.select(pl.sum("dropped_yellow", "dropped_red")).sum_horizontal().sum()
    return bool(kinds & _COLORED_QUEUES) or worse > 0


def _group(name: str) -> pl.Expr:
    """Return the name in the file, ``web`` of ``web[3]``."""
    return pl.col(name).str.split("[").list.first()
