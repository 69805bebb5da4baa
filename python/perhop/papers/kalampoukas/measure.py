"""From the engine's results to the quantities of the study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from perhop.papers.kalampoukas.plan import Figure, Plan
from perhop.papers.kalampoukas.setup import Setup
from perhop.papers.readings import Reading
from perhop.papers.study import check_runs
from perhop.run import Result
from perhop.stats.intervals import Interval, mean_interval

SLOW_LINK = "slow->fast"
SLOW_PORT = "port.slow-fast."


@dataclass(frozen=True)
class Curve:
    """A line of a figure: efficiency or throughput over time."""

    name: str
    time_s: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measurements:
    """Quantities of every figure, one value per replication.

    Attributes
    ----------
    figures
        What was run, by id.
    values
        Per figure id and quantity, the replications' values.
    """

    figures: dict[str, Figure]
    values: dict[str, dict[str, npt.NDArray[np.float64]]]

    def interval(self, figure: str, quantity: str) -> Interval:
        """Mean and 95 % interval of one quantity over the replications."""
        return mean_interval(self.values[figure][quantity])


def measure(plan: Plan, results: Sequence[Result]) -> tuple[Measurements, list[tuple[Reading, Measurements]]]:
    """Reduce the results of a plan, in the order of its jobs: as given, and under each reading.

    Raises
    ------
    BrokenRun
        If a run reports a broken invariant.
    ValueError
        If there is not one result per job.
    """
    check_runs(plan.jobs, results)
    n = plan.replications
    size = n * len(plan.figures)

    def measurements(own: Sequence[Result]) -> Measurements:
        values: dict[str, dict[str, npt.NDArray[np.float64]]] = {}
        for index, figure in enumerate(plan.figures):
            runs = [quantities(figure, result) for result in own[index * n : (index + 1) * n]]
            values[figure.id] = {name: np.array([run[name] for run in runs]) for name in runs[0]}
        return Measurements({figure.id: figure for figure in plan.figures}, values)

    under = [
        (reading, measurements(results[(place + 1) * size : (place + 2) * size]))
        for place, reading in enumerate(plan.readings)
    ]
    return measurements(results[:size]), under


def quantities(figure: Figure, result: Result) -> dict[str, float]:
    """Reduce one run.

    Returns
    -------
    dict
        `slow_efficiency`, `fast_efficiency`: delivered payload of all connections of a direction over the
        rate of the link that carries it. `fast_throughput`: kbit/s. `slow_link_utilization`: share of the
        time the slow link sends. `slow_queue_data`: longest queue at the slow node, data packets.
        `slow_queue_packets`: the same with ACKs; with a class for ACKs, the sum of both classes' longest.
        `dropped`: packets lost at any queue.
    """
    links, queues = result.links, result.queues
    at_slow = queues.filter(pl.col("path").str.starts_with(SLOW_PORT))
    link = links.row(by_predicate=pl.col("name") == SLOW_LINK, named=True)
    slow, fast = connection_efficiencies(figure.setup, result)
    return {
        "slow_efficiency": slow,
        "fast_efficiency": fast,
        "fast_throughput": fast * figure.setup.fast_rate / 1e3,
        "slow_link_utilization": float(link["utilization"]),
        "slow_queue_data": float(at_slow["max_data_packets"].sum()),
        "slow_queue_packets": float(at_slow["max_packets"].sum()),
        "dropped": float(queues["dropped_packets"].sum()),
    }


def connection_efficiencies(setup: Setup, result: Result) -> tuple[float, float]:
    """Sum the delivered payload of either direction over the rate of the link that carries it: slow, fast."""
    goodput = result.flows["goodput_bit_s"].to_numpy()
    from_slow = (result.flows["from"] == "slow").to_numpy()
    slow, fast = float(goodput[from_slow].sum()), float(goodput[~from_slow].sum())
    return slow / setup.slow_rate, fast / setup.fast_rate


def curves(figure: Figure, result: Result) -> list[Curve]:
    """Give what the paper draws of a run: each connection per measurement interval, and the sums of several.

    Efficiencies; for Figure 3.2 throughput of the fast connection, kbit/s.
    """
    goodput = result.series.filter(pl.col("quantity") == "goodput_bit_s")
    found: list[Curve] = []
    for side in ("slow", "fast"):
        rate = figure.setup.slow_rate if side == "slow" else figure.setup.fast_rate
        unit = 1e3 if figure.table == "figure3_2" else rate
        lines = []
        for name in result.flows.filter(pl.col("from") == side)["name"]:
            own = goodput.filter(pl.col("path") == f"flow.{name}")
            lines.append(Curve(name, own["time_s"].to_numpy(), own["value"].to_numpy() / unit))
        found.extend(lines)
        if len(lines) > 1:
            total = np.sum([line.value for line in lines], axis=0)
            found.append(Curve(f"{side} connections together", lines[0].time_s, total))
    return found
