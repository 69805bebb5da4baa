"""The results of a run in sentences, made by rules from its tables: numbers, no causes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from perhop.run import summary
from perhop.say.document import Table, filled
from perhop.units import bit_rate, counted, duration, percent

if TYPE_CHECKING:
    from perhop.run.record import StoredRun
    from perhop.scenario.scenario import Description

_MOST_NAMED = 5
"""Most classes or flows that are named one by one."""

FEW_FLOWS = 4
"""Flows of a single class that are named one by one."""
_UNLIKE = 2.0
"""How many times one flow's mean delay is another's where a class has no delay to speak of."""
_STARVED = 0.02
"""Share of its class's median goodput below which a flow is called starved."""


def got(run: StoredRun, meaning: Description) -> str:
    """Describe goodput and its fairness by class, or by flow where one class has few."""
    classes = summary.fair(run.table("classes"), run.table("flows"))
    count = len(run.table("flows")) + len(run.table("udp"))
    if not count:
        return ""
    if count <= FEW_FLOWS and len(classes) < 2:
        text = _each(run, meaning)
    elif len(classes) == 0:
        both = (("flows", "goodput_bit_s"), ("udp", "throughput_bit_s"))
        total = sum(sum(run.table(name)[column].to_list()) for name, column in both)
        text = f"{counted(count, 'flow')} got {bit_rate(total)} of goodput together"
    elif len(classes) == 1:
        text = _single(classes.to_dicts()[0], run.table("flows"), meaning)
    else:
        total = bit_rate(sum(classes["goodput_bit_s"].to_list()))
        text = f"{len(classes)} classes of flows got {total} of goodput together"
    said = f"{text}{_unfair(classes)}{_nothing(run, meaning)}"
    return ". ".join([said, *applications(run.table)]) + "."


def applications(table: Callable[[str], pl.DataFrame]) -> list[str]:
    """Describe what came of applications, of those kinds that there are, from the tables of a run by name."""
    parts = (_loads(table("applications")), _videos(table("videos")), _calls(table("calls")))
    return [part for part in parts if part]


def _first(parts: Sequence[str], rest: str) -> list[str]:
    """Return the parts, or the first of many and how many others are like `rest`."""
    if len(parts) <= _MOST_NAMED:
        return list(parts)
    named = parts[: _MOST_NAMED - 1]
    return [*named, f"{len(parts) - len(named)} others {rest}"]


def _each(run: StoredRun, meaning: Description) -> str:
    """Describe each flow's goodput, or the time that its transfer took."""
    sizes = {flow.name: flow.size_bytes for flow in meaning.flows}
    doing = {flow.name for flow in meaning.flows if flow.has_application}
    flows = summary.with_time(run.table("flows").filter(~pl.col("name").is_in(doing)))
    each = list(flows.select("name", "took_s", "goodput_bit_s").iter_rows())
    took = [f"{name} {duration(took_s)}" for name, took_s, _ in each if took_s is not None]
    late = [name for name, took_s, _ in each if took_s is None and sizes.get(name) is not None]
    rates = [f"{name} {bit_rate(rate)}" for name, _, rate in each if sizes.get(name) is None]
    udp = run.table("udp").select("name", "throughput_bit_s")
    rates += [f"{name} {bit_rate(rate)}" for name, rate in udp.iter_rows()]
    parts = (("goodput", rates), ("complete after", took), ("not complete", late))
    text = "; ".join(f"{what}: {_listed(of)}" for what, of in parts if of)
    return text[:1].upper() + text[1:]


def _loads(applications: pl.DataFrame) -> str:
    """Describe each application's load times: the median, and what 95 % do not exceed; slow ones first."""
    asked = applications.filter(pl.col("kind") != "video")
    rows = asked.sort("load_p95_s", descending=True, nulls_last=False, maintain_order=True).to_dicts()
    parts = [
        f"{row['name']} half within {duration(row['load_p50_s'])}, 95 % within {duration(row['load_p95_s'])}"
        if row["loads_done"]
        else f"{row['name']} none of {row['loads']} whole"
        for row in rows
    ]
    return f"Loads: {'; '.join(_first(parts, 'sooner'))}" if parts else ""


