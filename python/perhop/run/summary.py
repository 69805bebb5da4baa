"""Facts of a run for terminal and page: rows, times of transfers, columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from perhop import _core
from perhop.run.tables import labels_of
from perhop.stats.warmup import BATCH, LEAST_BATCHES, mser

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from perhop.scenario.scenario import Description, RunSettings

LOST = (pl.col("dropped_packets") / pl.col("offered_packets")).fill_nan(None)
"""Of a row of classes: the part of its packets that was dropped; null where none was offered."""

_OF_MEMBERS = {
    "flows": "goodput_bit_s",
    "udp": "throughput_bit_s",
    "applications": "load_p50_s",
    "calls": "mos",
}
"""The column by which the members of a group are told apart, by table."""


def first_of_each(table: pl.DataFrame, most: int, name: str = "name") -> pl.DataFrame:
    """Return at most so many rows, in their order: the first of each table of the scenario file.

    Every table of the file, such as a ``[[flow]]`` that stands for ``web[0]`` to ``web[122]``, gets as many
    rows as every other as long as it has them.
    """
    place = pl.int_range(pl.len()).over(_group(name))
    return table.with_row_index("_row").sort(place, "_row").head(most).sort("_row").drop("_row")


class Group(NamedTuple):
    """A table of the scenario file that stands for many: its members' `values` of the column `key`, in order.

    `table` is that of the results, `name` is ``web`` of ``web[3]``.
    """

    table: str
    name: str
    key: str
    values: pl.Series

    def quantile(self, permille: int) -> float:
        """Return what so many thousandths do not exceed, as in the table `classes`."""
        return float(self.values[_core.nearest_rank(len(self.values), permille) - 1])


def groups(tables: Mapping[str, pl.DataFrame], most: int) -> list[Group]:
    """Return the groups that have more members than `most`.

    Flows of one group between the same two hosts are one member, and their rates are added up.
    """
    found = []
    for table, key in _OF_MEMBERS.items():
        if table not in tables:
            continue
        own = ["from", "to"] if key.endswith("_bit_s") else ["name"]
        rows = (
            tables[table].drop_nulls(key).group_by(_group("name").alias("group"), *own, maintain_order=True)
        )
        values = rows.agg(pl.sum(key)).group_by("group", maintain_order=True).agg(pl.col(key).sort())
        found += [Group(table, name, key, had) for name, had in zip(*values, strict=True) if len(had) > most]
    return found


def outside(groups: Iterable[Group], name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the table `name` that are of none of `groups`."""
    return table.filter(~_group("name").is_in([one.name for one in groups if one.table == name]))


def with_time(flows: pl.DataFrame) -> pl.DataFrame:
    """Return the flows with a column ``took_s``, null where a transfer has not ended."""
    return flows.with_columns(took_s=pl.col("completed_s") - pl.col("start_s"))


def transfers(flows: pl.DataFrame, meaning: Description) -> pl.DataFrame:
    """Return a row for each ``[[flow]]`` that stands for several transfers, of which one began.

    Columns: ``group``, ``class``, ``begun``, ``completed``, and ``mean_s``, ``median_s`` and ``p95_s``, how
    long those that completed took, by the rule of the table `classes`. Warm-up included.
    """
    took = pl.col("took_s")
    given = with_time(flows).filter(pl.col("name").is_in(_many(meaning)))
    groups = given.group_by(_group("name").alias("group"), "class", maintain_order=True)
    found = groups.agg(
        begun=(pl.col("start_s") < meaning.run.duration_s).sum(),
        completed=took.count(),
        mean_s=took.mean(),
        times=took.drop_nulls().sort(),
    ).filter(pl.col("begun") > 0)
    shares = {"median_s": 500, "p95_s": 950}
    return found.with_columns(
        pl.Series(name, [_quantile(times, permille) for times in found["times"]], pl.Float64)
        for name, permille in shares.items()
    ).drop("times")


def marks(table: pl.DataFrame, meaning: Description, most: int) -> pl.DataFrame:
    """Return the table of marks, with one row for the transfers of each ``[[flow]]``.

    Other flows of a table of the file have one row, too, if they are more than `most`. The column ``flows``
    says of how many each row is.
    """
    group, transfers = _group("flow"), pl.col("flow").is_in(_many(meaning))
    count = pl.col("flow").n_unique().over(group)
    kind = pl.when(transfers).then(pl.lit("transfers")).otherwise(pl.lit("flows"))
    many = pl.format("{} ({} {})", group, count, kind)
    named = pl.when(transfers | (count > most)).then(many).otherwise(pl.col("flow"))
    rows = table.with_columns(flow=named, own=pl.col("flow")).group_by("flow", "mark", maintain_order=True)
    return rows.agg(pl.exclude("own").sum(), flows=pl.col("own").n_unique())


