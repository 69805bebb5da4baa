"""Quantities of cases by replication, of what campaigns measured and of runs that are needed whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic

import numpy as np

from perhop.judge.measured import Floats, Measured, Measurements
from perhop.judge.quantity import Place
from perhop.papers.feroz.cases import C, Case, cases_at, under_readings
from perhop.papers.feroz.runs import FITTED
from perhop.papers.plan import Results
from perhop.run.run import Result
from perhop.stats.intervals import Interval, mean_interval

Quantities = dict[str, Floats]
"""By quantity a value for each replication, or NaN."""


@dataclass(frozen=True)
class CaseValues(Measured):
    """Quantities of every case at one point.

    Attributes
    ----------
    cases
        Those that were run, by id.
    values
        By case id and quantity.
    """

    cases: Mapping[str, Case]
    values: Mapping[str, Mapping[str, Floats]]

    def sample(self, response: str, at: Place, effect: Place | None) -> Floats:
        """Give a quantity of a case by replication."""
        del effect
        (case,) = cases_at(self.cases.values(), at)
        return self.values[case.id][response]

    def interval(self, case: str, quantity: str) -> Interval | None:
        """Mean and 95 % interval of one quantity; None where a replication has no value of it."""
        found = self.values[case][quantity]
        return mean_interval(found) if np.all(np.isfinite(found)) else None

    def mean(self, case: str, quantity: str) -> float:
        """Mean over the replications; NaN where one has no value."""
        return float(self.values[case][quantity].mean())

    def joined(self, other: CaseValues) -> CaseValues:
        """Put the cases of another table to these."""
        return replace(self, cases={**self.cases, **other.cases}, values={**self.values, **other.values})


@dataclass(frozen=True)
class CaseReader(Generic[C]):
    """Reduces what was measured of cases.

    Attributes
    ----------
    cases
        Of the study.
    factors
        Of its campaigns, as `perhop.papers.feroz.runs.CaseRuns` has them.
    quantities
        Turns the responses of a case into its quantities.
    of_run
        Turns a run of a case that is needed whole into its quantities.
    """

    cases: Sequence[C]
    factors: tuple[str, str, str]
    quantities: Callable[[C, Mapping[str, Floats]], Quantities]
    of_run: Callable[[C, Result], Mapping[str, float]]

    def whole(self, drawn: Mapping[str, Result]) -> dict[str, Mapping[str, float]]:
        """Reduce the runs that are needed whole, by their names."""
        named = ((f"{case.id} {k}", case) for case in self.cases for k in range(case.replications))
        return {name: self.of_run(case, drawn[name]) for name, case in named if name in drawn}

    def measure(
        self, at: str, m: Measurements, whole: Mapping[str, Mapping[str, float]] | None = None
    ) -> CaseValues:
        """Reduce those cases that were run, at a level of the first factor; `whole` are by name of run."""
        found: dict[tuple[str, ...], dict[str, Floats]] = {}
        first, *others = self.factors
        kept = m.scalars.filter(**{first: at}).sort("replication")
        for *place, response, value in kept.group_by(*others, "response").agg("value").iter_rows():
            found.setdefault(tuple(place), {})[response] = np.array(value, dtype=np.float64)
        values, own, whole = {}, {}, whole or {}
        for case in self.cases:
            names = [f"{case.id} {k}" for k in range(case.replications)]
            if (case.row, case.treatment) in found:
                values[case.id] = self.quantities(case, found[case.row, case.treatment])
            elif names[0] in whole:
                values[case.id] = {
                    each: np.array([whole[name][each] for name in names]) for each in whole[names[0]]
                }
            else:
                continue
            own[case.id] = case
        return CaseValues(own, values)

    def everything(self, results: Results) -> dict[str, CaseValues]:
        """Reduce all results: as fitted, by id of reading, and by `parameter=value` of the sweeps.

        Sweeps of several tables over one parameter are put together.
        """
        found = {FITTED: self.measure(FITTED, results.fitted, results.whole or self.whole(results.drawn))}
        shorter = replace(self, cases=under_readings(self.cases))
        for reading, own in results.read:
            found[reading.id] = shorter.measure(FITTED, own)
        for sweep, own in results.beyond:
            for level in sweep.campaign.design.factors[0].levels:
                name, more = f"{sweep.axes[0]}={level.name}", self.measure(level.name, own)
                found[name] = found[name].joined(more) if name in found else more
        return found

    def means(self, points: int, measured: Iterable[Measurements]) -> list[dict[str, dict[str, float]]]:
        """Give by point, case id and quantity the mean; the first factor has the points' numbers."""
        found = [dict[str, dict[str, float]]() for _ in range(points)]
        for one in measured:
            for place, own in enumerate(found):
                of = self.measure(str(place), one).values
                own |= {id_: {name: float(x.mean()) for name, x in each.items()} for id_, each in of.items()}
        return found
