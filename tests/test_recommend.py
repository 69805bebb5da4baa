"""`perhop recommend`: what it tries, what it says, that it can go on, and what it refuses."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import perhop
from conftest import Cli
from perhop import Scenario
from perhop.experiment.rules import Goal, Select
from perhop.experiment.selecting import Selecting, score
from perhop.experiment.store import Store
from perhop.recommend import goals
from perhop.recommend.candidates import candidates

ACCESS = Path(perhop.__file__).parent / "starters" / "access" / "access.toml"
SHORT = (
    *("-s", "run.duration=4s", "-s", "run.warmup=1s", "-s", "link.gateway-isp.rate.isp->gateway=20Mbit/s"),
    *("-s", "flow.web.arrivals.mean_interval=100ms", "--weigh", "web:transfer_mean=1", "--delta", "10%"),
    *("--most", "8"),
)


def test_candidates_are_marks_of_the_ports_by_class() -> None:
    found = candidates(Scenario.load(ACCESS))
    assert [level.name for level in found.factor.levels] == [
        *("best-effort", "copy", "EF for all", "AF11 for all"),
        *(f"{mark} for {name}" for mark in ("EF", "AF11") for name in ("upload", "download", "web")),
    ]
    assert (found.in_use, found.left_out) == ("best-effort", ())
    assert found.places == ("conditioner.acks-up.ack_marking", "conditioner.acks-down.ack_marking")


def test_a_marking_that_is_no_candidate_is_one_as_it_is() -> None:
    marking = 'conditioner.acks-up.ack_marking={ kind = "per-class", marks = { web = "EF" } }'
    found = candidates(Scenario.load(ACCESS, (marking,)))
    assert found.in_use == found.factor.levels[0].name == "as it is"


def test_without_an_edge_that_marks_acks_the_hosts_do() -> None:
    text = ACCESS.read_text().replace('ack_marking = { kind = "best-effort" }', 'marker = { green = "BE" }')
    found = candidates(Scenario.from_text(text))
    assert found.places == tuple(f"flow.{name}.ack.marking" for name in ("upload", "download", "web"))


def test_usual_weights_are_one_measure_of_each_class() -> None:
    found = {one.group[0]: (one.response, one.weight) for one in goals.usual(Scenario.load(ACCESS))}
    assert found == {
        "upload": ("goodput", 1.0),
        "download": ("goodput", 1.0),
        "web": ("transfer_mean", -1.0),
        "call": ("delay_p99", -1.0),
        "meeting": ("delay_p99", -1.0),
    }


def test_a_score_is_a_weighted_mean_of_logarithms() -> None:
    chosen = (Goal("goodput", ("a",), 3.0), Goal("delay_p99", ("b",), -1.0))
    select = Select(chosen, True, 0.02, 0.95, None, 5)
    values = {"goodput": {("a",): 8.0}, "delay_p99": {("b",): 2.0}}
    assert score(select, values) == pytest.approx((3 * math.log(8) - math.log(2)) / 4)
    assert score(select, {"goodput": {("a",): 0.0}, "delay_p99": {("b",): 2.0}}) == -math.inf
    assert score(select, {"goodput": {("a",): 8.0}, "delay_p99": {}}) == -math.inf
    assert score(select, {"goodput": {}, "delay_p99": {}}) == -math.inf
    assert score(select, {}) == -math.inf
    assert math.isnan(score(select, None))


def test_the_decision_does_not_depend_on_which_run_finished_first() -> None:
    select = Select((Goal("x", (), 1.0),), False, 0.02, 0.95, None, 30)
    runs = [(k, r) for r in range(30) for k in range(3)]
    decided = []
    for order in (runs, sorted(runs), runs[::-1]):
        rule = Selecting(select, 3)
        for k, r in order:
            rule.add(k, r, {"x": {(): 100.0 + 20 * k + (7 * r + 3 * k * k) % 5}})
        decided.append(rule.decided)
    assert decided[0] is not None
    assert decided[0].treatment == 2
    assert decided[0].met
    assert decided[0].replications[0] < 30
    assert decided[1:] == decided[:1] * 2


def test_it_answers_goes_on_and_gives_the_same_with_any_number_of_workers(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "access.toml").write_text(ACCESS.read_text())
    first = cli("recommend", "access.toml", *SHORT, "-j", "2", "-o", "a", "--json")
    assert first.code == 0, first.err
    told = first.json()
    assert told["treatments"] == 10
    assert told["behind"] <= 10.001 or not told["met"]
    assert told["said"][1].startswith("With 95 % confidence")
    settled = ("Take these marks for ACKs: ", "Leave ACKs as they are")
    assert told["said"][0].startswith(settled if told["met"] else "Not settled after ")
    assert told["over"]["best effort"]["percent"] > 10
    assert told["runs"] == Store.open("a").runs().height < 10 * told["replications"]
    table = (tmp_path / "a" / "scalars.parquet").read_bytes()

    again = cli("recommend", "access.toml", *SHORT, "-j", "1", "-o", "a")
    assert again.code == 0
    assert ", 0 new" in again.err
    assert again.out.splitlines()[: len(told["said"])] == told["said"]
    assert (tmp_path / "a" / "scalars.parquet").read_bytes() == table

    assert cli("recommend", "access.toml", *SHORT, "-j", "1", "-o", "b").code == 0
    assert (tmp_path / "b" / "scalars.parquet").read_bytes() == table
    page = (tmp_path / "a" / "report.html").read_text()
    assert told["said"][0] in page
    assert "<title>Recommendation for access.toml" in page
    lead = page[page.index('<h3 id="answer">') : page.index('<h3 id="mattered">')]
    assert '<figure id="score">' in lead
    assert "Against best effort: means of pairs of runs" in lead
    assert "better than best effort in %" in lead
    assert "--until-ci" not in page
    assert set(told["scores"]) == set(Store.open("a").runs()["treatment"])
    assert told["scores"]["acks=best-effort"]["percent"] == 0.0
    each = Store.open("a").runs().group_by("treatment").len()["len"]
    if each.min() != each.max():
        assert f"each in {each.min()} to {each.max()} replications" in page
    assert cli("campaign", "run", "a").code == 0
    assert (tmp_path / "a" / "scalars.parquet").read_bytes() == table


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--delta", "2"), 2, "--delta 2: not a percentage above zero"),
        (("--delta", "0%"), 2, "--delta 0%: not a percentage above zero"),
        (("--level", "1"), 2, "--level 1: not inside (0, 1)"),
        (("--less",), 2, "--less: of what?"),
        (("--weigh", "web"), 2, "'web' is no weight"),
        (("--weigh", "wbe:goodput=1"), 2, "no class 'wbe'; there are call, download, meeting, upload, web"),
        (("--weigh", "web:speed=1"), 2, "no measure 'speed'"),
        (("--weigh", "web:goodput=0"), 2, "'0' is not a weight above zero"),
        (("--weigh", "web:goodput=1,web:goodput=2"), 2, "web:goodput is weighed twice"),
        (("--weigh", "web:goodput=1", "--measure", "mean(flows.srtt_s)"), 2, "give one of them"),
        (("--measure", "mean(flows.nothing)"), 3, "nothing"),
        (("--measure", "mean(flows.srtt_s) by class"), 2, "one number counts"),
        (("--vary", "run.seed"), 2, "--vary run.seed: no values"),
        (("--try", "queue,link"), 2, "--try link: there are queue, scheduler, meter"),
        (("-s", "run.duraton=3s"), 3, "did you mean"),
    ],
)
def test_bad_input_is_told(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = cli("recommend", ACCESS, *arguments)
    assert done.code == code
    assert said in done.err
    assert not list(tmp_path.iterdir())


def test_a_scenario_without_classes_is_refused_with_a_hint(cli: Cli, tmp_path: Path) -> None:
    two_way = ACCESS.parents[1] / "two-way" / "two-way.toml"
    done = cli("recommend", two_way)
    assert done.code == 2
    assert "no port tells packets apart by their mark" in done.err
    assert "perhop init --pack access" in done.err
    assert "--goal household" in done.err


def test_a_goal_without_a_value_is_told(cli: Cli) -> None:
    short = ("-s", "run.duration=3s", "-s", "run.warmup=1s", "--most", "3")
    done = cli("recommend", ACCESS, *short, "--weigh", "call:transfer_mean=1", "-o", "a")
    assert done.code == 2
    assert "call:transfer_mean has no value in any run" in done.err
