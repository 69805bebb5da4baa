"""The metrics of section 4.2, as a campaign measured them and as Tables 2 to 5 print them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from perhop.experiment.definition import Campaign
from perhop.judge.measured import Floats, Measurements
from perhop.papers.error import PackError
from perhop.papers.pack import Pack
from perhop.stats.fairness import jain
from perhop.stats.intervals import Interval, mean_interval

MARKINGS = ("per-flow", "aggregate")
FLOWS = 4
CIR_KBPS, AF_KBPS = 800.0, 2000.0
"""Rates of the customer (committed) and of the AF class, sections 4.4 and 4.3."""

EXCESS_KBPS = 1000.0
"""Rate that the utilization of the excess rate is relative to.

The paper does not say: `excess_denominator`.
"""

GREEN_PACKETS = 2 * CIR_KBPS * 1e3 * 110.0 / (8 * 1500)
"""Green packets that both committed rates allow in the measured time of a run."""

REPETITIONS = 5
"""Runs of a test, section 4.5; the statistics of the tables are over this many."""

COMPONENTS = ("committed", "excess", "total")
METRICS = {
    "cir_utilization": ("cir_utilization", "1"),
    "excess_utilization": ("excess_utilization", "1"),
    "per_flow_goodput": ("per_flow_goodput_kbps", "kbit/s"),
    "per_flow_throughput": ("per_flow_throughput_kbps", "kbit/s"),
    "aggregate_throughput": ("aggregate_throughput_kbps", "kbit/s"),
}
"""Quantities of Tables 2 and 4: their name in the published file, their unit."""

LABELS = {
    "total_fairness": "fairness of the total",
    "cir_utilization": "utilization of the CIR",
    "aggregate_throughput": "throughput in kbit/s",
}
"""Quantities that are shown over cases and sweeps."""


@dataclass(frozen=True)
class Case:
    """The runs of one treatment.

    Attributes
    ----------
    rates
        At the receivers over the measured time, kbit/s, a row for each replication and a column for each
        measured flow: `throughput` (with headers and repeats), `goodput` (payload in order), `committed`
        (green packets), `excess` (yellow and red ones).
    counts
        One value per replication of what `campaign.toml` measures of the whole.
    """

    rates: dict[str, Floats]
    counts: dict[str, Floats]

    def __getitem__(self, quantity: str) -> Floats:
        """Return a quantity of `QUANTITIES` or a count, one value per replication."""
        return QUANTITIES[quantity](self) if quantity in QUANTITIES else self.counts[quantity]

    def mean(self, quantity: str) -> float:
        """Return the mean of a quantity over the replications."""
        return float(self[quantity].mean())

    def interval(self, name: str) -> Interval | None:
        """Return mean and 95 % interval of a quantity, or of a statistic over the tests.

        None without a test.

        A statistic is a quantity with `_sdev`, `_min` or `_max`. As in Tables 2 to 5 it is over the runs of a
        test; of what a flow gets, over all flows of them.
        """
        if name in QUANTITIES or name in self.counts:
            return mean_interval(self[name])
        quantity, _, statistic = name.rpartition("_")
        flow = quantity.removeprefix("per_flow_")
        tests = by_test(self[quantity] if flow == quantity else self.rates[flow])
        return mean_interval(_OF_A_TEST[statistic](tests)) if len(tests) else None


def by_test(values: Floats) -> Floats:
    """Return a row for each test of `REPETITIONS` replications, with all that belongs to it."""
    tests = len(values) // REPETITIONS
    return values[: tests * REPETITIONS].reshape(tests, values[:REPETITIONS].size)


def sdev(values: Floats) -> Floats:
    """Return the standard deviation of the sample along the last axis; zero of a single value."""
    return np.std(values, ddof=1, axis=-1) if values.shape[-1] > 1 else np.zeros(values.shape[:-1])


_OF_A_TEST: Mapping[str, Callable[[Floats], Any]] = {
    "sdev": sdev,
    "min": lambda tests: tests.min(axis=-1),
    "max": lambda tests: tests.max(axis=-1),
}

QUANTITIES: Mapping[str, Callable[[Case], Floats]] = {
    "cir_utilization": lambda case: case.rates["committed"].sum(axis=1) / CIR_KBPS,
    "excess_utilization": lambda case: case.rates["excess"].sum(axis=1) / EXCESS_KBPS,
    "per_flow_goodput": lambda case: case.rates["goodput"].mean(axis=1),
    "per_flow_throughput": lambda case: case.rates["throughput"].mean(axis=1),
    "largest_throughput": lambda case: case.rates["throughput"].max(axis=1),
    "aggregate_throughput": lambda case: case.rates["throughput"].sum(axis=1),
    "committed_fairness": lambda case: jain(case.rates["committed"]),
    "excess_fairness": lambda case: jain(case.rates["excess"]),
    "total_fairness": lambda case: jain(case.rates["throughput"]),
    "sdev_in_run": lambda case: sdev(case.rates["throughput"]),
    "green_loss": lambda case: case.counts["dropped_green"] / GREEN_PACKETS,
    "background_throughput": lambda case: case.counts["background"] / 1e3,
}
"""Functions that return one value per replication; rates in kbit/s."""


def cases_of(campaign: Campaign, m: Measurements) -> dict[tuple[str, ...], Case]:
    """Return the cases of campaigns with equal factors, by the levels of their treatments."""
    run = campaign.scenario.describe().run
    kbps = {"name": 1e-3, "flow": 8e-3 / (run.duration_s - run.warmup_s)}
    found: dict[tuple[str, ...], Case] = {}
    for key, own in m.rows().partition_by(*campaign.design.names, "response", as_dict=True).items():
        *levels, response = map(str, key)
        case = found.setdefault(tuple(levels), Case({}, {}))
        by = next((name for name in kbps if own[name].null_count() == 0), None)
        if by is None:
            case.counts[response] = own["value"].to_numpy()
        else:
            flows = own.filter(pl.col(by).str.starts_with("measured["))
            table = flows.pivot(by, index="replication", values="value").drop("replication")
            case.rates[response] = kbps[by] * table.fill_null(0.0).to_numpy()
    return found


def published_values(pack: Pack) -> dict[str, dict[str, float]]:
    """Return the printed values by marking and quantity.

    Raises
    ------
    PackError
        A table is missing, a cell holds neither a quantity nor a number, or a marking lacks a row.
    """
    quantities = {column: name for name, (column, _) in METRICS.items()}
    components = {component: f"{component}_fairness" for component in COMPONENTS}
    found: dict[str, dict[str, float]] = {}
    for table, column, names, statistics in (
        ("throughput", "metric", quantities, ("sdev", "min", "max")),
        ("fairness", "component", components, ("sdev",)),
    ):
        for row in pack.table(table):
            if row[column] not in names:
                raise row.error(column, " or ".join(names))
            values, name = found.setdefault(row["marking"], {}), names[row[column]]
            values[name] = row.number("mean")
            values |= {f"{name}_{statistic}": row.number(statistic) for statistic in statistics}
    for marking, values in found.items():
        for wanted in (*METRICS, *components.values()):
            if wanted not in values:
                raise PackError(f"{pack.folder / 'published'}: {marking}: no row for {wanted}")
    return found
