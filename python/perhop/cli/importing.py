"""`perhop import`: scenarios from files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perhop.cli import options
from perhop.cli.exit import CommandError, ExitCode

if TYPE_CHECKING:
    from perhop.import_ns2 import Imported

MOST_TOLD = 100
"""Most lines that are printed; the rest is counted."""
MOST_BYTES = 2**20
"""Most bytes of a script."""

group = typer.Typer(
    help="Write a scenario from a file of another program.", rich_markup_mode=None, no_args_is_help=True
)


@group.callback()
def _group() -> None:
    """Write a scenario from a file of another program."""


@group.command("ns2")
def ns2(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="Script of ns-2 (OTcl).")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Write the scenario to this file; without it, to stdout."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Write a scenario from a literal ns-2 script. Nothing is executed; what is not taken is named."""
    from perhop.cli.output import print_json
    from perhop.import_ns2 import imported
    from perhop.run.folder import never, write_file

    may_replace = options.target(out, force) if out is not None else never
    found = imported(_read(script), script.name)
    wrong = _mistakes(found, script) if found.text else ""
    if found.text and not wrong and out is not None:
        write_file(out, found.text, may_replace)
    if as_json:
        print_json(
            {
                "script": str(script),
                "scenario": str(out) if out is not None and found.text and not wrong else None,
                "text": found.text if out is None else None,
                "refused": [remark._asdict() for remark in found.refused],
                "left_out": [remark._asdict() for remark in found.left_out],
            }
        )
    else:
        _tell(found, script, out, bool(wrong))
    if wrong:
        raise CommandError(
            ExitCode.INVALID, f"{script}: the scenario that it makes is not valid, nothing written\n{wrong}"
        )
    return ExitCode.INVALID if found.refused else ExitCode.DONE


def _read(script: Path) -> str:
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
    return "\n".join(mistake["rendered"].rstrip() for mistake in mistakes)


def _tell(found: Imported, script: Path, out: Path | None, wrong: bool) -> None:
    from perhop.cli.output import note
    from perhop.units import counted

    for kind, remarks in (("left out", found.left_out), ("refused", found.refused)):
        for remark in remarks[:MOST_TOLD]:
            note(f"{kind}: {remark}")
        if len(remarks) > MOST_TOLD:
            note(f"{kind}: {len(remarks) - MOST_TOLD} more")
    if found.refused:
        note(
            f"{script}: {counted(len(found.refused), 'line')} refused, nothing written; "
            "docs/import-ns2.md says what is taken"
        )
    elif not wrong and out is not None:
        print(out)
    elif not wrong:
        print(found.text, end="")
