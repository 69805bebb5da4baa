"""`perhop replay`: run again what a folder records, and compare."""

from __future__ import annotations

from perhop.cli import options
from perhop.cli.exit import ExitCode


def command(run: options.RunFolder, as_json: options.Json = False) -> int:
    """Run a recorded run again and compare its results: bit for bit, of real packets by intervals."""
    import perhop
    from perhop.cli.output import note, print_json
    from perhop.cli.progress import Progress
    from perhop.record import StoredRun, combined_hash, differing, table_hashes

    stored = StoredRun.load(run)
    if stored.record.live is not None:
        from perhop.cli import replay_live

        return replay_live.compare(run, stored, as_json)
    if stored.record.results_version != perhop.RESULTS_VERSION:
        note(
            f"recorded under results_version {stored.record.results_version}, "
            f"this is {perhop.RESULTS_VERSION}: other results are to be expected"
        )
    with Progress(f"running {run} again") as progress:
        result = stored.scenario().run(progress=progress.update)
    # a folder of an older format has other tables, and other columns in some
    found = result.tables()
    shared = {
        name: [column for column in table.columns if column in found[name].columns]
        for name, table in stored.tables.items()
    }
    recorded = table_hashes({name: stored.tables[name].select(columns) for name, columns in shared.items()})
    replayed = table_hashes({name: found[name].select(columns) for name, columns in shared.items()})
    tables = differing(recorded, replayed)
    events_equal = result.event_digest == stored.record.event_digest
    equal = events_equal and not tables
    if as_json:
        print_json(
            {
                "run": str(run),
                "equal": equal,
                "tables_that_differ": tables,
                "events_equal": events_equal,
                "recorded": combined_hash(recorded),
                "replayed": combined_hash(replayed),
            }
        )
    elif equal:
        print(f"{run}: equal, bit for bit ({stored.record.output_hash[:16]})")
    else:
        parts = tables + ([] if events_equal else ["event log"])
        print(f"{run}: differs in {', '.join(parts)}")
    return ExitCode.DONE if equal else ExitCode.DIFFERS
