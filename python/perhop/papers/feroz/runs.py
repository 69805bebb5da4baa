"""The runs of a study's cases: campaigns at values of its parameters, under readings, in sweeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from perhop.experiment.definition import Campaign
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor, Level, Treatment
from perhop.papers.error import PackError
from perhop.papers.feroz.calibration import Calibration, Values
from perhop.papers.feroz.cases import C, Case, at_most, under_readings
from perhop.papers.pack import Pack
from perhop.papers.plan import Plan, Sweep
from perhop.papers.readings import Reading, load_readings
from perhop.run.run import AnyJob, TracedJob

FITTED = "as fitted"
SHORTER = "shorter runs"
"""The fitted point with runs as long as under readings; judged as if it were one of these."""


@dataclass(frozen=True)
class CasePlan(Plan, Generic[C]):
    """All runs of a study, with the cases that are run as fitted."""

    cases: tuple[C, ...] = ()


@dataclass(frozen=True)
class CaseRuns:
    """Makes the runs of cases.

    Attributes
    ----------
    pack
        The paper's.
    fit
        Parameters of the cases.
    measured
        For each scenario file the campaign file that says what is measured.
    factors
        Names of the factors of every campaign: what the parameters are, the row, the treatment.
    """

    pack: Pack
    fit: Calibration
    measured: Mapping[str, str]
    factors: tuple[str, str, str]

    def campaigns(
        self, cases: Sequence[Case], at: Mapping[str, Values], reading: Reading | None = None
    ) -> tuple[Campaign, ...]:
        """Run cases with each of some values of the parameters, under a reading.

        All treatments have common random numbers, so that they can be paired.

        Returns
        -------
        tuple
            A campaign for each scenario file and number of replications.
        """
        groups: dict[tuple[str, int], dict[tuple[str, ...], tuple[str, ...]]] = {}
        for name, values in at.items():
            for case in cases:
                group = groups.setdefault((case.scenario, case.replications), {})
                group[name, case.row, case.treatment] = self.settings(case, values, reading)
        found = []
        for (file, replications), treatments in groups.items():
            base = Campaign.load(self.pack.folder / self.measured[file])
            factors = tuple(
                Factor(name, tuple(Level(level) for level in dict.fromkeys(levels)))
                for name, levels in zip(self.factors, zip(*treatments, strict=True), strict=True)
            )
            made = tuple(Treatment(levels, own, " ".join(levels)) for levels, own in treatments.items())
            name, design = f"{file}, {replications} replications", Design(factors, made, replications)
            found.append(Campaign(name, base.scenario, design, base.responses))
        return tuple(found)

    def settings(self, case: Case, values: Values, reading: Reading | None = None) -> tuple[str, ...]:
        """List all that a run of a case changes; no series is drawn of it: one sample at the end."""
        own = reading.settings_of(self.pack.scenario(case.scenario)) if reading else ()
        return (*case.overrides(values, self.fit), *own, f"run.interval={case.duration_s:g}s")

    def fitted(self, cases: Sequence[Case]) -> tuple[Campaign, ...]:
        """Run the cases as fitted that are not needed whole."""
        return self.campaigns([case for case in cases if not case.is_drawn], {FITTED: self.fit.chosen})

    def drawn(self, cases: Sequence[Case]) -> tuple[AnyJob, ...]:
        """Give the runs of the cases that are needed whole, as fitted, named by case and replication."""
        found = list[AnyJob]()
        for case in (one for one in cases if one.is_drawn):
            text, own = self.pack.scenario(case.scenario), self.settings(case, self.fit.chosen)
            for k in range(case.replications):
                name, changes = f"{case.id} {k}", [*own, f"run.replication={k}"]
                found.append(
                    TracedJob(text, name, changes, case.trace) if case.trace else (text, name, changes)
                )
        return tuple(found)

    def read(
        self, cases: Sequence[Case], unjudged: frozenset[str], most: int
    ) -> tuple[tuple[Reading, tuple[Campaign, ...]], ...]:
        """Give what is run under each reading: the cases of its claims, at most so many times.

        Where runs are shorter under readings, the fitted point with such runs comes first.

        Raises
        ------
        PackError
            A reading changes what is no parameter, or nothing.
        """
        found = []
        for reading in (*self._shorter(cases), *load_readings(self.pack)):
            check_change(self.pack, reading, self.fit)
            ids = set(reading.claims) - unjudged
            figures = {one for claim in self.pack.claims if claim.id in ids for one in claim.levels("figure")}
            own = under_readings(at_most([case for case in cases if case.figure in figures], most))
            if own:
                at = {FITTED: {**self.fit.chosen, **reading.change}}
                found.append((reading, self.campaigns(own, at, reading)))
        return tuple(found)

    def _shorter(self, cases: Sequence[Case]) -> Iterator[Reading]:
        """Give the fitted point with runs that are as short as under readings, where some are."""
        shorter = {case.figure: case.read_s for case in cases if case.read_s < case.duration_s}
        claims = (one.id for one in self.pack.claims if shorter.keys() & one.levels("figure"))
        if shorter:
            told = ", ".join(f"Table {figure} for {time:g} s" for figure, time in shorter.items())
            yield Reading(
                SHORTER, f"the fitted point, with {told}, as under all readings", claims=tuple(claims)
            )

    def sweeps(
        self, cases: Sequence[Case], figure: str, replications: int, names: Sequence[str] = ()
    ) -> list[Sweep]:
        """Sweep the cases of a figure over each parameter, or over those named; they have one scenario."""
        own, found = at_most([one for one in cases if one.figure == figure], replications), []
        for name in names or self.fit.parameters:
            one = self.fit.parameters[name]
            at = {str(value): {**self.fit.chosen, name: value} for value in one.levels}
            (campaign,) = self.campaigns(own, at)
            found.append(Sweep(f"{figure} {name}", one.meaning, campaign, (name,)))
        return found


def check_change(pack: Pack, reading: Reading, fit: Calibration) -> None:
    """Refuse a reading that changes what is no parameter, or to a value that is not tried or is chosen."""
    where = f"{pack.folder / 'readings.toml'}: reading {reading.id}"
    for name, value in reading.change.items():
        if name not in fit.parameters or value not in fit.parameters[name].levels:
            raise PackError(f"{where}: {name} = {value!r} is not tried in calibration.toml")
    if reading.change and all(fit.chosen[name] == value for name, value in reading.change.items()):
        raise PackError(f"{where}: is what calibration.toml chose", "leave the reading out")
