"""Runs on record made again: a sample drawn by seed, each digest and value compared."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from typing import Any, NamedTuple

from perhop import _core
from perhop.experiment.executors import ExecutorError
from perhop.experiment.fault import HintedError
from perhop.experiment.response import Response
from perhop.experiment.work import Finished, Task, execute, measures_of
from perhop.papers.behind import judged
from perhop.papers.on_record import Line, Record
from perhop.papers.plan import Plan
from perhop.papers.recorded import as_text, value_name
from perhop.scenario.scenario import Scenario

Progress = Callable[[float, float], None]

_SHOWN = 3
"""Differences of a run that are told; a run with other events has others in every value."""


class DiffersError(HintedError):
    """Runs that were made again and are not equal to the record."""


class Again(NamedTuple):
    """A run on record, and how it is made again: as a scenario, and by a command by hand."""

    line: Line
    scenario: Scenario
    responses: tuple[Response, ...]
    command: str

    @property
    def task(self) -> Task:
        """The run for a worker."""
        return Task(
            source=self.scenario.source,
            name=self.scenario.name,
            overrides=self.scenario.overrides,
            measures=measures_of(self.responses),
            perhop=_core.__version__,
            results_version=_core.RESULTS_VERSION,
            files=tuple(self.scenario.core.files.items()),
        )


def draw(plan: Plan, record: Record, number: int, seed: int) -> list[Again]:
    """Draw so many of the runs on record, none twice, all of them where there are fewer.

    The same record, number and seed give the same runs.
    """
    lines = record.lines
    campaigns = dict(judged(plan))
    runs = {one["of"]: one for one in record.document["runs"]}
    settings = {one["name"]: one["settings"] for one in record.document["treatments"]}
    found = dict[str, Again]()
    for place in random.Random(seed).sample(range(len(lines)), len(lines)):
        if len(found) == number:
            break
        line = lines[place]
        campaign, of = campaigns[line["of"]], runs[line["of"]]
        treatment = of["treatments"].index(line["treatment"])
        own, replication = campaign.design.treatments[treatment], f"run.replication={line['replication']}"
        scenario = campaign.scenario.override(*own.overrides, replication)
        words = of["command"], settings[line["treatment"]], f"-s {replication}"
        again = Again(line, scenario, campaign.at(treatment), " ".join(filter(None, words)))
        # readings share runs, each of which has a line for each
        found.setdefault(scenario.key().hex(), again)
    return [*found.values()]


def differences(drawn: Sequence[Again], executor: Executor, progress: Progress) -> list[str]:
    """Make runs side by side and return a sentence for each that differs from the record.

    `progress` is called with the work done and that of all runs. An `ExecutorError`: a worker died.
    """
    under_way = {executor.submit(execute, one.task): place for place, one in enumerate(drawn)}
    work, done, told = [one.scenario.work() for one in drawn], 0.0, dict[int, str]()
    for future in as_completed(under_way):
        place = under_way[future]
        one = drawn[place]
        try:
            finished = future.result()
        except BrokenExecutor as error:
            raise ExecutorError(f"a run was lost with its worker: {error}", f"it is {one.command}") from error
        if finished.failure is None:
            difference = difference_of(one.line, as_text(_made(one, finished)))
        else:
            difference = f"{name_of(one.line)} failed: {finished.failure}"
        if difference:
            told[place] = f"{difference}; it is {one.command}"
        done += work[place]
        progress(done, sum(work))
    return [told[place] for place in sorted(told)]


def _made(one: Again, finished: Finished) -> dict[str, Any]:
    """Return a run that was made as its line, with the values of every response."""
    pairs = ((response, value) for response in one.responses for value in finished.values)
    own = [(response.name, value) for response, value in pairs if value.measure == response.key]
    values = {value_name(name, value.group): value.value for name, value in own}
    place = {name: one.line[name] for name in ("of", "treatment", "replication")}
    return {**place, "seed": one.scenario.seed, "event_digest": finished.event_digest, **values}


def differences_of_all(record: Record, made: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each line of a table of runs that differs from the one on record."""
    known = {_key(line): line for line in record.lines}
    lines = map(as_text, made)
    return [told for line in lines if (told := difference_of(known.get(_key(line), {}), line))]


def _key(line: Line) -> tuple[str, ...]:
    return line["of"], line["treatment"], line["replication"]


def difference_of(line: Line, made: Line) -> str | None:
    """Return in what a run differs from its line on record, None where they are equal."""
    differ = [name for name in {**line, **made} if line.get(name) != made.get(name)]
    if not differ:
        return None
    pairs = ((name, made.get(name, "none"), line.get(name, "none")) for name in differ[:_SHOWN])
    shown = [f"{name} {now}, on record {then}" for name, now, then in pairs]
    more = [f"{len(differ) - _SHOWN} more"] if len(differ) > _SHOWN else []
    return f"{name_of(made)} has {'; '.join((*shown, *more))}"


def name_of(line: Line) -> str:
    """Return a run's name: what it is of, treatment and replication."""
    return f"{line['of']}, {line['treatment']}, replication {line['replication']}"
