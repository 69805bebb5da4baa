"""Options that several commands share, and the scenario they add up to."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from perhop.cli.exit import UsageError
from perhop.units import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perhop.experiment.store import Store
    from perhop.scenario.scenario import Scenario

T = TypeVar("T")


def option(names: str, metavar: str | None, text: str, default: Any = None, **limits: Any) -> Any:
    """Declare an option: its names, what its value is called, its help, its default and its limits."""
    return typer.Option(default, *names.split(), metavar=metavar, help=text, **limits)


def flag(name: str, text: str) -> Any:
    """Declare an option without a value."""
    return typer.Option(False, name, help=text)


def argument(metavar: str, text: str, default: Any = ...) -> Any:
    """Declare an argument; without a default it must be given."""
    return typer.Argument(default, metavar=metavar, help=text)


def group(text: str) -> typer.Typer:
    """Return a command that has commands."""
    return typer.Typer(help=text, rich_markup_mode=None, no_args_is_help=True)


SCENARIO = argument("SCENARIO", "Scenario file (TOML).")
SET = option("-s --set", "PATH=VALUE", "Override a setting; may be repeated.")
SEED = option("--seed", None, "Same as -s run.seed=N.", min=0, max=2**63 - 1)
UNTIL = option("--until", "TIME", "Same as -s run.duration=TIME.")
FORCE = flag("--force", "Replace a file that is there already.")
JSON = flag("--json", "Print JSON.")
ALL = flag("--all", "Print every row of long tables.")
LEVEL = option("--level", "SHARE", "Confidence of intervals.", 0.95)
WHERE = option(
    "--where", "FACTOR=LEVEL", "Of a campaign only this level, or several: LEVEL|LEVEL; may be repeated."
)


def load(
    file: Path, overrides: list[str] | None, seed: int | None = None, until: str | None = None
) -> Scenario:
    """Read a scenario as `read` does; refuse a file of a campaign or of claims in its place."""
    scenario = read(file, overrides, seed, until)
    if scenario.check():
        from perhop.experiment.kinds import is_campaign

        refuse_lesson(file)
        refuse_claims(file, scenario.source)
        if is_campaign(scenario.source):
            hint = f"perhop campaign run {shlex.quote(str(file))}; its scenario stands after `scenario =`"
            raise UsageError(f"{file} is the file of a campaign, not a scenario", hint)
    return scenario


def no_study(folder: Path) -> UsageError:
    """Return the error of a folder that is no study."""
    return UsageError(f"{folder}: has no study.toml", "perhop init --study NAME writes one")


def refuse_lesson(file: Path) -> None:
    """Refuse the questions of a lesson in place of a scenario or a campaign."""
    from perhop.experiment.kinds import is_lesson

    if is_lesson(file):
        answers = shlex.quote(str(file.with_name("answers.toml")))
        message = f"{file} has the questions of a lesson, and is no scenario"
        raise UsageError(message, f"fill in your predictions, then: perhop lesson check {answers}")


def refuse_claims(file: Path, source: bytes) -> None:
    """Refuse a file of claims in place of a scenario or a campaign."""
    from perhop.experiment.kinds import is_claims

    if is_claims(source):
        word = shlex.quote(str(file))
        message = f"{file} is a file of claims, which are judged on what a campaign measured"
        raise UsageError(message, f"perhop check {word}, and perhop analyze STORE --claims {word}")


def read(
    file: Path, overrides: list[str] | None, seed: int | None = None, until: str | None = None
) -> Scenario:
    """Read a scenario with its overrides in the order written, then `--seed` and `--until`."""
    from perhop.scenario.scenario import Scenario

    assignments = list(overrides or [])
    for assignment in assignments:
        path, equals, _ = assignment.partition("=")
        lacks = "path" if equals and not path.strip() else "value" if not equals else ""
        if lacks:
            raise UsageError(f"-s {assignment}: no {lacks}", "write -s path=value, such as -s run.seed=2")
    if seed is not None:
        assignments.append(f"run.seed={seed}")
    if until is not None:
        seconds("--until", until)
        assignments.append(f"run.duration={until}")
    return Scenario.load(file, tuple(assignments))


def opened(folder: Path, where: list[str] | None) -> Store:
    """Open a store, or the slice of it that `--where` asks for."""
    from perhop.experiment.slices import SliceError
    from perhop.experiment.store import Store

    try:
        return Store.open(folder).where(where or [])
    except SliceError as error:
        raise UsageError(f"--where {error}", error.hint) from error


def check_level(level: float) -> None:
    """Refuse a confidence that is none."""
    if not 0.0 < level < 1.0:
        raise UsageError(f"--level {level:g}: must lie inside (0, 1)", "such as 0.95")


def seconds(option: str, text: str) -> float:
    """Return a time such as ``2.5s`` or ``300 ms`` in seconds."""
    written = re.fullmatch(r"\d+(?:\.\d+)? ?(s|ms|us|µs|ns)", text.strip())
    if written is None:
        hint = f"write digits, with a point or without, and a unit, such as {option} 2.5s or {option} 300ms"
        raise UsageError(f"{option} {text}: not a time", hint)
    return quantity(written[0])[0]


def to_stdout(out: Path | None, as_json: bool) -> bool:
    """Return whether `-o -` is asked for; refuse it beside `--json`."""
    if str(out) == "-" and as_json:
        raise UsageError("-o - and --json both write to standard output", "take one")
    return str(out) == "-"


def target(file: Path | None, force: bool) -> Callable[[Path], bool]:
    """Check a file, if one is given, as `check_target` does; return the rule by which it may be replaced."""
    from perhop.run.folder import always, never

    may_replace = always if force else never
    if file is not None:
        check_target(file, may_replace)
    return may_replace


def check_target(file: Path, may_replace: Callable[[Path], bool]) -> None:
    """Refuse a file that must stay, that has no folder, or that is in a run's folder."""
    from perhop.run.folder import is_there, real_name

    real = real_name(file)
    run = next((folder for folder in real.parents if (folder / "record.json").is_file()), None)
    if run is not None and real != run / "report.html":
        raise UsageError(f"{file} is inside the run folder {run}", "write it beside the run folder")
    if not real.parent.is_dir():
        raise UsageError(f"{file}: there is no folder {file.parent}", "make the folder first")
    if not is_there(file):
        return
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is not a file that can be replaced", "give another name")
    if not may_replace(file):
        what = "is a link" if file.is_symlink() else "exists"
        raise UsageError(f"{file} {what}", "give another file with -o, or replace it with --force")


def once(name: str, given: Sequence[T], hint: str) -> T:
    """Return the value of an option that may be given once, where it is given."""
    if len(given) > 1:
        often = "twice" if len(given) == 2 else f"{len(given)} times"
        every = " ".join(f"{name} {one}" for one in given)
        raise UsageError(f"{every}: the option is given {often}", hint)
    return given[0]
