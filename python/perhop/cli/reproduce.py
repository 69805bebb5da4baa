"""`perhop reproduce`: published studies again, their numbers beside ours, claims judged."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import perhop
from perhop.cli import options
from perhop.cli.exit import CommandError, ExitCode, UsageError
from perhop.cli.output import note
from perhop.say.document import Heading, Table, Verdict
from perhop.say.terminal import show
from perhop.units import counted

if TYPE_CHECKING:
    import polars

    from perhop.experiment.definition import Campaign
    from perhop.papers.plan import Plan, Results
    from perhop.papers.study import Outcome, Study
    from perhop.run.run import AnyJob, Result

_MOST_ROWS = 60
PAPERS = tuple(sorted(path.parent.name for path in Path(perhop.__file__).parent.glob("papers/*/study.py")))
"""The studies: whatever package of `perhop.papers` has a module `study`."""


def command(
    paper: Annotated[
        str | None, typer.Argument(metavar="[PAPER]", help=f"One of: {', '.join(PAPERS)}; default: all.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs; says what it leaves out.")] = False,
    fitted: Annotated[
        bool,
        typer.Option(
            "--fitted", help="Judge claims at the fitted point alone, not under what the paper leaves open."
        ),
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Search the study's free parameters again and print the record."),
    ] = False,
    record: Annotated[
        bool,
        typer.Option("--record", help="Of one study, in full: write its pack's recorded/ anew as well."),
    ] = False,
    clock: Annotated[
        str | None,
        typer.Option("--on", metavar="kernel", help="On real packets too: paper, simulator and kernel."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Folder; default out/<paper>, for all out/studies."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("-j", "--jobs", min=1, metavar="N", help="Runs side by side; default: all cores."),
    ] = None,
    as_json: options.Json = False,
) -> int:
    """Repeat published studies: their tables and figures beside ours, their claims judged."""
    if paper is not None and paper not in PAPERS:
        raise UsageError(f"no study {paper!r}", f"choose among {', '.join(PAPERS)}")
    if clock is not None:
        if clock != "kernel" or paper is None or quick or fitted or calibrate:
            raise UsageError("--on: kernel, of one study, and alone", "name one")
        return _on_kernel(paper, record, out or Path("out") / f"{paper}-on-kernel", workers, as_json)
    if record and (paper is None or quick or fitted or calibrate):
        raise UsageError(
            "--record: of one study, in full", "name one, without --quick, --fitted and --calibrate"
        )
    workers = workers or len(os.sched_getaffinity(0))
    if calibrate:
        return _calibrate(paper, workers, (out or Path("out") / str(paper)).parent / f"{paper}.runs")
    if fitted and (paper is None or quick):
        raise UsageError("--fitted: of one study, in full", "name one, without --quick")
    folder = out or Path("out") / (paper or "studies")
    return _reproduce(paper, (quick, fitted, record), folder, workers, as_json)


def _reproduce(
    paper: str | None, form: tuple[bool, bool, bool], folder: Path, workers: int, as_json: bool
) -> int:
    """Repeat one study, or each in a folder of its own with a page that leads to all."""
    from perhop.papers import recorded
    from perhop.papers.records import encode
    from perhop.papers.study import load_study
    from perhop.report.study import render_index
    from perhop.run.folder import new_folder, write_file

    ours = _check_folder(folder, PAPERS if paper is None else ())
    studies = [load_study(one) for one in (PAPERS if paper is None else [paper])]
    quick, fitted, record = form
    plans = [_plan(study, quick, fitted) for study in studies]
    if record:
        recorded.check_place(plans[0][0])
    done: list[Outcome] = []
    with new_folder(folder, ours) as partial:
        with _drawing() as later:
            for study, plan in zip(studies, plans, strict=True):
                place = partial / (study.key if paper is None else "")
                place.mkdir(exist_ok=True)
                outcome, draw = _measure(study, plan, place, workers, _store(folder, study), record)
                done.append(outcome)
                later(draw)
        documents = [outcome.document for outcome in done]
        if paper is None:
            each = zip(studies, done, strict=True)
            rows = [(study.title, outcome.document, outcome.left_out) for study, outcome in each]
            again = f"perhop reproduce{' --quick' if quick else ''}"
            write_file(partial / "report.html", render_index(rows, again))
            write_file(partial / "result.json", encode(documents))
    for outcome in done:
        _say_left_out(outcome)
    if as_json:
        _print_record(documents if paper is None else documents[0])
    else:
        for study, outcome in zip(studies, done, strict=True):
            _print(study, outcome)
        print(f"report: {(folder / 'report.html').resolve()}")
    return ExitCode.DONE


def _on_kernel(paper: str, record: bool, folder: Path, workers: int | None, as_json: bool) -> int:
    """Run a study in virtual time and on real packets, and put both beside the paper."""
    from perhop import _core
    from perhop.experiment import ledger
    from perhop.experiment.campaign import plan
    from perhop.experiment.work import LIVE
    from perhop.papers import kernel, recorded
    from perhop.papers.records import encode
    from perhop.papers.study import load_study
    from perhop.run import cores
    from perhop.run.folder import always, new_folder, write_file
    from perhop.run.machine import check_live
    from perhop.run.run import expected_s

    ours = _check_folder(folder)
    study = load_study(paper)
    store = folder.parent / f"{paper}-on-kernel.runs"
    side_by_side, why = cores.allowed(workers)
    if why:
        note(why)
    measured = []
    arms = kernel.arms(study)
    check_live(one.scenario for arm in arms if arm.is_live for one in arm.plan.fitted)
    at_once = {arm.id: side_by_side if arm.is_live else cores.count() for arm in arms}
    whole = sum(
        expected_s([sum(run.work for one in arm.plan.fitted for run in plan(one))], at_once[arm.id])
        for arm in arms
    )
    note(f"{paper}, {len(arms)} arms: {_about(whole)} in all")
    for arm in arms:
        found = run_campaigns(f"{paper}, {arm.id}", arm.plan.campaigns, store, at_once[arm.id])
        measured.append((arm, arm.plan.results(found, ())))
    with ledger.read(store) as book:
        how = {key: next(iter(of))[0] for key, of in book.values(LIVE).items()}
        made = {key: (digest, how.get(key)) for key, digest, *_ in book.made()}
    document = kernel.document(
        study, measured, made, f"perhop reproduce {paper} --on kernel", _core.RESULTS_VERSION
    )
    if record:
        own = measured[0][0].plan.pack.folder / recorded.FOLDER
        own.mkdir(exist_ok=True)
        write_file(own / kernel.RECORD, encode(document), always)
    with new_folder(folder, ours) as partial:
        write_file(partial / "result.json", encode(document))
        write_file(partial / "report.html", kernel.render(study, document))
    if as_json:
        _print_record(document)
    else:
        columns = ("claim", *document["arms"], "statement")
        show(Table("Claims", columns, list(kernel.lines(document)), whole="in the report", most=_MOST_ROWS))
        print(f"report: {(folder / 'report.html').resolve()}")
    return ExitCode.DONE


def _check_folder(folder: Path, keys: Sequence[str] = ()) -> Callable[[Path], bool]:
    """Return a test that a folder holds studies alone; refuse a folder that fails it."""
    from perhop.run.folder import is_there, settle

    def ours(found: Path) -> bool:
        return _is_study(found, keys)

    settle(folder)
    if is_there(folder) and not ours(folder):
        raise UsageError(
            f"{folder} exists and holds other files: it is left alone", "give another folder with -o"
        )
    return ours


def _is_study(folder: Path, keys: Sequence[str]) -> bool:
    """Return whether a folder holds only what a study, or studies named by `keys`, left."""
    from perhop.report.page import is_page

    def ours(path: Path) -> bool:
        if path.name in keys:
            return not path.is_symlink() and _is_study(path, ())
        return is_page(path) if path.name == "report.html" else _is_document(path)

    try:
        return all(ours(path) for path in folder.iterdir())
    except OSError:
        return False


def _is_document(file: Path) -> bool:
    """Return whether a file is the `result.json` of a study or of several."""
    import json

    if file.name != "result.json" or file.is_symlink():
        return False
    try:
        found = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return False
    documents = found if isinstance(found, list) else [found]
    return all(
        isinstance(one, dict) and {"paper", "results_version", "claims"} <= one.keys() for one in documents
    )


@contextmanager
def _drawing() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Context that draws pages beside the next study's runs, and ends when all are drawn."""
    from concurrent.futures import Future, ThreadPoolExecutor

    pool = ThreadPoolExecutor(max_workers=1)
    pages: list[Future[None]] = []
    try:
        yield lambda draw: pages.append(pool.submit(draw))
        for page in pages:
            page.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _store(folder: Path, study: Study[Any, Any]) -> Path:
    """Return the folder of a study's runs: beside its page, which is written anew."""
    return folder.parent / f"{study.key}.runs"


