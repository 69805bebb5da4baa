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
    from rich.console import Console

    from perhop._core import Diagnostic
    from perhop.scenario.scenario import Scenario

# A terminal that lacks a character shows a question mark in its place; stderr replaces by itself.
if isinstance(sys.stdout, io.TextIOWrapper):
    sys.stdout.reconfigure(errors="replace")

MOST_ROWS = 20
"""Rows that a table shows unless it is told otherwise."""

_WIDTH_WITHOUT_TERMINAL = 140


def print_json(value: Any) -> None:
    """Print a value as indented JSON; what is not a number becomes null."""
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


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


def note(text: str) -> None:
    """Print a remark to stderr; that nobody reads it any more is no reason to end."""
    with suppress(BrokenPipeError):
        print(painted(text), file=sys.stderr, flush=True)


def print_lines(title: str, lines: Sequence[str], whole: str = "") -> None:
    """Print whole lines under a title, or nothing if there are none. Of many only the first."""
    if lines:
        cut = [_cut(MOST_ROWS, len(lines), "lines", "the first", whole)] if len(lines) > MOST_ROWS else []
        print(title, *lines[:MOST_ROWS], *cut, sep="\n", end="\n\n")


def expanded(scenario: Scenario) -> str:
    """Return how many flows each `[[flow]]` and `[[udp]]` stands for that is not one; empty if all are."""
    several = ", ".join(f"{name} {count}" for name, count in scenario.core.counts)
    return f"flows: {several}" if several else ""


def warn(warnings: Sequence[Diagnostic]) -> None:
    """Print warnings of a scenario to stderr."""
    for warning in warnings:
        note(warning["rendered"].rstrip() + "\n")


def console() -> Console:
    """Return stdout as rich sees it; without a terminal it is wide and plain. NO_COLOR is heeded by rich."""
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the command line, which ends quietly; rich would exit with 1."""
            raise BrokenPipeError

    return Pipe(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Iterable[str]],
    whole: str = "",
    *,
    picked: str = "the first",
    most: int = MOST_ROWS,
    of: int | None = None,
    wrap: bool = False,
) -> None:
    """Print a table, numbers to the right. Of a long one only the start, with how long it is.

    Parameters
    ----------
    title, columns, rows
        Text of the table.
    whole
        Where all rows of a long table are, such as `in FILE`.
    picked
        What the rows at the start are, in the order given.
    most
        Rows shown.
    of
        How many rows there are, where `rows` are already a choice.
    wrap
        Break long text in the last column instead of cutting it.
    """
    from rich import box
    from rich.table import Table

    shown = [tuple(row) for row in rows[:most]]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, column in enumerate(columns):
        numbers = all(row[index][:1].isdigit() or row[index] == "-" for row in shown)
        table.add_column(
            column,
            justify="right" if numbers and index else "left",
            no_wrap=not (wrap and index == len(columns) - 1),
        )
    for row in shown:
        table.add_row(*row)
    out = console()
    if title:
        out.print(title, style="italic", markup=False)
    out.print(table)
    total = len(rows) if of is None else of
    if total > len(shown):
        out.print(_cut(len(shown), total, "rows", picked, whole), markup=False, soft_wrap=True)
    out.print()


def _cut(shown: int, of: int, what: str, picked: str, whole: str) -> str:
    """Say how much is shown, and where all of it is."""
    return f"{shown} of {of} {what}, {picked}" + (f"; all are {whole}" if whole else "")
