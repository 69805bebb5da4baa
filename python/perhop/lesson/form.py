"""`lesson.toml`, the questions of a lesson, and files of answers to them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from perhop import _core
from perhop.experiment import kinds, shape
from perhop.experiment.fault import At, Fault, FileError
from perhop.experiment.response import Response, ResponseError
from perhop.experiment.shape import Text
from perhop.experiment.vocabulary import words
from perhop.scenario.scenario import Scenario
from perhop.units import fraction, quantity

FILE = kinds.LESSON
ANSWERS = "answers.toml"

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_MOST_RUNS = 1000
_BASES = {"s": "s", "bit/s": "bit/s", "byte": "B"}
"""Units that a prediction must name, and how `perhop.units` calls them."""
_SUCH_AS = {"s": "150 ms", "bit/s": "2.5 Mbit/s", "byte": "64 kB"}


class LessonError(FileError):
    """A lesson, or a file of answers, that has mistakes."""


class WrittenQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question.

    Attributes
    ----------
    key
        Its name in a file of answers.
    text
        What is asked.
    scenario, set
        The file of the run that answers it, and overrides of it.
    response
        What is measured, in the language of campaigns.
    choices
        In place of a number: what may be chosen. Each is a list of overrides, after those of `set`, or a
        response of its own.
    most
        Whether the choice of the most is right, not that of the least.
    tolerance
        How far a prediction may be off: a share of what was seen (``"20%"``), or a number in the response's
        unit. A choice that is within it of the best is right too.
    runs
        Replications, of which the mean counts.
    half_width
        Whether it is not the mean but the half-width of its 95 % interval.
    range
        The least and the most that may be predicted, in the response's unit; without it, from 0 up.
    """

    key: Text
    text: Text
    scenario: Text
    set: list[str] = []
    response: str = ""
    choices: dict[str, str | list[str]] = {}
    most: bool = False
    tolerance: Text = "0%"
    runs: int = 1
    half_width: bool = False
    range: list[str] = []


class LessonFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A lesson: its title, and its questions in order."""

    title: Text
    question: list[WrittenQuestion]


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
msgspec.json.Decoder(LessonFile)
shape.WORDS[str | list[str]] = "a response or an array of overrides"


@dataclass(frozen=True)
class Arm:
    """The run and the response of a choice, or of the number that is asked for."""

    scenario: Scenario
    response: Response


@dataclass(frozen=True)
class Question:
    """A question without mistakes.

    Attributes
    ----------
    arms
        By choice; under the empty name where a number is asked for.
    tolerance, relative
        A number in the response's unit, or a share of what was seen.
    least, most
        Of what may be predicted.
    """

    written: WrittenQuestion
    arms: Mapping[str, Arm]
    tolerance: float
    relative: bool
    least: float
    most: float

    @property
    def unit(self) -> str | None:
        """The unit of all that is measured for it."""
        return next(iter(self.arms.values())).response.unit

    @property
    def is_choice(self) -> bool:
        """Whether one of several is chosen."""
        return bool(self.written.choices)

    @property
    def such_as(self) -> str | None:
        """A prediction with a unit, as an example; None where numbers have none."""
        return _SUCH_AS.get(self.unit or "")

    def allowed(self, seen: float) -> float:
        """Return how far from what was seen a prediction may be."""
        return self.tolerance * abs(seen) if self.relative else self.tolerance


@dataclass(frozen=True)
class Lesson:
    """A lesson without mistakes."""

    title: str
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Answers:
    """A student's predictions by key: a choice, or a number in the response's unit."""

    path: Path
    student: str
    seed: int
    predicted: Mapping[str, float | str]


def number(value: Any, unit: str | None) -> float:
    """Return a number as a file has it, in a unit; NaN where it is none.

    >>> number("150 ms", "s"), number(150, "s"), number("3 %", "1"), number(3, "1")
    (0.15, nan, 0.03, 3.0)
    """
    text = str(value)
    if unit not in _BASES and text.endswith("%"):
        return fraction(text)
    try:
        found, base = quantity(text)
    except ValueError:
        return math.nan
    return found if base == _BASES.get(unit or "", "") else math.nan


def load(folder: Path) -> Lesson:
    """Read the lesson in a folder.

    Raises
    ------
    OSError
        A file cannot be read.
    LessonError
        It has mistakes; all that can be told at once.
    """
    path = folder / FILE
    source = path.read_bytes()
    file = shape.read(path, source, LessonFile, LessonError)
    faults: list[Fault] = []
    # without a folder to look in: other files than the scenario are none of a lesson's
    base = {
        name: Scenario((folder / name).read_bytes(), str(folder / name))
        for name in dict.fromkeys(one.scenario for one in file.question)
    }
    wrong = [mistake for scenario in base.values() for mistake in scenario.check()]
    if wrong:
        raise LessonError(wrong)
    questions = [
        _question(folder, base[one.scenario], one, ("question", k), faults)
        for k, one in enumerate(file.question)
    ]
    keys = ["student", "seed"]
    for k, one in enumerate(file.question):
        if one.key in keys or not _KEY.fullmatch(one.key):
            taken = "is taken" if one.key in keys else "is no name: a letter, then letters, digits and `_`"
            rule = f"`{one.key}` {taken}"
            faults.append(Fault(("question", k, "key"), rule))
        keys.append(one.key)
    if not questions:
        faults.append(Fault(("question",), "a lesson asks something", "add a [[question]]"))
    if faults:
        raise LessonError(shape.diagnostics(path, source, faults))
    return Lesson(file.title, tuple(questions))


def _overridden(base: Scenario, assignments: list[str], at: At, faults: list[Fault]) -> Scenario | None:
    """Return a scenario with overrides; None where these are wrong, which is put to the other mistakes."""
    scenario = base.unread(*assignments)
    mistakes = scenario.check()
    faults += [Fault(at, f"{one['path']}: {one['rule']}", one["hint"]) for one in mistakes[:1]]
    return None if mistakes else scenario


def _question(folder: Path, base: Scenario, one: WrittenQuestion, at: At, faults: list[Fault]) -> Question:
    """Return a question, and put its mistakes to the others."""
    arms = {}
    asked = _overridden(base, one.set, (*at, "set"), faults)
    for name, own in (one.choices or {"": []}).items():
        place = (*at, "choices", name)
        text, of = (own, place) if isinstance(own, str) else (one.response, (*at, "response"))
        scenario = asked and _overridden(asked, [] if isinstance(own, str) else own, place, faults)
        if scenario is None:
            continue
        try:
            response = Response.parse(one.key, text, folder=folder)
        except ResponseError as error:
            faults += [Fault(of, each.rule, each.hint, each.span) for each in error.faults]
            continue
        known = words(scenario)
        wrong = [*response.faults(known), *response.doubts(known)]
        faults += [Fault(of, each.rule, each.hint, each.span) for each in wrong]
        if response.by or response.source is not None:
            faults.append(Fault(of, "a question is about one number: an expression without `by`"))
        arms[name] = Arm(scenario, response)
    if not 1 <= one.runs <= _MOST_RUNS:
        faults.append(Fault((*at, "runs"), f"{one.runs} is not from 1 to {_MOST_RUNS}"))
    elif one.half_width and one.runs == 1:
        rule = "the interval of a mean takes two runs at least, and `runs` is 1"
        faults.append(Fault((*at, "half_width"), rule, "add `runs = 10`, or leave `half_width` out"))
    if len(one.choices) == 1:
        faults.append(Fault((*at, "choices"), "there is one choice alone"))
    if not all(name.strip() and name.isprintable() for name in one.choices):
        rule = "a choice needs a name of printable characters: students write it"
        faults.append(Fault((*at, "choices"), rule))
    if one.most and not one.choices:
        rule = "`most` says which choice is right, and there are no choices"
        faults.append(Fault((*at, "most"), rule, "leave `most` out, or add [question.choices]"))
    if len({arm.response.unit for arm in arms.values()}) > 1:
        faults.append(Fault((*at, "choices"), "choices are compared, so their responses have one unit"))
    share = fraction(one.tolerance)
    unit = next(iter(arms.values())).response.unit if arms else None
    tolerance = number(one.tolerance, unit) if math.isnan(share) else share
    if arms and not 0 <= tolerance < math.inf:
        rule = f"`{one.tolerance}` is neither a share nor a number in the unit of the response, from 0 up"
        faults.append(
            Fault((*at, "tolerance"), rule, f'such as "20%" or "{_SUCH_AS.get(unit or "", "0.2")}"')
        )
    ends = [number(end, unit) for end in one.range] or [0.0, math.inf]
    if (
        arms
        and one.range
        and (one.choices or len(ends) != 2 or not -math.inf < ends[0] <= ends[1] < math.inf)
    ):
        rule = "must be the least and the most number that may be predicted, in the unit of the response"
        hint = "leave `range` out: there are choices" if one.choices else None
        faults.append(Fault((*at, "range"), rule, hint))
    return Question(one, arms, tolerance, not math.isnan(share), ends[0], ends[-1])


def answers(path: Path, lesson: Lesson) -> Answers:
    """Read a file of answers; every question must have one.

    Raises
    ------
    OSError
        It cannot be read.
    LessonError
        It has mistakes.
    """
    return answers_in(path.read_bytes(), path, lesson)


def answers_in(source: bytes, path: Path, lesson: Lesson) -> Answers:
    """Read answers of which the file has, or will have, that path; see `answers`."""
    if not source.strip():
        hint = f"`perhop init --pack lesson-bufferbloat` writes a lesson, with the {ANSWERS} to fill in"
        raise LessonError([_core.diagnostic("", str(path), 0, 0, f"{path} is empty", hint)])
    asked = {one.written.key: one for one in lesson.questions}
    own = [("student", str, ""), ("seed", int, 1)]
    kind = msgspec.defstruct("AnswersFile", [*((key, Any) for key in asked), *own])
    found = shape.parsed(path, source, kind, LessonError)
    faults: list[Fault] = []
    predicted = {key: _predicted(one, found[key], faults) for key, one in asked.items()}
    student, seed = found.get("student", ""), found.get("seed", 1)
    if not student.isprintable():
        faults.append(Fault(("student",), "must be a name of printable characters"))
    if not 0 <= seed < 2**63:
        faults.append(Fault(("seed",), f"{seed} is outside the range: 0 to 2^63 - 1"))
    if faults:
        raise LessonError(shape.diagnostics(path, source, faults))
    return Answers(path, student, seed, predicted)


def _predicted(question: Question, value: Any, faults: list[Fault]) -> float | str:
    """Return a prediction, and put a mistake in it to the others."""
    choices, hint = [*question.arms], None
    if question.is_choice:
        what = f"one of {', '.join(choices)}"
        if value in choices:
            return str(value)
        hint = _core.suggest(str(value), choices)
    else:
        such_as = question.such_as
        what = f'a number with its unit, such as "{such_as}"' if such_as else "a number"
        found = math.nan if isinstance(value, bool) else number(value, question.unit)
        if question.least <= found <= question.most and math.isfinite(found):
            return found
        if math.isfinite(found):
            what += ", " + (
                f"from {' to '.join(written)}" if (written := question.written.range) else "from 0 up"
            )
    rule = f"must be {what}"
    if value == "":
        rule, hint = "left empty", f"predict before you run: {question.written.text} Write {what}"
    faults.append(Fault((question.written.key,), rule, hint))
    return math.nan


def files(what: list[Path]) -> Iterator[Path]:
    """Go through files of answers: those that are named, and of a folder those that end in `answers.toml`."""
    for one in what:
        if one.is_dir():
            yield from sorted(path for path in one.rglob(f"*{ANSWERS}") if path.is_file())
        else:
            yield one