def _plan(study: Study[Any, Any], quick: bool, fitted: bool = False) -> tuple[Any, str]:
    """Return the plan of the runs, and the command that makes them again."""
    plan = study.plan(quick)
    if fitted:
        plan = plan.at_fit()
    forms = (" --quick" if quick else "") + (" --fitted" if fitted else "")
    return plan, f"perhop reproduce {study.key}{forms}"


def _measure(
    study: Study[Any, Any],
    planned: tuple[Any, str],
    folder: Path,
    workers: int,
    store: Path,
    record: bool = False,
) -> tuple[Outcome, Callable[[], None]]:
    """Run the study and write its document; return it, and a call that writes its page."""
    from perhop import _core
    from perhop.papers import recorded
    from perhop.papers.behind import runs_behind
    from perhop.papers.records import encode
    from perhop.run.folder import write_file

    plan, again = planned
    results = run_plan(study.key, plan, store, workers)
    done: Outcome = study.reduce(plan, results, again, _core.RESULTS_VERSION)
    done.document.update(runs_behind(plan))
    write_file(folder / "result.json", encode(done.document))
    if record:
        recorded.write(plan, results, study.whole(plan, results), done.document, store)
    return done, lambda: write_file(folder / "report.html", study.page(plan, done))


def run_plan(key: str, plan: Plan, store: Path, workers: int) -> Results:
    """Run or resume the campaigns of a study in one store, then make the runs that it draws."""
    measured = run_campaigns(key, plan.campaigns, store, workers)
    drawn = _run_jobs(plan.drawn, f"{key}, {counted(len(plan.drawn), 'run')} to draw", workers)
    return plan.results(measured, drawn)


