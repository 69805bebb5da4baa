"""What commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import difflib
import io
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
    """Print a value as indented JSON; what is not a number becomes null."""
    sys.stdout.write(json_text(value))


def json_text(value: Any) -> str:
    """Return what `print_json` prints."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def meant(name: str, known: Iterable[str]) -> str:
    """Return the beginning of a hint, "did you mean ...? ", where a known name is near; else nothing."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]}? " if near else ""


def beside(error: OSError) -> str:
    """Return a hint where a file is missing and one in its folder is called nearly so; else nothing."""
    if not isinstance(error, FileNotFoundError) or not isinstance(error.filename, str):
        return ""
    missing = Path(error.filename)
    with suppress(OSError):
        there = {one.stem: one for one in missing.parent.iterdir() if one.suffix == missing.suffix}
        near = difflib.get_close_matches(missing.stem, there, 1)
        return f"there is {there[near[0]]}" if near else ""
    return ""


def note(*texts: str) -> None:
    """Print remarks to stderr; that nobody reads them any more is no reason to end."""
    with suppress(BrokenPipeError):
        for text in texts:
            print(painted(text), file=sys.stderr, flush=True)


def expanded(scenario: Scenario) -> str:
    """Return how many flows each `[[flow]]` and `[[udp]]` stands for that is not one; empty if all are."""
    several = ", ".join(f"{name} {count}" for name, count in scenario.core.counts)
    return f"flows: {several}" if several else ""


def warn(warnings: Sequence[Diagnostic]) -> None:
    """Print warnings of a scenario to stderr."""
    for warning in warnings:
        note(warning["rendered"].rstrip() + "\n")
