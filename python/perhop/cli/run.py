"""`perhop run`: one run of one scenario, left in a folder."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import perhop
from perhop.cli import options
from perhop.cli.exit import CommandError, ExitCode

if TYPE_CHECKING:
    import polars as pl

    from perhop.run.record import Record
    from perhop.run.run import Result
    from perhop.scenario.scenario import Description, Scenario


_IN_ORDER = "the first in the file"
_DELAYS = ("delay_p50", "delay_p95", "delay_p99", "delay_p999", "pdv_p95", "pdv_p999", "ipdv_p95")


Trace = Annotated[
    list[str] | None,
    typer.Option(
        "--trace", metavar="KINDS", help="Any of packets,queue,cwnd,tcp; the results do not change."
    ),
]
Pcap = Annotated[
    list[str] | None,
    typer.Option("--pcap", metavar="LINK", help="Capture a link, such as r1->r2, or all; may be repeated."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the folder of an earlier run.")]
Report = Annotated[
    bool, typer.Option("--report", help="Write the run's page into the folder too, as perhop report does.")
]


def command(
    scenario: options.ScenarioFile,
    overrides: options.Set = None,
    seed: options.Seed = None,
    until: options.Until = None,
    trace: Trace = None,
    pcap: Pcap = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="Folder; default out/<scenario>-<seed>.")
    ] = None,
    force: Force = False,
    report: Report = False,
    as_json: options.Json = False,
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
    """Run a scenario on the clock that it asks for; `suffix` is of the folder's default name."""
    from perhop.cli.output import expanded, note, print_json, warn
    from perhop.cli.progress import Progress
    from perhop.run import phase, record, summary
    from perhop.run.folder import never, new_folder
    from perhop.run.run import run
    from perhop.run.space import check_disk
    from perhop.run.trace_files import TraceFiles

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
        print_json(_document(result, written, folder, page, warnings))
    else:
        several = expanded(loaded)
        print(f"{scenario.name}: seed {loaded.seed}{several and '; '}{several}\n")
        _print(result, meaning, folder)
        print(page or f"next: perhop report {shlex.quote(str(folder))}")
    return _status(written)


def _document(
    result: Result, written: Record, folder: Path, page: str | None, warnings: list[str]
) -> dict[str, object]:
    return {
        "folder": str(folder),
        "report": page,
        "warnings": warnings,
        "record": written,
        "flows": result.flows.to_dicts(),
        "links": result.links.to_dicts(),
        "queues": result.queues.to_dicts(),
        "udp": result.udp.to_dicts(),
        "marks": result.marks.to_dicts(),
        "conditioners": result.conditioners.to_dicts(),
        "classes": result.classes.to_dicts(),
    }


def _check_place(folder: Path, force: bool) -> None:
    """Refuse a folder that is there; only one that holds a run and nothing else is ever replaced."""
    from perhop.run.folder import is_there, settle
    from perhop.run.record import is_run

    settle(folder)
    if not is_there(folder) or (force and is_run(folder)):
        return
    other = "give another folder with -o"
    away = f"{other}, or move this one away: --force replaces the folder of a run and nothing else"
    if folder.is_symlink():
        told, hint = (
            "is a link, which is neither followed nor replaced",
            other,
        )
    elif is_run(folder):
        told, hint = "exists", f"{other}, or replace it with --force"
    elif (folder / "record.json").is_file():
        told, hint = "exists and holds other files than a run's: it is left alone", away
    elif folder.is_dir():
        told, hint = "exists and is not the folder of a run: it is left alone", away
    else:
        told, hint = "exists and is no folder: it is left alone", other
    raise CommandError(ExitCode.USAGE, f"{folder} {told}", hint)


def _links(scenario: Scenario, asked: list[str]) -> list[str]:
    """Return the links to capture, by name; refuse those that there are not."""
    from perhop import _core

    if not asked:
        return []
    known = [link.name for link in scenario.describe().links]
    if "all" in asked:
        return known
    for link in asked:
        if link not in known:
            hint = _core.suggest(link, known) or f"links: {', '.join(known[:10])}"
            raise CommandError(ExitCode.USAGE, f"--pcap {link}: no such link", hint)
    return list(dict.fromkeys(asked))


def _trace_kinds(given: list[str]) -> list[str]:
    from perhop.run.tables import TRACES

    kinds = [kind.strip() for text in given for kind in text.split(",")]
    for kind in kinds:
        if kind not in TRACES:
            raise CommandError(
                ExitCode.USAGE, f"--trace {kind!r}: no such trace", f"choose among {', '.join(TRACES)}"
            )
    return list(dict.fromkeys(kinds))


