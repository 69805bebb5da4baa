"""The metrics of section 4.2: utilizations, goodput, throughput, fairness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from perhop.papers.laatu.setup import CIR_KBPS, EXCESS_KBPS
from perhop.run import Result

Floats = npt.NDArray[np.float64]

GREEN, YELLOW, RED = "AF11", "AF12", "AF13"
COMPONENTS = ("committed", "excess", "total")
REPETITIONS = 5
"""Runs of a test, section 4.5; the statistics of the tables are over this many."""


@dataclass(frozen=True)
class Run:
    """What is kept of a run.

    Attributes
    ----------
    green, excess, throughput, goodput
        Of each measured flow, kbit/s, over the measured time at the receiver: packets of the committed rate,
        yellow and red packets, all packets with headers and repeats, payload delivered in order.
    timeouts
        Time-outs of each measured flow.
    background
        Throughput of the background flows together, kbit/s.
    dropped
        Packets dropped at the AF queue by colour: green, yellow, red; of all flows, after the warm-up.
    """

    green: Floats
    excess: Floats
    throughput: Floats
    goodput: Floats
    timeouts: Floats
    background: float
    dropped: tuple[float, float, float]

    def component(self, name: str) -> Floats:
        """Give the rates of the flows by the paper's word: committed, excess or total."""
        return {"committed": self.green, "excess": self.excess, "total": self.throughput}[name]


def jain(rates: npt.ArrayLike, ideal: npt.ArrayLike = 1.0) -> float:
    """Fairness index of Jain, Chiu and Hawe, equation (1) of the paper.

    Parameters
    ----------
    rates
        What each flow got, `t_i`; at least one, none negative.
    ideal
        What each should get, `T_i`, or one value for all; above zero.

    Returns
    -------
    float
        ``(sum x)^2 / (n sum x^2)`` with ``x_i = t_i / T_i``: 1 where all are equal, 1/n where one has it all.
        Nothing for everyone is equal: 1.
    """
    x = np.asarray(rates, dtype=np.float64) / np.asarray(ideal, dtype=np.float64)
    if x.ndim != 1 or x.size == 0 or not np.all(np.isfinite(x)) or (x < 0.0).any():
        raise ValueError("jain: needs at least one rate, finite and not negative, and ideals above zero")
    squares = float(np.sum(x * x))
    return float(np.sum(x)) ** 2 / (x.size * squares) if squares > 0.0 else 1.0


def cir_utilization(run: Run, cir_kbps: float = CIR_KBPS) -> float:
    """Green throughput of the customer over its committed rate."""
    return float(run.green.sum()) / cir_kbps


def excess_utilization(run: Run, denominator_kbps: float = EXCESS_KBPS) -> float:
    """Yellow and red throughput of the customer over the excess rate, which the paper does not define."""
    return float(run.excess.sum()) / denominator_kbps


def excess_denominator(
    cir_utilization: float, excess_utilization: float, aggregate_kbps: float, cir_kbps: float = CIR_KBPS
) -> tuple[float, float]:
    """Range of the excess rate that a table's printed values imply, given that they are rounded.

    Parameters
    ----------
    cir_utilization, excess_utilization
        As printed, to two decimals.
    aggregate_kbps
        As printed; its rounding is neglected.
    cir_kbps
        Committed rate.

    Returns
    -------
    tuple of float
        Smallest and largest, kbit/s.
    """
    low = (aggregate_kbps - (cir_utilization + 0.005) * cir_kbps) / (excess_utilization + 0.005)
    high = (aggregate_kbps - (cir_utilization - 0.005) * cir_kbps) / (excess_utilization - 0.005)
    return low, high


def least_fairness(smallest_mean: float, sdev: float, flows: int, runs: int) -> float:
    """Smallest mean fairness index that the printed spread of a table permits.

    The variance inside the runs is on average at most the whole variance, and the index of a run is
    ``1 / (1 + c^2)`` with c its coefficient of variation. That is convex in c^2, so the mean index is least
    where all runs are alike and the whole spread lies inside them (Jensen).

    Parameters
    ----------
    smallest_mean
        Mean of the flows in the run where it was smallest.
    sdev
        Of the sample, over all flows of all runs.
    flows, runs
        How many of each.
    """
    n = flows * runs
    return 1.0 / (1.0 + (n - 1) / n * (sdev / smallest_mean) ** 2)


