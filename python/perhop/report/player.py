"""What a run's page plays: how busy links were, what waited, and packets where they were traced."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop.plot import topology

if TYPE_CHECKING:
    from perhop.record import StoredRun
    from perhop.scenario import Description

MOST_TIMES = 600
"""Instants that are shown; a longer series is thinned."""
MOST_PACKETS = 6000
"""Packets on links that are shown: the first ones after the warm-up."""

_COLORS = ["green", "yellow", "red"]


def data(run: StoredRun, meaning: Description) -> str | None:
    """Return what the player shows, as JSON; None where the series has fewer than two instants.

    Keys: ``nodes`` (name, x, y, router), ``links`` (from, to: places of nodes; busy: percent at each instant;
    waiting: packets in the queues before it), ``times`` in s, and ``packets``: lists of when each was
    sent, when it arrived, its link, its colour, whether it is a pure ACK.

    Parameters
    ----------
    run
        A run read back from its folder.
    meaning
        Its scenario.
    """
    series = run.tables["series"]
    times = series["time_s"].unique().sort()
    times = times.gather_every(max(1, -(-len(times) // MOST_TIMES)))
    if len(times) < 2:
        return None
    places = topology.places(meaning)
    number = {name: place for place, name in enumerate(places)}
    ends: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for link in meaning.links:
        pair = (number[topology.group(link.source)], number[topology.group(link.target)])
        ends.setdefault(pair, []).append((f"link.{link.name}", link.port.path))
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
            {"name": name, "x": x, "y": y, "router": router} for name, (x, y, router) in places.items()
        ],
        "times": [round(time, 6) for time in times],
        "links": [
            {
                "from": source,
                "to": target,
                "busy": [round(100 * share) for share in busy.get((source, target), quiet)],
                "waiting": [round(packets) for packets in waiting.get((source, target), quiet)],
            }
            for source, target in ends
        ],
        "packets": _packets(
            run, meaning, {path: place for place, own in enumerate(ends.values()) for _, path in own}
        ),
    }
    return json.dumps(found, separators=(",", ":"))


def _over_time(
    rows: pl.DataFrame, quantity: str, pair_of: dict[str, tuple[int, int]], largest: bool
) -> dict[tuple[int, int], list[float]]:
    """Return for each instant the largest of the links between two nodes, or what their queues hold."""
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


def _packets(run: StoredRun, meaning: Description, place_of: dict[str, int]) -> list[list[float]] | None:
    """Return what was on the way where packets were traced: columns sent, arrived, link, colour, pure ACK."""
    trace = run.trace("packets")
    if trace is None:
        return None
    steps = trace.filter(
        pl.col("event").is_in(["sent", "delivered"]), pl.col("time_s") >= meaning.run.warmup_s
    )
    port = pl.col("path").str.replace(r"\.class\..*$", "")
    steps = steps.with_columns(
        link=port.replace_strict(place_of, default=None, return_dtype=pl.Int64)
    ).drop_nulls("link")
    # the same packet on the same link: what is sent again is another of its kind
    same = ["path_port", "flow", "kind", "packet", "bytes"]
    steps = steps.with_columns(path_port=port)
    turn = pl.int_range(pl.len()).over([*same, "event"]).alias("turn")
    steps = steps.with_columns(turn)
    sent = steps.filter(pl.col("event") == "sent")
    arrived = steps.filter(pl.col("event") == "delivered").select(*same, "turn", arrived="time_s")
    both = sent.join(arrived, on=[*same, "turn"], how="inner").sort("time_s").head(MOST_PACKETS).collect()
    both = both.filter(pl.col("arrived") > pl.col("time_s"))
    color = both["color"].replace_strict({name: place for place, name in enumerate(_COLORS)}, default=0)
    return [
        [round(time, 6) for time in both["time_s"]],
        [round(time, 6) for time in both["arrived"]],
        both["link"].to_list(),
        color.to_list(),
        (both["kind"] == "pure-ack").cast(pl.Int64).to_list(),
    ]
