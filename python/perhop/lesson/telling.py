"""Predictions and the runs that judge them, in words, in tables and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from perhop.lesson.form import Answers, Lesson, Question
from perhop.lesson.judging import Outcome
from perhop.plot import strips
from perhop.report import page
from perhop.say.document import Part, Table, Verdict
from perhop.stats.intervals import Interval, mean_interval
from perhop.units import Scale, counted

Room = Sequence[tuple[Answers, Sequence[Outcome]]]


def sheet(lesson: Lesson, answers: Answers, outcomes: Sequence[Outcome]) -> list[Part]:
    """Return what one student predicted and saw."""
    columns = ("question", "predicted", "seen", "tolerance", "")
    rows = [
        (one.question.written.key, predicted(one), seen(one), one.question.written.tolerance, verdict(one))
        for one in outcomes
    ]
    who = f"{answers.student}: " if answers.student else ""
    seed = "the scenario's seed" if answers.seed is None else f"seed {answers.seed}"
    right = sum(one.right is True for one in outcomes)
    return [Table(lesson.title, columns, rows, left=5), f"{who}{right} of {len(rows)} right, on {seed}."]


def predicted(one: Outcome) -> str:
    """Return a prediction with its unit."""
    return one.predicted if isinstance(one.predicted, str) else _value(one.question, one.predicted)


def seen(one: Outcome) -> str:
    """Return what was seen: a number, or the right choice with what all of them gave."""
    if not one.question.is_choice:
        return _seen(one, "")
    every = ", ".join(f"{choice} {_seen(one, choice)}" for choice in one.seen)
    return f"{one.best} ({every})"


def verdict(one: Outcome) -> Verdict:
    """Return whether a prediction was right."""
    if one.right is None:
        return Verdict("not measured", "open")
    return Verdict("right", "good") if one.right else Verdict("not right", "bad")


def _seen(one: Outcome, choice: str) -> str:
    found, value = one.seen[choice], one.number(choice)
    if found is None or value is None:
        return "-"
    return _value(one.question, value) if one.question.written.half_width else _interval(one, found)


def _interval(one: Outcome, found: Interval) -> str:
    return Scale.of(one.question.unit, found.mean).value(found.mean, found.half_width)


def _value(question: Question, value: float) -> str:
    return Scale.of(question.unit, value).value(value)


def document(answers: Answers, outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Return the outcomes of one student as JSON has them, in the units of the responses."""
    return {
        "student": answers.student,
        "seed": answers.seed,
        "questions": [
            {
                "question": one.question.written.key,
                "unit": one.question.unit,
                "predicted": one.predicted,
                "seen": {name: one.number(name) for name in one.seen}
                if one.question.is_choice
                else one.number(),
                "right": one.right,
            }
            for one in outcomes
        ],
    }


def room(lesson: Lesson, found: Room) -> list[Part]:
    """Return what a room predicted and saw, a row for each question."""
    columns = ("question", "the room predicted", "runs gave", "right")
    rows = [
        (question.written.key, *_told(outcomes, by_seed), _right(outcomes))
        for question, outcomes, by_seed in _by_question(lesson, found)
    ]
    return [Table(lesson.title, columns, rows, left=4), _who(found)]


def render(lesson: Lesson, found: Room, command: str) -> str:
    """Return the page of a room: each question with its figure, and each student's sheet behind a fold."""
    parts = []
    for question, outcomes, by_seed in _by_question(lesson, found):
        told, gave = _told(outcomes, by_seed)
        drawn = None
        if not question.is_choice:
            numbers = [float(one.predicted) for one in outcomes]
            known = [value for one in by_seed.values() if (value := one.number()) is not None]
            scale = Scale.spanning(question.unit, [*numbers, *known])
            lines = {"predicted": numbers, "runs": known}
            scaled = {name: [value / scale.factor for value in own] for name, own in lines.items()}
            label = f"{question.written.key}{scale.in_unit}"
            title = "Each mark is a student's prediction, and below a run on a student's seed"
            drawn = page.drawing(question.written.key, title, strips.draw(scaled, title, label))
        parts.append((question.written.text, told, gave, _right(outcomes), drawn))
    columns = ("student", "seed", *(one.written.key for one in lesson.questions))
    rows = [
        (
            answers.student or answers.path.name,
            answers.seed,
            *(Verdict(predicted(one), verdict(one).look) for one in outcomes),
        )
        for answers, outcomes in found
    ]
    sheets = Table("", columns, rows, left=len(columns))
    return page.render(
        "room.html.j2",
        {
            "title": lesson.title,
            "who": _who(found),
            "parts": parts,
            "sheets": sheets,
            "command": command,
        },
        "perhop.lesson",
    )


def _by_question(
    lesson: Lesson, found: Room
) -> list[tuple[Question, list[Outcome], Mapping[int | None, Outcome]]]:
    """Return each question with all outcomes, and with one of each seed: equal seeds are one run."""
    return [
        (
            question,
            [outcomes[k] for _, outcomes in found],
            {answers.seed: outcomes[k] for answers, outcomes in found},
        )
        for k, question in enumerate(lesson.questions)
    ]


def _told(outcomes: Sequence[Outcome], by_seed: Mapping[int | None, Outcome]) -> tuple[str, str]:
    """Return what a room predicted for a question, and what its runs gave."""
    first = outcomes[0]
    if first.question.is_choice:
        chosen = Counter(str(one.predicted) for one in outcomes)
        best = Counter(one.best for one in by_seed.values() if one.right is not None)
        return _counted(chosen), _counted(best)
    low, middle, high = np.quantile([float(one.predicted) for one in outcomes], (0.25, 0.5, 0.75))
    told = _value(first.question, middle)
    if low < high:
        told += f", the middle half {_value(first.question, low)} to {_value(first.question, high)}"
    known = [value for one in by_seed.values() if (value := one.number()) is not None]
    return told, f"{_interval(first, mean_interval(known))}" if known else "-"


def _counted(names: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in names.most_common())


def _right(outcomes: Sequence[Outcome]) -> str:
    return f"{sum(one.right is True for one in outcomes)} of {len(outcomes)}"


def _who(found: Room) -> str:
    seeds = counted(len({answers.seed for answers, _ in found}), "seed")
    students = counted(len(found), "student")
    return f"{students}, {seeds}. After ± stands the 95 % interval of the mean over seeds: chance."
