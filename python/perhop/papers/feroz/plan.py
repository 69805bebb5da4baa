"""The runs of the study: campaigns over its cases, under readings and over parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from perhop.experiment.definition import Campaign
from perhop.experiment.design import Design, Factor, Level, Treatment
from perhop.papers.document import check_claims
from perhop.papers.error import PackError
from perhop.papers.feroz.case import Calibration, Case, Values, load_calibration
from perhop.papers.feroz.predicates import PREDICATES
from perhop.papers.pack import ANY_TEXT, TEXT, TEXTS, WHOLE, WHOLES, Claim, Keys, Pack, load_pack
from perhop.papers.plan import Plan, Sweep
from perhop.papers.readings import Reading, load_readings, unjudged_claims
from perhop.papers.verdict import MIN_REPLICATIONS
from perhop.run import AnyJob, TracedJob

FIGURE: Keys = {
    **dict.fromkeys(("id", "table", "title", "scenario"), TEXT),
    **dict.fromkeys(("replications", "scale"), WHOLE),
    **dict.fromkeys(("markers", "set", "trace"), TEXTS),
    "quick": ANY_TEXT,
    "tokens": WHOLES,
}
DURATION_S = 100.0
FITTED = "as fitted"
FACTORS = ("at", "figure", "marker")
"""Factors of every campaign; `at` is what the parameters are."""

MEASURED = {"baseline.toml": "campaign.toml", "assured.toml": "campaign-assured.toml"}
"""For each scenario file the campaign that says what is measured."""

SWEEP_REPLICATIONS = 4
READ, QUICK_READ = 20, MIN_REPLICATIONS
"""Replications under each reading, at most as many as the case has."""
SWEPT_TOKENS = (15, 30, 45)
SWEPT_IN_TABLE_6 = ("averaging", "depth", "beyond_tokens", "carry")


@dataclass(frozen=True)
class Runs(Plan):
    """All runs of the study, with the cases that are run as fitted."""

    cases: tuple[Case, ...] = ()


def make_plan(quick: bool = False) -> Runs:
    """List the runs of the reproduction.

    Parameters
    ----------
    quick
        Shorten runs with many packets, leave out what no claim needs.

    Raises
    ------
    PackError
        A published row is not run, or no predicate can judge a claim.
    """
    pack = load_pack("feroz", FIGURE)
    check_claims(PREDICATES, pack.claims)
    fit, printed, unjudged = load_calibration(pack), published_rows(pack), unjudged_claims(pack, quick)
    whole = [case for table in pack.figures for case in _cases(printed, table, False)]
    pack.check_coverage({case.id for case in whole if case.table != "extra"}, printed)
    cases = tuple(case for table in pack.figures for case in _cases(printed, table, quick))
    drawn = [case for case in cases if case.is_drawn]
    return Runs(
        pack,
        campaigns(pack, fit, [case for case in cases if case not in drawn], {FITTED: fit.chosen}),
        read(pack, fit, cases, unjudged, QUICK_READ if quick else READ),
        () if quick else sweeps(pack, fit, cases),
        unjudged,
        _left_out(pack, unjudged) if quick else (),
        tuple(job for case in drawn for job in drawn_jobs(pack, fit, case)),
        cases,
    )


def campaigns(
    pack: Pack,
    fit: Calibration,
    cases: Sequence[Case],
    at: Mapping[str, Values],
    reading: Reading | None = None,
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
            group[name, case.row, case.marker] = settings(pack, fit, case, values, reading)
    found = []
    for (file, replications), treatments in groups.items():
        measured = Campaign.load(pack.folder / MEASURED[file])
        factors = tuple(
            Factor(name, tuple(Level(level) for level in dict.fromkeys(levels)))
            for name, levels in zip(FACTORS, zip(*treatments, strict=True), strict=True)
        )
        made = tuple(Treatment(levels, own, " ".join(levels)) for levels, own in treatments.items())
        name = f"{file}, {replications} replications"
        found.append(
            Campaign(name, measured.scenario, Design(factors, made, replications), measured.responses)
        )
    return tuple(found)


def settings(
    pack: Pack, fit: Calibration, case: Case, values: Values, reading: Reading | None = None
) -> tuple[str, ...]:
    """List all that a run of a case changes; no series is drawn of it: one sample at the end."""
    own = reading.settings_of(pack.scenario(case.scenario)) if reading else ()
    return (*case.overrides(values, fit), *own, f"run.interval={case.duration_s:g}s")


def read(
    pack: Pack, fit: Calibration, cases: Sequence[Case], unjudged: frozenset[str], most: int
) -> tuple[tuple[Reading, tuple[Campaign, ...]], ...]:
    """Give what is run under each reading: the cases of its claims, at most so many times."""
    found = []
    for reading in load_readings(pack):
        check_change(pack, reading, fit)
        wanted = [claim for claim in pack.claims if claim.id in reading.claims and claim.id not in unjudged]
        figures = {figure for claim in wanted for figure in claim_figures(claim)}
        own = _at_most([case for case in cases if case.figure in figures], most)
        if own:
            at = {FITTED: {**fit.chosen, **reading.change}}
            found.append((reading, campaigns(pack, fit, own, at, reading)))
    return tuple(found)


def check_change(pack: Pack, reading: Reading, fit: Calibration) -> None:
    """Refuse a reading that changes what is no parameter, or to a value that is not tried or is chosen."""
    known = {one.name: one for one in fit.parameters}
    where = f"{pack.folder / 'readings.toml'}: reading {reading.id}"
    for name, value in reading.change.items():
        if name not in known or value not in known[name].values:
            raise PackError(f"{where}: {name} = {value!r} is not tried in calibration.toml")
    if reading.change and all(known[name].chosen == value for name, value in reading.change.items()):
        raise PackError(f"{where}: is what calibration.toml chose", "leave the reading out")


def sweeps(pack: Pack, fit: Calibration, cases: Sequence[Case]) -> tuple[Sweep, ...]:
    """Sweep Table 1 over each parameter, and three rows of Table 6 over those that move it most."""
    found = []
    for table, names, tokens in (
        ("1", [one.name for one in fit.parameters], (None,)),
        ("6", SWEPT_IN_TABLE_6, SWEPT_TOKENS),
    ):
        own = _at_most(
            [one for one in cases if one.figure == table and one.tokens in tokens], SWEEP_REPLICATIONS
        )
        for one in (one for one in fit.parameters if one.name in names):
            at = {str(value): {**fit.chosen, one.name: value} for value in one.values}
            (campaign,) = campaigns(pack, fit, own, at)
            found.append(Sweep(f"{table} {one.name}", one.meaning, campaign, (one.name,)))
    return tuple(found)


def drawn_jobs(pack: Pack, fit: Calibration, case: Case) -> list[AnyJob]:
    """Give the runs of a case that are needed whole, named by case and replication."""
    text, own, found = pack.scenario(case.scenario), settings(pack, fit, case, fit.chosen), list[AnyJob]()
    for k in range(case.replications):
        name, changes = f"{case.id} {k}", [*own, f"run.replication={k}"]
        found.append(TracedJob(text, name, changes, case.trace) if case.trace else (text, name, changes))
    return found


def claim_figures(claim: Claim) -> tuple[str, ...]:
    """Ids of the figures that a claim is judged by."""
    return tuple(claim.parameters.get("figures", [claim.parameters.get("figure")]))


def published_rows(pack: Pack) -> dict[str, dict[str, float]]:
    """Give the printed values by case id. Goodput is in bytes per second whatever the paper calls it."""
    found: dict[str, dict[str, float]] = {}
    columns = {name: name for name in ("timeouts", "losses_per_s", "cov")} | {"goodput": "avg_goodput_bps"}
    for row in pack.table("tables1-5"):
        found[f"{row['table']} {row['marker']}"] = {name: row.number(one) for name, one in columns.items()}
    for row in pack.table("tables6-7"):
        for marker, column in (("tcp-friendly", "friendly_mbps"), ("token-bucket", "token_bucket_mbps")):
            id_ = f"{row['table']}-{row['tokens_per_interval']} {marker}"
            found[id_] = {"obtained": row.number(column)}
    return found


def _cases(printed: Mapping[str, Mapping[str, float]], table: Mapping[str, Any], quick: bool) -> list[Case]:
    if quick and "quick" not in table:
        return []
    lengths = [text for text in table["set"] if text.startswith("run.duration=")]
    duration = _seconds(lengths[0].partition("=")[2]) if lengths else DURATION_S
    shorter = bool(quick and table["quick"])
    made = (
        Case(
            table["id"],
            table["table"],
            table["title"],
            table["scenario"],
            table.get("scale", 1),
            tuple(text for text in table["set"] if text not in lengths),
            tuple(table.get("trace", ())),
            marker,
            tokens,
            _seconds(table["quick"]) if shorter else duration,
            table.get("replications", MIN_REPLICATIONS),
            shorter,
            {},
        )
        for tokens in table.get("tokens", [None])
        for marker in table["markers"]
    )
    return [replace(case, published=printed.get(case.id, {})) for case in made]


def _at_most(cases: Sequence[Case], most: int) -> list[Case]:
    return [replace(case, replications=min(case.replications, most)) for case in cases]


def _left_out(pack: Pack, unjudged: frozenset[str]) -> tuple[str, ...]:
    shorter: dict[str, list[str]] = {}
    for table in pack.figures:
        if table.get("quick"):
            shorter.setdefault(table["quick"], []).append(f"Table {table['id']}")
    gone = "; ".join(table["title"] for table in pack.figures if "quick" not in table)
    names = ", ".join(claim.id for claim in pack.claims if claim.id in unjudged)
    return (
        *(
            f"{', '.join(own)} simulate{'s' * (len(own) == 1)} {time} where the study says 100s"
            for time, own in shorter.items()
        ),
        f"verdicts on {names}; time-outs of these tables are those of the shorter time",
        f"runs that no claim needs: {gone}",
        "how each reading moves Tables 1 and 6",
    )


def _seconds(text: str) -> float:
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        raise PackError(f"figures.toml: {text!r} is no time in seconds, such as '20s'") from None
