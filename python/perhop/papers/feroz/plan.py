"""The runs of the study: which scenario, which marker, which tokens, how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from perhop.papers.document import check_claims
from perhop.papers.error import PackError
from perhop.papers.feroz.case import DURATION_S, Case, Published
from perhop.papers.feroz.readings import (
    INTERVAL_S,
    Meter,
    Parameter,
    Readings,
    Search,
    check_changes,
    chosen,
    load_parameters,
    overrides,
)
from perhop.papers.pack import Claim, Pack, load_pack
from perhop.papers.readings import Reading, load_readings, unjudged_claims
from perhop.papers.verdict import MIN_REPLICATIONS
from perhop.run import AnyJob
from perhop.scenario import Scenario

SWEEP_REPLICATIONS = 4
READ, QUICK_READ = 20, MIN_REPLICATIONS
"""Replications under each reading, at most as many as the case has."""
SWEPT_TOKENS = (15, 30, 45)
SWEPT_IN_TABLE_6 = ("averaging", "depth", "beyond_tokens", "carry")


@dataclass(frozen=True)
class Sweep:
    """A table again under each value of one parameter, everything else as chosen."""

    table: str
    parameter: Parameter
    cases: tuple[Case, ...]

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, as they are drawn."""
        return self.parameter.values


@dataclass(frozen=True)
class Judged:
    """The cases of the claims that a reading is about, to be run under it."""

    reading: Reading
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Plan:
    """All runs, in order: each case's replications, then the sweeps, then the readings.

    Attributes
    ----------
    pack
        The pack they come from.
    search, parameters
        The calibration.
    cases
        What is run.
    sweeps
        What is run beyond the paper; none in a quick plan.
    judged
        What is run under other readings.
    unjudged
        Ids of claims whose readings a quick plan leaves out.
    jobs
        One per run.
    left_out
        What a quick plan does not do.
    """

    pack: Pack
    search: Search
    parameters: tuple[Parameter, ...]
    cases: tuple[Case, ...]
    sweeps: tuple[Sweep, ...]
    judged: tuple[Judged, ...]
    unjudged: frozenset[str]
    jobs: tuple[AnyJob, ...]
    left_out: tuple[str, ...]

    @property
    def readings(self) -> dict[str, Any]:
        """What the calibration chose."""
        return chosen(self.parameters)


def make_plan(quick: bool = False, seed: int = 1, replications: int = MIN_REPLICATIONS) -> Plan:
    """List the runs of the reproduction.

    Parameters
    ----------
    quick
        Shorten runs with many packets, leave out what no claim needs.
    seed
        Of every run.
    replications
        Runs per case, where the figure does not say otherwise.

    Raises
    ------
    PackError
        A published row is not run, no predicate can judge a claim, or a scenario file does not hold what
        the calibration chose.
    """
    # predicates are about what is planned here
    from perhop.papers.feroz.predicates import PREDICATES

    pack = load_pack("feroz")
    check_claims(PREDICATES, pack.claims)
    search, parameters = load_parameters(pack)
    printed = published_rows(pack)
    cases = tuple(case for table in pack.figures for case in _cases(printed, table, quick, replications))
    whole = (case for table in pack.figures for case in _cases(printed, table, False, 1))
    pack.check_coverage({case.id for case in whole if case.table != "extra"}, printed)
    _check_readings(pack, cases, parameters)
    held = chosen(parameters)
    sweeps = () if quick else make_sweeps(parameters, cases)
    jobs = [job for case in cases for job in case.jobs(held, held, pack, seed)]
    for sweep in sweeps:
        for value in sweep.values:
            readings = {**held, sweep.parameter.name: value}
            jobs += [job for case in sweep.cases for job in case.jobs(readings, held, pack, seed)]
    unjudged = unjudged_claims(pack, quick)
    judged = make_judged(pack, cases, parameters, unjudged, QUICK_READ if quick else READ)
    for one in judged:
        readings = {**held, **one.reading.change}
        jobs += [job for case in one.cases for job in case.jobs(readings, held, pack, seed, one.reading)]
    left_out = _left_out(pack, unjudged) if quick else []
    if replications < MIN_REPLICATIONS:
        left_out.append(f"verdicts: they need {MIN_REPLICATIONS} replications")
    return Plan(pack, search, parameters, cases, sweeps, judged, unjudged, tuple(jobs), tuple(left_out))


def make_judged(
    pack: Pack,
    cases: Sequence[Case],
    parameters: Sequence[Parameter],
    unjudged: frozenset[str],
    replications: int,
) -> tuple[Judged, ...]:
    """Give what is run under each reading: the cases of its claims, at most so many times."""
    readings = load_readings(pack)
    check_changes(pack, readings, parameters)
    found = []
    for reading in readings:
        wanted = [claim for claim in pack.claims if claim.id in reading.claims and claim.id not in unjudged]
        figures = {figure for claim in wanted for figure in claim_figures(claim)}
        own = [
            replace(case, replications=min(case.replications, replications))
            for case in cases
            if case.figure in figures
        ]
        if own:
            found.append(Judged(reading, tuple(own)))
    return tuple(found)


def claim_figures(claim: Claim) -> tuple[str, ...]:
    """Ids of the figures that a claim is judged by."""
    return tuple(claim.parameters.get("figures", [claim.parameters.get("figure")]))


