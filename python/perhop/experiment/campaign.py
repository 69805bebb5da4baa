"""Run the missing runs of a campaign, and nothing twice."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from perhop import _core
from perhop.experiment import ledger, store
from perhop.experiment.columns import faulty_columns
from perhop.experiment.definition import Campaign
from perhop.experiment.design import each
from perhop.experiment.executors import ExecutorError, width
from perhop.experiment.fault import DesignError
from perhop.experiment.ledger import Entry, Ledger, Planned
from perhop.experiment.selecting import Selecting
from perhop.experiment.stopping import EachStopping, Stopped, Stopping
from perhop.experiment.work import PHASE, Finished, Measure, Task, VersionsDiffer, execute, measures_of
from perhop.run.live import LackingError

if TYPE_CHECKING:
    from perhop.run.run import Progress

_Rule = Stopping | EachStopping | Selecting
"""What ends a campaign."""

_TRIES = 2

_LOST_IN_A_ROW = 10
"""Calls one after the other that no worker survives, after which it is not the fault of runs."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of `run_campaign`."""

    folder: Path
    kept: int
    made: int
    """Runs made now, failed ones included."""
    failed: int
    """Runs that are asked for and failed, now or before."""
    unsettled: int
    """Runs whose warm-up MSER-5 objects to."""
    dropped: int
    """Finished runs that nobody asks for now; they stay in the ledger."""
    stopped: Stopped | None
    in_step: list[str]
    """Of each run whose equal flows are in step with a queue, what is said of it."""


def plan(campaign: Campaign) -> list[Planned]:
    """Return the runs of a campaign in the order of its design, up to the cap of its rule.

    Raises
    ------
    ScenarioError
        A treatment's scenario has mistakes, or virtual time has not what it asks for.
    DesignError
        A response is grouped by what is called as a factor, or as another column of its table.
    """
    design = campaign.design
    if faults := [*faulty_columns(design.names, campaign.responses)]:
        raise DesignError(faults)
    scenarios = [campaign.scenario.override(*one.overrides) for one in design.treatments]
    for scenario in scenarios:
        scenario.check_clock()
        scenario.try_elements()
    work = [scenario.work() for scenario in scenarios]
    runs = sorted(each(design, campaign.scenario, range(campaign.most)), key=lambda run: run[1:3])
    return [Planned(position, *run, work=work[run.treatment]) for position, run in enumerate(runs)]


def run_campaign(
    campaign: Campaign,
    folder: str | Path,
    executor: Executor,
    *,
    progress: Progress | None = None,
    runs: list[Planned] | None = None,
) -> Outcome:
    """Run the missing runs of a campaign; the store is made unless it is there.

    Each finished run is written at once. Whatever ends this, the next call goes on from there, and the tables
    are the same as if nothing had happened.

    Parameters
    ----------
    executor
        Where to make runs; it is left open.
    progress
        Called with the work done and that of all runs.
    runs
        What `plan` returns, for who has called it already.

    Raises
    ------
    ScenarioError
        A treatment's scenario has mistakes; nothing has been written.
    StoreError
        The store is in use, damaged, or from a newer perhop.
    ExecutorError
        No runs can be made there, or no more.
    OSError
        The store cannot be written.
    """
    folder = Path(folder)
    runs = plan(campaign) if runs is None else runs
    store.make(folder, campaign)
    with ledger.driven(folder) as book:
        store.check_files(folder, mine=True)
        store.adopt(folder, book, campaign, runs)
        book.work_with(width(executor))
        driver = _Driver(campaign, book, executor, runs, progress)
        driver.run()
        if driver.is_decided:
            runs = [run for run in runs if driver.asks_for(run)]
        store.conclude(folder, book, runs, driver.stopped)
        states, in_step = book.states(), book.values(PHASE)
    warnings = [warning for key in by_key(runs) for (warning,) in in_step.get(key, ())]
    counts = {name: states[name] for name in ("failed", "unsettled", "dropped")}
    return Outcome(folder, driver.kept, driver.made, **counts, stopped=driver.stopped, in_step=warnings)


def measures(campaign: Campaign, users: Iterable[Planned]) -> tuple[Measure, ...]:
    """Return what a run is measured by for those that use it."""
    treatments = dict.fromkeys(run.treatment for run in users)
    return measures_of([one for treatment in treatments for one in campaign.at(treatment)])


def by_key(runs: Iterable[Planned]) -> dict[str, list[Planned]]:
    """Return runs by their keys: treatments that are the same scenario share a run."""
    users = defaultdict[str, list[Planned]](list)
    for run in runs:
        users[run.key].append(run)
    return users


def complete_runs(campaign: Campaign, book: Ledger, users: Mapping[str, list[Planned]]) -> set[str]:
    """Return the keys of runs, as of `by_key`, that need not be made."""
    measured = book.measured()
    return {
        key
        for key, own in users.items()
        if key in measured and measured[key].issuperset(one.key for one in measures(campaign, own))
    }


