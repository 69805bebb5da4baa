"""Printing of commands: results on stdout, everything else on stderr."""

from __future__ import annotations

import difflib
import io
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perhop.cli.paint import painted

if TYPE_CHECKING:
    from perhop._core import Diagnostic
    from perhop.scenario.scenario import Scenario

# A terminal that lacks a character shows a question mark in its place; stderr replaces by itself.
if isinstance(sys.stdout, io.TextIOWrapper):
    sys.stdout.reconfigure(errors="replace")


def print_json(value: Any) -> None:
    """Print a value as indented JSON; numbers that are not finite become null."""
    sys.stdout.write(json_text(value))


def json_text(value: Any) -> str:
    """Return a value as `print_json` prints it."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def answer(document: Any, text: object, as_json: bool) -> None:
    """Print a document as JSON if that is asked for, else a text."""
    if as_json:
        print_json(document)
    else:
        print(text)


def meant(name: str, known: Iterable[str]) -> str:
    """Return "did you mean ...? ", the start of a hint, where a known name is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]}? " if near else ""


def hint_for(error: OSError) -> str:
    """Return a hint: what a folder is, or the file with nearly the name of one that is missing."""
    if not isinstance(error.filename, str):
        return ""
    asked = Path(error.filename)
    with suppress(OSError):
        if isinstance(error, IsADirectoryError):
            return _of_folder(asked)
        if isinstance(error, FileNotFoundError):
            there = {one.stem: one for one in asked.parent.iterdir() if one.suffix == asked.suffix}
            near = difflib.get_close_matches(asked.stem, there, 1)
            return f"there is {there[near[0]]}" if near else ""
    return ""


def _of_folder(folder: Path) -> str:
    """Return a hint for a folder in the place of a file."""
    from perhop.experiment.kinds import is_store, is_study

    if is_study(folder):
        return f"it is a study: perhop reproduce {as_word(folder)}"
    if is_store(folder):
        return f"it is the store of a campaign: perhop analyze {as_word(folder)}"
    if (folder / "record.json").is_file():
        return f"it is a run: perhop report {as_word(folder)}"
    files = sorted(one.name for one in folder.glob("*.toml") if one.name.isprintable())
    return f"it has {', '.join(files[:5])}{', ...' if len(files) > 5 else ''}" if files else ""


def as_word(path: Path) -> str:
    """Return a path as the last words of a command, which is no option whatever it begins with."""
    return ("-- " if str(path).startswith("-") else "") + shlex.quote(str(path))


def note(*texts: str) -> None:
    """Print remarks to stderr; go on where nobody reads them any more."""
    with suppress(BrokenPipeError):
        for text in texts:
            print(painted(text), file=sys.stderr, flush=True)


def expanded(scenario: Scenario) -> str:
    """Return the number of flows of each `[[flow]]` and `[[udp]]`; empty where each stands for one."""
    counts = scenario.core.counts
    if all(count == 1 for _, count in counts):
        return ""
    return "flows: " + ", ".join(f"{name} {count}" for name, count in counts)


def warn(warnings: Sequence[Diagnostic]) -> None:
    """Print warnings of a scenario to stderr."""
    for warning in warnings:
        note(warning["rendered"].rstrip() + "\n")
