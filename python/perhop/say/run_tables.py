"""The tables that the terminal prints of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from perhop.run import summary
from perhop.run.tables import labels_of, missing
from perhop.say.document import MOST_ROWS, Table, filled
from perhop.say.run_promises import of_run
from perhop.units import bit_rate, counted, duration

if TYPE_CHECKING:
    from perhop.scenario.scenario import Description

_IN_ORDER = "the first in the file"
_CLASS = "class | flows | goodput: goodput_bit_s | fairness"
_DROPPED = "dropped: dropped_packets"
_BUSY = "busy: {utilization:%} | with data: {utilization_data:%} | with ACKs: {utilization_acks:%}"
_TRANSFERS = "flow: group | class | begun | completed | mean: mean_s | 50 %: median_s | 95 %: p95_s"
_ENDS = "flow: name | from | to"
LOADS = (
    "loads | whole: loads_done | 50 %: load_p50_s | 95 %: load_p95_s | 99 %: load_p99_s | longest: load_max_s"
)
VIDEOS = (
    "stood still: rebuffering_s | times: rebuffers | mean rate: rate_mean_bit_s | switches | "
    "first chunk after: startup_s"
)
CALLS = (
    "from | to | MOS: {mos:.2f} | R: {rating:.1f} | mouth to ear: mouth_to_ear_s | lost: {lost_ratio:%} | "
    "never came: lost_packets | too late: late_packets"
)

_HAD = {
    "goodput_bit_s": ("goodput", bit_rate),
    "throughput_bit_s": ("throughput", bit_rate),
    "load_p50_s": ("median load", duration),
    "mos": ("MOS", "{:.2f}".format),
}


def printed(tables: Mapping[str, pl.DataFrame], meaning: Description, folder: Path) -> Iterator[Table]:
    """Go through the tables that the terminal prints of a run; all of them are in its folder."""

    def table(
        name: str, title: str, rows: pl.DataFrame, *columns: str, picked: str = _IN_ORDER, each: str = ""
    ) -> Table:
        """Return a table; with a column `each` of flows it shows the first of each table of the file."""
        whole = f"in {folder}/{name}.parquet"
        shown = summary.first_of_each(rows, MOST_ROWS, each) if each else rows.head(MOST_ROWS)
        return filled(title, columns, shown.to_dicts(), whole=whole, picked=picked, of=rows.height)

    groups = summary.groups(tables, MOST_ROWS)

    def rest(name: str) -> pl.DataFrame:
        """Return the rows of a table that are of no group of many."""
        return summary.outside(groups, name, tables.get(name, missing(name)))

    has_colors = summary.drops_have_colors(tables["queues"], meaning)
    colors = "green: dropped_green | yellow: dropped_yellow | red: dropped_red" if has_colors else ""
    by_color = ", drops by colour" if has_colors else ""
    classes = summary.fair(tables["classes"], tables["flows"]).with_columns(lost=summary.LOST)
    marked = "marked: marked_packets" if classes["marked_packets"].sum() > 0 else ""
    title = f"Classes of flows after the warm-up{by_color}"
    yield table("classes", title, classes, _CLASS, "lost: {lost:%}", _DROPPED, colors, marked)
    yield from of_run(meaning, tables["classes"])
    title = "One-way delays of data after the warm-up, and how they vary"
    delays = "delay 50 %: delay_p50_s | 95 %: delay_p95_s | 99 %: delay_p99_s | 99.9 %: delay_p999_s"
    varied = "PDV 95 %: pdv_p95_s | PDV 99.9 %: pdv_p999_s | IPDV 95 %: ipdv_p95_s"
    yield table("classes", title, classes, "class", delays, varied)
    yield from of_groups(groups)
    flows = summary.with_time(summary.single(rest("flows"), meaning))
    if flows.height:
        sent = "goodput: goodput_bit_s | srtt: srtt_s | sent: segments_sent | repeated: retransmissions"
        complete = "completed in: took_s" if flows["took_s"].is_not_null().any() else ""
        columns = [_ENDS, sent, "time-outs: timeouts", complete]
        picked = "the first of each [[flow]]"
        yield table("flows", "Flows after the warm-up", flows, *columns, picked=picked, each="name")
    single = summary.single(tables["flows"], meaning)
    yield from by_labels("flows", single, f"in {folder}/flows.parquet")
    transfers = summary.transfers(tables["flows"], meaning).to_dicts()
    if transfers:
        title = "Transfers of the whole run: time from start to end of those that completed"
        yield filled(title, [_TRANSFERS], transfers)
    if (applications := rest("applications")).height:
        title = "Applications: times from request to last byte, of loads asked for after the warm-up"
        yield table("applications", title, applications, "application: name | kind", LOADS)
    if "videos" in tables:
        yield table("videos", "Video after the warm-up", tables["videos"], "video: name", VIDEOS)
    if (calls := rest("calls")).height:
        title = "Calls by the E-model, as the listener of each way has them, after the warm-up"
        yield table("calls", title, calls, "call: name", CALLS)
    if (udp := rest("udp")).height:
        sent = "throughput: throughput_bit_s | sent: sent_packets | arrived: arrived_packets"
        columns = [_ENDS, sent, "mean delay: delay_mean_s"]
        title, picked = "UDP flows after the warm-up", "the first of each [[udp]]"
        yield table("udp", title, udp, *columns, picked=picked, each="name")
    yield from by_labels("udp", tables["udp"], f"in {folder}/udp.parquet")
    if tables["conditioners"].height:
        columns = ["conditioner: path | green: green_packets | yellow: yellow_packets | red: red_packets"]
        columns.append("dropped: dropped_packets | shaped: shaped_packets")
        title = "Conditioners after the warm-up: packets by colour"
        yield table("conditioners", title, _short(tables["conditioners"]), *columns)
    every = summary.marks(tables["marks"], meaning, MOST_ROWS)
    has_mark = pl.col("flow").is_in(every.filter(pl.col("mark") != "BE")["flow"].unique().implode())
    marks, plain = every.filter(has_mark), int(every.filter(~has_mark)["flows"].sum())
    if marks.height:
        left_out = f"; {counted(plain, 'flow')} with BE alone left out" if plain else ""
        title = f"Arrived after the warm-up, by mark{left_out}"
        picked = "the first of each [[flow]] and [[udp]]"
        columns = ["flow | mark | packets: arrived_packets | bytes: arrived_bytes"]
        yield table("marks", title, marks, *columns, picked=picked, each="flow")
    links = tables["links"].sort("utilization", descending=True, maintain_order=True)
    lossy = "lost packets: lost_packets" if links["lost_packets"].sum() > 0 else ""
    title = "Links: shares of the time after the warm-up"
    yield table("links", title, links, "link: name", _BUSY, lossy, picked="the busiest")
    waited = (pl.col("wait_max_s") > 0) | (pl.col("dropped_packets") > 0)
    order = ["dropped_packets", "max_packets"]
    queues = _short(tables["queues"].filter(waited).sort(order, descending=True, maintain_order=True))
    if queues.height:
        title = f"Queues in which packets waited{by_color}, after the warm-up"
        lengths = "class: path | mean packets: {mean_packets:.2f} | most: max_packets"
        waits = "mean wait: wait_mean_s | longest: wait_max_s | arrived: in_packets"
        picked = "those that dropped most"
        yield table("queues", title, queues, lengths, waits, _DROPPED, colors, picked=picked)


def _short(table: pl.DataFrame) -> pl.DataFrame:
    """Return rows whose path is without ``port.`` or ``conditioner.`` before it."""
    return table.with_columns(pl.col("path").str.replace(r"^(port|conditioner)\.", ""))


def of_groups(groups: Iterable[summary.Group]) -> Iterator[Table]:
    """Go through the table of groups with many members, if there are any: quantiles over these."""
    rows = [
        {"group": one.name, "had": had, "members": len(one.values)}
        | {f"p{permille}": written(one.quantile(permille)) for permille in (50, 500, 950)}
        for one in groups
        for had, written in (_HAD[one.key],)
    ]
    if rows:
        title = "Groups of many after the warm-up: what 5, 50 and 95 % of the members do not exceed"
        yield filled(title, ["group | of: had | members | 5 %: p50 | 50 %: p500 | 95 %: p950"], rows)


def by_labels(name: str, table: pl.DataFrame, whole: str, most: int = MOST_ROWS) -> Iterator[Table]:
    """Go through a table by class and labels of flows, if there are labels."""
    rate = "throughput" if name == "udp" else "goodput"
    groups = summary.by_labels(name, table, f"{rate}_bit_s")
    if groups.height:
        kind = "UDP flows" if name == "udp" else "Flows"
        title = f"{kind} by class and label: {rate} of one, after the warm-up"
        rates = groups.rename({f"_{one}": f"_{one}_bit_s" for one in ("mean", "least", "most")}).to_dicts()
        columns = ["class", *labels_of(name, table), "flows: _flows"]
        columns.append("mean: _mean_bit_s | least: _least_bit_s | most: _most_bit_s")
        yield filled(title, columns, rates, whole=whole, picked=_IN_ORDER, most=most)
