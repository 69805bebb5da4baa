"""What `perhop recommend` says of races whose values are given, so that each sentence is known beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import perhop
from conftest import Cli
from perhop import Scenario
from perhop.experiment import campaign as campaigns
from perhop.experiment.definition import Campaign
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor, Level
from perhop.experiment.rules import Goal, Select
from perhop.experiment.selecting import Selecting
from perhop.experiment.store import Store
from perhop.experiment.work import Finished, Task, Value
from perhop.recommend import goals
from perhop.recommend.answer import Answer
from perhop.recommend.candidates import BEST_EFFORT, COPY, FACTOR
from perhop.report.campaign import render
from perhop.run.run import Progress
from perhop.say.campaign import changes
from perhop.say.candidates import between, short
from perhop.say.recommendation import described

ACCESS = Path(perhop.__file__).parent / "starters" / "access" / "access.toml"
WEB, UPLOAD = Goal("transfer_mean", ("web",), -1.0), Goal("goodput", ("upload",), 1.0)

Values = dict[str, float | None]
"""By `CLASS:MEASURE`."""

Gives = Callable[[str, int], Values | None]
"""What a candidate gives in a replication; None where its run fails."""


@pytest.fixture
def raced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Store]:
    """Return a store of a race whose runs give what they are told to."""

    def make(
        names: list[str], gives: Gives, *goal: Goal, most: int = 5, progress: Progress | None = None
    ) -> Store:
        levels = tuple(Level(name, (f"run.interval={200 + k}ms",)) for k, name in enumerate(names))
        design = Design.full([Factor(FACTOR, levels)], replications=most)
        scenario = Scenario.load(ACCESS)
        responses = goals.responses(goal, None, scenario)
        select = Select(goal, True, 0.02, 0.95, 0, most)
        asked = Campaign("a", scenario, design, responses, select=select)

        def execute(task: Task) -> Finished:
            said = dict(one.split("=") for one in task.overrides)
            found = gives(
                names[int(said["run.interval"].removesuffix("ms")) - 200], int(said["run.replication"])
            )
            if found is None:
                return Finished(failure="told to")
            texts = {response.name: response.text for response in responses}
            split = {tuple(key.split(":")): value for key, value in found.items()}
            return Finished(tuple(Value(texts[of], (name,), each) for (name, of), each in split.items()))

        monkeypatch.setattr(campaigns, "execute", execute)
        with ThreadPoolExecutor(1) as workers:
            campaigns.run_campaign(asked, tmp_path / "a", workers, progress=progress)
        return Store.open(tmp_path / "a")

    return make


def test_runs_of_a_dropped_candidate_are_said_not_to_count(raced: Callable[..., Store]) -> None:
    campaign = raced([BEST_EFFORT, COPY], lambda name, k: {"web:transfer_mean": 1.0 + 0.01 * k}, WEB).campaign
    found = campaigns.Outcome(Path("a"), 0, 89, 0, 0, 1, None, [])
    kept = "0 runs kept, 89 new, 1 no longer asked for"
    assert list(changes(campaign, found)) == [f"{kept}: the answer does not count it"]
    assert list(changes(replace(campaign, select=None), found)) == [kept]


def _answer(store: Store) -> tuple[Answer, list[str]]:
    answered = described(store)
    assert answered is not None
    found, said = answered
    assert found is not None
    return found, said


def test_a_candidate_whose_runs_all_fail_is_never_taken(raced: Callable[..., Store]) -> None:
    store = raced(
        [BEST_EFFORT, COPY], lambda name, _: {"web:transfer_mean": 1.0} if name == COPY else None, WEB
    )
    found, said = _answer(store)
    assert (found.taken, found.met, found.failed) == ("acks=copy", False, 5)
    assert said[0] == (
        "Not settled after 10 runs: copy leads, and these cannot be told apart from it: best-effort."
    )
    assert "an amount that these runs do not bound" in said[1]


@pytest.mark.parametrize(
    ("gives", "runs", "said"),
    [
        (lambda *_: None, 10, "every run failed, so that nothing can be recommended"),
        (lambda *_: {"upload:goodput": 1.0}, 2, "web:transfer_mean has no value in any run, so that"),
        (lambda *_: {}, 2, "web:transfer_mean, upload:goodput have no value in any run, so that"),
        (
            lambda name, _: (
                {"web:transfer_mean": 1.0, "upload:goodput": 0.0}
                if name == COPY
                else {"web:transfer_mean": None, "upload:goodput": 1.0}
            ),
            2,
            "every candidate failed, or had a run without a value, or with zero, of something",
        ),
        # the second replication takes from all what the first gave
        (
            lambda _, number: {"web:transfer_mean": 1.0, "upload:goodput": 1.0 - (number == 1)},
            4,
            "every candidate failed, or had a run without a value, or with zero, of something",
        ),
    ],
)
def test_where_no_candidate_has_a_value_none_is_taken(
    raced: Callable[..., Store], gives: Gives, runs: int, said: str
) -> None:
    store = raced([BEST_EFFORT, COPY], gives, WEB, UPLOAD)
    answered = described(store)
    assert answered is not None
    assert answered[0] is None
    assert answered[1][0].startswith(said)
    assert store.runs().height == runs
    assert answered[1][0] in render(store)


def test_what_one_that_nobody_weighed_loses_is_shown_and_said(raced: Callable[..., Store]) -> None:
    def gives(name: str, number: int) -> Values:
        if name == COPY:
            return {"web:transfer_mean": 1.0, "call:goodput": 0.0, "meeting:goodput": 2.0 * (number > 0)}
        return {"web:transfer_mean": 2.0, "call:goodput": 8e4, "call:delay_p99": 0.01, "meeting:goodput": 2.0}

    found, said = _answer(raced([BEST_EFFORT, COPY], gives, WEB))
    assert found.taken == "acks=copy"
    rows = {(row.of, row.response): row for row in found.rows}
    lost = rows["call", "goodput"]
    assert (lost.changes["best effort"].other, lost.changes["best effort"].taken) == (8e4, 0.0)
    assert lost.changes["best effort"].lost == found.replications
    delay = rows["call", "delay_p99"].changes["best effort"]
    assert delay.other == 0.01
    assert math.isnan(delay.taken)
    cost = next(text for text in said if text.startswith("Against best effort"))
    runs = found.replications
    assert "better are web's mean time of a transfer -50 %" in cost
    assert f"worse are call's 99 % delay none in {runs} of {runs} runs" in cost
    assert f"call's goodput none in {runs} of {runs} runs" in cost
    assert f"meeting's goodput none in 1 of {runs} runs" in cost


def test_means_of_a_table_are_those_of_which_the_change_is_the_difference(
    raced: Callable[..., Store],
) -> None:
    def gives(name: str, number: int) -> Values:
        # one slow run outweighs the rest in a plain mean, which would fall where the change rises
        plain = {"web:transfer_mean": 1.0, "upload:goodput": 1e6 * (20.0 if number == 2 else 1.0)}
        return {"web:transfer_mean": 0.5, "upload:goodput": 2e6} if name == COPY else plain

    found, _ = _answer(raced([BEST_EFFORT, COPY], gives, WEB))
    change = next(row for row in found.rows if row.response == "goodput").changes["best effort"]
    runs = found.replications
    assert change.runs == runs
    assert change.other == pytest.approx(1e6 * 20.0 ** (1 / runs))
    assert change.taken == pytest.approx(2e6)
    assert change.percent == pytest.approx(100 * (change.taken / change.other - 1))


def test_the_best_by_one_goal_is_what_is_in_use_among_equals(raced: Callable[..., Store]) -> None:
    def gives(name: str, number: int) -> Values:
        draw = 1.0 + 0.001 * (number % 3)
        return {"web:transfer_mean": draw * (1.0 if name == COPY else 3.0), "upload:goodput": draw}

    _, said = _answer(raced([BEST_EFFORT, COPY], gives, WEB, UPLOAD))
    best = "Best for each by itself, each with 95 % confidence: web's mean time of a transfer: copy."
    assert best in said
    assert "What is in use is good enough for: upload's goodput." in said


def test_one_that_never_could_be_taken_leaves_no_goal_open(raced: Callable[..., Store]) -> None:
    def gives(name: str, number: int) -> Values:
        draw = 1.0 + 0.001 * (number % 3)
        goodput = 0.0 if name == "EF" and number == 0 else draw
        return {"web:transfer_mean": draw * (1.0 if name == COPY else 3.0), "upload:goodput": goodput}

    found, _ = _answer(raced([BEST_EFFORT, COPY, "EF"], gives, WEB, UPLOAD))
    assert found.impossible == ("acks=EF",)
    assert [(one.treatment, one.sure) for one in found.best] == [
        ("acks=copy", True),
        ("acks=best-effort", True),
    ]


def test_runs_that_only_one_or_only_the_other_lacks_are_both_told(raced: Callable[..., Store]) -> None:
    def gives(name: str, number: int) -> Values:
        has = number != (1 if name == COPY else 2)
        return {"web:transfer_mean": 1.0 if name == COPY else 2.0, "upload:goodput": 1e6 if has else None}

    found, said = _answer(raced([BEST_EFFORT, COPY], gives, WEB))
    change = next(row for row in found.rows if row.response == "goodput").changes["best effort"]
    runs = found.replications
    assert (change.lost, change.gained) == (1, 1)
    assert change.other == change.taken == 1e6
    assert between(change) == f"none in 1, from none in 1, of {runs} runs"
    assert not any("upload" in text for text in said if text.startswith("Against"))


def test_what_one_gains_that_had_nothing_is_said(raced: Callable[..., Store]) -> None:
    store = raced([BEST_EFFORT, COPY], lambda name, _: {"upload:goodput": float(name == COPY)}, UPLOAD)
    found, said = _answer(store)
    assert (found.taken, found.met) == ("acks=copy", True)
    assert said[0] == "Take these marks for ACKs: copy."
    assert any("better are upload's goodput from none in 4 of 4 runs;" in text for text in said)
    assert (found.scored_over, found.scores["acks=copy"].percent) == ("what is taken", 0.0)


def test_a_race_in_which_what_is_in_use_had_no_more_runs_once_it_was_dropped_has_its_answer(
    raced: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Former(Selecting):
        def __init__(self, select: Select, treatments: int) -> None:
            super().__init__(select, treatments, runs_on=False)

    monkeypatch.setattr(campaigns, "Selecting", Former)
    store = raced([BEST_EFFORT, COPY], lambda name, _: {"upload:goodput": float(name == COPY)}, UPLOAD)
    runs = store.runs().filter(state="done").group_by("treatment").len()
    assert dict(runs.rows())["acks=best-effort"] < dict(runs.rows())["acks=copy"]
    found, _ = _answer(store)
    assert (found.taken, found.met) == ("acks=copy", True)


def test_at_the_cap_it_says_what_leads_and_what_cannot_be_told_from_it(raced: Callable[..., Store]) -> None:
    names = [
        BEST_EFFORT,
        COPY,
        *(f"{mark} for web" for mark in ("EF", "AF11", "AF12", "AF13", "AF21", "AF22")),
    ]
    names.append("AF31 for web")

    def gives(name: str, number: int) -> Values:
        place = names.index(name)
        noise = np.random.default_rng(place).permutation(np.linspace(-2.0, 2.0, 6))[number]
        return {"web:transfer_mean": {1: 19.0, 8: 90.0}.get(place, 20.0) + noise}

    _, said = _answer(raced(names, gives, WEB, most=6))
    assert said[0].startswith("Not settled after ")
    assert said[0].endswith(
        " runs: copy leads, and these cannot be told apart from it: "
        "best-effort / EF for web / AF11 for web / AF12 for web / AF13 for web and 2 more."
    )
    assert said[1].startswith("With 95 % confidence copy is behind the best by at most ")
    assert "1 dropped on the way" in said[-1]


@pytest.mark.parametrize(
    ("treatment", "name"),
    [
        ("acks=EF for web; AF11 for upload", "EF for web; AF11 for upload"),
        ("acks=as it is", "as it is"),
        ("acks=copy scheduler=as it is queue=red", "acks=copy, queue=red"),
        ("acks=as it is scheduler=as it is", "as it is"),
        (
            "acks=EF for web port.a-b.class.c.queue.limit=5p",
            "acks=EF for web, port.a-b.class.c.queue.limit=5p",
        ),
    ],
)
def test_a_candidate_is_called_by_what_it_sets(treatment: str, name: str) -> None:
    assert short(treatment) == name


def test_progress_counts_no_runs_of_those_that_were_dropped(raced: Callable[..., Store]) -> None:
    told_of: list[tuple[float, float]] = []

    def gives(name: str, number: int) -> Values:
        return {"upload:goodput": {"EF for all": 0.0, BEST_EFFORT: 1.0}.get(name, 1.0 + number % 2)}

    names = [BEST_EFFORT, COPY, "EF for all"]
    raced(names, gives, UPLOAD, progress=lambda *now: told_of.append(now))
    a_run = told_of[0][1] / 15
    totals = [round(total / a_run) for _, total in told_of]
    assert totals[0] == 15
    # one more of the dropped may have been under way
    assert totals[-1] in (11, 12)
    assert totals.index(15) < totals.index(totals[-1]) <= 4
    assert all(done <= total for done, total in told_of)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("finished", "code", "said"),
    [
        (Finished(failure="told to"), 4, "every run failed, so that nothing can be recommended"),
        (Finished(), 2, "web:transfer_mean has no value in any run"),
    ],
)
def test_where_nothing_can_be_recommended_the_command_says_why(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, finished: Finished, code: int, said: str
) -> None:
    monkeypatch.setattr(campaigns, "execute", lambda _: finished)
    monkeypatch.setattr("perhop.experiment.executors.open_executor", lambda *_: ThreadPoolExecutor(1))
    done = cli("recommend", ACCESS, "--weigh", "web:transfer_mean=1", "--most", "2", "-o", "a")
    assert done.code == code, done.err
    assert said in done.err
    assert "Mark ACKs" not in done.out
    assert cli("report", "a").code == 0
    assert said in Path("a/report.html").read_text()
