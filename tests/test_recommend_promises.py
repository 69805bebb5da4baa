"""`perhop recommend --goal promises`: who leaves the race, who is taken, what is said, what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import Cli
from perhop import Scenario
from perhop.cli.exit import ExitCode
from perhop.experiment import campaign as campaigns
from perhop.experiment.definition import Campaign
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor, Level
from perhop.experiment.promises import promised_responses
from perhop.experiment.rules import Bound, Goal, Select
from perhop.experiment.selecting import Selected, Selecting
from perhop.experiment.store import Store
from perhop.experiment.work import Finished, Task, Value
from perhop.judge.promises import judge_promises
from perhop.recommend import goals, line
from perhop.recommend.candidates import AS_IT_IS
from perhop.report.campaign import render
from perhop.run.promises import Promise
from perhop.say.promised import table
from perhop.say.recommendation import described
from test_applications import HOUSEHOLD
from test_promises import LINE, SLA

UDP = LINE[: LINE.index("[[flow]]")]
PROMISED = UDP + SLA[: SLA.index('[[sla]]\nclass = "bulk"')]
"""Voice alone, which is promised a delay of 50 ms."""

WITHIN = (Bound("wait", float("-inf"), 50.0),)


def wobble(number: int) -> float:
    """Return noise of a replication, which is not that of the one before."""
    return ((7 * number) % 5 - 2) / 10


def decided(*waits: Callable[[int], float | None], scores: tuple[float, ...], most: int = 20) -> Selected:
    """Run a race of treatments with given scores and waits; a treatment without a score fails in each run."""
    select = Select((Goal("x", (), 1.0),), False, 0.02, 0.95, None, most, WITHIN)
    race = Selecting(select, len(waits))
    for number in range(most):
        for place, wait in enumerate(waits):
            if race.asks_for(place, number):
                score = scores[place] + wobble(number + place)
                race.add(place, number, {"x": {(): score}, "wait": {(): wait(number)}})
    assert race.decided is not None
    return race.decided


def at(wait: float) -> Callable[[int], float]:
    return lambda number: wait + wobble(number)


def test_one_that_breaks_a_promise_leaves_the_race_and_the_best_of_the_others_is_taken() -> None:
    found = decided(at(60.0), at(40.0), at(40.0), scores=(200.0, 100.0, 120.0))
    assert found == Selected(2, met=True, behind=0.0, replications=(10, 10, 10))


def test_who_is_worse_is_dropped_only_for_one_that_is_known_to_keep_all() -> None:
    # nothing is known before the tenth replication, however far apart the scores are
    open_at_first = at(49.95)
    found = decided(at(40.0), open_at_first, scores=(100.0, 200.0), most=15)
    assert not found.met
    assert (found.treatment, found.replications) == (0, (15, 15))
    assert decided(at(40.0), at(40.0), scores=(100.0, 200.0)).replications == (10, 10)


def test_where_all_break_a_promise_the_race_ends() -> None:
    found = decided(at(60.0), at(70.0), scores=(100.0, 200.0))
    assert (found.met, found.replications) == (False, (10, 10))


def test_one_without_a_value_of_what_is_promised_leaves_and_a_failed_run_says_nothing() -> None:
    found = decided(lambda number: None if number == 3 else 40.0, at(40.0), scores=(200.0, 100.0))
    assert (found.treatment, found.met, found.replications) == (1, True, (10, 10))
    select = Select((Goal("x", (), 1.0),), False, 0.02, 0.95, None, 20, WITHIN)
    race = Selecting(select, 1)
    for number in range(11):
        assert race.decided is None
        race.add(0, number, None if number == 4 else {"x": {(): 1.0}, "wait": {(): 40.0}})
    assert race.decided == Selected(0, met=True, behind=0.0, replications=(11,))


@pytest.mark.parametrize(
    ("quantity", "bound", "value", "beyond"),
    [
        ("delay_p99", "50ms", 0.06, 0.2),
        ("delay_p99", "50ms", 0.04, -0.2),
        ("goodput", "2Mbit/s", 1.5e6, 0.25),
        ("goodput", "2Mbit/s", 2.5e6, -0.25),
        ("loss", "0%", 0.01, float("inf")),
        ("loss", "0%", 0.0, -1.0),
    ],
)
def test_how_far_beyond_its_bound_a_value_is(quantity: str, bound: str, value: float, beyond: float) -> None:
    assert Promise("a", quantity, bound).beyond(value) == pytest.approx(beyond)


Gives = Callable[[str, int], dict[str, float]]
"""What a candidate gives in a replication: the wait, the loss and the goodput of voice."""


@pytest.fixture
def raced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Store]:
    """Return a store of a race for two promises whose runs give what they are told to."""
    two = PROMISED + '[[sla]]\nclass = "voice"\nquantity = "loss"\nbound = "1%"\n'

    def make(names: list[str], gives: Gives, most: int = 12) -> Store:
        levels = tuple(Level(name, (f"run.interval={200 + k}ms",)) for k, name in enumerate(names))
        scenario = Scenario.from_text(two)
        chosen = (Goal("goodput", ("voice",), 1.0),)
        responses = (*goals.responses(chosen, None, scenario), *promised_responses(scenario))
        select = Select(chosen, True, 0.02, 0.95, 0, most, goals.bounds(scenario))
        design = Design.full([Factor(line.FACTOR, levels)], replications=most)
        asked = Campaign("a", scenario, design, responses, select=select)
        text = {one.name: one.text for one in responses}

        def execute(task: Task) -> Finished:
            said = dict(one.split("=") for one in task.overrides)
            number = int(said["run.replication"])
            found = gives(names[int(said["run.interval"].removesuffix("ms")) - 200], number)
            return Finished(
                (
                    Value(text["goodput"], ("voice",), found["goodput"] + wobble(number)),
                    Value(text["voice delay_p99"], (), found["wait"] * (1 + wobble(number) / 100)),
                    Value(text["voice loss"], (), found["loss"] * (1 + wobble(number) / 100)),
                )
            )

        monkeypatch.setattr(campaigns, "execute", execute)
        with ThreadPoolExecutor(1) as workers:
            campaigns.run_campaign(asked, tmp_path / "a", workers)
        return Store.open(tmp_path / "a")

    return make


@pytest.mark.usefixtures("undrawn")
def test_the_best_that_keeps_all_is_taken_and_the_table_has_every_candidate(
    raced: Callable[..., Store],
) -> None:
    told = {
        AS_IT_IS: {"wait": 0.2, "loss": 0.0, "goodput": 300.0},
        "fq": {"wait": 0.02, "loss": 0.0, "goodput": 200.0},
        "cake": {"wait": 0.03, "loss": 0.005, "goodput": 100.0},
        "pie": {"wait": 0.02, "loss": 0.5, "goodput": 400.0},
    }
    store = raced([*told], lambda name, _: told[name])
    answered = described(store)
    assert answered is not None
    found, said = answered
    assert found is not None
    assert (found.taken, found.met) == ("line=fq", True)
    assert said[:3] == [
        "Take fq, which keeps all 2 promises.",
        "Kept: voice: 99 % delay 20 ms (19.96 ms to 20.04 ms), at most 50ms; "
        "voice: loss 0 % (0 % to 0 %), at most 1%.",
        "Of 4 candidates 2 keep all 2 promises: fq, cake; 2 break at least one.",
    ]
    assert found.promises is not None
    shown = table(found, found.promises)
    assert [list(row) for row in shown.rows] == [
        ["fq", "20 ms kept", "0 % kept", "-33.3 %"],
        ["cake", "30 ms kept", "0.5 % kept", "-66.7 %"],
        [AS_IT_IS, "200 ms broken", "0 % kept", "+0 %"],
        ["pie", "20 ms kept", "50 % broken", "+33.3 %"],
    ]
    assert "Promises by candidate" in (page := render(store))
    assert "What is promised" not in page
    # the verdicts of the store are those of the race, and promises are no measures that are weighed
    assert [one.all_kept for one in judge_promises(store).treatments] == [False, True, True, False]
    assert {row.response for row in found.rows} == {"goodput"}


def test_what_is_in_use_stays_where_it_keeps_all_and_none_is_better(raced: Callable[..., Store]) -> None:
    told = {
        AS_IT_IS: {"wait": 0.02, "loss": 0.0, "goodput": 300.0},
        "fq": {"wait": 0.02, "loss": 0.0, "goodput": 301.0},
        "pie": {"wait": 0.2, "loss": 0.0, "goodput": 400.0},
    }
    answered = described(raced([*told], lambda name, _: told[name]))
    assert answered is not None
    assert answered[1][0] == (
        "Leave all as it is, which keeps all 2 promises. Over others that do there is no difference worth "
        "having, which is 2 %."
    )


def test_where_none_keeps_all_it_says_which_keeps_most_and_what_fails_by_how_much(
    raced: Callable[..., Store],
) -> None:
    told = {
        AS_IT_IS: {"wait": 0.2, "loss": 0.02, "goodput": 300.0},
        "fq": {"wait": 0.06, "loss": 0.0, "goodput": 200.0},
        "cake": {"wait": 0.08, "loss": 0.0, "goodput": 400.0},
    }
    answered = described(raced([*told], lambda name, _: told[name]))
    assert answered is not None
    found, said = answered
    assert found is not None
    assert (found.taken, found.met) == ("line=fq", False)
    assert said[0] == "No candidate keeps all 2 promises. fq comes nearest: 1 kept, 1 broken."
    assert said[1].endswith(
        "Broken: voice: 99 % delay 60 ms (59.89 ms to 60.11 ms), at most 50ms, so 20 % beyond."
    )
    assert said[2] == (
        "Of 3 candidates none keeps all 2 promises; 3 break at least one. "
        "Each by itself is kept by: voice: 99 % delay none, nearest 60 ms with fq; voice: loss 2."
    )


def test_at_the_cap_it_says_what_is_open(raced: Callable[..., Store]) -> None:
    told = {
        AS_IT_IS: {"wait": 0.2, "loss": 0.0, "goodput": 300.0},
        "fq": {"wait": 0.05, "loss": 0.0, "goodput": 200.0},
    }
    answered = described(raced([*told], lambda name, _: told[name]))
    assert answered is not None
    assert answered[1][0] == (
        "Not settled after 22 runs: no candidate is known to keep all 2 promises. "
        "fq comes nearest: 1 kept, 1 open."
    )


def test_one_that_may_be_better_is_named_beside_one_that_keeps_all(raced: Callable[..., Store]) -> None:
    told = {
        AS_IT_IS: {"wait": 0.02, "loss": 0.0, "goodput": 100.0},
        "fq": {"wait": 0.05, "loss": 0.0, "goodput": 200.0},
    }
    answered = described(raced([*told], lambda name, _: told[name]))
    assert answered is not None
    found, said = answered
    assert found is not None
    assert (found.taken, found.met) == (f"line={AS_IT_IS}", False)
    assert said[0] == (
        "Leave all as it is, which keeps all 2 promises. Not settled after 24 runs; open, and maybe better: "
        "fq."
    )


def test_one_that_starves_a_class_is_out_of_the_race(raced: Callable[..., Store]) -> None:
    told = {
        AS_IT_IS: {"wait": 0.2, "loss": 0.0, "goodput": 300.0},
        "fq": {"wait": 0.02, "loss": 0.0, "goodput": -1.0},
    }
    answered = described(raced([*told], lambda name, _: told[name]))
    assert answered is not None
    found, said = answered
    assert found is not None
    assert found.impossible == ("line=fq",)
    assert said[2].endswith("Out of the race, as something that counts had no value, or zero, in a run: fq.")


def test_where_none_can_be_taken_all_go_on_until_promises_are_judged(raced: Callable[..., Store]) -> None:
    told = {
        AS_IT_IS: {"wait": 0.2, "loss": 0.0, "goodput": -1.0},
        "fq": {"wait": 0.02, "loss": 0.5, "goodput": -1.0},
    }
    store = raced([*told], lambda name, _: told[name])
    answered = described(store)
    assert answered is not None
    assert answered[0] is None
    assert answered[1][0].startswith("every candidate failed, or had a run without a value, or with zero")
    judged = judge_promises(store)
    assert [[one.verdict.value for one in own.parts] for own in judged.treatments] == [
        ["contradicted", "supported"],
        ["supported", "contradicted"],
    ]
    assert store.runs().filter(state="done").height == 20
    assert store.runs().filter(state="missing").height == 0
    assert "Of 2 promises in 2 treatments: 2 kept, 2 broken" in render(store)


@pytest.mark.usefixtures("here", "undrawn")
def test_promises_are_told_where_nothing_that_is_weighed_has_a_value(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flow that begins after the end has no goodput, and a voice beside it waits too long."""
    monkeypatch.setattr("perhop.experiment.executors.open_executor", lambda *_: ThreadPoolExecutor(1))
    late = (
        '[[udp]]\nname = "late"\nclass = "late"\nfrom = "a"\nto = "b"\nrate = "1kbit/s"\n'
        'packet_size = "1kB"\nstart = "1990ms"\n'
    )
    Path("own.toml").write_text(PROMISED + late)
    short = ("-s", "run.duration=2s", "--most", "10", "--weigh", "late:goodput=1", "-o", "race")
    done = cli("recommend", "own.toml", "--goal", "promises", *short)
    assert (done.code, "late:goodput has no value in any run" in done.err) == (2, True), done.err
    assert re.search(r"Of 1 promise in \d+ treatments: \d+ (kept|broken)", done.out), done.out
    told = cli("recommend", "own.toml", "--goal", "promises", *short, "--json")
    verdicts = {one["promises"][0]["verdict"] for one in told.json()["promises"]}
    assert (told.code, verdicts <= {"kept", "broken"}) == (2, True), verdicts


