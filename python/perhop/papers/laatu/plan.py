"""The runs of the reproduction: both ways of marking, ours beside them, and the sweeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perhop.papers.error import PackError
from perhop.papers.laatu.published import published_values
from perhop.papers.laatu.setup import FLOWS, MARKINGS, Setup
from perhop.papers.laatu.sweeps import Sweep, make_sweeps
from perhop.papers.pack import Pack, load_pack
from perhop.papers.study import Job
from perhop.papers.verdict import MIN_REPLICATIONS

DURATION_S, WARMUP_S = 120.0, 10.0
QUICK_DURATION_S = 60.0
REPLICATIONS = 50
OTHERS = 20
SWEPT = 10
"""Replications of the two ways of marking, of our own cases, of each point of a sweep."""


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
    """All runs: every replication of the first case, then of the next, then the sweeps point by point.

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
        A published row is not run.
    """
    if replications is not None and replications < 1:
        raise ValueError(f"replications = {replications}: must be at least 1")
    pack = load_pack("laatu")
    cases = tuple(_case(table) for table in pack.figures if "case" in table)
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
    left_out = []
    if quick:
        left_out.append(f"each run simulates {duration:g} s where the study has {DURATION_S:g} s")
        left_out.append(
            f"{MIN_REPLICATIONS} replications of each case instead of {REPLICATIONS} and {OTHERS}"
        )
        left_out.append("the sweeps over what the paper leaves open")
    if main < MIN_REPLICATIONS:
        left_out.append(f"verdicts: they need {MIN_REPLICATIONS} replications")
    return Plan(pack, published, counted, sweeps, duration, tuple(jobs), tuple(left_out))


def job(pack: Pack, setup: Setup, what: str, replication: int, seed: int, duration_s: float) -> Job:
    """Give one run of a set-up as the engine takes it."""
    numbers = [f"run.seed={seed}", f"run.replication={replication}"]
    overrides = [*setup.changes(), *numbers, *_shorter(duration_s)]
    return pack.scenario(setup.scenario()), f"{setup.scenario()} for {what}", overrides


def _shorter(duration_s: float) -> list[str]:
    return [] if duration_s == DURATION_S else [f"run.duration={duration_s:g}s"]


def _case(table: dict[str, Any]) -> Case:
    try:
        setup = Setup(**table["setup"])
    except TypeError as error:
        raise PackError(f"figures.toml: case {table['case']}: setup: {error}") from None
    return Case(table["case"], table["title"], table["table"], setup)
