"""Data of the player on a run's page: busy links, waiting packets, traced packets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.plot.layout import group, places

if TYPE_CHECKING:
    from perhop.run.record import StoredRun
    from perhop.scenario.scenario import Description

MOST_TIMES = 600
"""Instants that are shown; a longer series is thinned."""
MOST_PACKETS = 6000
"""Packets on links that are shown: the first ones of the run, which fill its queues."""

_COLORS = ["green", "yellow", "red"]


def data(run: StoredRun, meaning: Description) -> str | None:
    """Return the player's data as JSON; None where the series has fewer than two instants.

    Keys: ``nodes`` (name, x, y, router), ``links`` (from, to: places of nodes; busy: percent at each instant;
    waiting: packets in the queues before it; room: how many may wait, null where not all limits are in
    packets), ``times`` in s, ``packets``: lists of when each was sent, when it arrived, its link, its colour,
    whether it is a pure ACK, and ``drops``: lists of when and before which link.
    """
    placed = places(meaning)
    number = {name: place for place, name in enumerate(placed)}
    ends: dict[tuple[int, int], list[tuple[str, str]]] = {}
    room: dict[tuple[int, int], list[str]] = {}
    for link in meaning.links:
        pair = (number[group(link.source)], number[group(link.target)])
        ends.setdefault(pair, []).append((f"link.{link.name}", link.port.path))
        room.setdefault(pair, []).extend(one.limit for one in link.port.classes)
    place_of = {path: place for place, own in enumerate(ends.values()) for _, path in own}
    packets = _packets(run, place_of)
    series = run.tables["series"]
    times = series["time_s"].unique().sort()
    if packets is not None and packets[1]:
        # on fast links the packets may be over before the second sample
        times = times.head(max(2, len(times.filter(times <= max(packets[1])))))
    times = times.gather_every(max(1, -(-len(times) // MOST_TIMES)))
    if len(times) < 2:
        return None
    rows = series.filter(pl.col("time_s").is_in(times.implode()))
    busy = _over_time(
        rows, "utilization", {path: pair for pair, own in ends.items() for path, _ in own}, True
    )
    waiting = _over_time(
        rows, "backlog_packets", {path: pair for pair, own in ends.items() for _, path in own}, False
    )
    quiet = [0] * len(times)
    found: dict[str, Any] = {
        "nodes": [
            {"name": name, "x": x, "y": y, "router": router} for name, (x, y, router) in placed.items()
        ],
        "times": [round(time, 6) for time in times],
        "links": [
            {
                "from": source,
                "to": target,
                "busy": [round(100 * share) for share in busy.get((source, target), quiet)],
                "waiting": [round(waits) for waits in waiting.get((source, target), quiet)],
                "room": _room(room[source, target]),
            }
            for source, target in ends
        ],
        "packets": packets,
        "drops": _drops(run, place_of, max(packets[1], default=0.0)) if packets is not None else None,
    }
    return json.dumps(found, separators=(",", ":"))


def _over_time(
    rows: pl.DataFrame, quantity: str, pair_of: dict[str, tuple[int, int]], largest: bool
) -> dict[tuple[int, int], list[float]]:
    """Return for each instant the largest or the sum of the links between two nodes."""
    own = rows.filter(pl.col("quantity") == quantity).with_columns(
        of=pl.col("path")
        .str.replace(r"\.class\..*$", "")
        .replace_strict(
            {path: f"{a} {b}" for path, (a, b) in pair_of.items()}, default=None, return_dtype=pl.String
        )
    )
    value = pl.col("value").fill_null(0.0)
    total = (
        own.drop_nulls("of")
        .group_by("of", "time_s")
        .agg(value.max() if largest else value.sum())
        .sort("time_s")
    )
    found = {}
    for (name,), table in total.group_by("of"):
        a, b = str(name).split()
        found[int(a), int(b)] = table["value"].to_list()
    return found


def _room(limits: list[str]) -> int | None:
    """Return the packets that may wait by limits such as ``100p``; None where one is in bytes."""
    inside = [limit.removesuffix("p") for limit in limits]
    return sum(map(int, inside)) if all(limit.isdecimal() for limit in inside) else None


def _steps(run: StoredRun, place_of: dict[str, int]) -> pl.LazyFrame | None:
    """Return the traced events at links that are shown, with these links' places."""
    trace = run.trace("packets")
    if trace is None:
        return None
    port = pl.col("path").str.replace(r"\.class\..*$", "")
    link = port.replace_strict(place_of, default=None, return_dtype=pl.Int64)
    return trace.with_columns(link=link, path_port=port).drop_nulls("link")


def _drops(run: StoredRun, place_of: dict[str, int], end_s: float) -> list[list[float]]:
    """Return the times of drops until `end_s`, and the links before which they were."""
    steps = _steps(run, place_of)
    assert steps is not None
    own = steps.filter(pl.col("event") == "dropped", pl.col("time_s") <= end_s).select("time_s", "link")
    found = own.sort("time_s").collect()
    return [[round(time, 6) for time in found["time_s"]], found["link"].to_list()]


def _packets(run: StoredRun, place_of: dict[str, int]) -> list[list[float]] | None:
    """Return traced packets as columns: sent, arrived, link, colour, pure ACK."""
    steps = _steps(run, place_of)
    if steps is None:
        return None
    steps = steps.filter(pl.col("event").is_in(["sent", "delivered"]))
    # the same packet on the same link: what is sent again is another of its kind
    same = ["path_port", "flow", "kind", "packet", "bytes"]
    turn = pl.int_range(pl.len()).over([*same, "event"]).alias("turn")
    steps = steps.with_columns(turn)
    sent = steps.filter(pl.col("event") == "sent")
    arrived = steps.filter(pl.col("event") == "delivered").select(*same, "turn", arrived="time_s")
    # in the trace's order where times are equal, so that the same run gives the same page
    joined = sent.join(arrived, on=[*same, "turn"], how="inner", maintain_order="left")
    both = joined.sort("time_s", maintain_order=True).head(MOST_PACKETS).collect()
    both = both.filter(pl.col("arrived") > pl.col("time_s"))
    color = both["color"].replace_strict({name: place for place, name in enumerate(_COLORS)}, default=0)
    return [
        [round(time, 6) for time in both["time_s"]],
        [round(time, 6) for time in both["arrived"]],
        both["link"].to_list(),
        color.to_list(),
        (both["kind"] == "pure-ack").cast(pl.Int64).to_list(),
    ]
