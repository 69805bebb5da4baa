"""Data of the player on a run's page: busy links, waiting packets, traced packets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.plot.layout import group, places

if TYPE_CHECKING:
    from perhop.run.record import StoredRun
    from perhop.scenario.scenario import Description, LinkView

MOST_TIMES = 600
"""Instants that are shown; a longer series is thinned."""
MOST_PACKETS = 6000
"""Packets on links that are shown: the first ones of the run, which fill its queues."""

_COLORS = ["green", "yellow", "red"]
_PORT = pl.col("path").str.replace(r"\.class\..*$", "")


def data(run: StoredRun, meaning: Description) -> str | None:
    """Return the player's data as JSON; None where the series has fewer than two instants.

    Keys: ``nodes`` (name, x, y, router), ``links`` (from, to: places of nodes; busy: percent at each instant;
    waiting: packets in the queues before it; room: how many may wait, null where not all limits are in
    packets), ``times`` in s, ``packets``: lists of when each was sent, when it arrived, its link, its colour,
    whether it is a pure ACK, and ``drops``: lists of when and before which link.
    """
    placed = places(meaning)
    number = {name: place for place, name in enumerate(placed)}
    links: dict[tuple[int, int], list[LinkView]] = {}
    for link in meaning.links:
        links.setdefault((number[group(link.source)], number[group(link.target)]), []).append(link)
    place_of = {
        path: place
        for place, own in enumerate(links.values())
        for link in own
        for path in (f"link.{link.name}", link.port.path)
    }
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
    value = pl.col("value").fill_null(0.0)
    busy = _over_time(rows.filter(quantity="utilization"), place_of, value.max())
    waiting = _over_time(rows.filter(quantity="backlog_packets"), place_of, value.sum())
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
                "busy": [round(100 * share) for share in busy.get(place, quiet)],
                "waiting": [round(waits) for waits in waiting.get(place, quiet)],
                "room": _room([one.limit for link in own for one in link.port.classes]),
            }
            for place, ((source, target), own) in enumerate(links.items())
        ],
        "packets": packets,
        "drops": _drops(run, place_of, max(packets[1], default=0.0)) if packets is not None else None,
    }
    return json.dumps(found, separators=(",", ":"))


def _link(place_of: dict[str, int]) -> pl.Expr:
    """Return the places of the links of paths, also of classes of ports; null of other paths."""
    return _PORT.replace_strict(place_of, default=None, return_dtype=pl.Int64)


def _over_time(rows: pl.DataFrame, place_of: dict[str, int], together: pl.Expr) -> dict[int, list[float]]:
    """Return by place what the links between two nodes have together at each instant."""
    own = rows.with_columns(link=_link(place_of)).drop_nulls("link")
    total = own.group_by("link", "time_s").agg(together).sort("time_s").group_by("link")
    return {place: table["value"].to_list() for (place,), table in total}


def _room(limits: list[str]) -> int | None:
    """Return the packets that may wait by limits such as ``100p``; None where one is in bytes."""
    inside = [limit.removesuffix("p") for limit in limits]
    return sum(map(int, inside)) if all(limit.isdecimal() for limit in inside) else None


def _steps(run: StoredRun, place_of: dict[str, int]) -> pl.LazyFrame | None:
    """Return the traced events at links that are shown, with these links' places."""
    trace = run.trace("packets")
    if trace is None:
        return None
    return trace.with_columns(link=_link(place_of), path_port=_PORT).drop_nulls("link")


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
