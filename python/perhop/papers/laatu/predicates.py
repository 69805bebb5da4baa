"""The measured quantities of all cases, and the predicates that `claims.toml` names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from perhop.papers.laatu.measure import (
    REPETITIONS,
    Floats,
    Run,
    per_flow_sdev,
    run_quantities,
    table_statistics,
)
from perhop.papers.laatu.plan import Case
from perhop.papers.verdict import Part, part
from perhop.stats.intervals import Interval, mean_interval
from perhop.stats.jackknife import jackknife_interval


@dataclass(frozen=True)
class Measurements:
    """The runs of every case.

    Attributes
    ----------
    cases
        What was run, by id.
    runs
        Per case id, its replications.
    values
        Per case id and quantity, one value per replication.
    tests
        Per case id and statistic (`..._sdev`, `_min`, `_max`), one value per test of `REPETITIONS` runs;
        empty with fewer runs than that.
    """

    cases: dict[str, Case]
    runs: dict[str, tuple[Run, ...]]
    values: dict[str, dict[str, Floats]]
    tests: dict[str, dict[str, Floats]]

    def interval(self, case: str, quantity: str) -> Interval:
        """Mean and 95 % interval over the replications; of a table's statistic, over the tests."""
        found = self.values[case].get(quantity)
        return mean_interval(self.tests[case][quantity] if found is None else found)


def measurements(cases: dict[str, Case], runs: dict[str, tuple[Run, ...]]) -> Measurements:
    """Reduce the runs of all cases."""
    values: dict[str, dict[str, Floats]] = {}
    tests: dict[str, dict[str, Floats]] = {}
    for id_, own in runs.items():
        each = [run_quantities(run) for run in own]
        values[id_] = {name: np.array([one[name] for one in each]) for name in each[0]}
        starts = range(0, len(own) - REPETITIONS + 1, REPETITIONS)
        whole = [table_statistics(own[first : first + REPETITIONS]) for first in starts]
        tests[id_] = {name: np.array([one[name] for one in whole]) for name in (whole[0] if whole else {})}
    return Measurements(cases, runs, values, tests)


def higher(m: Measurements, cases: list[str], quantities: list[str]) -> list[Part]:
    """Judge that quantities are higher in the first case than in the second; paired by replication."""
    first, second = cases
    return [
        part(
            f"{_words(quantity)}, {first} less {second}",
            mean_interval(m.values[first][quantity] - m.values[second][quantity]),
            low=0.0,
        )
        for quantity in quantities
    ]


def spread_at_most(m: Measurements, cases: list[str], ratio: float) -> list[Part]:
    """Judge the ratio of two standard deviations of per-flow throughput, over flows and runs.

    The interval is a jackknife's over pairs of runs of the same replication.
    """
    first, second = (m.runs[case] for case in cases)
    pairs = list(zip(first, second, strict=True))
    what = f"standard deviation of per-flow throughput, {cases[0]} over {cases[1]}"
    if len(pairs) < 3:
        nothing = float("inf")
        return [part(what, Interval(_ratio(pairs), -nothing, nothing, len(pairs)), high=ratio)]
    return [part(what, jackknife_interval(pairs, _ratio), high=ratio)]


PREDICATES: dict[str, Callable[..., list[Part]]] = {
    predicate.__name__: predicate for predicate in (higher, spread_at_most)
}


def _ratio(pairs: Sequence[tuple[Run, Run]]) -> float:
    over, under = per_flow_sdev([a for a, _ in pairs]), per_flow_sdev([b for _, b in pairs])
    return over / under if under > 0.0 else float(over > 0.0)


def _words(quantity: str) -> str:
    return quantity.replace("_", " ").replace("cir ", "CIR ")
