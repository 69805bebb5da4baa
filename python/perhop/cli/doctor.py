"""`perhop doctor`: what this machine can do, what is missing, and the command that adds it."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import msgspec

from perhop.cli import options
from perhop.cli.exit import ExitCode
from perhop.cli.options import flag
from perhop.cli.output import note, print_json
from perhop.say.document import Table
from perhop.say.terminal import show

_STEADY = 0.05
"""The share of a second below half speed up to which runs on real packets are hardly ever refused."""

_SERVE = ("starlette", "uvicorn")


@dataclass(frozen=True)
class Finding:
    """One thing looked for; `adds` is the command that brings it."""

    what: str
    found: str | None
    needed_for: str
    adds: str = ""
    required: bool = False
    section: str = "perhop"


def command(
    parallel: bool = flag("--parallel", "Measure how many runs on real packets may go side by side."),
    as_json: bool = options.JSON,
) -> int:
    """Say what this machine can do and what is missing."""
    if parallel:
        return _side_by_side(as_json)
    findings = [*_look(), *_real_packets()]
    if as_json:
        print_json({"findings": findings})
    else:
        for section in dict.fromkeys(one.section for one in findings):
            rows = [
                (one.what, one.found or "missing", one.needed_for, "" if one.found else one.adds)
                for one in findings
                if one.section == section
            ]
            show(Table(section, ("what", "found", "needed for", "to add it"), rows))
    missing = any(one.required and one.found is None for one in findings)
    return ExitCode.MACHINE if missing else ExitCode.DONE


def _side_by_side(as_json: bool) -> int:
    """Measure live runs side by side, print the figures and keep them."""
    from perhop.run import cores
    from perhop.stats.intervals import mean_interval

    note(
        f"{cores.MEANING}: alone {cores.ALONE} times, then {', '.join(map(str, cores.STEPS))} at once "
        f"until that distorts them; {cores.ABOUT_S} s at most, with nothing else to do for this machine"
    )
    found = cores.measure(lambda step, fits: note(f"{step.runs}: {'undistorted' if fits else 'distorted'}"))
    file = cores.keep(found) if found.most else None
    status = ExitCode.DONE if file else ExitCode.MACHINE
    if as_json:
        print_json({**msgspec.to_builtins(found), "file": file and str(file)})
        return status
    rows = []
    for step in found.steps:
        goodput = mean_interval(step.goodput_bit_s)
        spread = f" +- {goodput.half_width / 1e6:.3f}" if goodput.n > 1 else ""
        late = [f"{1e3 * (value or 0):.2f} ms" for value in (step.late_p99_s, step.applications_late_p99_s)]
        rows.append((str(step.runs), f"{goodput.mean / 1e6:.3f}{spread}", *late, "; ".join(step.over_budget)))
    columns = ("at once", "goodput in Mbit/s", "packets late, 99 %", "sockets late, 99 %", "over the budget")
    show(Table("Live runs side by side", columns, rows))
    if file:
        print(f"undistorted: {found.most} at once; kept in {file}")
    else:
        note("error: one alone is over its budget\nhint: try when this machine has nothing else to do")
    return status


def _look() -> list[Finding]:
    return [
        Finding("Python", platform.python_version(), "everything", required=True),
        Finding("perhop core", _core_version(), "everything", "make build", required=True),
        Finding("cores", str(len(os.sched_getaffinity(0))), "replications side by side"),
        Finding("cargo", shutil.which("cargo"), "perhop bench", "install Rust with rustup"),
        *(Finding(name, _version(name), "perhop serve", "pip install 'perhop[ui]'") for name in _SERVE),
        Finding("chromium", shutil.which("chromium"), "the browser test", "apt-get install chromium"),
        Finding("ns", shutil.which("ns"), "the speed comparison of perhop bench", "apt-get install ns2"),
    ]


def _real_packets() -> list[Finding]:
    """Look for the needs of real packets; without the core, for nothing."""
    if _core_version() is None:
        return []
    from perhop.run.machine import look, slowed

    section = "real packets"
    looked = [Finding(**vars(one), section=section) for one in look()]
    slow = slowed()
    found = f"{100 * slow:.1f} % of a second below half speed"
    adds = f"{found}: is the host of this virtual machine busy? try again"
    steady = found if slow <= _STEADY else None
    return [*looked, Finding("steady processor", steady, "packets on time", adds, section=section)]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _core_version() -> str | None:
    try:
        from perhop import _core
    except ImportError:
        return None
    return _core.__version__
