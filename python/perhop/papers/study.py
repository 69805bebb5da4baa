"""What a study is to `perhop reproduce`; see the package's documentation for how to add one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from perhop.run import AnyJob, Result

if TYPE_CHECKING:
    from perhop.experiment.definition import Campaign


class BrokenRun(RuntimeError):
    """A run whose invariants do not hold; its numbers must not be averaged in."""


class Plan(Protocol):
    """The runs of a study; each study has its own, with whatever else its `reduce` needs."""

    @property
    def jobs(self) -> Sequence[AnyJob]:
        """All runs, in the order in which `reduce` wants what is kept of them."""

    @property
    def left_out(self) -> Sequence[str]:
        """What a quick plan does not do, in words; empty otherwise."""


class Outcome(Protocol):
    """What comes out of a study; each study has its own, with whatever else its page needs."""

    @property
    def document(self) -> dict[str, Any]:
        """`paper`, `results_version`, `command`, `rows`, `claims`; equal runs give equal bytes."""

    @property
    def left_out(self) -> Sequence[str]:
        """What a quick reproduction does not do."""

    @property
    def warnings(self) -> Sequence[str]:
        """Runs that do not meet what the study assumes, in words."""


@dataclass(frozen=True)
class Summary:
    """A table that the command prints: title, columns, rows of text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


P = TypeVar("P", bound=Plan)
O = TypeVar("O", bound=Outcome)  # noqa: E741

Runner = Callable[[Sequence[AnyJob], str], list[Any]]
"""Runs jobs side by side and returns what the study keeps of each; the text says what is being done."""


class Study(ABC, Generic[P, O]):
    """A published study that `perhop reproduce` repeats.

    Attributes
    ----------
    key
        Name of its pack and of its module.
    title
        Of its page.
    """

    key: str
    title: str

    @abstractmethod
    def plan(self, quick: bool) -> P:
        """List the runs."""

    def at_fit(self, plan: P) -> P | None:
        """Give the plan without the readings of what the paper leaves open; None if it has no such form."""
        del plan
        return None

    def campaigns(self, plan: P) -> Sequence[Campaign]:
        """List the campaigns of a study that is written on designs; none for one that lists its jobs.

        They are run one after the other in one store, which is resumed and in which equal runs are made once.
        What `reduce` is given is the `scalars` of each, in place of what was kept of the jobs.
        """
        del plan
        return ()

    def keep(self, job: AnyJob, result: Result) -> Any:
        """Give what is kept of a run's result; called as soon as the run ends, from several threads.

        A study of many runs keeps numbers, for the tables of a run with a hundred flows are megabytes.
        Jobs that differ in nothing but their names share what is kept: it may not depend on the name, nor be
        changed later.

        Raises
        ------
        BrokenRun
            If the run reports a broken invariant.
        """
        check_run(job, result)
        return result

    @abstractmethod
    def reduce(self, plan: P, kept: Sequence[Any], command: str, results_version: int) -> O:
        """Turn what was kept of the plan's jobs, in their order, into rows and verdicts."""

    @abstractmethod
    def page(self, plan: P, outcome: O) -> str:
        """Return the page as HTML."""

    def summary(self, outcome: O) -> Summary:
        """Return the numbers that the command prints: every row that has a published counterpart."""
        return Summary(
            "Published and simulated",
            ("table", "id", "quantity", "unit", "published", "simulated"),
            tuple(
                (
                    str(row["table"]),
                    str(row["id"]),
                    row["quantity"],
                    row["unit"],
                    f"{row['published']:.4g}",
                    f"{row['simulated']['mean']:.4g}",
                )
                for row in outcome.document["rows"]
                if row["published"] is not None
            ),
        )

    def calibrate(self, run: Runner) -> dict[str, Any] | None:
        """Search the free parameters again and return the record; None for a study that fits nothing."""
        del run
        return None


def load_study(key: str) -> Study[Any, Any]:
    """Import a study's module, `perhop.papers.<key>.study`, and return its `STUDY`."""
    found: Study[Any, Any] = import_module(f"perhop.papers.{key}.study").STUDY
    return found


def check_run(job: AnyJob, result: Result) -> None:
    """Refuse a result that must not be reduced.

    Raises
    ------
    BrokenRun
        If the run reports a broken invariant.
    """
    if result.invariants:
        raise BrokenRun(f"{job[1]}: {'; '.join(result.invariants)}")


def check_runs(jobs: Sequence[AnyJob], results: Sequence[Result]) -> None:
    """Refuse results that must not be reduced.

    Raises
    ------
    BrokenRun
        If a run reports a broken invariant.
    ValueError
        If there is not one result per job.
    """
    check_count(jobs, results)
    for job, result in zip(jobs, results, strict=True):
        check_run(job, result)


def check_count(jobs: Sequence[AnyJob], kept: Sequence[Any]) -> None:
    """Refuse results that do not belong to the jobs.

    Raises
    ------
    ValueError
        If there is not one result per job.
    """
    if len(kept) != len(jobs):
        raise ValueError(f"{len(kept)} results for {len(jobs)} jobs")
