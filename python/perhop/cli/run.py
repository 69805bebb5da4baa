"""`perhop run`: one run of one scenario, left in a folder."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import perhop
from perhop.cli import options
from perhop.cli.exit import ExitCode, UsageError
from perhop.cli.options import flag, option

if TYPE_CHECKING:
    from perhop.run.record import Record
    from perhop.scenario.scenario import Scenario

_IN_JSON = (
    *("flows", "links", "queues", "udp", "marks", "conditioners"),
    *("classes", "applications", "videos", "calls"),
)

TRACE = option("--trace", "KINDS", "Any of packets,queue,cwnd,tcp; the results do not change.")
PCAP = option("--pcap", "LINK", "Capture a link, such as r1->r2, or all; may be repeated.")
FORCE = flag("--force", "Replace the folder of an earlier run.")
REPORT = flag("--report", "Write the run's page into the folder too, as perhop report does.")


def command(
    scenario: Path = options.SCENARIO,
    overrides: list[str] | None = options.SET,
    seed: int | None = options.SEED,
    until: str | None = options.UNTIL,
    trace: list[str] | None = TRACE,
    pcap: list[str] | None = PCAP,
    out: Path | None = option("-o --out", "DIR", "Folder; default out/<scenario>-<seed>."),
    force: bool = FORCE,
    report: bool = REPORT,
    as_json: bool = options.JSON,
) -> int:
    """Run a scenario once and leave a folder of tables."""
    return make(scenario, overrides, seed, until, trace, pcap, out, force, report, as_json)


def make(
    scenario: Path,
    overrides: list[str] | None,
    seed: int | None,
    until: str | None,
    trace: list[str] | None,
    pcap: list[str] | None,
    out: Path | None,
    force: bool,
    report: bool,
    as_json: bool,
    suffix: str = "",
) -> int:
    """Run a scenario on its clock; `suffix` stands in the default folder's name."""
    from perhop.cli.output import expanded, note, print_json, warn
    from perhop.cli.progress import Progress
    from perhop.run import phase, record, summary
    from perhop.run.folder import never, new_folder
    from perhop.run.run import run
    from perhop.run.space import check_disk
    from perhop.run.trace_files import TraceFiles
    from perhop.say.run_promises import measured
    from perhop.say.run_tables import printed
    from perhop.say.terminal import show

    kinds = _trace_kinds(trace or [])
    loaded = options.load(scenario, overrides, seed, until)
    folder = out or Path("out") / f"{scenario.stem}{suffix}-{loaded.seed}"
    _check_place(folder, force)
    links = _links(loaded, pcap or [])
    warn(loaded.warnings())
    check_disk(folder, kinds, loaded.work())
    with new_folder(folder, record.is_run if force else never) as partial:
        with Progress(f"running {scenario.name}") as progress:
            files = {link: partial / f"{link.replace('->', '-')}.pcapng" for link in links}
            traces = TraceFiles(partial)
            result = run(loaded, trace=kinds, keep=traces.add, progress=progress.update, pcap=files)
        written = record.write(result, loaded, partial, trace=kinds, traces=traces)
    page = str(perhop.StoredRun.load(folder).report()) if report else None
    meaning = loaded.describe()
    doubts = [summary.unsettled(result.series, meaning)]
    if result.live is None:
        doubts.append(phase.effect(result.tables(), meaning))
    warnings = [doubt for doubt in doubts if doubt]
    for warning in warnings:
        note(f"warning: {warning}\n")
    if as_json:
        tables = result.tables()
        shown = {name: tables[name].to_dicts() for name in _IN_JSON if name in tables}
        shown |= {"promises": of_run} if (of_run := measured(meaning, tables["classes"])) else {}
        print_json({"folder": str(folder), "report": page, "warnings": warnings, "record": written, **shown})
    else:
        several = expanded(loaded)
        print(f"{scenario.name}: seed {loaded.seed}{several and '; '}{several}\n")
        show(*printed(result.tables(), meaning, folder), str(folder))
        print(page or f"next: perhop report {shlex.quote(str(folder))}")
    return _status(written)


def _check_place(folder: Path, force: bool) -> None:
    """Refuse a folder that exists; with `force`, one that holds anything but a run."""
    from perhop.run.folder import is_there, settle
    from perhop.run.record import is_run

    settle(folder)
    if not is_there(folder) or (force and is_run(folder)):
        return
    other = "give another folder with -o"
    away = f"{other}, or move this one away: --force replaces the folder of a run and nothing else"
    if folder.is_symlink():
        what, hint = "is a link, which is neither followed nor replaced", other
    elif is_run(folder):
        what, hint = "exists", f"{other}, or replace it with --force"
    elif (folder / "record.json").is_file():
        what, hint = "exists and holds other files than a run's: it is left alone", away
    elif folder.is_dir():
        what, hint = "exists and is not the folder of a run: it is left alone", away
    else:
        what, hint = "exists and is no folder: it is left alone", other
    raise UsageError(f"{folder} {what}", hint)


def _links(scenario: Scenario, asked: list[str]) -> list[str]:
    """Return the links to capture, by name; refuse unknown ones."""
    from perhop import _core

    if not asked:
        return []
    known = [link.name for link in scenario.describe().links]
    if "all" in asked:
        return known
    for link in asked:
        if link not in known:
            hint = _core.suggest(link, known) or f"links: {', '.join(known[:10])}"
            raise UsageError(f"--pcap {link}: no such link", hint)
    return list(dict.fromkeys(asked))


def _trace_kinds(given: list[str]) -> list[str]:
    from perhop.run.tables import TRACES

    kinds = [kind.strip() for text in given for kind in text.split(",")]
    for kind in kinds:
        if kind not in TRACES:
            raise UsageError(f"--trace {kind!r}: no such trace", f"choose among {', '.join(TRACES)}")
    return list(dict.fromkeys(kinds))


def _status(written: Record) -> int:
    for law in written.invariants:
        print(f"broken invariant: {law}", file=sys.stderr)
    if written.live is not None and written.live.over_budget:
        advice = "where packets were late, again with less beside it; perhop doctor shows its priority"
        print(f"hint: the run is not valid; {advice}", file=sys.stderr)
    return ExitCode.FAILED_RUNS if written.invariants else ExitCode.DONE
