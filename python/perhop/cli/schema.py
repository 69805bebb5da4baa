"""`perhop schema`: the JSON Schema of scenario, campaign or claims files, for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perhop.cli import options
from perhop.cli.exit import UsageError


def command(
    campaign: Annotated[bool, typer.Option("--campaign", help="Of campaign files instead.")] = False,
    claims: Annotated[bool, typer.Option("--claims", help="Of claims files instead.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write to this file instead; - is stdout.")
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Print the JSON Schema of scenario files (JSON, with or without --json)."""
    from perhop import _core
    from perhop.judge.grammar import schema
    from perhop.run.folder import write_file

    if campaign and claims:
        raise UsageError("--campaign and --claims: of which files?", "give one of them")
    text = schema() if claims else _core.campaign_schema() if campaign else _core.schema()
    text = text.rstrip() + "\n"
    if out is None or str(out) == "-":
        print(text, end="")
    else:
        write_file(out, text, options.target(out, force))
