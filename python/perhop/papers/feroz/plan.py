"""The runs of the study: campaigns over its cases, under readings and over parameters."""

from __future__ import annotations

from collections.abc import Sequence

from perhop.judge.quantity import Place, Subject
from perhop.judge.verdict import MIN_REPLICATIONS
from perhop.papers.document import check_claims
from perhop.papers.feroz.calibration import load_calibration
from perhop.papers.feroz.case import Case
from perhop.papers.feroz.cases import CASE_KEYS, EXTRA, cases_at, cases_of, less_of_cases
from perhop.papers.feroz.runs import CasePlan, CaseRuns
from perhop.papers.pack import TEXTS, WHOLE, WHOLES, Keys, Pack, load_pack
from perhop.papers.plan import Sweep
from perhop.papers.readings import unjudged_claims

FIGURE: Keys = {**CASE_KEYS, "markers": TEXTS, "scale": WHOLE, "tokens": WHOLES}
FACTORS = ("at", "figure", "marker")
"""Factors of every campaign; `at` is what the parameters are."""

MEASURED = {"baseline.toml": "campaign.toml", "assured.toml": "campaign-assured.toml"}
"""For each scenario file the campaign that says what is measured."""

SWEEP_REPLICATIONS = 4
READ, QUICK_READ = 40, MIN_REPLICATIONS
"""Replications under each reading, at most as many as the case has."""
SWEPT_TOKENS = (15, 30, 45)
SWEPT_IN_TABLE_6 = ("averaging", "depth", "beyond_tokens", "carry")

QUANTITIES = ("timeouts", "losses_per_s", "goodput", "cov", "obtained", "gaps_kept", "gap_excess")
"""What claims may be about; not each of every case."""

Runs = CasePlan[Case]


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
    every = all_cases(pack, False)
    pack.check_coverage({case.id for case in every if case.table != EXTRA}, published_rows(pack))
    check_claims(pack.written, subject_of(pack, every), {})
    made, unjudged = runs_of(pack), unjudged_claims(pack, quick)
    cases = all_cases(pack, quick)
    return Runs(
        pack,
        made.fitted(cases),
        made.read(cases, unjudged, QUICK_READ if quick else READ),
        () if quick else sweeps(made, cases),
        unjudged,
        _left_out(pack, unjudged) if quick else (),
        made.drawn(cases),
        cases,
    )


def subject_of(pack: Pack, cases: Sequence[Case]) -> Subject:
    """Give what claims may be about: the cases, and what is printed of them."""
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


def runs_of(pack: Pack) -> CaseRuns:
    """Give what makes the runs of cases."""
    return CaseRuns(pack, load_calibration(pack), MEASURED, FACTORS)


def all_cases(pack: Pack, quick: bool) -> tuple[Case, ...]:
    """Give the cases of `figures.toml`."""
    printed = published_rows(pack)
    return tuple(
        case
        for table in pack.figures
        for case in cases_of(Case, table, "markers", "tokens", printed, quick, ("scale",))
    )


def sweeps(made: CaseRuns, cases: Sequence[Case]) -> tuple[Sweep, ...]:
    """Sweep Table 1 over each parameter, and three rows of Table 6 over those that move it most."""
    three = [one for one in cases if one.level in SWEPT_TOKENS]
    sixth = made.sweeps(three, "6", SWEEP_REPLICATIONS, SWEPT_IN_TABLE_6)
    return (*made.sweeps(cases, "1", SWEEP_REPLICATIONS), *sixth)


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


def _left_out(pack: Pack, unjudged: frozenset[str]) -> tuple[str, ...]:
    *shorter, gone = less_of_cases(pack)
    names = ", ".join(claim.id for claim in pack.claims if claim.id in unjudged)
    return (
        *shorter,
        f"verdicts on {names}; time-outs of these tables are those of the shorter time",
        gone,
        "how each reading moves Tables 1 and 6",
    )
