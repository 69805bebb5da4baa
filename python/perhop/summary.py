"""What the terminal and the page both show of a run: which rows, how long transfers took, which columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from perhop.stats.warmup import BATCH, mser

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


def transfers(flows: pl.DataFrame, duration_s: float) -> pl.DataFrame:
    """Return a row for each ``[[flow]]`` of which several transfers began and one ended.

    Columns: ``group``, ``begun``, ``completed``, and ``mean_s`` and ``median_s``, how long those that
    completed took. Warm-up included.

    Parameters
    ----------
    flows
        The flows of a run.
    duration_s
        How long the run was: a transfer that was to start later has not begun.
    """
    took = pl.col("took_s")
    groups = with_time(flows).group_by(_group("name").alias("group"), maintain_order=True)
    return groups.agg(
        begun=(pl.col("start_s") < duration_s).sum(),
        completed=took.count(),
        mean_s=took.mean(),
        median_s=took.median(),
    ).filter((pl.col("begun") > 1) & (pl.col("completed") > 0))


def unsettled(series: pl.DataFrame, meaning: Description) -> str | None:
    """Return what is wrong with the warm-up by MSER-5, or ``None``.

    Judged is the goodput of all TCP flows without a `size` together. Nothing is said of fewer than 100
    intervals, nor where the transient is over at most a batch of five intervals after the warm-up.
    """
    endless = [f"flow.{flow.name}" for flow in meaning.flows if flow.size_bytes is None]
    goodput = series.filter((pl.col("quantity") == "goodput_bit_s") & pl.col("path").is_in(endless))
    total = goodput.group_by("time_s").agg(pl.sum("value")).sort("time_s")["value"]
    found = mser(total.to_numpy())
    run = meaning.run
    if found is None or found.values * run.interval_s <= run.warmup_s + BATCH * run.interval_s:
        return None
    if not found.settled:
        return (
            f"the goodput of all flows does not settle in {run.duration_s:g} s (by MSER-5): the run is too "
            f"short, or has no steady state"
        )
    return (
        f"the goodput of all flows settles at {found.values * run.interval_s:.4g} s (by MSER-5), after the "
        f"warm-up of {run.warmup_s:g} s: part of the transient is measured; run.warmup leaves it out"
    )


def drops_have_colors(queues: pl.DataFrame, meaning: Description) -> bool:
    """Whether drops by colour say more than drops: a queue looks at colours, or dropped what is not green."""
    kinds = {one.queue for link in meaning.links for one in link.port.classes}
    worse = queues.select(pl.sum("dropped_yellow", "dropped_red")).sum_horizontal().sum()
    return bool(kinds & _COLORED_QUEUES) or worse > 0


def _group(name: str) -> pl.Expr:
    """Return the name in the file, ``web`` of ``web[3]``."""
    return pl.col(name).str.split("[").list.first()
