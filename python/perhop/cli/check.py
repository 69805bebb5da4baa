"""`perhop check`: every mistake in a scenario, campaign, lesson, study or claims, its place and a remedy."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perhop.cli import options
from perhop.cli.exit import ExitCode, UsageError, error_text
from perhop.cli.options import argument
from perhop.cli.output import as_word, expanded, hint_for, note, print_json, warn
from perhop.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perhop._core import Diagnostic
    from perhop.papers.study import Study

    Read = tuple[Study | None, list[Diagnostic], list[Diagnostic]]


def command(
    files: list[Path] = argument(
        "FILE...", "Scenario, campaign or claims files (TOML), lesson.toml, or studies (DIR)."
    ),
    overrides: list[str] | None = options.SET,
    as_json: bool = options.JSON,
) -> int:
    """Validate scenarios, campaigns, claims, lessons and studies: all mistakes in one pass, then warnings."""
    found, unread, read = [], [], cache(_read_study)
    for file in files:
        try:
            found.append((str(file), _checked(file, overrides, read)))
        except OSError as error:
            message, hint = f"{error.filename or file}: {error.strerror}", hint_for(error)
            if file.is_dir():
                none = options.no_study(file)
                message, hint = str(none), none.hint
                if any(file.glob("*.toml")):
                    hint = f"its files: perhop check {as_word(file)}/*.toml"
            unread.append(error_text(message, hint))
    if as_json:
        checked = [
            {"file": name, "kind": one.kind, "ok": not one.mistakes, "diagnostics": one.mistakes}
            | {"warnings": one.warnings, "kernel_only": one.kernel_only}
            for name, one in found
        ]
        print_json({"files": checked})
    else:
        for name, one in found:
            for mistake in one.mistakes:
                print(mistake["rendered"].rstrip() + "\n")
            warn(one.warnings)
            verdict = _counted(one.mistakes, "mistake") if one.mistakes else "valid"
            warned = f", {_counted(one.warnings, 'warning')}" if one.warnings else ""
            print(f"{name}: {verdict}{warned}" + (f"; {one.about}" if one.about else ""))
    note(*unread)
    if unread:
        return ExitCode.USAGE
    return ExitCode.INVALID if any(one.mistakes for _, one in found) else ExitCode.DONE


class _Checked(NamedTuple):
    kind: str
    mistakes: list[Diagnostic]
    warnings: list[Diagnostic]
    about: str
    """The contents in a few words, where there are no mistakes."""
    kernel_only: Sequence[Diagnostic] = ()
    """Why virtual time refuses it."""


def _checked(file: Path, overrides: list[str] | None, read_study: Callable[[Path], Read]) -> _Checked:
    """Check a file of any kind."""
    from perhop.experiment.kinds import is_campaign, is_claims, is_lesson, is_study, is_study_part

    if is_study(file) or is_study_part(file) or is_lesson(file):
        if overrides:
            raise UsageError(f"{file} takes no -s", "-s goes with a scenario, a campaign or claims")
        if is_lesson(file):
            return _lesson(file)
        return _study(*read_study(file)) if is_study(file) else _of_study(file, *read_study(file.parent))
    scenario = options.read(file, overrides)
    if is_claims(scenario.source):
        return _claims(file)
    if is_campaign(scenario.source):
        from perhop.experiment.definition import read

        campaign, mistakes, warnings = read(file, scenario.overrides)
        return _Checked("campaign", mistakes, warnings, f"campaign: {campaign}" if campaign else "campaign")
    from perhop._core import ScenarioError

    mistakes, warnings = scenario.diagnose()
    if not mistakes:
        try:
            scenario.try_elements()
        except ScenarioError as error:
            mistakes = error.diagnostics
    if mistakes:
        return _Checked("scenario", mistakes, warnings, "")
    only = scenario.kernel_only()
    asked = ", ".join(f"{one['path']} is {one['value']}" for one in only)
    arm = f"runs on real packets alone (perhop emulate): {asked}" if only else ""
    return _Checked("scenario", [], warnings, "; ".join(filter(None, (expanded(scenario), arm))), only)


def _claims(file: Path) -> _Checked:
    """Check a file of claims against the design of its campaign."""
    from perhop.judge.campaign import checked
    from perhop.judge.grammar import ClaimsError

    try:
        claims, campaign, *_ = checked(file)
    except ClaimsError as error:
        return _Checked("claims", error.diagnostics, [], "claims")
    many = len(claims.claims)
    names = "it names" if many == 1 else "they name"
    about = f"about {claims.file.campaign}" if campaign else f"of no campaign: what {names} is not checked"
    return _Checked("claims", [], [], f"{counted(many, 'claim')} {about}")


def _lesson(file: Path) -> _Checked:
    """Check a lesson with the scenarios that it names."""
    from perhop.lesson import form

    try:
        questions = form.load(file.parent).questions
    except form.LessonError as error:
        return _Checked("lesson", error.diagnostics, [], "lesson")
    return _Checked("lesson", [], [], f"lesson: {counted(len(questions), 'question')}")


def _read_study(path: Path) -> Read:
    """Read the files of a study together."""
    from perhop.papers.folder import check

    return check(path)


def _study(found: Study | None, mistakes: list[Diagnostic], warnings: list[Diagnostic]) -> _Checked:
    if found is None:
        return _Checked("study", mistakes, [], "study")
    parts = ((found.claims, "claim"), (found.about, "campaign"), (found.readings, "reading"))
    about = ", ".join(counted(len(own), what) for own, what in parts)
    return _Checked("study", [], warnings, f"study: {about}")


def _of_study(
    file: Path, found: Study | None, mistakes: list[Diagnostic], warnings: list[Diagnostic]
) -> _Checked:
    """Check a file that is read with the study beside it: what is wrong there, or why it cannot be told."""
    from perhop.papers.form import StudyError
    from perhop.papers.kernel import FILE, arms

    about = f"of study {file.parent}"
    if found and file.name == FILE:
        try:
            about = f"{counted(len(arms(found)) - 1, 'arm')} on real packets"
        except StudyError as error:
            mistakes = error.diagnostics
    elif found:
        about = counted(len(found.readings), "reading")
    place = f"{file.name}:"
    return _Checked("study", mistakes, [one for one in warnings if place in one["rendered"]], about)


def _counted(diagnostics: list[Diagnostic], what: str) -> str:
    """Return their number as text; the last of a long list stands for all that are not shown."""
    return counted(sum(one["count"] for one in diagnostics), what)