def make_sweeps(parameters: Sequence[Parameter], cases: Sequence[Case]) -> tuple[Sweep, ...]:
    """Give a sweep of Table 1 for each parameter, and of three rows of Table 6 for those that move it most.

    A marker that a parameter does not touch is run all the same.
    """
    shorter = [replace(case, replications=SWEEP_REPLICATIONS) for case in cases]
    first = tuple(case for case in shorter if case.figure == "1")
    sixth = tuple(case for case in shorter if case.figure == "6" and case.meter.tokens in SWEPT_TOKENS)
    found = [Sweep("1", parameter, first) for parameter in parameters]
    found += [Sweep("6", parameter, sixth) for parameter in parameters if parameter.name in SWEPT_IN_TABLE_6]
    return tuple(found)


def published_rows(pack: Pack) -> dict[str, Published]:
    """Give the printed values by case id. Goodput is in bytes per second whatever the paper calls it."""
    found: dict[str, Published] = {}
    for row in pack.table("tables1-5"):
        found[f"{row['table']} {row['marker']}"] = {
            "timeouts": row.number("timeouts"),
            "losses_per_s": row.number("losses_per_s"),
            "goodput": row.number("avg_goodput_bps"),
            "cov": row.number("cov"),
        }
    for row in pack.table("tables6-7"):
        for marker, column in (("tcp-friendly", "friendly_mbps"), ("token-bucket", "token_bucket_mbps")):
            id_ = f"{row['table']}-{row['tokens_per_interval']} {marker}"
            found[id_] = {"obtained": row.number(column)}
    return found


def _cases(
    printed: dict[str, Published], table: dict[str, Any], quick: bool, replications: int
) -> list[Case]:
    if quick and "quick" not in table:
        return []
    settings = list(table["set"])
    duration = DURATION_S
    for setting in list(settings):
        if setting.startswith("run.duration="):
            duration = _seconds(setting.partition("=")[2])
            settings.remove(setting)
    if quick and table["quick"]:
        duration = _seconds(table["quick"])
    found = []
    for tokens in table.get("tokens", [None]):
        for marker in table["markers"]:
            meter = Meter(marker, float(table.get("scale", 1)), tokens)
            case = Case(
                table["id"],
                table["table"],
                table["title"],
                table["scenario"],
                meter,
                tuple(settings),
                tuple(table["flows"]),
                duration,
                tuple(table.get("trace", ())),
                _replications(table, replications),
                {},
                bool(quick and table["quick"]),
            )
            found.append(replace(case, published=printed.get(case.id, {})))
    return found


def _replications(table: dict[str, Any], wanted: int) -> int:
    """Give what the figure says, or what is wanted; fewer than claims need are never exceeded."""
    own: int = table.get("replications", wanted)
    return own if wanted >= MIN_REPLICATIONS else min(own, wanted)


def _check_readings(pack: Pack, cases: Sequence[Case], parameters: Sequence[Parameter]) -> None:
    """Refuse a pack whose scenario files hold other readings than `calibration.toml` chose.

    `depth` and `unmarked` are in no file: the runs of the marker that has them set them.
    """
    held = chosen(parameters)
    # as if the files held other values, so that every reading becomes a setting
    others = {one.name: next(value for value in one.values if value != one.chosen) for one in parameters}
    for file in dict.fromkeys(case.scenario for case in cases):
        scenario = Scenario(pack.scenario(file), file)
        flows = list(dict.fromkeys(flow for case in cases if case.scenario == file for flow in case.flows))
        resolved = scenario.resolve()
        if _with(scenario, flows, held, others) != resolved:
            one = {name: _with(scenario, flows, held, {**held, name: others[name]}) for name in held}
            wrong = ", ".join(name for name, found in one.items() if found != resolved)
            raise PackError(
                f"{pack.folder / file}: not the {wrong} that calibration.toml chose",
                "write into the scenario what was chosen",
            )


def _with(scenario: Scenario, flows: Sequence[str], readings: Readings, held: Readings) -> str:
    """Resolve `scenario` with those of `readings` that differ from what it is taken to hold."""
    settings = overrides(Meter("tcp-friendly"), flows, readings, held)
    return scenario.override(*settings).resolve()


def _left_out(pack: Pack, unjudged: frozenset[str]) -> list[str]:
    shorter: dict[str, list[str]] = {}
    for table in pack.figures:
        if table.get("quick"):
            shorter.setdefault(table["quick"], []).append(table["id"])
    found = [
        f"{', '.join(f'Table {id_}' for id_ in ids)} {'simulates' if len(ids) == 1 else 'simulate'} "
        f"{time} where the study says 100s"
        for time, ids in shorter.items()
    ]
    names = ", ".join(claim.id for claim in pack.claims if claim.id in unjudged)
    found.append(f"verdicts on {names}; time-outs of these tables are those of the shorter time")
    gone = [table["title"] for table in pack.figures if "quick" not in table]
    found.append(f"runs that no claim needs: {'; '.join(gone)}")
    found.append("how each reading moves Tables 1 and 6")
    return found


def _seconds(text: str) -> float:
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        raise PackError(f"figures.toml: {text!r} is no time in seconds, such as '20s'") from None


__all__ = [
    "DURATION_S",
    "INTERVAL_S",
    "Case",
    "Judged",
    "Plan",
    "Published",
    "Sweep",
    "claim_figures",
    "make_plan",
    "published_rows",
]
