"""What `perhop reproduce` does with any study, on a study of a few short runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import pytest

import perhop
from conftest import Cli, made
from perhop import Scenario
from perhop.cli.exit import ExitCode
from perhop.experiment.definition import Campaign
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor
from perhop.experiment.response import Response
from perhop.judge.grammar import Claim, Claims, ClaimsError, ClaimsFile, Part, WrittenClaim
from perhop.judge.measured import Predicates
from perhop.judge.parameters import unfit_predicate
from perhop.judge.quantity import Subject, faults
from perhop.judge.verdict import ClaimPart, Hypothesis
from perhop.papers.claims import claim_entry
from perhop.papers.form import StudyFile
from perhop.papers.outcome import Outcome
from perhop.papers.plan import Plan, Results
from perhop.papers.reduce import row
from perhop.papers.refit import CampaignRunner
from perhop.papers.reproduce import FailedRunError, checked
from perhop.papers.study import Study
from perhop.report.study import Section, StudyPage, Table, render
from perhop.run.run import AnyJob, Result, TracedJob, expected_s, job_work, run_jobs
from perhop.scenario.scenario import HOPS_PER_S
from perhop.stats.intervals import Interval

STARTERS = Path(perhop.__file__).parent / "starters"

SOURCE = b"""
[run]
duration = "2s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
ends = ["a", "b"]
rate = "1Mbit/s"
delay = "1ms"
[[flow]]
name = "up"
from = "a"
to = "b"
tcp = { profile = "rfc" }
"""


NOTHING = Subject({}, {}, [])


class Tiny:
    """What `perhop reproduce` needs of a study, its own plan, outcome and page."""

    key = called = "tiny"
    title = "A study of three runs"
    fit = None

    @property
    def file(self) -> StudyFile:
        return StudyFile(title=self.title, question="Tiny.")

    @property
    def folder(self) -> Path:
        return Path("papers", self.key)

    @property
    def place(self) -> str:
        return f"papers/{self.key}"

    @property
    def code(self) -> Tiny:
        return self

    def plan(self, quick: bool) -> Plan:
        scenario = Scenario(SOURCE, "tiny.toml")
        design = Design.full([Factor.vary("run.duration", ["2s", "3s"], "time")], replications=3)
        responses = (Response.parse("bytes", "sum(flows.delivered_bytes)"),)
        campaign = Campaign("tiny", scenario, design, responses)
        left_out = ("everything else",) if quick else ()
        drawn = (TracedJob(SOURCE, "tiny, traced", [], ("cwnd",)), (SOURCE, "again", ["run.seed=1"]))
        return Plan(cast(Study, self), (campaign,), left_out=left_out, drawn=drawn)

    def reduce(self, plan: Plan, results: Results, command: str, results_version: int) -> Outcome:
        assert [list(one.trace) for one in results.drawn.values()] == [["cwnd"], []]
        measured = results.campaigns[0].interval("bytes", time="2s")
        assert measured is not None
        part = Hypothesis("bytes", "direction", low=1.0).estimated(measured)
        claim = claim_entry(Claim("T1", "Something arrives.", "here", ours="the byte"), [part])
        document = {
            "paper": self.key,
            "results_version": results_version,
            "command": command,
            "rows": [
                row("1", "x", "bytes", "B", 1e5, measured),
                row("extra", "y", "bytes", "B", None, measured),
                row("extra", "z", "bytes", "B", None, Interval(41.5, -30.0, 113.0, 2)),
            ],
            "claims": [claim],
        }
        return Outcome(document=document, left_out=plan.left_out)

    def page(self, outcome: Outcome) -> str:
        table = Table("Three runs", ("what", "how many"), [("runs", "3 < 4")], command="again and again")
        section = Section("more", "More", ["In detail & with care."], [table])
        return render(StudyPage(self.title, outcome.document, [section], "Tiny.", left_out=outcome.left_out))

    def calibrate(self, run: CampaignRunner) -> dict[str, Any]:
        (measured,) = run(self.plan(quick=True).fitted, "searching")
        return {"best": float(max(measured.values("bytes", time="3s")))}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Tiny:
    return known(monkeypatch)


def known(monkeypatch: pytest.MonkeyPatch) -> Tiny:
    """Make `perhop reproduce` know two studies: the tiny one, and it again by another name."""
    studies = {key: Tiny() for key in ("tiny", "twin")}
    for key, one in studies.items():
        one.key = one.called = key
    monkeypatch.setattr("perhop.cli.reproduce.PAPERS", (*studies,))
    monkeypatch.setattr("perhop.papers.folder.find_study", lambda called, trust: studies[called])
    monkeypatch.setattr("perhop.papers.reproduce.plan_of", lambda study, quick: study.plan(quick))
    monkeypatch.setattr("perhop.papers.reproduce.reduce", lambda plan, *of: plan.study.reduce(plan, *of))
    monkeypatch.setattr("perhop.papers.reproduce.page_of", lambda study, outcome: study.page(outcome))
    return studies["tiny"]


def test_one_study_leaves_its_page_and_its_document(cli: Cli, tiny: Tiny) -> None:
    done = cli("reproduce", "tiny", "--quick", "--json")
    assert done.code == 0
    assert "left out of tiny: everything else" in done.err
    document = done.json()
    assert document["command"] == "perhop reproduce tiny --quick"
    assert json.loads(Path("out/tiny/result.json").read_text()) == document
    page = Path("out/tiny/report.html").read_text()
    assert "<td>41.500</td><td>2</td>" in page
    n = document["rows"][0]["simulated"]["n"]
    assert re.search(rf"± [^<]*</td><td>{n}</td>", page)
    assert document["claims"][0]["verdict"] == "not judged"
    assert '<span class="badge not-judged">not judged</span>' in page
    for text in ("3 replications, 10 are needed", "ours, not the paper's: the byte"):
        assert text in page
    for text in (tiny.title, "3 &lt; 4", "In detail &amp; with care.", "again and again", "everything else"):
        assert text in page


def test_a_record_that_cannot_be_written_is_told_before_any_run(cli: Cli, tiny: Tiny) -> None:
    done = cli("reproduce", "tiny", "--record")
    assert (done.code, done.err) == (2, "error: papers/tiny/recorded: No such file or directory\n")
    assert not Path("out").exists() or not list(Path("out").iterdir())


def test_all_studies_leave_an_index(cli: Cli, tiny: Tiny) -> None:
    done = cli("reproduce", "--json", "-o", "all")
    assert done.code == 0
    documents = done.json()
    assert [document["command"] for document in documents] == [
        "perhop reproduce tiny",
        "perhop reproduce twin",
    ]
    assert json.loads(Path("all/result.json").read_text()) == documents
    index = Path("all/report.html").read_text()
    assert 'href="tiny/report.html"' in index
    assert 'href="tiny/report.html#claim-T1"' in index
    # for each study once among its claims and once among the parts of the claim
    assert index.count('<span class="badge not-judged">1 not judged</span>') == 4
    assert "Left out" not in index
    for key in ("tiny", "twin"):
        assert sorted(path.name for path in Path("all", key).iterdir()) == ["report.html", "result.json"]
    assert cli("reproduce", "-o", "all").code == 0
    Path("all/tiny/mine.txt").write_text("mine")
    refused = cli("reproduce", "-o", "all")
    assert refused.code == ExitCode.USAGE
    assert "left alone" in refused.err


def test_the_index_tells_what_was_left_out(cli: Cli, tiny: Tiny) -> None:
    done = cli("reproduce", "--quick", "-o", "all")
    assert done.code == 0
    assert "left out of tiny, twin: everything else\n" in done.err
    # each study under its title, with how its claims stand
    assert done.out.count(f"{tiny.title}\nOf 1 claim 1 is not judged.\nThese runs are shorter than") == 2
    left_out = "<b>Left out here:</b> everything else."
    assert Path("all/report.html").read_text().count(left_out) == 2
    assert Path("all/tiny/report.html").read_text().count(left_out) == 1


def test_numbers_are_printed_for_people(cli: Cli, tiny: Tiny) -> None:
    done = cli("reproduce", "tiny")
    assert "Something arrives." in done.out
    assert re.search(r"kB +100 +\d", done.out)
    assert re.search(r"T1 +not judged +not judged +- +- +Something arrives", done.out)
    assert re.search(r"T1 +3 replications, 10 are needed", done.out)
    assert re.search(r"tiny, 6 runs: less than a second", done.err)
    assert re.search(r"tiny, 2 runs to draw: less than a second by its packets", done.err)
    assert done.out.splitlines()[-1].startswith("report: /")


def test_a_calibration_prints_its_record(cli: Cli, tiny: Tiny) -> None:
    done = cli("reproduce", "tiny", "--calibrate")
    assert done.code == 0
    assert done.json()["best"] > 0
    assert cli("reproduce", "--calibrate").code == ExitCode.USAGE
    assert not Path("out/tiny").exists()


def test_a_study_without_free_parameters_says_so(cli: Cli) -> None:
    done = cli("reproduce", "kalampoukas", "--calibrate")
    assert done.code == ExitCode.USAGE
    assert "fits no parameter" in done.err


def test_equal_runs_are_drawn_once(cli: Cli, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, reduce = Tiny.plan, Tiny.reduce
    names: list[str] = []

    def twice(self: Tiny, quick: bool) -> Plan:
        once = plan(self, quick)
        (source, _, overrides) = once.drawn[1]
        return replace(once, drawn=(*once.drawn, (source, "and again", overrides)))

    def named(job: AnyJob, result: Result) -> Result:
        names.append(job[1])
        return result

    def compared(self: Tiny, plan: Plan, results: Results, *rest: Any) -> Outcome:
        assert results.drawn["again"] is results.drawn["and again"]
        return reduce(self, plan, replace(results, drawn=dict(list(results.drawn.items())[:2])), *rest)

    monkeypatch.setattr(Tiny, "plan", twice)
    monkeypatch.setattr(Tiny, "reduce", compared)
    monkeypatch.setattr("perhop.papers.reproduce.checked", named)
    assert cli("reproduce", "tiny").code == ExitCode.DONE
    assert sorted(names) == ["and again", "tiny, traced"]


def test_a_broken_drawn_run_ends_the_study(cli: Cli, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(job: AnyJob, result: Result) -> Result:
        return checked(job, made(invariants=["a packet vanished"]) if job[1] == "again" else result)

    monkeypatch.setattr("perhop.papers.reproduce.checked", broken)
    done = cli("reproduce", "tiny")
    assert done.code == ExitCode.FAILED_RUNS
    assert "again: a packet vanished" in done.err
    assert not Path("out/tiny").exists()


def test_a_failed_run_of_a_campaign_ends_the_study(
    cli: Cli, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told with the command that makes it again; what has been run is kept."""
    plan = Tiny.plan

    def impossible(self: Tiny, quick: bool) -> Plan:
        once = plan(self, quick)
        (campaign,) = once.fitted
        nothing = (Response.parse("bytes", "sum(flows.no_such_column)"),)
        return replace(once, fitted=(replace(campaign, responses=nothing),))

    monkeypatch.setattr(Tiny, "plan", impossible)
    done = cli("reproduce", "tiny")
    assert done.code == ExitCode.FAILED_RUNS
    assert "a run failed" in done.err
    assert "no_such_column" in done.err
    assert "perhop run" in done.err
    assert Path("out/tiny.runs").is_dir()
    assert not Path("out/tiny").exists()