def _print(result: Result, meaning: Description, folder: Path) -> None:
    import polars as pl

    from perhop.cli.output import print_table
    from perhop.run import summary
    from perhop.units import duration, percent

    _print_classes(result, meaning, folder)
    if result.flows.height:
        _print_flows(result.flows, meaning, folder)
    _print_diffserv(result, folder)
    lossy = int(result.links["lost_packets"].sum()) > 0
    print_table(
        "Links: shares of the time after the warm-up",
        ("link", "busy", "with data", "with ACKs", *(["lost packets"] if lossy else [])),
        [
            (
                row["name"],
                percent(row["utilization"]),
                percent(row["utilization_data"]),
                percent(row["utilization_acks"]),
                *([str(row["lost_packets"])] if lossy else []),
            )
            for row in result.links.sort("utilization", descending=True, maintain_order=True).to_dicts()
        ],
        f"in {folder}/links.parquet",
        picked="the busiest",
    )
    colors = summary.COLORS if summary.drops_have_colors(result.queues, meaning) else ()
    queues = result.queues.filter((pl.col("wait_max_s") > 0) | (pl.col("dropped_packets") > 0))
    if queues.height:
        print_table(
            f"Queues in which packets waited{', drops by colour' if colors else ''}, after the warm-up",
            ("class", "mean packets", "most", "mean wait", "longest", "arrived", "dropped", *colors),
            [
                (
                    row["path"].removeprefix("port."),
                    f"{row['mean_packets']:.2f}",
                    str(row["max_packets"]),
                    *(duration(row["wait_mean_s"]), duration(row["wait_max_s"])),
                    str(row["in_packets"]),
                    str(row["dropped_packets"]),
                    *(str(row[f"dropped_{color}"]) for color in colors),
                )
                for row in queues.sort(
                    "dropped_packets", "max_packets", descending=True, maintain_order=True
                ).to_dicts()
            ],
            f"in {folder}/queues.parquet",
            picked="those that dropped most",
        )
    print(folder)


def _print_classes(result: Result, meaning: Description, folder: Path) -> None:
    """Print a row for each class of flows, and who of them dropped what."""
    from perhop.cli.output import print_table
    from perhop.run import summary
    from perhop.units import bit_rate, duration, percent

    colors = summary.COLORS if summary.drops_have_colors(result.queues, meaning) else ()
    marks = result.classes["marked_packets"].sum() > 0
    classes, whole = result.classes.to_dicts(), f"in {folder}/classes.parquet"
    print_table(
        f"Classes of flows after the warm-up{', drops by colour' if colors else ''}",
        (
            *("class", "flows", "goodput", "fairness", "lost", "dropped", *colors),
            *(["marked"] if marks else []),
        ),
        [
            (
                row["class"],
                str(row["flows"]),
                bit_rate(row["goodput_bit_s"]),
                "-" if row["fairness"] is None else f"{row['fairness']:.3f}",
                percent(row["dropped_packets"] / row["offered_packets"] if row["offered_packets"] else None),
                str(row["dropped_packets"]),
                *(str(row[f"dropped_{color}"]) for color in colors),
                *([str(row["marked_packets"])] if marks else []),
            )
            for row in classes
        ],
        whole,
        picked=_IN_ORDER,
    )
    print_table(
        "One-way delays of data after the warm-up, and how they vary",
        ("class", "delay 50 %", "95 %", "99 %", "99.9 %", "PDV 95 %", "PDV 99.9 %", "IPDV 95 %"),
        [(row["class"], *(duration(row[f"{quantile}_s"]) for quantile in _DELAYS)) for row in classes],
        whole,
        picked=_IN_ORDER,
    )


def _print_flows(every: pl.DataFrame, meaning: Description, folder: Path) -> None:
    """Print the TCP flows, and in a row of their own the many transfers of one `[[flow]]`."""
    from perhop.cli.output import MOST_ROWS, print_table
    from perhop.run import summary
    from perhop.units import bit_rate, duration

    flows = summary.single(every, meaning)
    if flows.height:
        complete = flows["completed_s"].is_not_null().any()
        shown = summary.first_of_each(summary.with_time(flows), MOST_ROWS)
        print_table(
            "Flows after the warm-up",
            (
                *("flow", "from", "to", "goodput", "srtt", "sent", "repeated", "time-outs"),
                *(["completed in"] if complete else []),
            ),
            [
                (
                    row["name"],
                    row["from"],
                    row["to"],
                    bit_rate(row["goodput_bit_s"]),
                    duration(row["srtt_s"]),
                    str(row["segments_sent"]),
                    str(row["retransmissions"]),
                    str(row["timeouts"]),
                    *([duration(row["took_s"])] if complete else []),
                )
                for row in shown.to_dicts()
            ],
            f"in {folder}/flows.parquet",
            picked="the first of each [[flow]]",
            of=flows.height,
        )
    _print_labels("flows", "goodput", flows, folder)
    transfers = summary.transfers(every, meaning)
    if transfers.height:
        print_table(
            "Transfers of the whole run: time from start to end of those that completed",
            ("flow", "class", "begun", "completed", "mean", "50 %", "95 %"),
            [
                (
                    *(row["group"], row["class"], str(row["begun"]), str(row["completed"])),
                    *(duration(row[key]) for key in ("mean_s", "median_s", "p95_s")),
                )
                for row in transfers.to_dicts()
            ],
        )


