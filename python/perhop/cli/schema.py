"""`perhop schema`: the JSON Schema of scenario or campaign files, for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perhop.cli import options


def command(
    campaign: Annotated[bool, typer.Option("--campaign", help="Of campaign files instead.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write to this file instead; - is stdout.")
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Print the JSON Schema of scenario files (JSON, with or without --json)."""
    from perhop import _core
    from perhop.run.folder import write_file

    text = (_core.campaign_schema() if campaign else _core.schema()).rstrip() + "\n"
    if out is None or str(out) == "-":
        print(text, end="")
    else:
        write_file(out, text, options.target(out, force))
