"""`perhop check`: every mistake in scenario files, with where it is and what would mend it; then warnings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perhop.cli import options
from perhop.cli.exit import ExitCode

if TYPE_CHECKING:
    from perhop._core import Diagnostic


def command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files (TOML).")],
    overrides: options.Set = None,
    as_json: options.Json = False,
) -> int:
    """Validate scenario files: all mistakes in one pass, then warnings."""
    return _check(files, overrides, as_json)


def _check(files: list[Path], overrides: list[str] | None, as_json: bool) -> int:
    from perhop.cli.output import expanded, note, print_json, warn

    found, unread = [], []
    counts: dict[str, str] = {}
    for file in files:
        try:
            scenario = options.load(file, overrides)
            mistakes, warnings = scenario.diagnose()
            found.append((str(file), mistakes, warnings))
            if not mistakes:
                counts[str(file)] = expanded(scenario)
        except OSError as error:
            unread.append(f"error: {file}: {error.strerror}")
    if as_json:
        print_json(
            {
                "files": [
                    {"file": name, "ok": not mistakes, "diagnostics": mistakes, "warnings": warnings}
                    for name, mistakes, warnings in found
                ]
            }
        )
    else:
        for name, mistakes, warnings in found:
            for mistake in mistakes:
                print(mistake["rendered"].rstrip() + "\n")
            warn(warnings)
            verdict = _counted(mistakes, "mistake") if mistakes else "valid"
            several = counts.get(name, "")
            warned = f", {_counted(warnings, 'warning')}" if warnings else ""
            print(f"{name}: {verdict}{warned}" + (several and f"; {several}"))
    for message in unread:
        note(message)
    if unread:
        return ExitCode.USAGE
    return ExitCode.INVALID if any(mistakes for _, mistakes, _ in found) else ExitCode.DONE


def _counted(diagnostics: list[Diagnostic], what: str) -> str:
    """Return how many there are; the last of a long list stands for those that are not told."""
    from perhop.units import counted

    return counted(sum(one["count"] for one in diagnostics), what)
