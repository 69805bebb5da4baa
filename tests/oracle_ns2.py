"""The traces of ns-2 in `oracles/ns2-2.35`, and how a run is held against one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

FOLDER = Path(__file__).parent.parent / "oracles" / "ns2-2.35"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
TIME_TOLERANCE_S = 2e-6
CWND_TOLERANCE_PACKETS = 0.002
CONTEXT = 5
_ROUNDING = 1e-9
#: The time-out of ns-2 before the first sample, and the largest.
INITIAL_RTO_S = 3.0
MAX_RTO_S = 60.0
#: Steps in which ns-2 stamps what its variables become.
STAMP_S = 1e-5
#: The finest tick of which three decimals tell the number of quarters.
FINEST_KNOWN_TICK_S = 0.01
HALF_A_DECIMAL_S = 0.0005


class Event(NamedTuple):
    """Something that happened at the sender."""

    time_s: float
    kind: str
    packet: int
    cwnd_packets: float

    def is_like(self, other: Event) -> bool:
        """Whether the two are the same within the tolerances."""
        return (
            self[1:3] == other[1:3]
            and abs(self.time_s - other.time_s) <= TIME_TOLERANCE_S + _ROUNDING
            and abs(self.cwnd_packets - other.cwnd_packets) <= CWND_TOLERANCE_PACKETS + _ROUNDING
        )

    def __str__(self) -> str:
        return f"{self.time_s:.6f} {self.kind:7} {self.packet:4} {self.cwnd_packets:8.3f}"


def expected(trace: dict[str, Any]) -> list[Event]:
    """Give what ns-2 did."""
    return [Event(*row) for row in trace["events"]]


def observed(table: pl.DataFrame) -> list[Event]:
    """Give what perhop did, from the table of `--trace tcp`."""
    assert table["flow"].unique().to_list() == ["f"]
    return [Event(*row) for row in table.select("time_s", "event", "packet", "cwnd_packets").iter_rows()]


def difference(theirs: Sequence[Event], ours: Sequence[Event]) -> str | None:
    """Say where the two part, with their neighbours; None if ours is theirs and then no more is sent.

    A trace ends with the first ACK of the last packet. What is under way then may still arrive here.
    """
    found = next((k for k, (a, b) in enumerate(zip(theirs, ours, strict=False)) if not a.is_like(b)), None)
    if found is None and len(ours) < len(theirs):
        found = len(ours)
    if found is None:
        rest = range(len(theirs), len(ours))
        found = next((k for k in rest if ours[k].kind not in ("ack", "drop")), None)
    if found is None:
        return None
    lines = [f"event {found} differs:", f"    {'ns-2':32}perhop"]
    for k in range(max(0, found - CONTEXT), found + CONTEXT + 1):
        a, b = (str(events[k]) if k < len(events) else "" for events in (theirs, ours))
        if a or b:
            lines.append(f"{'>' if k == found else ' '}   {a:32}{b}".rstrip())
    return "\n".join(lines)


def expected_ssthresh(trace: dict[str, Any]) -> list[float]:
    """Give the values that ssthresh takes in ns-2; of several at one time the last."""
    changes = [(time, value) for time, name, value in trace["vars"] if name == "ssthresh"]
    last = [list(rows)[-1][1] for _, rows in groupby(changes, key=lambda change: change[0])]
    return [value for value, _ in groupby(last)]


def expected_rto_s(trace: dict[str, Any], settings: dict[str, float]) -> list[float]:
    """Give the time-out of ns-2, backed off, as each event left it; `settings` are those of the profile."""
    changes = [(0.0, INITIAL_RTO_S), *_rto_changes(trace, settings["tick"], settings["minrto"])]
    stamps = [stamp for stamp, _ in changes]
    return [changes[bisect_right(stamps, time + STAMP_S) - 1][1] for time, *_ in trace["events"]]


def _rto_changes(trace: dict[str, Any], tick: float, least: float) -> Iterator[tuple[float, float]]:
    """Follow the time-out: srtt in whole ticks and rttvar in quarters of one, four times.

    A trace has both with three decimals. That tells the ticks if they are coarse; if not, the least time-out
    is all that counts.
    """
    now = {"srtt": 0.0, "rttvar": 0.0, "backoff": 1.0}
    base = INITIAL_RTO_S
    for stamp, rows in groupby((row for row in trace["vars"] if row[0] > 0), key=lambda row: row[0]):
        new = {name: value for _, name, value in rows if name in now}
        now |= new
        # without srtt: both were given up after many time-outs, and what followed from them stays
        if new.keys() & {"srtt", "rttvar"} and now["srtt"] > 0:
            base = (round(now["srtt"] / tick) + round(4 * now["rttvar"] / tick)) * tick
            assert tick >= FINEST_KNOWN_TICK_S or base + 5 * HALF_A_DECIMAL_S < least, (
                "three decimals are too few"
            )
        yield stamp, min(max(base, least) * now["backoff"], MAX_RTO_S)


def different_rto(theirs: Sequence[float], table: pl.DataFrame) -> str | None:
    """Say where the time-out of perhop is not that of ns-2; `theirs` may end earlier."""
    pairs = zip(theirs, table["rto_s"], strict=False)
    found = next((k for k, (a, b) in enumerate(pairs) if abs(a - b) > _ROUNDING), None)
    return (
        None
        if found is None
        else f"time-out after event {found}: ns-2 {theirs[found]}, perhop {table['rto_s'][found]}"
    )


def observed_ssthresh(table: pl.DataFrame) -> list[float]:
    """Give the values that ssthresh takes in perhop."""
    return [value for value, _ in groupby(table["ssthresh_packets"].to_list())]
