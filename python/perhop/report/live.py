"""The part of a run's page about real packets: whether the run is valid, and the simulator beside it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import polars as pl

from perhop import summary
from perhop.plot import two_clocks
from perhop.report import page

if TYPE_CHECKING:
    from perhop.record import StoredRun
    from perhop.scenario import Description

_CLASS = (
    ("goodput", "goodput_bit_s", "bit_rate"),
    ("lost", "lost", "percent"),
    ("delay 50 %", "delay_p50_s", "duration"),
    ("delay 95 %", "delay_p95_s", "duration"),
    ("fairness", "fairness", "number"),
    ("retransmitted", "retransmitted", "percent"),
    ("time-outs", "timeouts", "number"),
    ("srtt", "srtt_s", "duration"),
)
"""What is compared of each class: name, column, how it is written."""


def part(run: StoredRun, meaning: Description) -> dict[str, Any] | None:
    """Return what the page says of a live run, None of one in virtual time.

    The scenario is simulated for it, which takes a second or two as a rule.
    """
    how = run.record.live
    if how is None:
        return None
    simulated = run.scenario().override('run.clock="virtual"').run()
    class_of = summary.class_of(meaning, transfers=False)
    kernel = _rows(run.table("classes"), run.table("flows"))
    simulator = _rows(simulated.classes, simulated.flows)
    svg = two_clocks.draw(run.table("series"), simulated.series, class_of, meaning.run.warmup_s)
    return {
        "how": how,
        "columns": [(title, column, kind) for title, column, kind in _CLASS],
        "rows": [
            {"class": name, "arms": (("kernel", kernel[name]), ("simulator", simulator[name]))}
            for name in kernel
        ],
        "figure": page.drawing(
            "two-clocks",
            "Kernel and simulator",
            svg,
            "The same scenario on real packets (solid) and in virtual time (dashed).",
            _virtual_command(run),
        ),
    }


def _virtual_command(run: StoredRun) -> str:
    words = ["perhop", "run", run.record.scenario]
    for assignment in run.record.overrides:
        if not assignment.startswith("run.clock"):
            words += ["-s", assignment]
    return shlex.join([*words, "-s", "run.clock=virtual"])


def _rows(classes: pl.DataFrame, flows: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return what is compared, by class."""
    of_flows = flows.group_by("class").agg(
        retransmitted=pl.col("retransmissions").sum() / pl.col("segments_sent").sum(),
        timeouts=pl.col("timeouts").sum(),
        srtt_s=pl.col("srtt_s").mean(),
    )
    lost = pl.col("dropped_packets") / pl.col("offered_packets")
    rows = classes.with_columns(lost=lost).join(of_flows, on="class", how="left", maintain_order="left")
    return {row["class"]: row for row in rows.to_dicts()}
