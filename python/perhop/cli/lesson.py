"""`perhop lesson`: predictions of students, judged by runs, one by one or of a room."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from perhop.cli import options
from perhop.cli.campaign import JOBS
from perhop.cli.exit import CommandError, ExitCode, UsageError
from perhop.cli.options import argument, option
from perhop.cli.output import note, print_json
from perhop.cli.progress import Progress
from perhop.say.terminal import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perhop.lesson.form import Answers, Lesson
    from perhop.lesson.judging import Outcome

group = options.group(
    "Lessons: predictions that runs judge. `perhop init --pack lesson-bufferbloat` writes one."
)
_LESSON = "Folder of the lesson; default that of the answers."


@group.command("check")
def check(
    answers: Path = argument("ANSWERS", "File of predictions (TOML)."),
    lesson: Path | None = option("--lesson", "DIR", _LESSON),
    jobs: int | None = JOBS,
    as_json: bool = options.JSON,
) -> None:
    """Make the runs that a lesson asks about, on the seed of the answers, and hold predictions against them.

    The exit status is 0 whether they are right or not.
    """
    from perhop.lesson import form, telling

    asked = _lesson(answers, lesson)
    own = form.answers(answers, asked)
    (found,) = _judged(asked, [own], jobs, as_json)
    if as_json:
        print_json(telling.document(own, found))
    else:
        show(*telling.sheet(asked, own, found))


@group.command("collect")
def collect(
    what: list[Path] = argument(
        "ANSWERS...", "Files of predictions, or folders: all in them named *answers.toml."
    ),
    lesson: Path | None = option("--lesson", "DIR", _LESSON),
    out: Path | None = option("-o --out", "FILE", "Page to write."),
    jobs: int | None = JOBS,
    force: bool = options.FORCE,
    as_json: bool = options.JSON,
) -> int:
    """Put a room's predictions beside what runs gave: a seed for each student shows chance.

    Files with mistakes are named and left out; the exit status is 3 then.
    """
    from perhop.lesson import form, telling
    from perhop.report.page import write_page

    may_replace = options.target(out, force)
    files = list(dict.fromkeys(form.files(what)))
    if not files:
        raise UsageError(f"{what[0]}: no file in it ends in {form.ANSWERS}", "name files of answers")
    asked, sheets = _lesson(what[0] if what[0].is_dir() else files[0], lesson), []
    for file in files:
        try:
            sheets.append(form.answers(file, asked))
        except form.LessonError as error:
            note(str(error).rstrip())
    if not sheets:
        raise CommandError(ExitCode.INVALID, "no file of answers is without mistakes")
    found = list(zip(sheets, _judged(asked, sheets, jobs, as_json), strict=True))
    words = ["perhop", "lesson", "collect", *map(str, what), *(["--lesson", str(lesson)] if lesson else [])]
    if as_json:
        print_json([telling.document(*one) for one in found])
    else:
        show(*telling.room(asked, found))
    if out is not None:
        write_page(out, telling.render(asked, found, shlex.join([*words, "-o", str(out)])), may_replace)
    if not as_json:
        print(out or f"next: {shlex.join([*words, '-o', 'room.html'])}")
    if left_out := len(files) - len(sheets):
        note(f"warning: {left_out} of {len(files)} files left out: they have mistakes")
        return ExitCode.INVALID
    return ExitCode.DONE


def _lesson(beside: Path, given: Path | None) -> Lesson:
    """Read the lesson in a folder that is given, or in that of answers."""
    from perhop.lesson import form

    folder = given or (beside if beside.is_dir() else beside.parent)
    if not (folder / form.FILE).is_file():
        hint = "--lesson DIR says where the lesson is; perhop init --pack lesson-bufferbloat DIR writes one"
        raise UsageError(f"{folder}: has no {form.FILE}", hint)
    return form.load(folder)


def _judged(lesson: Lesson, sheets: Sequence[Answers], jobs: int | None, quiet: bool) -> list[list[Outcome]]:
    from perhop.lesson.judging import judge

    with Progress("runs", quiet=quiet) as progress:
        return judge(lesson, sheets, jobs or os.cpu_count() or 1, progress.update)
