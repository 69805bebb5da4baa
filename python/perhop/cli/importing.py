"""`perhop import`: scenarios from files of other programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from perhop.cli import options
from perhop.cli.exit import CommandError, ExitCode, UsageError
from perhop.cli.options import argument, option
from perhop.cli.output import note, print_json
from perhop.units import counted, quantity

if TYPE_CHECKING:
    from perhop._core import Diagnostic
    from perhop.import_ns2 import Imported

_OUT = "Write the scenario to this file; without it, to stdout."

MOST_TOLD = 100
"""Most lines that are printed; the rest is counted."""
MOST_BYTES = 2**20
"""Most bytes of a script."""

group = options.group("Write a scenario from a file of another program.")


@group.command("ns2")
def ns2(
    script: Path = argument("SCRIPT", "Script of ns-2 (OTcl)."),
    out: Path | None = option("-o --out", None, _OUT),
    force: bool = options.FORCE,
    as_json: bool = options.JSON,
) -> int:
    """Write a scenario from a literal ns-2 script. Nothing is executed; what is not taken is named."""
    from perhop.import_ns2 import imported

    may_replace = options.target(out, force)
    return _finish(imported(_read(script), script.name), script, "ns2", out, may_replace, as_json)


@group.command("tc")
def tc(
    file: Path = argument(
        "FILE", "What tc shows of a device, or a script of its commands; - for standard input."
    ),
    out: Path | None = option("-o --out", None, _OUT),
    device: str | None = option("--device", "DEV", "Of several devices this one."),
    rate: str | None = option(
        "--rate", "RATE", "Of the link behind it; twice what it is held to, or 100Mbit/s."
    ),
    round_trip: str = option("--round-trip", "TIME", "There and back, nothing waiting.", "30ms"),
    force: bool = options.FORCE,
    as_json: bool = options.JSON,
) -> int:
    """Write a scenario of a Linux device's queues. Nothing is executed; what is not taken is named."""
    from perhop.import_tc import imported

    may_replace = options.target(out, force)
    bit_s = _base("--rate", rate, "bit/s", "20Mbit/s") if rate else 0
    trip_ns = _base("--round-trip", round_trip, "s", "30ms", 1e9)
    try:
        found = imported(_read(file), file.name, device, bit_s, trip_ns)
    except LookupError as error:
        raise UsageError(f"--device {device}: {file} has no such device", f"one of {error}") from None
    return _finish(found, file, "tc", out, may_replace, as_json)


def _base(name: str, text: str, unit: str, such_as: str, scale: float = 1.0) -> int:
    """Return the value of an option in base units."""
    try:
        value, found = quantity(text)
    except ValueError:
        value, found = 0.0, ""
    if found != unit or not 0 < value * scale < 1e18:
        raise UsageError(f"{name} {text}: not a {name[2:].replace('-', ' ')}", f"such as {name} {such_as}")
    return round(value * scale)


def _finish(
    found: Imported,
    file: Path,
    kind: str,
    out: Path | None,
    may_replace: Callable[[Path], bool],
    as_json: bool,
) -> int:
    """Write or print what was imported, and every remark; return the exit status."""
    from perhop.run.folder import write_file

    wrong = _mistakes(found, file) if found.text else ""
    written = out if found.text and not wrong else None
    if written is not None:
        write_file(written, found.text, may_replace)
    if as_json:
        refused, left_out = ([one._asdict() for one in told] for told in (found.refused, found.left_out))
        document = {"script": str(file), "scenario": None if written is None else str(written)}
        document |= {"text": found.text if out is None else None}
        print_json({**document, "refused": refused, "left_out": left_out})
    else:
        _tell(found, file, kind, out, bool(wrong))
    if wrong:
        message = f"{file}: the scenario that it makes is not valid, nothing written"
        raise CommandError(ExitCode.INVALID, f"{message}\n{wrong}")
    return ExitCode.INVALID if found.refused else ExitCode.DONE


def _read(script: Path) -> str:
    if str(script) == "-":
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        with script.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise CommandError(ExitCode.INVALID, f"{script}: more than {MOST_BYTES // 2**20} MiB")
    # OTcl is in the encoding of its time; what is no UTF-8 can only be in comments and texts
    return data.decode("utf-8", "replace")


def _mistakes(found: Imported, script: Path) -> str:
    """Return the mistakes that `perhop check` finds in the scenario, as text."""
    from perhop.scenario.scenario import Scenario

    mistakes, _ = Scenario(found.text.encode(), f"{script.name}.toml").diagnose()
    lines = found.text.split("\n")
    return "\n".join(_at_source(one, lines[: one["line"] or 0]) for one in mistakes)


def _at_source(mistake: Diagnostic, above: list[str]) -> str:
    """Return a mistake as one of the lines of the script that the comments above it name."""
    sources = list[str]()
    while above and above[-1]:
        comment = above.pop()
        if comment.startswith("# line "):
            sources.insert(0, comment.removeprefix("# "))
    if not sources:
        return mistake["rendered"].rstrip()
    # of a class and its qdisc, the queue is from the latter
    table, _, key = mistake["path"].rpartition(".queue.")
    return f"{sources[-1] if table else '; '.join(sources)}: {key}: {mistake['rule']}"


def _tell(found: Imported, script: Path, kind: str, out: Path | None, wrong: bool) -> None:
    for what, remarks in (("left out", found.left_out), ("refused", found.refused)):
        for remark in remarks[:MOST_TOLD]:
            note(f"{what}: {remark}")
        if len(remarks) > MOST_TOLD:
            note(f"{what}: {len(remarks) - MOST_TOLD} more")
    if found.refused:
        note(
            f"{script}: {counted(len(found.refused), 'line')} refused, nothing written; "
            f"docs/import-{kind}.md says what is taken"
        )
    elif not wrong and out is not None:
        print(out)
    elif not wrong:
        print(found.text, end="")