@pytest.fixture
def here(cli: Cli) -> None:
    """Write a scenario of UDP alone, with promises and without, and a file of promises."""
    Path("own.toml").write_text(PROMISED)
    Path("bare.toml").write_text(UDP)
    Path("sla.toml").write_text('[[sla]]\nclass = "voice"\nquantity = "delay_p99"\nbound = "11ms"\n')


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("bare.toml", "--goal", "promises"), 2, "--goal promises: bare.toml promises nothing"),
        (("own.toml", "--goal", "promises", "-s", "sla=[]"), 2, "own.toml promises nothing"),
        (("own.toml", "--goal", "promises", "--most", "9"), 2, "judged from 10 replications on"),
        (("own.toml", "--promises", "sla.toml"), 2, "--promises sla.toml: for which goal?"),
        (("own.toml", "--goal", "bulk", "--promises", "sla.toml"), 2, "give --goal promises with it"),
        (("own.toml", "--goal", "promises", "--promises", "."), 2, "Is a directory"),
        (("own.toml", "--goal", "promises", "--promises", "own.toml"), 3, "there is no setting `run` here"),
        (("own.toml", "--goal", "promises", "--promises", "none.toml"), 2, "No such file"),
        (("own.toml", "--goal", "promises", "--promises", "empty.toml"), 2, "empty.toml promises nothing"),
        (("own.toml", "--goal", "promises", "--try", "queue"), 2, "--goal and --try: give one of them"),
        (("own.toml", "--goal", "promises", "--weigh", "a:goodput=1"), 2, "no class 'a'; there are voice"),
        (
            ("own.toml", "--goal", "promises", "--weigh", "voice:goodput=1", "--measure", "count(udp)"),
            2,
            "--weigh and --measure: give one of them",
        ),
    ],
)
def test_what_cannot_be_is_refused(cli: Cli, words: tuple[str, ...], code: int, said: str) -> None:
    Path("empty.toml").write_text("sla = []")
    done = cli("recommend", *words)
    assert (done.code, said in done.err) == (code, True), done.err
    assert not Path("out").exists()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("voice", "vioce", "there is no class of flows `vioce`"),
        ("delay_p99", "delay", "`delay` is not one of"),
        ("11ms", "11", "a time needs a unit"),
        ('"11ms"', "11", "must be a string, not an integer"),
    ],
)
def test_a_mistake_in_a_file_of_promises_has_its_place(cli: Cli, old: str, new: str, said: str) -> None:
    file = Path("sla.toml")
    file.write_text("# promised\n" + file.read_text().replace(old, new))
    done = cli("recommend", "bare.toml", "--goal", "promises", "--promises", file)
    assert done.code == ExitCode.INVALID
    assert said in done.err
    assert "sla.toml:" in done.err