JOBS: list[AnyJob] = [(SOURCE, name, [f"run.replication={k}"]) for k, name in enumerate(("a", "b", "c"))]


def test_what_is_kept_takes_the_place_of_the_result() -> None:
    seen: list[tuple[float, float]] = []
    kept = run_jobs(JOBS, 2, lambda done, of: seen.append((done, of)), lambda job, _: job[1])
    assert kept == ["a", "b", "c"]
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_progress_counts_work() -> None:
    seen = [0.0]

    def progress(done: float, of: float) -> None:
        assert of == 111
        seen.append(done)

    run_jobs(JOBS, 2, progress, lambda job, _: job[1], work=[1, 10, 100])
    assert sorted(now - before for before, now in pairwise(seen)) == [1, 10, 100]


def test_the_work_of_a_job_grows_with_its_packets() -> None:
    name, source = "two-way.toml", (STARTERS / "two-way" / "two-way.toml").read_bytes()
    changes = (
        ["run.replication=7"],
        ["run.duration=120s"],
        ["link.slow-fast.rate.slow->fast=500kbit/s", "link.slow-fast.rate.fast->slow=25Mbit/s"],
        ["run.duration=120s", "flow.up.start=60s", "flow.down.start=60s"],
    )
    plain, *others = job_work([(source, name, []), *((source, name, given) for given in changes)])
    assert plain > 0
    again, longer, faster, later = (other / plain for other in others)
    assert (again, later) == (1, 1)
    assert longer == pytest.approx(2)
    assert 2 < faster <= 5.001


