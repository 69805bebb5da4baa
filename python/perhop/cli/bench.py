"""`perhop bench`: speed and memory of the engine, by the benchmark in the source checkout."""

from __future__ import annotations

import shutil
import subprocess

from perhop.cli import options
from perhop.cli.exit import CommandError, ExitCode, UsageError
from perhop.cli.options import option


def command(
    case: list[str] | None = option("--case", "ID", "Only this case; may be repeated."),
    as_json: bool = options.JSON,
) -> int:
    """Measure speed and memory of the engine (needs the source checkout and cargo)."""
    from perhop.run.record import checkout

    top = checkout()
    if top is None:
        message = "the benchmark is built from the source checkout, and this is an installed wheel"
        raise CommandError(ExitCode.MACHINE, message)
    names = (top / "bench" / "cases" / "names.txt").read_text("utf-8").split()
    for one in case or []:
        if one not in names:
            raise UsageError(f"--case {one}: no such case", f"choose among {', '.join(names)}")
    if shutil.which("cargo") is None:
        raise CommandError(ExitCode.MACHINE, "cargo is not installed", "install Rust with rustup")
    words = ["cargo", "run", "--release", "--quiet", "--locked", "-p", "perhop-bench", "--"]
    words += ["--json"] if as_json else []
    for one in case or []:
        words += ["--case", one]
    code = subprocess.run(words, cwd=top, check=False).returncode
    return code if code in (ExitCode.DONE, ExitCode.USAGE) else ExitCode.INTERNAL
