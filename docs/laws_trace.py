"""What a sender does with its time, from its trace: waiting, repairing losses, or sending as the laws say."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

# an ACK that takes this many round trips was held back by the receiver
_HELD_BACK = 1.5


@dataclass
class Anatomy:
    """Parts of the time of a run.

    Parameters
    ----------
    idle
        Neither sending nor hearing anything until the retransmission timer expires.
    mean_wait_s
        How long that lasts each time, s.
    ack_wait
        Waiting for an ACK that the receiver delays.
    repairing
        From the first repeat of a segment, or a time-out, until everything sent by then is acknowledged.
    clear_segments_s
        Segments sent for the first time in the rest, over the length of the rest.
    """

    idle: float
    mean_wait_s: float
    ack_wait: float
    repairing: float
    clear_segments_s: float


def anatomy(trace: pl.DataFrame, rtt_s: float) -> Anatomy:
    """Return what the sender of one flow did with its time.

    Parameters
    ----------
    trace
        Its trace ``tcp``.
    rtt_s
        Round-trip time of the path, s.
    """
    idle = ack_wait = repairing = before = 0.0
    waits = clear = 0
    highest = -1
    recover: int | None = None
    rows = trace.filter(pl.col("event") != "drop").select("time_s", "event", "packet").iter_rows()
    for time, event, packet in rows:
        gap, before = time - before, time
        if event == "timeout":
            idle += gap
            waits += 1
            recover = highest if recover is None else recover
            continue
        if event == "ack" and gap > _HELD_BACK * rtt_s:
            ack_wait += gap - rtt_s
            gap = rtt_s
        repairing += gap if recover is not None else 0.0
        if event == "ack":
            recover = None if recover is not None and packet >= recover else recover
        elif packet <= highest:
            recover = highest if recover is None else recover
        else:
            highest = packet
            clear += recover is None
    rest = before - idle - ack_wait - repairing
    return Anatomy(idle / before, idle / max(1, waits), ack_wait / before, repairing / before, clear / rest)
