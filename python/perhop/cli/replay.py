"""`perhop replay`: run again what a folder records, and compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perhop.cli import options
from perhop.cli.exit import ExitCode
from perhop.cli.options import argument

if TYPE_CHECKING:
    import polars as pl

    from perhop.run.record import StoredRun


class Traces:
    """A run's traces compared with those that come again, part by part to spare memory.

    Those are compared that have the columns of today.
    """

    def __init__(self, stored: StoredRun) -> None:
        from perhop.run.tables import SCHEMA

        self._of: dict[str, pl.LazyFrame] = {}
        for kind in stored.record.trace:
            found = stored.trace(kind)
            columns = [column.name for column in SCHEMA[kind].columns] if kind in SCHEMA else []
            if found is not None and found.collect_schema().names() == columns:
                self._of[kind] = found
        self.kinds = list(self._of)
        self._rows = dict.fromkeys(self.kinds, 0)
        self._wrong: set[str] = set()

    def compare(self, kind: str, rows: pl.DataFrame) -> None:
        """Take further rows of a trace as they come again."""
        before = self._of[kind].slice(self._rows[kind], rows.height).collect()
        self._rows[kind] += rows.height
        if not before.equals(rows):
            self._wrong.add(kind)

    def differing(self) -> list[str]:
        """Return the traces that differ, when all has come."""
        import polars as pl

        for kind, found in self._of.items():
            if found.select(pl.len()).collect().item() != self._rows[kind]:
                self._wrong.add(kind)
        return [f"trace.{kind}" for kind in self.kinds if kind in self._wrong]


def command(run: Path = argument("RUN", "Folder of a run."), as_json: bool = options.JSON) -> int:
    """Run a recorded run again and compare its results: bit for bit, of real packets by intervals."""
    import perhop
    from perhop.cli.output import note, print_json
    from perhop.cli.progress import Progress
    from perhop.run.record import StoredRun, combined_hash, differing, table_hashes
    from perhop.run.run import run as again

    stored = StoredRun.load(run)
    if stored.record.live is not None:
        from perhop.cli import replay_live

        return replay_live.compare(run, stored, as_json)
    if stored.record.results_version != perhop.RESULTS_VERSION:
        note(
            f"recorded under results_version {stored.record.results_version}, "
            f"this is {perhop.RESULTS_VERSION}: other results are to be expected"
        )
    traces = Traces(stored)
    with Progress(f"running {run} again") as progress:
        result = again(stored.scenario(), trace=traces.kinds, keep=traces.compare, progress=progress.update)
    # a folder of an older format has other tables, and other columns in some
    again_tables = result.tables()
    shared = {
        name: [column for column in table.columns if column in again_tables[name].columns]
        for name, table in stored.tables.items()
    }
    recorded = table_hashes({name: stored.tables[name].select(columns) for name, columns in shared.items()})
    replayed = table_hashes({name: again_tables[name].select(columns) for name, columns in shared.items()})
    tables = differing(recorded, replayed) + traces.differing()
    events_equal = result.event_digest == stored.record.event_digest
    equal = events_equal and not tables
    if as_json:
        found = {"run": str(run), "equal": equal, "tables_that_differ": tables, "events_equal": events_equal}
        hashes = {"recorded": combined_hash(recorded), "replayed": combined_hash(replayed)}
        print_json({**found, "traces_compared": traces.kinds, **hashes})
    elif equal:
        compared = ", ".join(["tables", "events", *(f"trace of {kind}" for kind in traces.kinds)])
        print(f"{run}: equal, bit for bit ({stored.record.output_hash[:16]}): {compared}")
    else:
        parts = tables + ([] if events_equal else ["event log"])
        print(f"{run}: differs in {', '.join(parts)}")
    return ExitCode.DONE if equal else ExitCode.DIFFERS
