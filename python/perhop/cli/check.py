"""`perhop check`: every mistake in scenario files, with where it is and what would mend it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perhop.cli import options
from perhop.cli.exit import ExitCode


def command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files (TOML).")],
    overrides: options.Set = None,
    as_json: options.Json = False,
) -> int:
    """Validate scenario files: all mistakes in one pass."""
    return _check(files, overrides, as_json)


def _check(files: list[Path], overrides: list[str] | None, as_json: bool) -> int:
    from perhop.cli.output import print_json

    found = {str(file): options.load(file, overrides).check() for file in files}
    if as_json:
        print_json(
            {"files": [{"file": file, "ok": not bad, "diagnostics": bad} for file, bad in found.items()]}
        )
    else:
        for file, mistakes in found.items():
            for mistake in mistakes:
                print(mistake["rendered"].rstrip() + "\n")
            count = f"{len(mistakes)} mistake{'s' if len(mistakes) > 1 else ''}" if mistakes else "valid"
            print(f"{file}: {count}")
    return ExitCode.INVALID if any(found.values()) else ExitCode.DONE