def test_the_time_expected_is_the_work_over_the_workers() -> None:
    assert expected_s([HOPS_PER_S, 3 * HOPS_PER_S], 2) == pytest.approx(2.0)


def test_a_broken_run_is_not_reduced() -> None:
    job = (SOURCE, "tiny", list[str]())
    assert checked(job, whole := made()) is whole
    with pytest.raises(FailedRunError, match="a run broke an invariant: tiny: lost"):
        checked(job, made(invariants=["lost"]))


def written(**parameters: object) -> Claims:
    """Give a claim that a predicate judges."""
    made = Part(predicate="_needs", parameters=parameters)
    file = ClaimsFile(claim=[WrittenClaim(id="X1", statement="It is so.", predicate="_needs")])
    return Claims(Path("some/claims.toml"), b"claim = []", file, (Claim("X1", "It is so.", parts=(made,)),))


def check_claims(claims: Claims, predicates: Predicates) -> None:
    claims.refuse(faults(claims, NOTHING, unfit_predicate(predicates)))


def test_a_claim_that_names_no_predicate_is_refused() -> None:
    with pytest.raises(ClaimsError, match=r"claim\[0\]\.predicate: no predicate '_needs'; known here: other"):
        check_claims(written(), {"other": _needs})


def _needs(
    m: None, form: Literal["a", "b"], near: float, times: int, ids: list[str], two: Annotated[list[str], 2]
) -> list[ClaimPart]:
    raise AssertionError("a check judges nothing")


