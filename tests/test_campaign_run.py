"""Campaigns: what is missing is run, nothing twice, and the table is the same whatever happened."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from perhop.experiment import ledger, work
from perhop.experiment.analyze import analyze, asked_of
from perhop.experiment.campaign import Outcome, plan, run_campaign
from perhop.experiment.columns import RESERVED
from perhop.experiment.definition import Campaign
from perhop.experiment.design import Design
from perhop.experiment.digests import seal_campaign
from perhop.experiment.executors import ExecutorError, LocalProcesses, WorkerDied
from perhop.experiment.factors import Factor
from perhop.experiment.fault import DesignError
from perhop.experiment.ledger import StoreError
from perhop.experiment.response import Response
from perhop.experiment.rules import Stop
from perhop.experiment.store import Store
from perhop.experiment.work import Finished, Task
from perhop.run.live import LackingError
from perhop.run.run import Result
from perhop.run.run import run as run_one
from perhop.say.campaign import means
from perhop.scenario.scenario import Scenario

SCENARIO = """
[run]
seed = 7
duration = "3s"
warmup = "1s"
interval = "100ms"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
ends = ["a", "b"]
rate = "2Mbit/s"
delay = "5ms"
loss = 0.02
[[flow]]
name = "up"
from = "a"
to = "b"
tcp = { window = "32KiB" }
[[flow]]
name = "down"
from = "b"
to = "a"
tcp = { window = "32KiB" }
"""

GOODPUT = Response.parse("goodput", "mean(flows.goodput_bit_s)")
EACH = Response.parse("each", "mean(flows.goodput_bit_s) by name")
RATES = Factor.vary("link.a-b.rate", ["1Mbit/s", "2Mbit/s", "4Mbit/s"], "rate")


def campaign(
    *,
    rates: Factor = RATES,
    replications: int = 3,
    responses: Sequence[Response] = (GOODPUT, EACH),
    stop: Stop | None = None,
    scenario: str = SCENARIO,
) -> Campaign:
    design = Design.full([rates], replications=replications)
    return Campaign(
        "small", Scenario.from_text(scenario), design, tuple(responses), stop, b"# as it was given\n"
    )


class Here(Executor):
    """Makes each call at once, in this thread, or loses it."""

    def __init__(self, lose: Callable[[Task], bool] = lambda _: False, width: int = 2) -> None:
        self.lose, self.width = lose, width
        self.calls: list[Task] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.calls.append(args[0])
        if self.lose(args[0]):
            future.set_exception(WorkerDied("the worker process ended with signal 9"))
        else:
            try:
                future.set_result(fn(*args))
            except Exception as error:
                future.set_exception(error)
        return future


def ran(folder: Path, of: Campaign | None = None, executor: Executor | None = None) -> Outcome:
    return run_campaign(of or campaign(), folder, executor or Here())


def table(folder: Path) -> bytes:
    return (folder / "scalars.parquet").read_bytes()


def test_what_is_measured_is_what_single_runs_give(tmp_path: Path) -> None:
    outcome = ran(tmp_path / "s")
    assert outcome == Outcome(tmp_path / "s", 0, 9, 0, 0, 0, None, [])
    scalars = pl.read_parquet(tmp_path / "s" / "scalars.parquet")
    assert scalars.columns == ["key", "treatment", "rate", "replication", "response", "name", "value"]
    assert scalars.height == 9 * 3
    for rate, replication in (("1Mbit/s", 0), ("4Mbit/s", 2)):
        run = Scenario.from_text(SCENARIO).override({"link.a-b.rate": rate, "run.replication": replication})
        flows = run_one(run).flows
        row = (pl.col("rate") == rate) & (pl.col("replication") == replication)
        found = scalars.filter(row).select("response", "name", "value").rows()
        by_name = dict(flows.select("name", "goodput_bit_s").rows())
        assert found == [
            ("goodput", None, flows["goodput_bit_s"].mean()),
            ("each", "down", by_name["down"]),
            ("each", "up", by_name["up"]),
        ]


def test_the_folder_can_be_read_by_a_person_and_as_a_whole(tmp_path: Path) -> None:
    asked = campaign()
    ran(tmp_path / "s", asked)
    assert {file.name for file in (tmp_path / "s").iterdir()} == {
        *("campaign.toml", "scenario.toml", "record.json", "scalars.parquet", "ledger.sqlite", "ledger.lock")
    }
    assert (tmp_path / "s" / "scenario.toml").read_text() == SCENARIO
    store = Store.open(tmp_path / "s")
    assert store.campaign == asked
    assert store.scalars().equals(pl.read_parquet(tmp_path / "s" / "scalars.parquet"))
    runs = store.runs()
    assert runs["state"].to_list() == ["done"] * 9
    names = ["rate=1Mbit/s", "rate=2Mbit/s", "rate=4Mbit/s"]
    assert runs["treatment"].to_list() == [name for name in names for _ in range(3)]
    assert sorted(runs["finished"]) == list(range(1, 10))


def test_columns_of_tables_are_reserved(tmp_path: Path) -> None:
    asked = campaign()
    ran(tmp_path / "s", asked)
    store = Store.open(tmp_path / "s")
    analyses = analyze(store.scalars(), asked_of(asked))
    tables = [asked.design.runs(asked.scenario), store.runs(), store.scalars()]
    tables += [table for one in analyses for table in (one.means, one.frame)]
    columns = {column for table in tables for column in table.columns} | set(means(store)[0])
    assert columns - {"rate", "name"} <= set(RESERVED)
    with pytest.raises(DesignError, match="`host` is a column"):
        Design.full([Factor.vary("link.a-b.rate", ["1Mbit/s"], "host")])
    grouped = Response.parse("grouped", "count(flows) by value")
    with pytest.raises(DesignError, match="`value` is a column that every table of runs has"):
        plan(campaign(responses=[grouped]))


def test_labels_may_be_called_as_what_orders_rows(tmp_path: Path) -> None:
    labels = 'name = "up"\nlabels = { position = "b", number = "n", place = "a" }'
    response = Response.parse("grouped", "count(flows) by position, number, place")
    asked = campaign(responses=[response], scenario=SCENARIO.replace('name = "up"', labels))
    ran(tmp_path / "s", asked)
    scalars = Store.open(tmp_path / "s").scalars()
    assert scalars.select("position", "number", "place", "value").unique().rows() == [("b", "n", "a", 1.0)]


def test_a_finished_campaign_runs_nothing(tmp_path: Path) -> None:
    ran(tmp_path / "s")
    before = table(tmp_path / "s")
    again = Here()
    outcome = ran(tmp_path / "s", executor=again)
    assert (outcome.kept, outcome.made, again.calls) == (9, 0, [])
    assert table(tmp_path / "s") == before


def test_runs_under_way_are_half_done(tmp_path: Path) -> None:
    told: list[float] = []
    run_campaign(campaign(), tmp_path / "s", Here(), progress=lambda done, of: told.append(done / of))
    assert told[0] == 0.0
    assert told == sorted(told)
    assert told[-1] == 1.0
    again: list[float] = []
    run_campaign(campaign(), tmp_path / "s", Here(), progress=lambda done, of: again.append(done / of))
    assert again == [1.0]


def test_the_time_left_is_that_of_workers_side_by_side(tmp_path: Path) -> None:
    ran(tmp_path / "s")
    with ledger.driven(tmp_path / "s") as book:
        book.connection.execute("UPDATE run SET duration_s = 10")
        # a pause of a day between the first run and the others
        book.connection.execute("UPDATE run SET began = began - 86400 WHERE finished = 1")
        book.connection.execute("DELETE FROM run WHERE finished > 5")
        book.connection.execute("UPDATE plan SET work = 1")
        assert book.left_s() == pytest.approx(4 * 10 / 2), "two workers"
        book.connection.execute("DELETE FROM run")
        assert book.left_s() is None


def test_order_and_workers_leave_no_trace_in_the_table(tmp_path: Path) -> None:
    class Backwards(Here):
        """Gives back what came last first."""

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            self.waiting = [*getattr(self, "waiting", []), (future, fn, args)]
            if len(self.waiting) == 9:
                threading.Thread(target=self.give).start()
            return future

        def give(self) -> None:
            for future, fn, args in reversed(self.waiting):
                future.set_result(fn(*args))

    ran(tmp_path / "forwards")
    ran(tmp_path / "backwards", executor=Backwards(width=9))
    with LocalProcesses(2) as workers:
        ran(tmp_path / "processes", executor=workers)
    assert table(tmp_path / "forwards") == table(tmp_path / "backwards") == table(tmp_path / "processes")
    forwards, backwards = (
        Store.open(tmp_path / name).runs()["finished"] for name in ("forwards", "backwards")
    )
    assert forwards.to_list() != backwards.to_list()


def test_a_changed_campaign_keeps_what_means_the_same(tmp_path: Path) -> None:
    ran(tmp_path / "s")
    other = Factor.vary("link.a-b.rate", ["2Mbit/s", "8Mbit/s"], "speed")
    outcome = ran(tmp_path / "s", campaign(rates=other, replications=4))
    assert (outcome.kept, outcome.made, outcome.dropped) == (3, 5, 6)
    ran(tmp_path / "new", campaign(rates=other, replications=4))
    assert table(tmp_path / "s") == table(tmp_path / "new")
    # a comment and a default spelled out mean nothing new
    outcome = ran(tmp_path / "s", campaign(scenario=f"# a comment\n{SCENARIO}"))
    assert (outcome.kept, outcome.made) == (9, 0)


def test_a_response_that_was_not_measured_needs_the_run_again(tmp_path: Path) -> None:
    ran(tmp_path / "s", campaign(responses=[GOODPUT]))
    outcome = ran(tmp_path / "s", campaign(responses=[GOODPUT, EACH]))
    assert (outcome.kept, outcome.made) == (0, 9)
    renamed = Response.parse("mean goodput", GOODPUT.text)
    outcome = ran(tmp_path / "s", campaign(responses=[renamed]))
    assert (outcome.kept, outcome.made) == (9, 0)
    assert Store.open(tmp_path / "s").scalars()["response"].unique().to_list() == ["mean goodput"]


def test_values_of_another_evaluation_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "s"
    ran(folder)
    whole = Store.open(folder).scalars()
    monkeypatch.setattr(ledger, "MEASURES_VERSION", 99)
    # until the campaign goes on, what was measured can be read
    assert Store.open(folder).scalars().equals(whole)
    with ledger.read(folder) as book:
        assert book.measured() == {}
    again = ran(folder)
    assert (again.kept, again.made) == (0, 9)
    assert Store.open(folder).scalars().equals(whole)
    assert ran(folder).made == 0
    with ledger.driven(folder) as book:  # made before there was a version
        book.connection.execute("DELETE FROM meta WHERE name = 'measures_version'")
        seal_campaign(book.connection)
    assert ran(folder).made == 9


def test_treatments_that_mean_the_same_share_a_run(tmp_path: Path) -> None:
    twins = Factor.vary("link.a-b.rate", ["1Mbit/s", "1000kbit/s"], "rate")
    executor = Here()
    outcome = ran(tmp_path / "s", campaign(rates=twins, responses=[GOODPUT]), executor)
    assert (outcome.made, len(executor.calls)) == (3, 3)
    scalars = Store.open(tmp_path / "s").scalars()
    assert scalars.height == 6
    assert scalars["value"].head(3).to_list() == scalars["value"].tail(3).to_list()


def test_a_broken_run_is_recorded_and_in_no_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(scenario: Scenario, **asked: bool) -> Result:
        result = run_one(scenario, **asked)
        bad = "link.a-b.rate=2Mbit/s" in scenario.overrides and scenario.replication == 1
        return replace(result, invariants=["a packet vanished"]) if bad else result

    monkeypatch.setattr(work, "run", broken)
    outcome = ran(tmp_path / "s")
    assert (outcome.made, outcome.failed) == (9, 1)
    store = Store.open(tmp_path / "s")
    failed = store.runs().filter(pl.col("state") == "failed").row(0, named=True)
    assert (failed["treatment"], failed["replication"]) == ("rate=2Mbit/s", 1)
    assert failed["failure"] == "broke an invariant: a packet vanished"
    assert failed["replay"] == (
        "perhop run scenario.toml -s link.a-b.rate=2Mbit/s -s run.seed=7 -s run.replication=1"
    )
    assert failed["key"] not in store.scalars()["key"]
    assert store.scalars()["key"].n_unique() == 8
    # it would break again
    monkeypatch.undo()
    assert ran(tmp_path / "s").made == 0


def test_a_run_that_raises_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(scenario: Scenario, **_: bool) -> Result:
        raise ValueError("cannot be")

    monkeypatch.setattr(work, "run", refuse)
    assert ran(tmp_path / "s").failed == 9
    assert set(Store.open(tmp_path / "s").runs()["failure"]) == {"ValueError: cannot be"}
    assert Store.open(tmp_path / "s").scalars().is_empty()


def test_a_lost_run_is_tried_again(tmp_path: Path) -> None:
    ran(tmp_path / "whole")
    seen: set[Task] = set()

    def first_time(task: Task) -> bool:
        new = task not in seen and "run.replication=1" in task.overrides
        seen.add(task)
        return new

    executor = Here(first_time)
    outcome = ran(tmp_path / "s", executor=executor)
    assert (outcome.made, outcome.failed, len(executor.calls)) == (9, 0, 12)
    assert table(tmp_path / "s") == table(tmp_path / "whole")


def test_a_run_lost_twice_has_failed_until_the_next_call(tmp_path: Path) -> None:
    ran(tmp_path / "whole")
    outcome = ran(tmp_path / "s", executor=Here(lambda task: "link.a-b.rate=4Mbit/s" in task.overrides))
    assert (outcome.made, outcome.failed) == (9, 3)
    failures = Store.open(tmp_path / "s").runs()["failure"].drop_nulls()
    assert set(failures) == {"lost 2 times: the worker process ended with signal 9"}
    outcome = ran(tmp_path / "s")
    assert (outcome.kept, outcome.made, outcome.failed) == (6, 3, 0)
    assert table(tmp_path / "s") == table(tmp_path / "whole")


def test_workers_that_all_die_end_the_campaign(tmp_path: Path) -> None:
    executor = Here(lambda _: True)
    with pytest.raises(ExecutorError, match=r"no worker survives a run.*signal 9"):
        ran(tmp_path / "s", campaign(replications=100), executor)
    assert len(executor.calls) < 20
    assert ran(tmp_path / "s").made == 9


def test_another_version_of_perhop_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "identity", lambda: ("far", "9.9.9", 99))
    with pytest.raises(ExecutorError, match=r"on far has perhop 9\.9\.9 \(results_version 99\), this"):
        ran(tmp_path / "s")
    assert Store.open(tmp_path / "s").runs()["state"].unique().to_list() == ["missing"]


def test_what_the_machine_lacks_is_told_and_no_run_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(scenario: Scenario, **_: bool) -> Result:
        raise LackingError("perhop-live is not there: `make build` in a checkout makes it")

    with monkeypatch.context() as now:
        now.setattr(work, "run", lacking)
        with pytest.raises(LackingError, match="make build"):
            ran(tmp_path / "s")
    assert Store.open(tmp_path / "s").runs()["state"].unique().to_list() == ["missing"]
    assert ran(tmp_path / "s").made == 9


def test_any_executor_will_do(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        assert ran(tmp_path / "s", executor=threads).made == 9


def test_few_runs_wait_at_a_time(tmp_path: Path) -> None:
    class Slow(Here):
        waiting = most = 0  # calls

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            self.waiting += 1
            self.most = max(self.most, self.waiting)

            def give() -> None:
                self.waiting -= 1
                future.set_result(Finished())

            threading.Timer(0.001, give).start()
            return future

    slow = Slow(width=3)
    assert ran(tmp_path / "s", campaign(replications=20), slow).made == 60
    assert slow.most <= 6


def test_one_campaign_at_a_time(tmp_path: Path) -> None:
    ran(tmp_path / "s")
    with (
        ledger.driven(tmp_path / "s"),
        pytest.raises(StoreError, match=rf"another campaign is at work on it: process {os.getpid()} on "),
    ):
        ran(tmp_path / "s")
    # who only looks is not kept out
    with ledger.driven(tmp_path / "s"):
        assert Store.open(tmp_path / "s").runs().height == 9
        assert ledger.driver(tmp_path / "s") is not None
    assert ledger.driver(tmp_path / "s") is None


@pytest.mark.parametrize("change", ["newer", "alien", "garbage", "cut", "none"])
def test_what_cannot_be_trusted_is_refused(tmp_path: Path, change: str) -> None:
    ran(tmp_path / "s")
    file = tmp_path / "s" / "ledger.sqlite"
    if change in ("newer", "alien"):
        pragma = "user_version = 99" if change == "newer" else "application_id = 1"
        connection = sqlite3.connect(file)
        connection.execute(f"PRAGMA {pragma}")
        connection.close()
    elif change == "garbage":
        content = bytearray(file.read_bytes())
        content[4096:] = os.urandom(len(content) - 4096)
        file.write_bytes(content)
    elif change == "cut":
        file.write_bytes(file.read_bytes()[:-5000])
    else:
        file.unlink()
    before = file.read_bytes() if file.exists() else None
    told = {
        "newer": "version 99 of a store is from a newer perhop; this one reads up to 2",
        "alien": "is not a ledger of perhop",
        "none": "is not a store of a campaign",
    }.get(change, "the ledger is damaged")
    with pytest.raises(StoreError, match=told):
        Store.open(tmp_path / "s")
    with pytest.raises((StoreError, FileExistsError)):
        ran(tmp_path / "s")
    assert (file.read_bytes() if file.exists() else None) == before


def test_a_campaign_without_a_file_leaves_none(tmp_path: Path) -> None:
    ran(tmp_path / "s")
    asked = replace(campaign(), source=b"")
    assert ran(tmp_path / "s", asked).made == 0
    assert not (tmp_path / "s" / "campaign.toml").exists()
    assert Store.open(tmp_path / "s").campaign == asked


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "thesis.tex").write_text("dear")
    with pytest.raises(FileExistsError):
        ran(tmp_path / "s")
    assert [file.name for file in (tmp_path / "s").iterdir()] == ["thesis.tex"]
    (tmp_path / "empty").mkdir()
    assert ran(tmp_path / "empty").made == 9


def test_a_full_disk_loses_nothing(small_disk: Path, tmp_path: Path) -> None:
    ran(tmp_path / "whole", campaign(replications=30))
    os.system(f"mount -o remount,size=200k {small_disk}")
    with pytest.raises(OSError, match="No space left") as refused:
        ran(small_disk / "s", campaign(replications=30))
    assert refused.value.filename is not None
    # the ledger is whole, and has what was finished
    done = Store.open(small_disk / "s").runs().filter(pl.col("state") == "done").height
    assert 0 < done < 90
    os.system(f"mount -o remount,size=9m {small_disk}")
    outcome = ran(small_disk / "s", campaign(replications=30))
    assert outcome.kept == done
    assert table(small_disk / "s") == table(tmp_path / "whole")


def test_a_store_that_cannot_be_written_can_be_read(small_disk: Path) -> None:
    os.system(f"mount -o remount,size=1m {small_disk}")
    ran(small_disk / "s", campaign(responses=[GOODPUT]))
    expected = table(small_disk / "s")
    os.system(f"mount -o remount,ro {small_disk}")
    store = Store.open(small_disk / "s")
    assert (store.runs().height, store.scalars().height) == (9, 9)
    with pytest.raises(OSError, match="Read-only"):
        ran(small_disk / "s", campaign(replications=4))
    assert table(small_disk / "s") == expected
