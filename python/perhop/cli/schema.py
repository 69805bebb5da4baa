"""`perhop schema`: the JSON Schema of scenario files, for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perhop.cli import options


def command(
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write to this file instead; - is stdout.")
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Print the JSON Schema of scenario files (JSON, with or without --json)."""
    from perhop import _core
    from perhop.folder import always, never, write_file

    text = _core.schema().rstrip() + "\n"
    if out is None or str(out) == "-":
        print(text, end="")
    else:
        may_replace = always if force else never
        options.check_target(out, may_replace)
        write_file(out, text, may_replace)
