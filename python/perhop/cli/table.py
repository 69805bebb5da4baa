"""`perhop table`: one table of a run, as CSV or Parquet."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import typer

from perhop.cli import options
from perhop.cli.exit import CommandError, ExitCode


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Table: flows, classes, links, queues, series, ...")
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="csv or parquet; without it CSV goes to stdout."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Give one table of a run to another program; docs/results.md tells its columns."""
    from perhop.cli.output import print_json
    from perhop.folder import always, never, write_file
    from perhop.record import StoredRun

    stored = StoredRun.load(run)
    if name not in stored.tables:
        known = ", ".join(stored.tables)
        raise CommandError(ExitCode.USAGE, f"{run}: no table {name!r}", f"there is {known}")
    table = stored.tables[name]
    if as_json:
        print_json(table.to_dicts())
    elif out is None:
        print(table.write_csv(), end="")
    else:
        content = io.BytesIO()
        if out.suffix == ".csv":
            table.write_csv(content)
        elif out.suffix == ".parquet":
            table.write_parquet(content)
        else:
            raise CommandError(ExitCode.USAGE, f"{out}: a table is no {out.suffix}", "take csv or parquet")
        may_replace = always if force else never
        options.check_target(out, may_replace)
        write_file(out, content.getvalue(), may_replace)
        print(out)
