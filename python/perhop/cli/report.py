"""`perhop report`: one page about one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perhop.cli import options


def command(
    run: options.RunFolder,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Page to write; default RUN/report.html."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write one self-contained HTML page about a run; it opens offline."""
    from perhop.cli.output import print_json
    from perhop.record import StoredRun
    from perhop.report.page import write_page
    from perhop.report.run import render

    own = run / "report.html"
    page = out or own
    stored = StoredRun.load(run)
    options.check_target(page, force or page.resolve() == own.resolve())
    write_page(page, render(stored))
    if as_json:
        print_json({"report": str(page)})
    else:
        print(page)