def _quantile(times: pl.Series, permille: int) -> float | None:
    """Return the quantile of ordered times, in thousandths, as in the table `classes`."""
    return times[_core.nearest_rank(len(times), permille) - 1] if len(times) else None


def by_labels(name: str, table: pl.DataFrame, rate: str) -> pl.DataFrame:
    """Return a row of ``flows`` or ``udp`` for each combination of class and labels; none without labels.

    Columns: ``class``, one for each label, ``_flows``, how many they are, and ``_mean``, ``_least`` and
    ``_most`` of a flow's `rate` in bit/s; no label begins with an underscore.
    """
    labels = labels_of(name, table)
    rates = {"_mean": pl.mean(rate), "_least": pl.min(rate), "_most": pl.max(rate)}
    groups = table.group_by("class", *labels, maintain_order=True).agg(_flows=pl.len(), **rates)
    return groups if labels else groups.clear()


def fair(classes: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return the table of classes with the fairness of those alone that have TCP: UDP shares nothing out."""
    return classes.with_columns(
        fairness=pl.when(pl.col("class").is_in(flows["class"].to_list())).then("fairness")
    )


def single(flows: pl.DataFrame, meaning: Description) -> pl.DataFrame:
    """Return the flows that are not among many transfers of one ``[[flow]]``."""
    return flows.filter(~pl.col("name").is_in(_many(meaning)))


def class_of(meaning: Description, *, transfers: bool = True) -> dict[str, str]:
    """Return the class of each flow by the path of its series; with those of many `transfers`, or without."""
    left_out = set() if transfers else set(_many(meaning))
    tcp = {f"flow.{flow.name}": flow.class_ for flow in meaning.flows if flow.name not in left_out}
    return tcp | {f"udp.{flow.name}": flow.class_ for flow in meaning.udp}


def _many(meaning: Description) -> list[str]:
    """Return the names of the transfers of every ``[[flow]]`` that stands for several."""
    groups: dict[str, list[str]] = {}
    for flow in meaning.flows:
        if flow.is_transfer:
            groups.setdefault(flow.name.split("[")[0], []).append(flow.name)
    return [name for names in groups.values() if len(names) > 1 for name in names]


def is_judged(run: RunSettings) -> bool:
    """Return whether a run has enough intervals for `unsettled` to say anything."""
    return run.duration_s >= (LEAST_BATCHES - 1) * BATCH * run.interval_s


def unsettled(series: pl.DataFrame, meaning: Description) -> str | None:
    """Return a remark on the warm-up by MSER-5, or ``None``.

    Judged is the goodput of all TCP flows without a `size` together. Nothing is said of fewer than 100
    intervals, nor where the transient is over at most a batch of five intervals after the warm-up.
    """
    run = meaning.run
    if not is_judged(run):
        return None
    endless = [f"flow.{flow.name}" for flow in meaning.flows if flow.size_bytes is None]
    goodput = series.filter((pl.col("quantity") == "goodput_bit_s") & pl.col("path").is_in(endless))
    total = goodput.group_by("time_s").agg(pl.sum("value")).sort("time_s")["value"]
    found = mser(total.to_numpy())
    if found is None or found.values * run.interval_s <= run.warmup_s + BATCH * run.interval_s:
        return None
    if not found.settled:
        return (
            f"the goodput of all flows does not settle in {run.duration_s:g} s (by MSER-5): the run is too "
            "short, or has no steady state"
        )
    return (
        f"the goodput of all flows settles at {found.values * run.interval_s:.4g} s (by MSER-5), after the "
        f"warm-up of {run.warmup_s:g} s: part of the transient is measured; run.warmup leaves it out"
    )


def drops_have_colors(queues: pl.DataFrame, meaning: Description) -> bool:
    """Return whether drops by colour add something: a queue or a drop has colours."""
    # such a queue has thresholds of its own for green
    looks = any("green" in one["queue"] for port in meaning.settings.port for one in port["class"])
    worse = queues.select(pl.sum("dropped_yellow", "dropped_red")).sum_horizontal().sum()
    return looks or worse > 0


def _group(name: str) -> pl.Expr:
    """Return the name in the file, ``web`` of ``web[3]``."""
    return pl.col(name).str.split("[").list.first()