def _checked(job: AnyJob, result: Result) -> Result:
    from perhop.papers.study import check_run

    check_run(job, result)
    return result


def run_campaigns(
    key: str, campaigns: Sequence[Campaign], store: Path, workers: int
) -> list[polars.DataFrame]:
    """Run or resume campaigns one after the other in one store; return each one's values."""
    from perhop.cli.progress import Progress
    from perhop.experiment.campaign import plan, run_campaign
    from perhop.experiment.executors import open_executor
    from perhop.experiment.store import Store
    from perhop.run.run import expected_s

    work = [sum(run.work for run in plan(one)) for one in campaigns]
    about = f"{_about(expected_s(work, workers))} by the packets, less what is there"
    note(f"{key}, {len(campaigns)} campaigns: {about}; runs are kept in {store}")
    found = []
    with open_executor(None, workers) as executor, Progress(key) as progress:
        for place, one in enumerate(campaigns):
            before, whole = sum(work[:place]), sum(work)

            def tell(done: float, _: float, before: float = before, whole: float = whole) -> None:
                progress.update(before + done, whole)

            outcome = run_campaign(one, store, executor, progress=tell)
            if outcome.failed:
                failed = Store.open(store).runs().filter(state="failed").row(0, named=True)
                raise CommandError(
                    ExitCode.FAILED_RUNS,
                    f"a run failed: {failed['failure']}",
                    f"in {store}: {failed['replay']}",
                )
            found.append(Store.open(store).scalars())
    return found