def _videos(videos: pl.DataFrame) -> str:
    """Describe how long each video stood still and at what rate it played; those that stood longest first."""
    rows = videos.sort("rebuffering_s", descending=True, maintain_order=True).to_dicts()
    parts = []
    for row in rows:
        rate = row["rate_mean_bit_s"]
        played = "" if rate is None else f", played at {bit_rate(rate)}"
        parts.append(f"{row['name']} stood still {duration(row['rebuffering_s'])}{played}")
    return f"Video: {'; '.join(_first(parts, 'not as long'))}" if parts else ""


def _calls(calls: pl.DataFrame) -> str:
    """Describe the score of each call as its listener with the lower one has it; bad ones first."""
    worst = calls.sort("mos", maintain_order=True).unique("call", keep="first", maintain_order=True)
    rows = worst.filter(pl.col("mos").is_not_null()).to_dicts()
    parts = [f"{row['call']} {row['mos']:.2f}" for row in rows]
    score = "Calls, mean opinion score of the worse way"
    return f"{score}: {', '.join(_first(parts, 'better'))}" if parts else ""


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _single(row: dict[str, Any], flows: pl.DataFrame, meaning: Description) -> str:
    """Describe a class's goodput, and the least and the most of its flows that do not end."""
    endless = [flow.name for flow in meaning.flows if flow.size_bytes is None]
    own: list[float] = flows.filter(pl.col("name").is_in(endless))["goodput_bit_s"].to_list()
    each = f", {bit_rate(min(own))} to {bit_rate(max(own))} each" if len(own) > 1 else ""
    return f"{counted(row['flows'], 'flow')} got {bit_rate(row['goodput_bit_s'])} of goodput{each}"


def _unfair(classes: pl.DataFrame) -> str:
    """Describe the least of Jain's indices; empty for one class of few flows."""
    rows = classes.filter(pl.col("fairness").is_not_null()).sort("fairness", maintain_order=True)
    if rows.is_empty() or (len(classes) == 1 and classes["flows"][0] <= FEW_FLOWS):
        return ""
    name, least = rows["class"][0], f"{rows['fairness'][0]:.2f}"
    if len(rows) > 1:
        return f"; Jain's fairness index is lowest in {name}: {least}"
    return f"; Jain's fairness index{'' if len(classes) == 1 else f' of {name}'} is {least}"


def _nothing(run: StoredRun, meaning: Description) -> str:
    """Count endless flows that delivered nothing, and name those that time-outs starved."""
    endless = [flow.name for flow in meaning.flows if flow.size_bytes is None]
    flows = run.table("flows").filter(
        pl.col("name").is_in(endless), pl.col("start_s") < meaning.run.duration_s
    )
    idle = flows.filter(pl.col("delivered_bytes") == 0).height
    text = f"; {idle} of {counted(flows.height, 'endless flow')} got nothing" if idle else ""
    few = pl.col("goodput_bit_s") < _STARVED * pl.col("goodput_bit_s").median().over("class")
    starved = flows.filter(few, pl.col("delivered_bytes") > 0, pl.col("timeouts") > 0)
    if starved.is_empty():
        return text
    names = [f"{name} {bit_rate(rate)}" for name, rate in starved.select("name", "goodput_bit_s").iter_rows()]
    rest = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return f"{text}; starved by time-outs that follow each other: {_listed(names[:_MOST_NAMED] + rest)}"


class Loss(NamedTuple):
    """A place where packets were lost after the warm-up: how many of those that came."""

    place: str
    lost: int
    came: int