def run_quantities(run: Run) -> dict[str, float]:
    """Reduce a run to numbers: one value per metric."""
    spread = float(np.std(run.throughput, ddof=1)) if run.throughput.size > 1 else 0.0
    return {
        "cir_utilization": cir_utilization(run),
        "excess_utilization": excess_utilization(run),
        "per_flow_goodput": float(run.goodput.mean()),
        "per_flow_throughput": float(run.throughput.mean()),
        "aggregate_throughput": float(run.throughput.sum()),
        **{f"{name}_fairness": jain(run.component(name)) for name in COMPONENTS},
        "sdev_in_run": spread,
        "background_throughput": run.background,
        "timeouts": float(run.timeouts.mean()),
        "dropped_green": run.dropped[0],
        "dropped_yellow": run.dropped[1],
        "dropped_red": run.dropped[2],
    }


def table_statistics(runs: Sequence[Run]) -> dict[str, float]:
    """Reduce the runs of a test as Tables 2 to 5 do.

    Parameters
    ----------
    runs
        Repetitions of a test, at least two.

    Returns
    -------
    dict
        For each metric its standard deviation, `_sdev`, and for those of Tables 2 and 4 `_min` and `_max`:
        per flow over all flows of all runs, otherwise over the runs.
    """
    each = [run_quantities(run) for run in runs]
    samples = {
        name: np.array([one[name] for one in each])
        for name in ("cir_utilization", "excess_utilization", "aggregate_throughput")
    }
    samples["per_flow_goodput"] = np.concatenate([run.goodput for run in runs])
    samples["per_flow_throughput"] = np.concatenate([run.throughput for run in runs])
    found = {}
    for name, values in samples.items():
        found[f"{name}_sdev"] = float(np.std(values, ddof=1))
        found[f"{name}_min"] = float(values.min())
        found[f"{name}_max"] = float(values.max())
    for name in COMPONENTS:
        found[f"{name}_fairness_sdev"] = float(
            np.std(np.array([one[f"{name}_fairness"] for one in each]), ddof=1)
        )
    return found


def per_flow_sdev(runs: Sequence[Run]) -> float:
    """Take the standard deviation of a flow's throughput, kbit/s, over all flows of all runs."""
    return float(np.std(np.concatenate([run.throughput for run in runs]), ddof=1))


def read(result: Result, measured_s: float) -> Run:
    """Reduce the tables of a run.

    Parameters
    ----------
    result
        What the engine returned.
    measured_s
        Time after the warm-up, over which `marks` counts, s.
    """
    flows, udp, marks = result.flows, result.udp, result.marks
    names = list(flows["name"])
    ours = np.array([kind == "measured" for kind in flows["class"]])
    throughput = np.asarray(flows["throughput_bit_s"], dtype=np.float64) / 1e3
    place = {name: index for index, name in enumerate(names)}
    green, excess = np.zeros(len(names)), np.zeros(len(names))
    for name, mark, size in zip(
        marks["flow"], marks["mark"], np.asarray(marks["arrived_bytes"]), strict=True
    ):
        if name in place and mark == GREEN:
            green[place[name]] += float(size)
        elif name in place and mark in (YELLOW, RED):
            excess[place[name]] += float(size)
    kbps = 8.0 / 1e3 / measured_s
    return Run(
        green=green[ours] * kbps,
        excess=excess[ours] * kbps,
        throughput=throughput[ours],
        goodput=np.asarray(flows["goodput_bit_s"], dtype=np.float64)[ours] / 1e3,
        timeouts=np.asarray(flows["timeouts"], dtype=np.float64)[ours],
        background=_background(flows) + _background(udp),
        dropped=_dropped(result.queues),
    )


def _background(flows: pl.DataFrame) -> float:
    rates = flows.filter(pl.col("class") == "background")["throughput_bit_s"]
    return float(rates.to_numpy().sum()) / 1e3


def _dropped(queues: pl.DataFrame) -> tuple[float, float, float]:
    (af,) = queues.filter(pl.col("path") == "port.c1-c2.class.af").iter_rows(named=True)
    return float(af["dropped_green"]), float(af["dropped_yellow"]), float(af["dropped_red"])
