"""Predictions and the runs that judge them, in words, in tables and as a page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import numpy as np

from perhop.lesson.form import Answers, Lesson, Question
from perhop.lesson.judging import Outcome
from perhop.plot import strips
from perhop.report import page
from perhop.say.document import Cell, Part, Table, Verdict
from perhop.stats.intervals import Interval, mean_interval
from perhop.units import Scale, counted

Room = Sequence[tuple[Answers, Sequence[Outcome]]]

_FEWEST_SEEDS = 5
"""Seeds from which on a mean has an interval: that of two reaches six times their distance to either side."""


def sheet(lesson: Lesson, answers: Answers, outcomes: Sequence[Outcome]) -> list[Part]:
    """Return what one student predicted and saw."""
    columns = ("question", "", "predicted", "seen", "tolerance")
    rows = [
        (one.question.written.key, _verdict(one), _predicted(one), _seen(one), one.question.written.tolerance)
        for one in outcomes
    ]
    who = f"{answers.student}: " if answers.student else ""
    right = sum(one.right is True for one in outcomes)
    return [
        Table(lesson.title, columns, rows, left=5),
        f"{who}{right} of {len(rows)} right, on seed {answers.seed}.",
    ]


def _predicted(one: Outcome) -> str:
    """Return a prediction with its unit."""
    return one.predicted if isinstance(one.predicted, str) else _value(one.question, one.predicted)


def _seen(one: Outcome) -> str:
    """Return what was seen: a number, or the right choice with what all of them gave."""
    if not one.question.is_choice:
        return _shown(one)
    every = ", ".join(f"{choice} {_shown(one, choice)}" for choice in one.seen)
    return f"{one.best} ({every})"


def _verdict(one: Outcome) -> Verdict:
    """Return whether a prediction was right."""
    if one.right is None:
        return Verdict("not measured", "open")
    return Verdict("right", "good") if one.right else Verdict("not right", "bad")


def _shown(one: Outcome, choice: str = "") -> str:
    found, value = one.seen[choice], one.number(choice)
    if found is None or value is None:
        return "-"
    half_width = one.question.written.half_width
    return _value(one.question, value) if half_width else _interval(one.question, found)


def _interval(question: Question, found: Interval) -> str:
    return Scale.of(question.unit, found.mean).value(found.mean, found.half_width)


def _value(question: Question, value: float) -> str:
    return Scale.of(question.unit, value).value(value)


def document(answers: Answers, outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Return the outcomes of one student as JSON has them, in the units of the responses."""
    rows = [
        {
            "question": one.question.written.key,
            "unit": one.question.unit,
            "predicted": one.predicted,
            "seen": {name: one.number(name) for name in one.seen} if one.question.is_choice else one.number(),
            "right": one.right,
        }
        for one in outcomes
    ]
    return {
        "file": os.path.relpath(answers.path),
        "student": answers.student,
        "seed": answers.seed,
        "questions": rows,
    }


def room(lesson: Lesson, found: Room) -> list[Part]:
    """Return what a room predicted and saw, a row for each question."""
    columns = ("question", "the room predicted", "runs gave", "right")
    rows = [(one.written.key, *_told(*own)) for one, *own in _by_question(lesson, found)]
    return [Table(lesson.title, columns, rows, left=4), _who(found)]


def render(lesson: Lesson, found: Room, command: str) -> str:
    """Return the page of a room: each question with its figure, and each student's answers behind a fold."""
    parts = [
        (one.written.text, _told(outcomes, runs), None if one.is_choice else _drawn(one, outcomes, runs))
        for one, outcomes, runs in _by_question(lesson, found)
    ]
    columns = ("student", "seed", *(one.written.key for one in lesson.questions))
    rows: list[list[Cell]] = [
        [
            own.student or os.path.relpath(own.path),
            own.seed,
            *(Verdict(_predicted(one), _verdict(one).look) for one in row),
        ]
        for own, row in found
    ]
    everyone = Table("", columns, rows, left=len(columns))
    context = {"title": lesson.title, "who": _who(found), "parts": parts, "everyone": everyone}
    return page.render("room.html.j2", {**context, "command": command}, "perhop.lesson")


def _drawn(question: Question, outcomes: Sequence[Outcome], runs: Sequence[Outcome]) -> page.Drawing:
    lines = {"predicted": [float(one.predicted) for one in outcomes], "runs": _numbers(runs)}
    scale = Scale.spanning(question.unit, [value for own in lines.values() for value in own])
    scaled = {name: [value / scale.factor for value in own] for name, own in lines.items()}
    key, title = (
        question.written.key,
        "Each mark is a student's prediction, and below a run on a student's seed",
    )
    return page.drawing(key, title, strips.draw(scaled, title, f"{key}{scale.in_unit}"))


def _by_question(lesson: Lesson, found: Room) -> list[tuple[Question, list[Outcome], list[Outcome]]]:
    """Return each question with all its outcomes, and one of each seed: equal seeds are one run."""
    return [
        (
            question,
            [outcomes[k] for _, outcomes in found],
            [*{answers.seed: outcomes[k] for answers, outcomes in found}.values()],
        )
        for k, question in enumerate(lesson.questions)
    ]


def _told(outcomes: Sequence[Outcome], runs: Sequence[Outcome]) -> tuple[str, str, str]:
    """Return what a room predicted for a question, what its runs gave, and how many were right."""
    question = outcomes[0].question
    right = f"{sum(one.right is True for one in outcomes)} of {len(outcomes)}"
    if question.is_choice:
        best = Counter(one.best for one in runs if one.right is not None)
        return _counted(Counter(str(one.predicted) for one in outcomes)), _counted(best), right
    low, middle, high = np.quantile([float(one.predicted) for one in outcomes], (0.25, 0.5, 0.75))
    told = _value(question, middle)
    if low < high:
        told += f", the middle half {_value(question, low)} to {_value(question, high)}"
    return told, _mean(question, _numbers(runs)), right


def _mean(question: Question, known: Sequence[float]) -> str:
    """Return the mean over seeds, with its interval where they are enough for one."""
    if not known:
        return "-"
    found = mean_interval(known)
    return _value(question, found.mean) if found.n < _FEWEST_SEEDS else _interval(question, found)


def _numbers(runs: Sequence[Outcome]) -> list[float]:
    return [value for one in runs if (value := one.number()) is not None]


def _counted(names: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in names.most_common())


def _who(found: Room) -> str:
    seeds = len({answers.seed for answers, _ in found})
    chance = (
        f"Fewer than {_FEWEST_SEEDS} seeds are too few for an interval of the mean."
        if seeds < _FEWEST_SEEDS
        else "After ± stands the 95 % interval of the mean over seeds: chance."
    )
    return f"{counted(len(found), 'student')}, {counted(seeds, 'seed')}. {chance}"
