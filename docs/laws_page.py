"""The page and the pictures about the laws of loss and throughput, from what `docs/laws.py` measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import laws_bbr
import laws_link
import numpy as np

from perhop.models import throughput
from perhop.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAND = (0.8, 1.25)
MIN_RTO_S = 1.0
ACKS = {1: "an ACK per segment", 2: "delayed ACKs"}
OTHER_COLUMNS = (
    " waiting for the timer | for a delayed ACK | repairing | ratio in the rest | limited by the receiver |"
)
PFTK_COLUMNS = (
    " loss events that time out | by PFTK | time waiting for the timer | by PFTK | mean wait "
    "| for a delayed ACK | ratio in the rest | limited by the receiver |"
)
MARKS = {"reno": "o", "sack": "D"}
P = np.geomspace(7e-5, 0.14, 200)
Row = Mapping[str, Any]


def page(document: Mapping[str, Any], text: str) -> str:
    """Return `docs/tcp-laws.md` with the tables between its `<!-- laws: NAME -->` marks made again."""
    reno, cubic = _parts(document)
    stamped = [row for row in document["points"] if row["timestamps"]]
    paths = [(rtt, b) for rtt in _values(reno, "rtt_s") for b in _values(reno, "b")]
    made = {
        "reno": "\n".join(_table(reno, rtt, b) for rtt, b in paths),
        "mathis-outside": _outliers(reno, "mathis"),
        "pftk-outside": _outliers(reno, "pftk"),
        "timestamps": _timestamps(reno, stamped),
        "cubic": "\n".join(_cubic_table(cubic, rtt) for rtt in _values(cubic, "rtt_s")),
        "cubic-outside": _outliers(cubic, "rfc9438"),
        "links": _links([row for row in document["links"] if row["bound"]]),
        "links-shown": _links([row for row in document["links"] if not row["bound"]]),
        "bbr": _bbr(document["bbr"]),
    }
    return re.sub(
        r"(<!-- laws: (\S+) -->\n).*?(<!-- /laws -->)",
        lambda match: match[1] + made[match[2]] + match[3],
        text,
        flags=re.DOTALL,
    )


def _parts(document: Mapping[str, Any]) -> tuple[list[Row], list[Row]]:
    rows = [row for row in document["points"] if not row["timestamps"]]
    return [row for row in rows if row["cc"] == "reno"], [row for row in rows if row["cc"] == "cubic"]


def _values(rows: Sequence[Row], column: str) -> list[Any]:
    return sorted({row[column] for row in rows})


def _table(rows: Sequence[Row], rtt: float, b: int) -> str:
    """Return the table of one path: a line for each loss probability, Reno and SACK side by side."""
    lines = [
        f"### RTT {rtt * 1000:g} ms, {ACKS[b]}\n",
        "| p | Mathis | PFTK | Reno delivers | of Mathis | of PFTK | SACK delivers | of Mathis | of PFTK |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    inside = [row for row in rows if (row["rtt_s"], row["b"]) == (rtt, b)]
    for p in _values(inside, "p"):
        of = {row["recovery"]: row for row in inside if row["p"] == p}
        cells = [
            f"{p:g}",
            f"{throughput.mathis(p, rtt, b):.4g}",
            f"{throughput.pftk(p, rtt, MIN_RTO_S, b=b):.4g}",
        ]
        for recovery in ("reno", "sack"):
            cells += [
                _rate(of[recovery]),
                *(_ratio(of[recovery]["ratios"][law]) for law in ("mathis", "pftk")),
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _links(rows: Sequence[Row]) -> str:
    """Return a line for each sender and path, a cell for each queue: utilization, and time-outs if any."""
    queues = _values(rows, "queue_bdp")
    lines = [
        f"| sender | Mbit/s | RTT | {' | '.join(f'{queue:g} BDP' for queue in queues)} |",
        "|" + "---|" * (3 + len(queues)),
    ]
    paths = dict.fromkeys((row["sender"], row["rate_mbit_s"], row["rtt_ms"]) for row in rows)
    for path in paths:
        inside = [row for row in rows if (row["sender"], row["rate_mbit_s"], row["rtt_ms"]) == path]
        cells = [_link(row) for row in sorted(inside, key=lambda row: row["queue_bdp"])]
        lines.append(f"| {path[0]} | {path[1]} | {path[2]} ms | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _link(row: Row) -> str:
    timeouts = f", {row['timeouts']}" if row["timeouts"] else ""
    text = f"{row['utilization']:.3f}{timeouts}"
    return f"**{text}**" if laws_link.broken(row) else text


def _bbr(rows: Sequence[Row]) -> str:
    """Return a line for each path, a cell for each queue: utilization, and the part that is lost if any."""
    lines = [f"| Mbit/s | RTT | {' | '.join(laws_bbr.QUEUES)} |", "|" + "---|" * (2 + len(laws_bbr.QUEUES))]
    for rate, rtt in dict.fromkeys((row["rate_mbit_s"], row["rtt_ms"]) for row in rows):
        of = {row["queue"]: row for row in rows if (row["rate_mbit_s"], row["rtt_ms"]) == (rate, rtt)}
        cells = []
        for queue in laws_bbr.QUEUES:
            lost = of[queue]["lost"]
            text = f"{of[queue]['utilization']:.3f}" + (f", {100 * lost:.2g} %" if lost else "")
            cells.append(f"**{text}**" if laws_bbr.broken(of[queue]) else text)
        lines.append(f"| {rate} | {rtt} ms | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _timestamps(rows: Sequence[Row], stamped: Sequence[Row]) -> str:
    """Return what the timestamps option changes, line by line."""
    lines = [
        "| sender | RTT | ACKs | p | SACK delivers | mean wait | with timestamps | mean wait |",
        "|---|---|---|---|---|---|---|---|",
    ]
    same = ("recovery", "rtt_s", "b", "p")
    for one in stamped:
        (plain,) = (row for row in rows if all(row[name] == one[name] for name in same))
        path = (
            one["recovery"],
            f"{one['rtt_s'] * 1000:g} ms",
            "each" if one["b"] == 1 else "delayed",
            f"{one['p']:g}",
        )
        numbers = [
            text for row in (plain, one) for text in (_rate(row), f"{row['why']['mean_wait_s']:.2g} s")
        ]
        lines.append(f"| {' | '.join((*path, *numbers))} |")
    return "\n".join(lines) + "\n"


def _cubic_table(rows: Sequence[Row], rtt: float) -> str:
    lines = [
        f"### CUBIC, RTT {rtt * 1000:g} ms\n",
        "| p | RFC 9438 | region | losses evenly spaced | ratio | losses at random | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    inside = [row for row in rows if row["rtt_s"] == rtt]
    for p in _values(inside, "p"):
        law = float(throughput.cubic_response(p, rtt))
        region = "cubic" if law > throughput.aimd_window(p, 1.0, 0.5) * 1.000001 else "Reno-friendly"
        cells = [f"{p:g}", f"{law:.4g}", region]
        for even in (True, False):
            found = [row for row in inside if row["p"] == p and row["even"] is even]
            cells += [text for row in found for text in (_rate(row, rtt), _ratio(row["ratios"]["rfc9438"]))]
        cells += [""] * (7 - len(cells))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _rate(row: Row, scale: float = 1.0) -> str:
    half = row["delivered_half"] * scale
    return f"{row['delivered'] * scale:.4g}" + (f" ± {float(f'{half:.2g}'):g}" if half else "")


def _ratio(value: float) -> str:
    return f"{value:.2f}" if BAND[0] <= value <= BAND[1] else f"**{value:.2f}**"


def _outliers(rows: Iterable[Row], law: str) -> str:
    """Return the ratios outside the band, each with what the run says about why."""
    head = "| sender | RTT | ACKs | p | ratio |"
    head += PFTK_COLUMNS if law == "pftk" else OTHER_COLUMNS
    lines = [head, "|" + "---|" * (head.count("|") - 1)]
    for row in rows:
        if BAND[0] <= row["ratios"][law] <= BAND[1]:
            continue
        who = row["recovery"] if row["cc"] == "reno" else f"losses {'even' if row['even'] else 'at random'}"
        path = (who, f"{row['rtt_s'] * 1000:g} ms", "each" if row["b"] == 1 else "delayed", f"{row['p']:g}")
        reasons = _against_pftk(row) if law == "pftk" else _against_a_clear_path(row, law)
        cells = (*path, f"{row['ratios'][law]:.2f}", *reasons, f"{row['limited']:.0%}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else "None.\n"


def _against_a_clear_path(row: Row, law: str) -> tuple[str, ...]:
    """Return where the time goes that the law knows nothing of, and the ratio in the rest."""
    why = row["why"]
    computed = row["delivered"] / row["ratios"][law]
    parts = (why["idle"], why["ack_wait"], why["repairing"])
    return (*(f"{part:.0%}" for part in parts), f"{why['clear_segments_s'] / computed:.2f}")


def _against_pftk(row: Row) -> tuple[str, ...]:
    """Return time-outs and waiting, measured and as PFTK has them, and the ratio in the rest of the time."""
    why, p, b = row["why"], row["p"], row["b"]
    share = float(throughput.pftk_timeout_share(p, throughput.pftk_window(p, b)))
    waiting = float(throughput.pftk_waiting(p, row["rtt_s"], MIN_RTO_S, b=b))
    rest = row["ratios"]["pftk"] * (1 - waiting) / (1 - why["idle"] - why["ack_wait"])
    return (
        *(f"{part:.0%}" for part in (row["timeouts"], share, why["idle"], waiting)),
        f"{why['mean_wait_s']:.2g} s",
        f"{why['ack_wait']:.0%}",
        f"{rest:.2f}",
    )


def pictures(document: Mapping[str, Any], folder: Path) -> None:
    """Write `laws-loss.svg` and `laws-cubic.svg`."""
    reno, cubic = _parts(document)
    with style.figure(8.6, 6.4, nrows=2, ncols=2, sharex=True, sharey=True) as (made, grid):
        for line, rtt in zip(grid, _values(reno, "rtt_s"), strict=True):
            for axes, b in zip(line, _values(reno, "b"), strict=True):
                _losses(axes, [row for row in reno if (row["rtt_s"], row["b"]) == (rtt, b)], rtt, b)
        for axes in grid[:, 0]:
            axes.set_ylabel("segments per round trip")
        for axes in grid[1]:
            axes.set_xlabel("loss probability p")
        grid[0, 0].legend(loc="lower left")
        made.savefig(folder / "laws-loss.svg", facecolor="white", metadata={"Date": None, "Creator": None})
    with style.figure(8.6, 3.6, ncols=2, sharex=True, sharey=True) as (made, panels):
        for axes, rtt in zip(panels, _values(cubic, "rtt_s"), strict=True):
            _cubic(axes, [row for row in cubic if row["rtt_s"] == rtt], rtt)
            axes.set_xlabel("loss probability p")
        panels[0].set_ylabel("mean window in segments")
        panels[1].legend(loc="upper right")
        made.savefig(folder / "laws-cubic.svg", facecolor="white", metadata={"Date": None, "Creator": None})


def _losses(axes: Axes, rows: Sequence[Row], rtt: float, b: int) -> None:
    axes.plot(
        P, throughput.mathis(P, rtt, b) * rtt, color=style.INK, linestyle=style.DASHES[1], label="Mathis"
    )
    axes.plot(P, throughput.pftk(P, rtt, MIN_RTO_S, b=b) * rtt, color=style.COLORS[0], label="PFTK")
    for recovery, color in (("reno", style.COLORS[1]), ("sack", style.COLORS[2])):
        own = [row for row in rows if row["recovery"] == recovery]
        axes.plot(
            [row["p"] for row in own],
            [row["delivered"] * rtt for row in own],
            MARKS[recovery],
            color=color,
            markersize=6,
            markerfacecolor="none" if recovery == "sack" else color,
            label=f"{recovery}, simulated",
        )
    axes.set(xscale="log", yscale="log", title=f"RTT {rtt * 1000:g} ms, {ACKS[b]}")


def _cubic(axes: Axes, rows: Sequence[Row], rtt: float) -> None:
    p = np.geomspace(min(row["p"] for row in rows) / 1.4, max(row["p"] for row in rows) * 1.4, 200)
    axes.plot(p, throughput.cubic_response(p, rtt), color=style.COLORS[0], label="RFC 9438")
    axes.plot(
        p,
        throughput.aimd_window(p, 1.0, 0.5),
        color=style.INK,
        linestyle=style.DASHES[1],
        linewidth=1.0,
        label="Reno",
    )
    for even, mark, color in ((True, "s", style.COLORS[1]), (False, "o", style.COLORS[2])):
        own = [row for row in rows if row["even"] is even]
        axes.plot(
            [row["p"] for row in own],
            [row["delivered"] * rtt for row in own],
            mark,
            color=color,
            markersize=6,
            markerfacecolor=color if even else "none",
            label=f"losses {'evenly spaced' if even else 'at random'}",
        )
    axes.set(xscale="log", yscale="log", title=f"RTT {rtt * 1000:g} ms")
