"""The runs of the study: campaigns over its cases, as fitted, under readings, in sweeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perhop.experiment.definition import Campaign
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor, Level, Treatment
from perhop.judge.quantity import Place, Subject
from perhop.judge.verdict import MIN_REPLICATIONS
from perhop.papers.document import check_claims
from perhop.papers.error import PackError
from perhop.papers.feroz.calibration import Calibration, Values, load_calibration
from perhop.papers.feroz.cases import (
    DURATION_S,
    EXTRA,
    FACTORS,
    FIGURE,
    FITTED,
    Case,
    at_most,
    cases_at,
    cases_of,
    published_rows,
    seconds,
    under_readings,
)
from perhop.papers.pack import Pack, load_pack
from perhop.papers.plan import Plan, Sweep
from perhop.papers.readings import Reading, load_readings, unjudged_claims
from perhop.run.run import AnyJob, TracedJob

MEASURED = {"baseline.toml": "campaign.toml", "assured.toml": "campaign-assured.toml"}
"""Campaign file that says what is measured, by scenario file."""

SHORTER = "shorter runs"
"""The fitted point with runs as long as under readings; judged as if it were one of these."""

READ, QUICK_READ = 40, MIN_REPLICATIONS
"""Replications under each reading, at most as many as the case has."""

SWEEP_REPLICATIONS = 4
SWEPT_TOKENS = (15, 30, 45)
SWEPT_IN_TABLE_6 = ("averaging", "depth", "beyond_tokens", "carry")

QUANTITIES = ("timeouts", "losses_per_s", "goodput", "cov", "obtained", "gaps_kept", "gap_excess")
"""Quantities that claims may be about; not each of every case."""


@dataclass(frozen=True)
class Runs(Plan):
    """All runs of the study, with the cases that are run as fitted."""

    cases: tuple[Case, ...] = ()


def make_plan(quick: bool = False) -> Runs:
    """Return the runs of the reproduction; a quick one is shorter and leaves some out.

    Raises
    ------
    PackError
        A published row is not run, or no predicate can judge a claim.
    """
    pack = load_pack("feroz", FIGURE)
    every, cases = cases_of(pack, False), cases_of(pack, quick)
    pack.check_coverage({case.id for case in every if case.table != EXTRA}, published_rows(pack))
    check_claims(pack.written, subject_of(pack, every), {})
    made, unjudged = CaseRuns(pack, load_calibration(pack)), unjudged_claims(pack, quick)
    return Runs(
        pack,
        made.campaigns([case for case in cases if not case.is_drawn], {FITTED: made.fit.chosen}),
        tuple(made.read(cases, unjudged, QUICK_READ if quick else READ)),
        () if quick else tuple(made.sweeps(cases)),
        unjudged,
        _left_out(pack, unjudged) if quick else (),
        tuple(made.drawn(cases)),
        cases,
    )


def subject_of(pack: Pack, cases: Sequence[Case]) -> Subject:
    """Return what claims may be about: the cases, and what is printed of them."""
    fitted = load_calibration(pack).fit

    def printed(_: str, response: str, at: Place, __: Place | None) -> float | None:
        return cases_at(cases, at)[0].published.get(response)

    def in_sample(_: str, at: Place) -> bool:
        return cases_at(cases, at)[0].table in fitted

    places = [case.place for case in cases]
    levels = {
        name: [*dict.fromkeys(one[name] for one in places if name in one)]
        for name in ("figure", "tokens", "marker")
    }
    return Subject({one: {} for one in QUANTITIES}, levels, places, printed, in_sample)


@dataclass(frozen=True)
class CaseRuns:
    """Maker of the runs of a pack's cases, with the pack's parameters."""

    pack: Pack
    fit: Calibration

    def campaigns(
        self, cases: Sequence[Case], at: Mapping[str, Values], reading: Reading | None = None
    ) -> tuple[Campaign, ...]:
        """Return campaigns that run cases at each point of the parameters, under a reading.

        All treatments have common random numbers, so that they can be paired. There is a campaign for each
        scenario file and number of replications.
        """
        groups: dict[tuple[str, int], dict[tuple[str, ...], tuple[str, ...]]] = {}
        for name, values in at.items():
            for case in cases:
                group = groups.setdefault((case.scenario, case.replications), {})
                group[name, case.row, case.marker] = self._settings(case, values, reading)
        found = []
        for (file, replications), treatments in groups.items():
            base = Campaign.load(self.pack.folder / MEASURED[file])
            factors = tuple(
                Factor(name, tuple(Level(level) for level in dict.fromkeys(levels)))
                for name, levels in zip(FACTORS, zip(*treatments, strict=True), strict=True)
            )
            made = tuple(Treatment(levels, own, " ".join(levels)) for levels, own in treatments.items())
            name, design = f"{file}, {replications} replications", Design(factors, made, replications)
            found.append(Campaign(name, base.scenario, design, base.responses))
        return tuple(found)

    def _settings(self, case: Case, values: Values, reading: Reading | None = None) -> tuple[str, ...]:
        """Return all settings of a case's run, which samples its series once, at the end."""
        own = reading.settings_of(self.pack.scenario(case.scenario)) if reading else ()
        return (*case.overrides(values, self.fit), *own, f"run.interval={case.duration_s:g}s")

    def drawn(self, cases: Sequence[Case]) -> Iterator[AnyJob]:
        """Yield the runs needed whole, as fitted, named by case and replication."""
        for case in (one for one in cases if one.is_drawn):
            text, own = self.pack.scenario(case.scenario), self._settings(case, self.fit.chosen)
            for k in range(case.replications):
                name, changes = f"{case.id} {k}", [*own, f"run.replication={k}"]
                yield TracedJob(text, name, changes, case.trace) if case.trace else (text, name, changes)

    def read(
        self, cases: Sequence[Case], unjudged: frozenset[str], most: int
    ) -> Iterator[tuple[Reading, tuple[Campaign, ...]]]:
        """Yield the campaigns under each reading: the cases of its claims, at most so often.

        Where runs are shorter under readings, the fitted point with such runs comes first.

        Raises
        ------
        PackError
            A reading changes what is no parameter, or nothing.
        """
        for reading in (*self._shorter(cases), *load_readings(self.pack)):
            check_change(self.pack, reading, self.fit)
            ids = set(reading.claims) - unjudged
            figures = {one for claim in self.pack.claims if claim.id in ids for one in claim.levels("figure")}
            own = under_readings(at_most([case for case in cases if case.figure in figures], most))
            if own:
                yield reading, self.campaigns(own, {FITTED: {**self.fit.chosen, **reading.change}}, reading)

    def _shorter(self, cases: Sequence[Case]) -> Iterator[Reading]:
        """Yield the fitted point with runs as short as under readings, where some are shorter."""
        shorter = {case.figure: case.read_s for case in cases if case.read_s < case.duration_s}
        claims = (one.id for one in self.pack.claims if shorter.keys() & one.levels("figure"))
        if shorter:
            lengths = ", ".join(f"Table {figure} for {time:g} s" for figure, time in shorter.items())
            yield Reading(
                SHORTER, f"the fitted point, with {lengths}, as under all readings", claims=tuple(claims)
            )

    def sweeps(self, cases: Sequence[Case]) -> Iterator[Sweep]:
        """Yield sweeps of Table 1 over each parameter, of Table 6 over those that move it most."""
        first = [case for case in cases if case.figure == "1"]
        sixth = [case for case in cases if case.figure == "6" and case.tokens in SWEPT_TOKENS]
        for table, own, names in (("1", first, self.fit.parameters), ("6", sixth, SWEPT_IN_TABLE_6)):
            for name in names:
                one = self.fit.parameters[name]
                at = {str(value): {**self.fit.chosen, name: value} for value in one.levels}
                (campaign,) = self.campaigns(at_most(own, SWEEP_REPLICATIONS), at)
                yield Sweep(f"{table} {name}", one.meaning, campaign, (name,))


