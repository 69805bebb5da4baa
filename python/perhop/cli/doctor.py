"""`perhop doctor`: what this machine can do, what is missing, and the command that adds it."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import asdict, dataclass

from perhop.cli import options
from perhop.cli.exit import ExitCode


@dataclass(frozen=True)
class Finding:
    """One thing looked for; `adds` is the command that brings it."""

    what: str
    found: str | None
    needed_for: str
    adds: str = ""
    required: bool = False
    section: str = "perhop"


def command(as_json: options.Json = False) -> int:
    """Say what this machine can do and what is missing."""
    from perhop.cli.output import print_json, print_table

    findings = [*_look(), *_real_packets()]
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        for section in dict.fromkeys(finding.section for finding in findings):
            print_table(
                section,
                ("what", "found", "needed for", "to add it"),
                [
                    (one.what, one.found or "missing", one.needed_for, "" if one.found else one.adds)
                    for one in findings
                    if one.section == section
                ],
                wrap=True,
            )
    missing = any(finding.required and finding.found is None for finding in findings)
    return ExitCode.MACHINE if missing else ExitCode.DONE


def _look() -> list[Finding]:
    return [
        Finding("Python", platform.python_version(), "everything", required=True),
        Finding("perhop core", _core_version(), "everything", "make build", required=True),
        Finding("cores", str(len(os.sched_getaffinity(0))), "replications side by side"),
        Finding("cargo", shutil.which("cargo"), "perhop bench", "install Rust with rustup"),
        Finding("chromium", shutil.which("chromium"), "the browser test", "apt-get install chromium"),
        Finding("ns", shutil.which("ns"), "the speed comparison of perhop bench", "apt-get install ns2"),
    ]


def _real_packets() -> list[Finding]:
    """Look for what real packets need; without the core nothing else matters."""
    if _core_version() is None:
        return []
    from perhop.machine import look

    return [Finding(one.what, one.found, one.needed_for, one.adds, section="real packets") for one in look()]


def _core_version() -> str | None:
    try:
        from perhop import _core
    except ImportError:
        return None
    return _core.__version__