class _Driver:
    """Hands out the runs that are missing, and records their results."""

    def __init__(
        self,
        campaign: Campaign,
        book: Ledger,
        executor: Executor,
        runs: list[Planned],
        progress: Progress | None,
    ) -> None:
        self.made = 0
        self._campaign = campaign
        self._book = book
        self._executor = executor
        self._progress = progress
        self._tries: Counter[str] = Counter()
        self._lost = 0
        self._racing = 0
        self._pending: dict[Future[Finished], Planned] = {}
        self._users = by_key(runs)
        once = sorted((users[0] for users in self._users.values()), key=lambda run: run.run_order)
        complete = complete_runs(campaign, book, self._users)
        self.kept = sum(run.key in complete for run in once)
        self._queue = deque(run for run in once if run.key not in complete)
        self._work = sum(run.work for run in once)
        self._done = self._work - sum(run.work for run in self._queue)
        self._rule = self._begin_rule(complete)
        self._forget()

    @property
    def stopped(self) -> Stopped | None:
        """The decision of a stopping rule."""
        return None if self._rule is None or isinstance(self._rule, Selecting) else self._rule.decided

    @property
    def is_decided(self) -> bool:
        """Return whether a rule has decided that it is enough."""
        return self._rule is not None and self._rule.decided is not None

    def asks_for(self, run: Planned) -> bool:
        """Return whether a run is still wanted."""
        return self._rule is None or self._rule.asks_for(run.treatment, run.replication)

    def run(self) -> None:
        """Go on until nothing is missing, or the rule has decided that it is enough."""
        self._report_progress()
        try:
            while self._fill():
                done, _ = wait(self._pending, return_when=FIRST_COMPLETED)
                self._collect(done)
        finally:
            for future in self._pending:
                future.cancel()

    def _begin_rule(self, complete: set[str]) -> _Rule | None:
        """Return the rule that ends the campaign, fed with the runs that are there already."""
        campaign, treatments = self._campaign, len(self._campaign.design.treatments)
        rule: _Rule
        if campaign.select is not None:
            rule = Selecting(campaign.select, treatments)
        elif campaign.stop is not None:
            kind = EachStopping if campaign.stop.each else Stopping
            rule = kind(campaign.stop, treatments, campaign.design.replications)
        else:
            return None
        values_of, failed = lru_cache(maxsize=None)(self._book.values), self._book.failed()
        for key in complete:
            for run in self._users[key]:
                found = {one.name: values_of(one.key).get(key, {}) for one in campaign.at(run.treatment)}
                rule.add(run.treatment, run.replication, None if key in failed else found)
        return rule

    def _fill(self) -> bool:
        """Hand out runs, as many as keep every worker busy; return whether any are under way."""
        if self.is_decided:
            return False
        # those that wait are few, so that memory does not grow with the number of runs
        most = 2 * width(self._executor)
        while self._queue and len(self._pending) < most:
            run = self._queue.popleft()
            try:
                self._pending[self._executor.submit(execute, self._task(run))] = run
            except (BrokenExecutor, RuntimeError) as error:
                raise ExecutorError(f"no more runs can be made: {error}") from error
        return bool(self._pending)

    def _task(self, run: Planned) -> Task:
        scenario = self._campaign.scenario
        files = scenario.unread(*run.overrides).core.files if scenario.files.held else {}
        return Task(
            source=scenario.source,
            name=scenario.name,
            overrides=(*scenario.overrides, *run.overrides),
            measures=measures(self._campaign, self._users[run.key]),
            perhop=_core.__version__,
            results_version=_core.RESULTS_VERSION,
            files=tuple(files.items()),
        )

    def _collect(self, done: Iterable[Future[Finished]]) -> None:
        entries = []
        for future in done:
            run = self._pending.pop(future)
            finished = self._result(future, run)
            if finished is not None:
                keys = tuple(one.key for one in measures(self._campaign, self._users[run.key]))
                entries.append(Entry(run.key, self._replay(run), keys, finished))
        self._book.add(entries)
        self.made += len(entries)
        for entry in entries:
            self._done += self._users[entry.key][0].work
            self._report_rule(entry)
        self._forget()
        self._report_progress()

    def _forget(self) -> None:
        """Drop runs from the queue that a rule no longer asks for, once it asks for fewer treatments."""
        racing = 0 if self._rule is None or isinstance(self._rule, Stopping) else self._rule.left
        if racing == self._racing:
            return
        self._racing = racing
        wanted = [run for run in self._queue if any(map(self.asks_for, self._users[run.key]))]
        self._work -= sum(run.work for run in self._queue) - sum(run.work for run in wanted)
        self._queue = deque(wanted)

    def _report_progress(self) -> None:
        """Report how much is done: runs under way are half done on average."""
        if self._progress is not None:
            under_way = islice(self._pending.values(), width(self._executor))
            self._progress(self._done + sum(run.work for run in under_way) / 2, self._work)

    def _result(self, future: Future[Finished], run: Planned) -> Finished | None:
        """Return the result of a call; None where the run is to be tried again."""
        try:
            finished = future.result()
        except VersionsDiffer as error:
            raise ExecutorError(str(error), "install the same perhop on every worker") from error
        except LackingError:
            raise
        except CancelledError as error:
            raise ExecutorError("the workers are gone, with the runs they had") from error
        except Exception as error:
            self._lost += 1
            if self._lost >= _LOST_IN_A_ROW:
                raise ExecutorError(f"no worker survives a run; the last: {error}") from error
            self._tries[run.key] += 1
            if self._tries[run.key] < _TRIES:
                self._queue.appendleft(run)
                return None
            return Finished(failure=f"lost {_TRIES} times: {error}", lost=True)
        self._lost = 0
        return finished

    def _report_rule(self, entry: Entry) -> None:
        if self._rule is None:
            return
        found: dict[str, dict[tuple[str, ...], float | None]] = defaultdict(dict)
        for one in entry.finished.values:
            found[one.measure][one.group] = one.value
        for run in self._users[entry.key]:
            values = {one.name: found[one.key] for one in self._campaign.at(run.treatment)}
            done = entry.finished.failure is None
            self._rule.add(run.treatment, run.replication, values if done else None)

    def _replay(self, run: Planned) -> str:
        """Return the command that makes a run again, in the store's folder."""
        words = ["perhop", "run", store.SCENARIO]
        for override in (*self._campaign.scenario.overrides, *run.overrides):
            words += ["-s", override]
        return shlex.join(words)