def _run_jobs(jobs: Sequence[AnyJob], label: str, workers: int) -> list[Result]:
    """Run each job, and equal ones once."""
    from perhop.cli.progress import Progress
    from perhop.papers.study import BrokenRun
    from perhop.run import run

    if not jobs:
        return []
    keys = [(source, *overrides, *trace) for source, _, overrides, *trace in jobs]
    different = dict(zip(keys, jobs, strict=True))
    once = list(different.values())
    work = run.job_work(once)
    note(f"{label}: {_about(run.expected_s(work, workers))} by its packets")
    with Progress(label) as progress:
        try:
            kept = run.run_jobs(once, workers, progress.update, _checked, work)
        except BrokenRun as error:
            raise CommandError(ExitCode.FAILED_RUNS, f"a run broke an invariant: {error}") from error
    found = dict(zip(different, kept, strict=True))
    return [found[key] for key in keys]


def _about(seconds: float) -> str:
    return f"about {seconds:.0f} s" if seconds < 90 else f"about {seconds / 60:.0f} min"


def _calibrate(paper: str | None, workers: int, store: Path) -> int:
    from perhop.judge.measured import Measurements
    from perhop.papers.study import load_study

    if paper is None:
        raise UsageError("--calibrate: of which study?", "name one")
    search = load_study(paper).calibrate
    if search is None:
        raise UsageError(f"--calibrate: {paper} fits no parameter")
    record = search(
        lambda campaigns, label: [
            Measurements(one) for one in run_campaigns(f"{paper}, {label}", campaigns, store, workers)
        ]
    )
    _print_record(record)
    return ExitCode.DONE


def _print_record(record: Any) -> None:
    from perhop.papers.records import encode

    sys.stdout.write(encode(record).decode())


def _say_left_out(done: Outcome) -> None:
    for left_out in done.left_out:
        note(f"left out: {left_out}")


def _print(study: Study[Any, Any], done: Outcome) -> None:
    from perhop.report.answer_study import main_claims, of_claims

    show(Heading(study.title), *of_claims(done.document), "")
    numbers, claims = study.summary(done), main_claims(done.document)
    verdicts = [
        (
            *(claim["id"], Verdict(claim["verdict"]), claim["direction"], claim["size"]),
            *(_power(claim["power"]), claim["statement"]),
        )
        for claim in claims
    ]
    beside = [(claim["id"], text) for claim in claims if (text := _beside(claim))]
    for title, columns, rows in (
        (numbers.title, numbers.columns, numbers.rows),
        ("Claims", ("claim", "verdict", "direction", "size", "power", "statement"), verdicts),
        ("Beside the verdicts", ("claim", "what decides"), beside),
    ):
        if rows:
            show(Table(title, columns, rows, whole="in the report", most=_MOST_ROWS))


def _power(found: Mapping[str, Any]) -> str:
    """Return how often a true claim is found supported: as fitted, and with the readings."""
    known = [one for one in (found["as_fitted"], found["with_readings"]) if one is not None]
    return ", ".join(f"{one:.0%}" for one in known) or "-"


def _beside(claim: Mapping[str, Any]) -> str:
    """Return a few words to stand beside a verdict."""
    sample = "in sample" if claim["in_sample"] else None
    return "; ".join(text for text in (claim["evidence"]["decided"], claim["reason"], sample) if text)
