"""Runs that judge predictions, each on the student's own seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perhop.experiment.response import Response
from perhop.lesson.form import Answers, Arm, Lesson, Question
from perhop.run.run import Progress, Result, TracedJob, job_work, run_jobs
from perhop.stats.intervals import Interval, mean_interval

Key = tuple[bytes, str, tuple[str, ...]]


class BrokenRunError(Exception):
    """A run that broke an invariant: nothing is judged by it."""


@dataclass(frozen=True)
class Outcome:
    """A prediction, and the runs that judge it.

    Attributes
    ----------
    seen
        By choice, or under the empty name: the mean of the question's runs, with its interval if they are
        several; None where a run gave no number.
    right
        Whether the prediction is within the tolerance; None where a run gave no number.
    """

    question: Question
    predicted: float | str
    seen: Mapping[str, Interval | None]
    right: bool | None

    def number(self, choice: str = "") -> float | None:
        """Return what a prediction is held against: a mean, or the half-width of its interval."""
        found = self.seen[choice]
        if found is None:
            return None
        return found.half_width if self.question.written.half_width else found.mean

    @property
    def best(self) -> str:
        """The choice that is right."""
        sign = -1.0 if self.question.written.most else 1.0
        return min(self.seen, key=lambda one: sign * (self.number(one) or 0.0))


def judge(
    lesson: Lesson, sheets: Sequence[Answers], workers: int, progress: Progress | None = None
) -> list[list[Outcome]]:
    """Make the runs that answers need, each once, and return what became of the predictions of each.

    Raises
    ------
    ScenarioError, MemoryError
        As of `perhop.run.run.run_jobs`.
    BrokenRunError
        A run broke an invariant.
    """
    wanted: dict[Key, dict[str, Response]] = {}
    for sheet in sheets:
        for question in lesson.questions:
            for arm in question.arms.values():
                for key in _keys(question, arm, sheet.seed):
                    wanted.setdefault(key, {})[arm.response.key] = arm.response

    def measured(job: TracedJob, result: Result) -> dict[str, float | None]:
        if result.invariants:
            raise BrokenRunError(f"{job.name}: a run broke an invariant: {result.invariants[0]}")
        responses = wanted[job.source, job.name, tuple(job.overrides)]
        return {key: one.evaluate(result).get(()) for key, one in responses.items()}

    jobs = [TracedJob(source, name, [*overrides], ()) for source, name, overrides in wanted]
    found = dict(zip(wanted, run_jobs(jobs, workers, progress, measured, job_work(jobs)), strict=True))

    def seen(question: Question, arm: Arm, seed: int) -> Interval | None:
        values = [found[key][arm.response.key] for key in _keys(question, arm, seed)]
        known = [one for one in values if one is not None]
        return mean_interval(known) if len(known) == len(values) else None

    return [
        [
            _outcome(
                one,
                sheet.predicted[one.written.key],
                {n: seen(one, a, sheet.seed) for n, a in one.arms.items()},
            )
            for one in lesson.questions
        ]
        for sheet in sheets
    ]


def _keys(question: Question, arm: Arm, seed: int) -> list[Key]:
    one, own = arm.scenario, f"run.seed={seed}"
    each = (f"run.replication={k}" for k in range(question.written.runs))
    return [(one.source, one.name, (*one.overrides, own, replication)) for replication in each]


def _outcome(question: Question, predicted: float | str, seen: Mapping[str, Interval | None]) -> Outcome:
    made = Outcome(question, predicted, seen, None)
    right = made.number(made.best)
    given = made.number(predicted) if isinstance(predicted, str) else predicted
    if right is None or given is None or None in seen.values():
        return made
    return replace(made, right=abs(given - right) <= question.allowed(right))
