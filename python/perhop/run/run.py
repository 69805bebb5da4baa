"""One run of one scenario, or many side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from perhop.run import live
from perhop.run.live import Live
from perhop.run.space import check_memory
from perhop.run.tables import OPTIONAL, TABLES, frame, missing
from perhop.scenario.scenario import HOPS_PER_S, Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet


Job = tuple[bytes, str, list[str]]
"""Scenario text, its name in errors, overrides."""


class TracedJob(NamedTuple):
    """A job with traces in its result, any of `perhop.run.tables.TRACES`."""

    source: bytes
    name: str
    overrides: list[str]
    trace: tuple[str, ...]


AnyJob = Job | TracedJob

Keep = Callable[[str, pl.DataFrame], None]
"""Called with the kind of a trace and further rows of it."""

Progress = Callable[[float, float], None]
"""Called with how much is done and how much there is: simulated seconds of a run, work of many."""

PART_ROWS = 1 << 18
"""Rows of traces after which they leave the core; with all columns they take 50 MB there."""


# The core is asked for slices that take about this long, so that Ctrl-C and a progress bar get their turn.
_SLICE_WALL_S = 0.1


_FEW_ROWS = 100
"""Rows of a column of words up to which Python chooses them sooner than polars."""


class DelayCounts(NamedTuple):
    """Counters of the packets of a class: values in order, ns, and of how many packets each is."""

    values: np.ndarray
    packets: np.ndarray


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a run. Two are equal if scenario, seed, events and tables are, traced or not.

    Parameters
    ----------
    flows, links, queues, udp, marks, conditioners, classes
        One row per TCP flow, link direction, queue, UDP flow, flow and mark, conditioner, class of flows:
        rates, counters, delays and extremes of the time after the warm-up.
    series
        Long table: ``time_s``, ``path``, ``quantity``, ``value``.
    trace
        Empty unless asked for.
    counts
        Events, packet-hops and packets created.
    invariants
        Broken laws, such as a packet that vanished; empty in a sound run.
    event_digest
        Digest of the event log, the same with and without tracing.
    live
        How a run on real packets went; None of one in virtual time.
    applications, loads, videos, calls
        One row per application over TCP, per load of one, per video and per way of a call; without rows where
        there is none.
    delays
        By class and quantity (``delay``, ``pdv``, ``ipdv``): the counters of which the table of classes has
        quantiles; none of a run on real packets.
    """

    scenario: Scenario
    flows: pl.DataFrame
    links: pl.DataFrame
    queues: pl.DataFrame
    series: pl.DataFrame
    udp: pl.DataFrame
    marks: pl.DataFrame
    conditioners: pl.DataFrame
    classes: pl.DataFrame
    counts: dict[str, int]
    event_digest: str
    trace: dict[str, pl.DataFrame] = field(default_factory=dict)
    invariants: list[str] = field(default_factory=list)
    live: Live | None = None
    delays: Mapping[tuple[str, str], DelayCounts] = field(default_factory=dict)
    applications: pl.DataFrame = field(default_factory=lambda: missing("applications"))
    loads: pl.DataFrame = field(default_factory=lambda: missing("loads"))
    videos: pl.DataFrame = field(default_factory=lambda: missing("videos"))
    calls: pl.DataFrame = field(default_factory=lambda: missing("calls"))

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables that are hashed, by name."""
        found = {name: getattr(self, name) for name in TABLES}
        return {name: table for name, table in found.items() if name not in OPTIONAL or table.height}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        same = (self.scenario.key(), self.event_digest) == (other.scenario.key(), other.event_digest)
        return same and all(getattr(self, name).equals(getattr(other, name)) for name in TABLES)

    def __hash__(self) -> int:
        return hash(self.event_digest)


def run(
    scenario: Scenario,
    *,
    trace: Sequence[str] = (),
    keep: Keep | None = None,
    progress: Progress | None = None,
    pcap: Mapping[str, Path] | None = None,
    series: bool = True,
    only: Mapping[str, AbstractSet[str]] | None = None,
) -> Result:
    """Run a scenario to its end.

    Parameters
    ----------
    trace
        Any of `perhop.run.tables.TRACES`; the results do not depend on it.
    keep
        Called with the kind and further rows of a trace, in order, at least once for each kind; `trace` of
        the result is empty then, and a trace of any length takes little memory.
    progress
        Called several times a second.
    pcap
        Links, by name as in the table of links, and the files in which their packets are captured.
    series
        Without them the table of series has only what the warm-up is judged by, goodputs of flows without a
        size. All else is the same, and many short flows cost less. On real packets they are always there.
    only
        Columns of tables that are looked at: the result of a run in virtual time has no others, which takes
        most of the time of a short run.

    Raises
    ------
    ScenarioError
        The scenario has mistakes, or virtual time has not what it asks for.
    ElementError
        An element in Python failed; what the run has done is lost.
    MemoryError
        It needs more memory than there is; told before anything runs.
    OSError
        A capture cannot be written, or there is no such link.
    """
    kinds = [trace] if isinstance(trace, str) else list(trace)
    if scenario.core.live:
        return _run_live(scenario, kinds, keep, progress, pcap or {})
    scenario.check_clock()
    check_memory(scenario.core.memory_bytes)
    scenario.try_elements()
    gathered: dict[str, list[pl.DataFrame]] = {kind: [] for kind in kinds}

    def record(rows: Mapping[str, pl.DataFrame]) -> None:
        for kind, table in rows.items():
            if keep is None:
                gathered[kind].append(table)
            else:
                keep(kind, table)

    def table(name: str, columns: dict[str, Any]) -> pl.DataFrame:
        if only is not None and name not in kinds:
            wanted = only.get(name, ())
            columns = {column: values for column, values in columns.items() if column in wanted}
        return _frame(columns)

    simulation = scenario.core.simulate(kinds)
    if not series:
        simulation.keep_endless_goodputs_only()
    if pcap:
        simulation.capture([(link, str(path)) for link, path in pcap.items()])
    duration = simulation.duration_s
    # short at first: how long a simulated second takes is not known yet, and Ctrl-C waits for a slice
    reached, step = 0.0, min(duration / 1000, 1.0)
    while reached < duration:
        reached = min(duration, reached + step)
        began = time.perf_counter()
        while not simulation.advance_to(reached, PART_ROWS if trace else None):
            record(simulation.take_recorded(table))
        took = time.perf_counter() - began
        step *= 2.0 if took < _SLICE_WALL_S / 2 else 0.5 if took > _SLICE_WALL_S * 2 else 1.0
        if progress is not None:
            progress(reached, duration)
    simulation.close_captures()

    raw = simulation.finish(table)
    record(raw["trace"])
    tables: dict[str, Any] = raw["tables"]
    return Result(
        scenario=scenario,
        **tables,
        counts=raw["counts"],
        event_digest=raw["event_digest"],
        trace={kind: pl.concat(parts) for kind, parts in gathered.items() if parts},
        invariants=list(raw["invariants"]),
        delays={of: DelayCounts(*counted) for of, counted in raw["delays"].items()},
    )


def _run_live(
    scenario: Scenario,
    trace: list[str],
    keep: Keep | None,
    progress: Progress | None,
    pcap: Mapping[str, Path],
) -> Result:
    """Run a scenario on real packets; its trace comes when it is over."""
    done = live.run(scenario, trace, progress, pcap)
    tables: dict[str, Any] = {name: frame(name, columns) for name, columns in done.tables.items()}
    traced = {kind: frame(kind, columns) for kind, columns in done.trace.items()}
    if keep is not None:
        for kind, rows in traced.items():
            keep(kind, rows)
    return Result(
        scenario=scenario,
        **tables,
        counts=done.counts,
        event_digest=done.event_digest,
        trace={} if keep is not None else traced,
        invariants=done.invariants,
        live=done.live,
    )


def run_jobs(
    jobs: Sequence[AnyJob],
    workers: int,
    progress: Progress | None = None,
    keep: Callable[[Any, Result], Any] | None = None,
    work: Sequence[float] | None = None,
) -> list[Any]:
    """Run many scenarios side by side; results come in the order of the jobs.

    Parameters
    ----------
    workers
        Threads; the core lets go of the interpreter while it runs.
    progress
        Called with the work done and that of all runs.
    keep
        Called with each job and its result as the run ends; what it returns takes the result's place.
    work
        Of each job, as `job_work` estimates it; without it all count the same.

    Raises
    ------
    MemoryError
        The largest `workers` of them need more memory than there is; told before anything runs.
    """
    largest = sorted((_estimate(job)[1] for job in jobs), reverse=True)[:workers]
    check_memory(sum(largest), len(largest))
    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        futures = [pool.submit(_run_job, job, keep) for job in jobs]
        work_of = dict(zip(futures, work or [1] * len(futures), strict=True))
        done, total = 0.0, sum(work_of.values())
        for future in as_completed(futures):
            future.result()
            done += work_of[future]
            if progress is not None:
                progress(done, total)
        return [future.result() for future in futures]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def job_work(jobs: Sequence[AnyJob]) -> list[float]:
    """Estimate how much work each job is, in packets that cross links."""
    return [_estimate(job)[0] for job in jobs]


def _estimate(job: AnyJob) -> tuple[float, int]:
    """Return the packet-hops of a run, and the bytes of memory it takes."""
    source, name, overrides, *_ = job
    # replications are the same work
    changes = (change for change in overrides if not change.startswith("run.replication="))
    return _estimate_of(source, name, tuple(changes))


@lru_cache(maxsize=1 << 14)
def _estimate_of(source: bytes, name: str, overrides: tuple[str, ...]) -> tuple[float, int]:
    scenario = Scenario(source, name, overrides)
    scenario.check_clock()
    return scenario.work(), scenario.core.memory_bytes


def expected_s(work: Sequence[float], workers: int) -> float:
    """Estimate how long jobs take on idle cores, s; losses and recoveries are no `work`."""
    return sum(work) / (HOPS_PER_S * workers)


def _run_job(job: AnyJob, keep: Callable[[Any, Result], Any] | None) -> Any:
    source, name, overrides, *trace = job
    result = run(Scenario(source, name, tuple(overrides)), trace=[kind for kinds in trace for kind in kinds])
    return result if keep is None else keep(job, result)


def _frame(columns: dict[str, Any]) -> pl.DataFrame:
    """Turn columns into a table, and use them up: a long table has little room beside itself."""
    return pl.DataFrame([_series(name, columns.pop(name)) for name in list(columns)])


def _series(name: str, values: Any) -> pl.Series:
    """Turn a column into a series; a value that does not exist (NaN) becomes null.

    Parameters
    ----------
    values
        Numbers; words, and for each row the number of its own; or labels, None where there is none.
    """
    if isinstance(values, tuple):
        words, numbers = values
        if len(numbers) <= _FEW_ROWS:
            return pl.Series(name, [words[number] for number in numbers.tolist()], pl.String)
        # a method of a series (`gather`, `fill_nan`) is planned as a query, longer than many a run takes
        chosen: pl.Series = pl.Series(name, words, pl.String)[numbers]
        return chosen
    if isinstance(values, list):
        return pl.Series(name, values, pl.String)
    return pl.Series(name, values, nan_to_null=True)
