"""The measured quantities of all cases, and the predicates that `claims.toml` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

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
from perhop.papers.verdict import HIGHER, LOWER, MIN_REPLICATIONS, Asked, Part
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
    published
        What the paper prints, by case id and quantity.
    fitted
        Case and quantity of what the calibration fitted.
    """

    cases: dict[str, Case]
    runs: dict[str, tuple[Run, ...]]
    values: dict[str, dict[str, Floats]]
    tests: dict[str, dict[str, Floats]]
    published: Mapping[str, Mapping[str, float]]
    fitted: frozenset[tuple[str, str]]

    def interval(self, case: str, quantity: str) -> Interval:
        """Mean and 95 % interval over the replications; of a table's statistic, over the tests."""
        found = self.values[case].get(quantity)
        return mean_interval(self.tests[case][quantity] if found is None else found)


def measurements(
    cases: dict[str, Case],
    runs: dict[str, tuple[Run, ...]],
    published: Mapping[str, Mapping[str, float]],
    fitted: frozenset[tuple[str, str]],
) -> Measurements:
    """Reduce the runs of all cases."""
    values: dict[str, dict[str, Floats]] = {}
    tests: dict[str, dict[str, Floats]] = {}
    for id_, own in runs.items():
        each = [run_quantities(run) for run in own]
        values[id_] = {name: np.array([one[name] for one in each]) for name in each[0]}
        starts = range(0, len(own) - REPETITIONS + 1, REPETITIONS)
        whole = [table_statistics(own[first : first + REPETITIONS]) for first in starts]
        tests[id_] = {name: np.array([one[name] for one in whole]) for name in (whole[0] if whole else {})}
    return Measurements(cases, runs, values, tests, published, fitted)


def higher(m: Measurements, cases: Annotated[list[str], 2], quantities: list[str]) -> list[Part]:
    """Judge that quantities are higher in the first case than in the second; paired by replication."""
    first, second = cases
    parts = []
    for quantity in quantities:
        printed = [m.published.get(case, {}).get(quantity) for case in cases]
        asked = Asked(
            f"{_words(quantity)}, {first} less {second}",
            "direction",
            low=HIGHER,
            printed=None if printed[0] is None or printed[1] is None else printed[0] - printed[1],
            in_sample=any((case, quantity) in m.fitted for case in cases),
        )
        parts.append(asked.mean(m.values[first][quantity] - m.values[second][quantity]))
    return parts


def spread_at_most(m: Measurements, cases: Annotated[list[str], 2], ratio: float) -> list[Part]:
    """Judge the ratio of two standard deviations of per-flow throughput, over flows and runs.

    That it is below one, and how far. The interval is a jackknife's over pairs of runs of the same
    replication; a single run has no such ratio, so that there is no prediction of one.
    """
    first, second = (m.runs[case] for case in cases)
    pairs = list(zip(first, second, strict=True))
    what = f"standard deviation of per-flow throughput, {cases[0]} over {cases[1]}"
    sdevs = [m.published.get(case, {}).get("per_flow_throughput_sdev") for case in cases]
    printed = sdevs[0] / sdevs[1] if sdevs[0] is not None and sdevs[1] else None
    asked = (
        Asked(what, "direction", high=1.0 + LOWER, printed=printed),
        Asked(what, "size", high=ratio, printed=printed),
    )
    if len(pairs) < 3:
        return [one.undefined(f"{len(pairs)} replications, {MIN_REPLICATIONS} are needed") for one in asked]
    if min(per_flow_sdev([b for _, b in [*pairs[:k], *pairs[k + 1 :]]]) for k in range(len(pairs))) == 0.0:
        return [one.undefined(f"the ratio is undefined: no spread with {cases[1]}") for one in asked]
    measured = jackknife_interval(pairs, _ratio)
    return [one.estimated(measured) for one in asked]


PREDICATES: dict[str, Callable[..., list[Part]]] = {
    predicate.__name__: predicate for predicate in (higher, spread_at_most)
}


def _ratio(pairs: Sequence[tuple[Run, Run]]) -> float:
    return per_flow_sdev([a for a, _ in pairs]) / per_flow_sdev([b for _, b in pairs])


def _words(quantity: str) -> str:
    return quantity.replace("_", " ").replace("cir ", "CIR ")