def check_change(pack: Pack, reading: Reading, fit: Calibration) -> None:
    """Refuse a reading that sets an unknown parameter, an untried value, or only chosen ones."""
    where = f"{pack.folder / 'readings.toml'}: reading {reading.id}"
    for name, value in reading.change.items():
        if name not in fit.parameters or value not in fit.parameters[name].levels:
            raise PackError(f"{where}: {name} = {value!r} is not tried in calibration.toml")
    if reading.change and all(fit.chosen[name] == value for name, value in reading.change.items()):
        raise PackError(f"{where}: is what calibration.toml chose", "leave the reading out")


def _left_out(pack: Pack, unjudged: frozenset[str]) -> tuple[str, ...]:
    """Return what a quick reproduction does not do, in words."""
    shorter: dict[str, list[str]] = {}
    for figure in pack.figures:
        if figure.get("quick"):
            shorter.setdefault(figure["quick"], []).append(f"Table {figure['id']}")
    shortened = (
        f"{', '.join(own)} simulate{'s' * (len(own) == 1)} {seconds(time):g} s "
        f"where the study says {DURATION_S:g} s"
        for time, own in shorter.items()
    )
    names = ", ".join(claim.id for claim in pack.claims if claim.id in unjudged)
    gone = "; ".join(figure["title"] for figure in pack.figures if "quick" not in figure)
    return (
        *shortened,
        f"verdicts on {names}; time-outs of these tables are those of the shorter time",
        f"runs that no claim needs: {gone}",
        "how each reading moves Tables 1 and 6",
    )
