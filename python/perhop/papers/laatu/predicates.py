"""The predicates that `claims.toml` names, over the cases that were measured together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from perhop.judge.measured import Floats
from perhop.judge.verdict import HIGHER, LOWER, MIN_REPLICATIONS, ClaimPart, Hypothesis
from perhop.papers.laatu.responses import Case, sdev
from perhop.stats.jackknife import jackknife_interval


@dataclass(frozen=True)
class SchemeValues:
    """Cases that were measured together, under the same reading of the paper.

    Attributes
    ----------
    cases
        By id; those that are compared have the same random numbers in the same replication.
    published
        What the paper prints, by case id and quantity.
    fitted
        Case and quantity of what the calibration fitted.
    """

    cases: Mapping[str, Case]
    published: Mapping[str, Mapping[str, float]]
    fitted: frozenset[tuple[str, str]]

    def printed(self, cases: Sequence[str], quantity: str) -> list[float] | None:
        """Give what the paper prints of a quantity in some cases; None where it leaves out one."""
        found = [self.published.get(case, {}).get(quantity) for case in cases]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None


def higher(m: SchemeValues, cases: Annotated[list[str], 2], quantities: list[str]) -> list[ClaimPart]:
    """Judge that quantities are higher in the first case than in the second; paired by replication."""
    first, second = cases
    parts = []
    for quantity in quantities:
        printed = m.printed(cases, quantity)
        asked = Hypothesis(
            f"{quantity.replace('_', ' ').replace('cir ', 'CIR ')}, {first} less {second}",
            "direction",
            low=HIGHER,
            printed=printed[0] - printed[1] if printed else None,
            in_sample=any((case, quantity) in m.fitted for case in cases),
        )
        parts.append(asked.mean(m.cases[first][quantity] - m.cases[second][quantity]))
    return parts


def spread_at_most(m: SchemeValues, cases: Annotated[list[str], 2], ratio: float) -> list[ClaimPart]:
    """Judge the ratio of two standard deviations of per-flow throughput, over flows and runs.

    That it is below one, and how far. The interval is a jackknife's over pairs of runs of the same
    replication; a single run has no such ratio, so that there is no prediction of one.
    """
    pairs = list(zip(*(m.cases[case].rates["throughput"] for case in cases), strict=True))
    what = f"standard deviation of per-flow throughput, {cases[0]} over {cases[1]}"
    sdevs = m.printed(cases, "per_flow_throughput_sdev")
    printed = sdevs[0] / sdevs[1] if sdevs else None
    asked = (
        Hypothesis(what, "direction", high=1.0 + LOWER, printed=printed),
        Hypothesis(what, "size", high=ratio, printed=printed),
    )
    if len(pairs) < 3:
        return [one.undefined(f"{len(pairs)} replications, {MIN_REPLICATIONS} are needed") for one in asked]
    if min(_spread(pairs[:k] + pairs[k + 1 :], 1) for k in range(len(pairs))) == 0.0:
        return [one.undefined(f"the ratio is undefined: no spread with {cases[1]}") for one in asked]
    measured = jackknife_interval(pairs, lambda some: _spread(some, 0) / _spread(some, 1))
    return [one.estimated(measured) for one in asked]


def targets(m: SchemeValues, missed: str, close: str, target: float, share: float) -> list[ClaimPart]:
    """Judge that in one case no flow of a run reaches a target, kbit/s, and in another they come close.

    What is printed of the first is the largest flow of five runs: more than the largest of one.
    """
    largest = Hypothesis(
        f"throughput of a run's largest flow, kbit/s, {missed}",
        "direction",
        high=target + LOWER,
        printed=m.published.get(missed, {}).get("per_flow_throughput_max"),
    )
    printed = m.printed([close], "per_flow_throughput")
    mean = Hypothesis(
        f"throughput of a flow over its target, {close}",
        "size",
        low=share,
        printed=printed[0] / target if printed else None,
        # their sum was
        in_sample=(close, "aggregate_throughput") in m.fitted,
    )
    return [
        largest.mean(m.cases[missed].rates["throughput"].max(axis=1)),
        mean.mean(m.cases[close]["per_flow_throughput"] / target),
    ]


def committed_arrives(
    m: SchemeValues, cases: list[str], used: str, dropped: float, share: float
) -> list[ClaimPart]:
    """Judge that hardly a green packet is dropped, and that so much of the committed rate is used."""
    parts = [
        Hypothesis(f"green packets dropped of those committed to, {case}", "size", high=dropped).mean(
            m.cases[case]["green_loss"]
        )
        for case in cases
    ]
    printed = m.printed([used], "cir_utilization")
    asked = Hypothesis(
        f"CIR utilization, {used}",
        "size",
        low=share,
        printed=printed[0] if printed else None,
        in_sample=(used, "cir_utilization") in m.fitted,
    )
    return [*parts, asked.mean(m.cases[used]["cir_utilization"])]


PREDICATES: dict[str, Callable[..., list[ClaimPart]]] = {
    predicate.__name__: predicate for predicate in (higher, spread_at_most, targets, committed_arrives)
}


def _spread(pairs: Sequence[tuple[Floats, Floats]], side: int) -> float:
    return float(sdev(np.concatenate([pair[side] for pair in pairs])))
