"""`perhop table`: one table of a run, or the responses of a campaign, as CSV or Parquet."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from perhop.cli import options
from perhop.cli.exit import UsageError
from perhop.cli.options import argument, option

if TYPE_CHECKING:
    import polars as pl


def command(
    run: Path = argument("RUN", "Folder of a run, or the store of a campaign."),
    name: str = argument("NAME", "Table: flows, classes, links, queues, series, ...; of a store, scalars."),
    out: Path | None = option("-o --out", "FILE", "csv or parquet; without it CSV goes to stdout."),
    where: list[str] | None = option(
        "--where", "COLUMN=VALUE", "Only rows that have this; may be repeated, all must hold."
    ),
    force: bool = options.FORCE,
    as_json: bool = options.JSON,
) -> None:
    """Give one table of a run to another program; docs/results.md tells its columns."""
    from perhop.cli.output import print_json
    from perhop.run.folder import write_file

    table = _kept(_found(run, name), where or [])
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
            raise UsageError(f"{out}: a table is no {out.suffix}", "take csv or parquet")
        write_file(out, content.getvalue(), options.target(out, force))
        print(out)


def _found(folder: Path, name: str) -> pl.DataFrame:
    """Return a table of a run or of a store; refuse an unknown one with the names of all."""
    from perhop.cli.output import meant
    from perhop.experiment.kinds import is_store
    from perhop.experiment.store import Store
    from perhop.run.record import StoredRun

    if is_store(folder):
        if name != "scalars":
            raise UsageError(f"{folder}: no table {name!r}", "a store has scalars")
        return Store.open(folder).scalars()
    tables = StoredRun.load(folder).tables
    if name not in tables:
        hint = f"{meant(name, tables)}known here: {', '.join(tables)}"
        raise UsageError(f"{folder}: no table {name!r}", hint)
    return tables[name]


def _kept(table: pl.DataFrame, conditions: list[str]) -> pl.DataFrame:
    """Return the rows that meet every condition; numbers are compared as numbers."""
    import polars as pl

    for condition in conditions:
        column, equals, value = condition.partition("=")
        if not equals or column not in table.columns:
            known = ", ".join(table.columns)
            message = f"--where {condition}: no column {column!r}"
            raise UsageError(message, f"COLUMN=VALUE with one of {known}")
        of_numbers = table[column].dtype.is_numeric()
        try:
            same = pl.col(column) == float(value) if of_numbers else pl.col(column).cast(pl.String) == value
        except ValueError:
            message = f"--where {condition}: {value!r} is no number"
            raise UsageError(message, f"{column} has numbers") from None
        table = table.filter(same)
    return table
