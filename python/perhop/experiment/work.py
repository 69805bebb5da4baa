"""One run of a campaign as a worker makes it: from text to the values of its responses."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import msgspec

from perhop import _core
from perhop.experiment.function import FunctionError
from perhop.experiment.response import Response
from perhop.run import phase, summary
from perhop.run.live import LackingError
from perhop.run.run import Result, run
from perhop.run.tables import SCHEMA
from perhop.scenario.files import Files
from perhop.scenario.scenario import Description, Scenario


class Measure(NamedTuple):
    """A response for a worker, with the name of its values in the ledger."""

    key: str
    text: str
    source: str | None = None
    """Of a function, its file: as text, for a worker may be another machine."""


def measures_of(responses: Iterable[Response]) -> tuple[Measure, ...]:
    """Return what workers measure for responses, once what several of them have."""
    return tuple({one.key: Measure(one.key, one.text, one.source) for one in responses}.values())


class Task(NamedTuple):
    """A run for a worker; plain text, so that it means the same on any machine.

    A worker refuses a task of another version of perhop.
    """

    source: bytes
    name: str
    """Of the scenario file, for messages."""
    overrides: tuple[str, ...]
    """All of them, with seed and replication."""
    measures: tuple[Measure, ...]
    perhop: str
    results_version: int
    files: tuple[tuple[str, bytes], ...] = ()
    """Names and contents of those that the scenario names."""


_LIVE_TRIES = 3
"""How often a run on real packets is made until it is within its error budget."""


LIVE = "live"
"""What every run on real packets has beside its measures: how it went, as JSON in the place of a group."""

PHASE = "phase"
"""What a run has likewise whose equal flows are in step with a queue: what `perhop.run.phase.effect` says."""


class Value(NamedTuple):
    """A response of a run, or of a group of its flows; None where it has no value."""

    measure: str
    group: tuple[str, ...]
    value: float | None


class Finished(NamedTuple):
    """The result of a run from a worker; without values where it failed."""

    values: tuple[Value, ...] = ()
    failure: str | None = None
    lost: bool = False
    """The machine failed, not the run: it is worth trying again."""
    unsettled: str | None = None
    """What MSER-5 says of the warm-up, None where it has no objection."""
    event_digest: str = ""
    host: str = ""
    worker: str = ""
    began: float = 0.0
    """Seconds since 1970."""
    duration_s: float = 0.0


class VersionsDiffer(Exception):
    """A worker has another perhop than the driver."""


def identity() -> tuple[str, str, int]:
    """Return host, version and results_version of the perhop that is asked."""
    return platform.node(), _core.__version__, _core.RESULTS_VERSION


def check_versions(found: tuple[str, str, int], version: str, results_version: int) -> None:
    """Refuse a worker of another version."""
    host, *theirs = found
    if theirs != [version, results_version]:
        raise VersionsDiffer(
            f"the worker on {host} has perhop {theirs[0]} (results_version {theirs[1]}), "
            f"this is perhop {version} (results_version {results_version})"
        )


def execute(task: Task) -> Finished:
    """Make a run and measure it; an error of the run is returned, not raised.

    A `LackingError`, of a run on real packets, is this machine's.
    """
    host, *_ = me = identity()
    check_versions(me, task.perhop, task.results_version)
    began, start = time.time(), time.perf_counter()
    done = _measured(task)
    took = time.perf_counter() - start
    return done._replace(host=host, worker=f"{host}:{os.getpid()}", began=began, duration_s=took)


def _measured(task: Task) -> Finished:
    try:
        scenario = Scenario(task.source, task.name, task.overrides, Files(held=dict(task.files)))
        # a row for each flow and interval is most of the work of a run with many short flows
        responses = [_response(one.text, one.source) for one in task.measures]
        series = any(one.reads_series for one in responses)
        trace = list(dict.fromkeys(chain.from_iterable(one.traces for one in responses)))
        only = _looked_at(responses, scenario.describe())
        for _ in range(_LIVE_TRIES):
            result = run(scenario, series=series, trace=trace, only=only)
            if not _was_late(result):
                break
        if result.invariants:
            why = f"broke an invariant: {'; '.join(result.invariants)}"
            return Finished(failure=why, lost=_was_late(result))
        meaning = result.scenario.describe()
        if result.live is None:
            how = {PHASE: phase.effect(result.tables(), meaning)}
        else:
            how = {LIVE: msgspec.json.encode(result.live).decode()}
        values = [
            Value(measure.key, group, value)
            for measure, response in zip(task.measures, responses, strict=True)
            for group, value in response.evaluate(result, meaning).items()
        ]
        values += [Value(name, (text,), None) for name, text in how.items() if text]
        unsettled = summary.unsettled(result.series, meaning)
        return Finished(tuple(values), unsettled=unsettled, event_digest=result.event_digest)
    except LackingError:
        # not the run's fault: it is missing, not failed
        raise
    except FunctionError as error:
        return Finished(failure=str(error))
    except MemoryError as error:
        return Finished(failure=str(error) or "out of memory", lost=True)
    except BaseException as error:
        # a panic of the core is no Exception, and means this run only
        if isinstance(error, Exception) or type(error).__module__ == "pyo3_runtime":
            return Finished(failure=f"{type(error).__name__}: {error}".strip())
        raise


def _looked_at(responses: Sequence[Response], meaning: Description) -> dict[str, set[str]] | None:
    """Return the columns of tables that are measured or judged; None where that may be any."""
    found = {name: set(columns) for name, columns in phase.COLUMNS.items()}
    if summary.is_judged(meaning.run):
        found["series"] = {column.name for column in SCHEMA["series"].columns}
    for one in responses:
        if one.columns is None:
            return None
        for name, columns in one.columns.items():
            found.setdefault(name, set()).update(columns)
    return found


def _was_late(result: Result) -> bool:
    """Return whether a run on real packets is over its error budget: the fault of a busy machine."""
    return result.live is not None and bool(result.live.over_budget)


@lru_cache(maxsize=64)
def _response(text: str, source: str | None) -> Response:
    return Response.parse("measure", text, source=source)
