"""`perhop reproduce`: a published study again, its numbers beside ours and its claims judged."""

from __future__ import annotations

import os
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perhop.cli import options
from perhop.cli.exit import CommandError, ExitCode

if TYPE_CHECKING:
    from perhop.papers.kalampoukas import Plan, Reproduction
    from perhop.papers.kalampoukas.sweeps import SweepResult

PAPERS = ("kalampoukas",)
_FILES = ("report.html", "result.json")
_TITLE = "Two-way TCP over an asymmetric link: the study of Kalampoukas, Varma and Ramakrishnan, again"


def command(
    paper: Annotated[str, typer.Argument(metavar="[PAPER]", help=f"One of: {', '.join(PAPERS)}.")] = PAPERS[
        0
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs; says what it leaves out.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="Folder; default out/<paper>.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("-j", "--jobs", min=1, metavar="N", help="Runs side by side; default: all cores."),
    ] = None,
    as_json: options.Json = False,
) -> int:
    """Repeat a published study: its tables and figures beside ours, its claims judged."""
    if paper not in PAPERS:
        raise CommandError(ExitCode.USAGE, f"no study {paper!r}", f"choose among {', '.join(PAPERS)}")
    return _reproduce(
        paper, quick, out or Path("out") / paper, workers or len(os.sched_getaffinity(0)), as_json
    )


def _reproduce(paper: str, quick: bool, folder: Path, workers: int, as_json: bool) -> int:
    from perhop.cli.output import print_json
    from perhop.folder import new_folder

    if folder.exists() and {path.name for path in folder.iterdir()} - set(_FILES):
        raise CommandError(
            ExitCode.USAGE,
            f"{folder} exists and holds other files: it is left alone",
            "give another folder with -o",
        )
    with new_folder(folder) as partial:
        done = _write(paper, quick, partial, workers)
    for left_out in done.left_out:
        print(f"left out: {left_out}", file=sys.stderr)
    if as_json:
        print_json(done.document)
    else:
        _print(done)
        print(f"report: {(folder / 'report.html').resolve()}")
    return ExitCode.DONE


def _write(paper: str, quick: bool, folder: Path, workers: int) -> Reproduction:
    """Run the study and write its page and its document into an empty folder."""
    import msgspec

    from perhop import _core
    from perhop.cli.progress import Progress
    from perhop.papers.kalampoukas import BrokenRun, make_plan, reduce
    from perhop.papers.kalampoukas.sweeps import make_sweeps, reduce_sweep
    from perhop.run import run_jobs

    again = f"perhop reproduce {paper}{' --quick' if quick else ''}"
    plan = make_plan(quick=quick)
    sweeps = () if quick else make_sweeps()
    jobs = [*plan.jobs, *(job for sweep in sweeps for job in sweep.jobs)]
    with Progress(f"{len(jobs)} runs") as progress:
        results = iter(run_jobs(jobs, workers, progress.update))
    try:
        done = reduce(plan, list(islice(results, len(plan.jobs))), again, _core.RESULTS_VERSION)
        swept = [reduce_sweep(sweep, list(islice(results, len(sweep.jobs)))) for sweep in sweeps]
    except BrokenRun as error:
        raise CommandError(ExitCode.FAILED_RUNS, f"a run broke an invariant: {error}") from error
    document = msgspec.json.format(msgspec.json.encode(done.document), indent=2)
    page = _page(plan, done, swept, again)
    (folder / "result.json").write_bytes(document + b"\n")
    (folder / "report.html").write_text(page, encoding="utf-8")
    return done


def _page(plan: Plan, done: Reproduction, swept: list[SweepResult], again: str) -> str:
    from perhop.report.beyond import curves, maps
    from perhop.report.paper import FigurePart, Study, render

    return render(
        Study(
            title=_TITLE,
            document=done.document,
            figures=[
                FigurePart(
                    figure.id,
                    figure.table,
                    figure.title,
                    figure.command(),
                    done.curves[figure.id],
                    figure.setup.fast_window,
                    figure.setup.alone,
                )
                for figure in plan.figures
            ],
            findings=done.findings,
            warnings=done.warnings,
            queue_bounds=done.queue_bounds,
            left_out=done.left_out,
            maps=maps(swept, again),
            curves=curves(swept, again),
        )
    )


def _print(done: Reproduction) -> None:
    from perhop.cli.output import print_table

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    print_table(
        "Published, computed, simulated",
        ("figure", "quantity", "unit", "published", "printed", "bounded", "simulated"),
        [
            (
                row["id"],
                row["quantity"],
                row["unit"],
                number(row["published"]),
                number(row["closed_form"]["printed"]),
                number(row["closed_form"]["bounded"]),
                number(row["simulated"]["mean"]),
            )
            for row in done.document["rows"]
            if row["table"] != "extra" and not row["quantity"].startswith("slow_queue")
        ],
        "in the report",
        most=60,
    )
    print_table(
        "Claims",
        ("claim", "verdict", "statement"),
        [
            (claim["id"], claim["verdict"], claim["statement"])
            for claim in done.document["claims"]
            if "/" not in claim["id"]
        ],
        wrap=True,
    )