_GIVEN = {"form": "a", "near": 1, "times": 2, "ids": ["x"], "two": ["x", "y"]}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("form", "c", "form is 'c', not one of 'a', 'b'"),
        ("near", "1", "near is '1', not a finite number"),
        ("near", True, "near is True, not a finite number"),
        ("near", float("nan"), "near is nan, not a finite number"),
        ("near", 10**400, "not a finite number"),
        ("times", 2.0, "times is 2.0, not a whole number"),
        ("ids", "x", "ids is 'x', not a list of one text or more"),
        ("ids", [], r"ids is \[\], not a list of one text or more"),
        ("ids", [1], r"ids is \[1\], not a list of one text or more"),
        ("two", ["x"], r"two is \['x'\], not a list of 2 texts"),
        ("two", 2, "two is 2, not a list of 2 texts"),
        ("tow", 2, "no parameter 'tow'; known here: form, near, times, ids, two"),
        ("near", None, "'parameters' has no 'near'"),
    ],
)
def test_a_claim_whose_parameters_do_not_fit_is_refused(name: str, value: Any, told: str) -> None:
    given = {key: one for key, one in {**_GIVEN, name: value}.items() if one is not None}
    check_claims(written(**_GIVEN), {"_needs": _needs})
    with pytest.raises(ClaimsError, match=f"claim.0..predicate: .*{told}"):
        check_claims(written(**given), {"_needs": _needs})


def test_a_row_is_rounded_and_an_unknown_interval_is_null() -> None:
    one = row("1", "x", "cov", "1", 0.12, Interval(0.12345678, float("-inf"), float("inf"), 1))
    assert one == {
        "table": "1",
        "id": "x",
        "quantity": "cov",
        "unit": "1",
        "published": 0.12,
        "closed_form": {"printed": None, "bounded": None},
        "simulated": {"mean": 0.123457, "ci95": None, "n": 1},
    }
