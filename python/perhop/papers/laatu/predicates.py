"""Cases that were measured together: what claims may be about, and what they are judged on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from perhop.judge.measured import Floats, Measured, Predicates
from perhop.judge.quantity import Place, Subject
from perhop.judge.verdict import LOWER, MIN_REPLICATIONS, ClaimPart, Hypothesis
from perhop.papers.laatu.responses import QUANTITIES, Case, sdev
from perhop.papers.pack import Pack
from perhop.stats.jackknife import jackknife_interval


@dataclass(frozen=True)
class SchemeValues(Measured):
    """Cases that were measured together, under the same reading of the paper.

    Attributes
    ----------
    cases
        By id; those that are compared have the same random numbers in the same replication.
    published
        What the paper prints, by case id and quantity.
    """

    cases: Mapping[str, Case]
    published: Mapping[str, Mapping[str, float]]

    def sample(self, response: str, at: Place, effect: Place | None) -> Floats:
        """Return a quantity or a count of a case."""
        del effect
        return self.cases[at["case"]][response]


def subject_of(pack: Pack, published: Mapping[str, Mapping[str, float]]) -> Subject:
    """Return what claims may be about: the cases, and what is printed of the paper's."""
    fit = pack.toml("calibration.toml")["fit"]
    fitted = {(fit["marking"], quantity) for quantity in fit["quantities"]}
    cases = [one["case"] for one in pack.figures if "case" in one]

    def printed(_: str, response: str, at: Place, __: Place | None) -> float | None:
        # the largest flow of five runs: more than the largest of one
        name = "per_flow_throughput_max" if response == "largest_throughput" else response
        return published.get(at["case"], {}).get(name)

    def in_sample(response: str, at: Place) -> bool:
        # what a flow gets is a share of their sum
        name = "aggregate_throughput" if response == "per_flow_throughput" else response
        return (at["case"], name) in fitted

    return Subject(
        {one: {} for one in QUANTITIES}, {"case": cases}, [{"case": one} for one in cases], printed, in_sample
    )


def spread_at_most(m: SchemeValues, cases: Annotated[list[str], 2], ratio: float) -> list[ClaimPart]:
    """Judge the ratio of two standard deviations of per-flow throughput, over flows and runs.

    That it is below one, and how far. The interval is a jackknife's over pairs of runs of the same
    replication; a single run has no such ratio, so that there is no prediction of one.
    """
    pairs = list(zip(*(m.cases[case].rates["throughput"] for case in cases), strict=True))
    what = f"standard deviation of per-flow throughput, {cases[0]} over {cases[1]}"
    sdevs = [m.published.get(case, {}).get("per_flow_throughput_sdev") for case in cases]
    printed = sdevs[0] / sdevs[1] if sdevs[0] and sdevs[1] else None
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


PREDICATES: Predicates = {"spread_at_most": spread_at_most}


def _spread(pairs: Sequence[tuple[Floats, Floats]], side: int) -> float:
    return float(sdev(np.concatenate([pair[side] for pair in pairs])))