def _print_labels(name: str, rate: str, table: pl.DataFrame, folder: Path) -> None:
    """Print a row for each class and labels of flows, if there are labels."""
    from perhop.cli.output import print_table
    from perhop.run import summary
    from perhop.run.tables import labels_of
    from perhop.units import bit_rate

    groups = summary.by_labels(name, table, f"{rate}_bit_s")
    if groups.height:
        words = ["class", *labels_of(name, table)]
        kind = "UDP flows" if name == "udp" else "Flows"
        print_table(
            f"{kind} by class and label: {rate} of one, after the warm-up",
            (*words, "flows", "mean", "least", "most"),
            [
                (
                    *("-" if row[word] is None else row[word] for word in words),
                    str(row["_flows"]),
                    *(bit_rate(row[what]) for what in ("_mean", "_least", "_most")),
                )
                for row in groups.to_dicts()
            ],
            f"in {folder}/{name}.parquet",
            picked="the first in the file",
        )


def _print_diffserv(result: Result, folder: Path) -> None:
    """Print what there is only where a scenario has UDP, marks or conditioners."""
    import polars as pl

    from perhop.cli.output import MOST_ROWS, print_table
    from perhop.run import summary
    from perhop.units import bit_rate, counted, duration

    if result.udp.height:
        print_table(
            "UDP flows after the warm-up",
            ("flow", "from", "to", "throughput", "sent", "arrived", "mean delay"),
            [
                (
                    *(row[key] for key in ("name", "from", "to")),
                    bit_rate(row["throughput_bit_s"]),
                    str(row["sent_packets"]),
                    str(row["arrived_packets"]),
                    duration(row["delay_mean_s"]),
                )
                for row in summary.first_of_each(result.udp, MOST_ROWS).to_dicts()
            ],
            f"in {folder}/udp.parquet",
            picked="the first of each [[udp]]",
            of=result.udp.height,
        )
        _print_labels("udp", "throughput", result.udp, folder)
    treated = ("green", "yellow", "red", "dropped", "shaped")
    if result.conditioners.height:
        print_table(
            "Conditioners after the warm-up: packets by colour",
            ("conditioner", *treated),
            [
                (
                    row["path"].removeprefix("conditioner."),
                    *(str(row[f"{what}_packets"]) for what in treated),
                )
                for row in result.conditioners.to_dicts()
            ],
            f"in {folder}/conditioners.parquet",
            picked=_IN_ORDER,
        )
    every = summary.marks(result.marks, result.scenario.describe())
    marked = every.filter(pl.col("mark") != "BE")["flow"].unique()
    if marked.len():
        marks = every.filter(pl.col("flow").is_in(marked.implode()))
        plain = int(every.filter(~pl.col("flow").is_in(marked.implode()))["flows"].sum())
        left_out = f"; {counted(plain, 'flow')} with BE alone left out" if plain else ""
        print_table(
            f"Arrived after the warm-up, by mark{left_out}",
            ("flow", "mark", "packets", "bytes"),
            [
                (row["flow"], row["mark"], str(row["arrived_packets"]), str(row["arrived_bytes"]))
                for row in summary.first_of_each(marks, MOST_ROWS, "flow").to_dicts()
            ],
            f"in {folder}/marks.parquet",
            picked="the first of each [[flow]] and [[udp]]",
            of=marks.height,
        )


def _status(written: Record) -> int:
    for law in written.invariants:
        print(f"broken invariant: {law}", file=sys.stderr)
    if written.live is not None and written.live.over_budget:
        told = "where packets were late, again with less beside it; perhop doctor tells its priority"
        print(f"hint: the run is not valid; {told}", file=sys.stderr)
    return ExitCode.FAILED_RUNS if written.invariants else ExitCode.DONE