def losses(run: StoredRun) -> list[Loss]:
    """Return the links, queues and conditioners that lost packets, most first.

    What an ACK filter drops is not lost: a later ACK says as much (docs/decisions/0103).
    """
    colored = pl.col("green_packets") + pl.col("yellow_packets") + pl.col("red_packets")
    unfiltered = pl.col("dropped_packets") - pl.col("dropped_ack_filter").fill_null(0)
    kinds = (
        ("queue", "port.", run.table("queues").select("path", unfiltered, "in_packets")),
        ("link", "", run.table("links").select("name", "lost_packets", "packets")),
        ("conditioner", "conditioner.", run.table("conditioners").select("path", "dropped_packets", colored)),
    )
    found = [
        Loss(f"the {kind} {name.removeprefix(prefix)}", gone or 0, came)
        for kind, prefix, places in kinds
        for name, gone, came in places.iter_rows()
    ]
    return sorted((one for one in found if one.lost), key=lambda one: -one.lost)


def lost(run: StoredRun) -> str:
    """Describe the busiest link, and the place where most packets were lost."""
    links = run.table("links").sort("utilization", descending=True, maintain_order=True)
    shares = links.select("name", "utilization").rows()
    parts = []
    if shares and (most := shares[0][1]):
        alike = [name for name, share in shares if f"{share:.3f}" == f"{most:.3f}"]
        others = f", {counted(len(alike) - 1, 'other')} alike" if len(alike) > 1 else ""
        parts.append(f"The busiest link, {alike[0]}, was busy {percent(most)} of the time{others}")
    parts.append(_where(losses(run)))
    if filtered := int(run.table("queues")["dropped_ack_filter"].sum()):
        parts.append(f"ACK filters dropped {counted(filtered, 'ACK')}")
    whole = "; ".join(parts)
    return f"{whole[0].upper()}{whole[1:]}."


def _where(places: Sequence[Loss]) -> str:
    """Describe how many packets were lost, and how many at the worst place, if one is worst."""
    if not places:
        return "no packet was lost"
    first, total = places[0], sum(one.lost for one in places)
    were = "packet was" if total == 1 else "packets were"
    if len(places) > 1 and places[1].lost == first.lost:
        return f"{total} {were} lost at {len(places)} places, at most {first.lost} at each"
    share = f" ({percent(first.lost / first.came)} of what came there)" if first.lost <= first.came else ""
    if len(places) == 1:
        return f"{total} {were} lost, in {first.place} alone{share}"
    return f"{total} {were} lost, {first.lost} of them in {first.place}{share}"


def shares(run: StoredRun, meaning: Description) -> Table:
    """Return goodput and one-way delay of data by class; by flow where one class has a few unlike ones."""
    classes = run.table("classes")
    udp = run.table("udp").rename({"throughput_bit_s": "goodput_bit_s"})
    flows = [row for table in (run.table("flows"), udp) for row in table.to_dicts()]
    note = unlike(run, meaning)
    if len(classes) == 1 and len(flows) <= FEW_FLOWS and note:
        return filled("", ["flow: name | goodput: goodput_bit_s | mean delay: delay_mean_s"], flows)
    done = pl.when(pl.col("transfers") > 0).then(pl.format("{} of {}", "transfers_completed", "transfers"))
    columns = (
        "class | flows | goodput: goodput_bit_s | mean delay: delay_mean_s | delay 50 %: delay_p50_s",
        "delay 99 %: delay_p99_s | lost: {lost:%}",
        "transfers complete: done | half within: transfer_p50_s" if classes["transfers"].sum() else "",
    )
    return filled("", columns, classes.with_columns(lost=summary.LOST, done=done).to_dicts(), text=note)


def unlike(run: StoredRun, meaning: Description) -> str:
    """Name the classes whose flows have mean delays too far apart for one of the class; empty if none."""
    both = [summary.single(run.table("flows"), meaning), run.table("udp")]
    each = pl.concat(one.select("class", "delay_mean_s").drop_nulls() for one in both)
    ends = {"least": pl.min("delay_mean_s"), "most": pl.max("delay_mean_s")}
    found = each.group_by("class", maintain_order=True).agg(**ends)
    parts = [
        f"{name} has unlike flows: their mean delays are from {duration(least)} to {duration(most)}"
        for name, least, most in found.filter(pl.col("most") > _UNLIKE * pl.col("least")).iter_rows()
    ]
    return f"{'; '.join(parts)}." if parts else ""