@pytest.mark.usefixtures("here", "undrawn")
def test_a_line_is_advised_by_the_promises_of_a_file(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bulk of UDP beside a voice: nothing keeps 11 ms for both, for all else they share fairly."""
    monkeypatch.setattr("perhop.experiment.executors.open_executor", lambda *_: ThreadPoolExecutor(1))
    bulk = 'name = "bulk"\nclass = "bulk"\nfrom = "a"\nto = "b"\nrate = "2200kbit/s"\npacket_size = "1kB"\n'
    Path("bare.toml").write_text(f"{UDP}[[udp]]\n{bulk}start_jitter = '20ms'\n")
    file = Path("sla.toml")
    file.write_text(file.read_text().replace("11ms", "50ms"))
    short = ("-s", "run.duration=2s", "--most", "12", "--weigh", "voice:goodput=1", "-o", "race")
    words = ("recommend", "bare.toml", "--goal", "promises", "--promises", file, *short)
    done = cli(*words, "--json")
    assert done.code == 0, done.err
    told = done.json()
    verdicts = {one["levels"]["line"]: one["promises"][0]["verdict"] for one in told["promises"]}
    assert (verdicts[AS_IT_IS], verdicts["fq"]) == ("broken", "kept")
    assert told["met"]
    assert verdicts[told["taken"].removeprefix("line=")] == "kept"
    assert told["said"][0].endswith(", which keeps the promise.")
    assert "sla=" in told["commands"]["try it"]
    assert "probe-" not in told["commands"]["try it"]
    assert "warning:" not in done.err
    again = cli(*words)
    assert ", 0 new" in again.err
    lines = again.out.splitlines()
    assert lines[:3] == told["said"][:3]
    assert lines[4] == "Promises by candidate"
    # what the store says is the same
    assert f"Of 1 promise in {len(verdicts)} treatments" in cli("analyze", "race").out


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
def test_the_page_has_the_promises_of_a_household(cli: Cli) -> None:
    """A race of 12 candidates on the household, half a minute."""
    page = (Path(__file__).parents[1] / "docs" / "recommend.md").read_text()
    page = page[page.index("## Promises") :]
    blocks = re.findall(r"```\w+\n(.*?)```", page, re.DOTALL)
    Path("promises.toml").write_text(blocks[0])
    done = cli("recommend", HOUSEHOLD, "--goal", "promises", "--promises", "promises.toml", "-o", "out")
    assert done.code == 0, done.err
    printed = [" ".join(line.split()) for line in done.out.splitlines()]
    told = [" ".join(line.split()) for line in blocks[2].splitlines()]
    assert len(told) > 8
    assert set(told) <= set(printed)
