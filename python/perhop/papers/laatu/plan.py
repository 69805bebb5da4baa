"""The runs of the reproduction: both ways of marking, ours beside them, and the sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from perhop.papers.document import check_claims
from perhop.papers.error import PackError
from perhop.papers.laatu.published import published_values
from perhop.papers.laatu.setup import FLOWS, MARKINGS, Setup
from perhop.papers.laatu.sweeps import Sweep, make_sweeps
from perhop.papers.pack import Pack, load_pack
from perhop.papers.parameters import check_parameters
from perhop.papers.readings import Reading, load_readings, unjudged_claims
from perhop.papers.verdict import MIN_REPLICATIONS
from perhop.run import Job

DURATION_S, WARMUP_S = 120.0, 10.0
QUICK_DURATION_S = 60.0
REPLICATIONS = 50
OTHERS = 20
SWEPT = 10
READ = 20
"""Replications of the two ways of marking, of our own cases, of each point of a sweep, under each reading."""


@dataclass(frozen=True)
class Case:
    """A set-up of the study with a name.

    Attributes
    ----------
    id
        `per-flow`, `aggregate`, or one of ours.
    title
        What it is.
    table
        `published`: it has rows in the paper's tables; `extra`: ours.
    setup
        The network.
    """

    id: str
    title: str
    table: str
    setup: Setup

    def command(self, duration_s: float = DURATION_S) -> str:
        """Give the command that runs its first replication."""
        changes = "".join(f" -s '{change}'" for change in [*self.setup.changes(), *_shorter(duration_s)])
        return f"perhop run papers/laatu/{self.setup.scenario()}{changes}"


@dataclass(frozen=True)
class Plan:
    """All runs: every replication of each case in turn, the sweeps point by point, the readings.

    Attributes
    ----------
    pack
        The pack they come from.
    published
        What the paper prints, by marking and quantity.
    cases
        What is run, and how often.
    sweeps
        What is varied.
    readings
        Under which the published cases are run again, `READ` times each.
    unjudged
        Ids of claims that a quick plan does not judge.
    duration_s
        Simulated time of every run, the warm-up included.
    jobs
        One per run.
    left_out
        What a quick plan does not do, in words; empty otherwise.
    """

    pack: Pack
    published: dict[str, dict[str, float]]
    cases: tuple[tuple[Case, int], ...]
    sweeps: tuple[Sweep, ...]
    readings: tuple[Reading, ...]
    unjudged: frozenset[str]
    duration_s: float
    jobs: tuple[Job, ...]
    left_out: tuple[str, ...]

    @property
    def measured_s(self) -> float:
        """Time over which a run is measured."""
        return self.duration_s - WARMUP_S


def make_plan(quick: bool = False, seed: int = 1, replications: int | None = None) -> Plan:
    """List the runs of the reproduction.

    Parameters
    ----------
    quick
        Fewer and shorter runs, no sweeps.
    seed
        Seed of every run; the runs of a case differ in their replication number, and runs of the same
        replication share their random numbers.
    replications
        Runs of each case instead of the usual number.

    Raises
    ------
    PackError
        A published row is not run, no predicate can judge a claim, or a set-up cannot be.
    """
    if replications is not None and replications < 1:
        raise ValueError(f"replications = {replications}: must be at least 1")
    # predicates are about what is planned here
    from perhop.papers.laatu.predicates import PREDICATES

    pack = load_pack("laatu")
    check_claims(PREDICATES, pack.claims)
    cases = tuple(_case(pack.folder / "figures.toml", table) for table in pack.figures if "case" in table)
    published = published_values(pack)
    printed = [case for case in cases if case.table == "published"]
    pack.check_coverage({case.id for case in printed}, published)
    if any(case.setup.flows != FLOWS for case in printed):
        raise PackError(f"{pack.folder / 'figures.toml'}: the published tables are about {FLOWS} flows")
    duration = QUICK_DURATION_S if quick else DURATION_S
    main = replications or (MIN_REPLICATIONS if quick else REPLICATIONS)
    other = replications or (MIN_REPLICATIONS if quick else OTHERS)
    counted = tuple((case, main if case.table == "published" else other) for case in cases)
    sweeps = () if quick else make_sweeps(SWEPT)
    jobs = [
        job(pack, case.setup, f"case {case.id}", k, seed, duration) for case, n in counted for k in range(n)
    ]
    jobs += [
        job(pack, setup, f"sweep {sweep.id}", k, seed, duration)
        for sweep in sweeps
        for point in sweep.points
        for setup in (point.setup(marking) for marking in MARKINGS)
        for k in range(sweep.replications)
    ]
    unjudged = unjudged_claims(pack, quick)
    listed = load_readings(pack)
    readings = () if quick else listed
    jobs += [
        job(pack, _under(pack, reading, case), f"reading {reading.id}", k, seed, duration, reading)
        for reading in readings
        for case in printed
        for k in range(READ)
    ]
    left_out = _left_out(duration, unjudged) if quick else []
    if main < MIN_REPLICATIONS:
        left_out.append(f"verdicts: they need {MIN_REPLICATIONS} replications")
    return Plan(pack, published, counted, sweeps, readings, unjudged, duration, tuple(jobs), tuple(left_out))


def _left_out(duration: float, unjudged: frozenset[str]) -> list[str]:
    """Say what a quick plan does not do."""
    return [
        f"each run simulates {duration:g} s where the study has {DURATION_S:g} s",
        f"{MIN_REPLICATIONS} replications of each case instead of {REPLICATIONS} and {OTHERS}",
        "the sweeps over what the paper leaves open, and its readings",
        f"verdicts on {', '.join(sorted(unjudged))}",
    ]


def job(
    pack: Pack,
    setup: Setup,
    what: str,
    replication: int,
    seed: int,
    duration_s: float,
    under: Reading | None = None,
) -> Job:
    """Give one run of a set-up as the engine takes it, with the settings of a reading."""
    text = pack.scenario(setup.scenario())
    numbers = [f"run.seed={seed}", f"run.replication={replication}"]
    settings = under.settings_of(text) if under else []
    overrides = [*setup.changes(), *settings, *numbers, *_shorter(duration_s)]
    return text, f"{setup.scenario()} for {what}", overrides


_SETUP = get_type_hints(Setup)
_OF_A_READING = {name: kind for name, kind in _SETUP.items() if name != "marking"}
"""Parameters of a set-up; a reading leaves the way of marking, for it is run with both."""


def _under(pack: Pack, reading: Reading, case: Case) -> Setup:
    """Give the set-up of a case as a reading has it."""
    where = f"{pack.folder / 'readings.toml'}: reading {reading.id}"
    check_parameters(where, reading.change, _OF_A_READING)
    try:
        return replace(case.setup, **_values(reading.change))
    except ValueError as error:
        raise PackError(f"{where}: {error}") from None


def _values(table: Mapping[str, Any]) -> dict[str, Any]:
    """Give parameters of a set-up as it takes them: a list is one of round-trip times."""
    return {
        name: tuple(map(float, value)) if isinstance(value, list) else value for name, value in table.items()
    }


def _shorter(duration_s: float) -> list[str]:
    return [] if duration_s == DURATION_S else [f"run.duration={duration_s:g}s"]


def _case(path: Path, table: dict[str, Any]) -> Case:
    where = f"{path}: case {table['case']}: setup"
    check_parameters(where, table["setup"], _SETUP)
    if "marking" not in table["setup"]:
        raise PackError(f"{where}: has no 'marking'")
    try:
        setup = Setup(**_values(table["setup"]))
    except ValueError as error:
        raise PackError(f"{where}: {error}") from None
    return Case(table["case"], table["title"], table["table"], setup)
