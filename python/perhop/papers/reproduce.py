"""Run studies: campaigns in a store, then a document, a page, and an index over several."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from perhop import _core
from perhop.experiment import ledger
from perhop.experiment.campaign import plan, run_campaign
from perhop.experiment.definition import Campaign
from perhop.experiment.executors import open_executor
from perhop.experiment.fault import HintedError
from perhop.experiment.store import Store
from perhop.experiment.work import LIVE
from perhop.judge.measured import Measurements
from perhop.papers import kernel, on_record, recorded, refit
from perhop.papers.again import DiffersError, differences, differences_of_all, draw
from perhop.papers.behind import runs_behind
from perhop.papers.folder_page import page_of
from perhop.papers.on_record import Record, StaleRecordError
from perhop.papers.outcome import Outcome
from perhop.papers.plan import Plan, Results, plan_of
from perhop.papers.records import encode
from perhop.papers.reduce import reduce
from perhop.papers.study import Study
from perhop.report.page import is_page
from perhop.report.study import render_index
from perhop.run import cores, run
from perhop.run.folder import always, new_folder, write_file
from perhop.run.machine import check_live
from perhop.run.run import AnyJob, Progress, Result
from perhop.units import counted


class FailedRunError(HintedError):
    """A run of a study that failed or broke an invariant; the hint says how to make it again."""


@dataclass(frozen=True)
class Teller:
    """Means to tell whoever waits what is being done; by default nothing is told.

    `note` is called with remarks, such as how long it will take; `progress` with what is being done, and its
    context gives a function of the work done and all of it.
    """

    note: Callable[[str], None] = lambda _: None
    progress: Callable[[str], AbstractContextManager[Progress]] = lambda _: nullcontext(lambda *_: None)


SILENT = Teller()


_TOLD = 10
"""Runs that are told one by one where they differ from the record."""


@dataclass(frozen=True)
class Form:
    """How much of a study is done; as text, the options of the command.

    `fitted` is the fitted point alone, without readings; `record` writes its `recorded/` anew as well. Of a
    study on record so many runs are made again by `verify`, drawn by `seed`, and its verdicts are those of
    the record; None is for every run, by which it is judged anew.
    """

    quick: bool = False
    fitted: bool = False
    record: bool = False
    verify: int | None = None
    seed: int = 0

    def __str__(self) -> str:
        if self.quick or self.fitted:
            return (" --quick" if self.quick else "") + (" --fitted" if self.fitted else "")
        return " --verify all" if self.verify is None and not self.record else ""


def reproduce(
    studies: Sequence[Study],
    form: Form,
    folder: Path,
    workers: int,
    tell: Teller = SILENT,
    index: bool = False,
) -> list[Outcome]:
    """Repeat studies; runs are kept in a store beside the folder of pages.

    With `index` each has a folder in the folder, and a page leads to all; otherwise there is one study.

    Raises
    ------
    FailedRunError, StaleRecordError
        There is no page, and what was run is kept.
    DiffersError
        A run that was made again is not equal to the record. There is a page if all were made now.
    """
    plans = [plan_of(study, quick=form.quick) for study in studies]
    plans = [one.at_fit() for one in plans] if form.fitted else plans
    if form.record:
        recorded.check_place(plans[0])
    doing = _Doing(form, folder, workers, tell)
    records = [doing.record(planned) for planned in plans]
    done, keys = list[Outcome](), [study.key for study in studies] if index else []
    with new_folder(folder, partial(holds_studies, keys=keys)) as new:
        with _drawing() as later:
            for planned, record in zip(plans, records, strict=True):
                place = new / (planned.study.key if index else "")
                place.mkdir(exist_ok=True)
                outcome = doing.outcome(planned, record)
                write_file(place / "result.json", encode(outcome.document))
                done.append(outcome)
                later(partial(_draw, planned.study, outcome, place))
        if index:
            each = zip(studies, done, strict=True)
            rows = [(study.file.title, outcome.document, outcome.left_out) for study, outcome in each]
            write_file(new / "report.html", render_index(rows, f"perhop reproduce{form}"))
            write_file(new / "result.json", encode([outcome.document for outcome in done]))
    if doing.differ:
        hint = "perhop reproduce STUDY --record makes a record anew"
        raise DiffersError(f"{'; '.join(doing.differ)}; {folder} shows what was run now", hint)
    return done


@dataclass(frozen=True)
class _Doing:
    """Means to do studies, and those whose runs, all made now, differ from their record."""

    form: Form
    folder: Path
    workers: int
    tell: Teller
    differ: list[str] = field(default_factory=list)

    def record(self, planned: Plan) -> Record | None:
        """Return what is on record of a study, to be shown or compared with what is run; else None."""
        if self.form.quick or self.form.fitted or self.form.record:
            return None
        found = on_record.read(planned.study)
        if found is None:
            if self.form.verify is not None:
                self.tell.note(f"{planned.study.key}: nothing is on record, so every run is made now")
            return None
        try:
            return on_record.current(planned, found, _command(planned.study))
        except StaleRecordError as error:
            if self.form.verify is not None:
                raise
            self.tell.note(f"not compared with what is run now: {error}")
            return None

    def outcome(self, planned: Plan, record: Record | None) -> Outcome:
        """Return the outcome of a study."""
        if record is None or self.form.verify is None:
            return self._made(planned, record)
        return self._shown(on_record.less(planned), record, self.form.verify)

    def _made(self, planned: Plan, record: Record | None) -> Outcome:
        """Make every run, and compare each with what is on record, or put it there."""
        study = planned.study
        store = self.folder.parent / f"{study.key}.runs"
        results = run_plan(study.key, planned, store, self.workers, self.tell)
        outcome = reduce(planned, results, f"{_command(study)}{self.form}", _core.RESULTS_VERSION)
        outcome.document.update(runs_behind(planned))
        if record is None and not self.form.record:
            return outcome
        lines = recorded.lines_of(planned, results, outcome.document, store)
        if self.form.record:
            recorded.write(planned, lines, outcome.document, store)
        elif record is not None:
            if differ := differences_of_all(record, lines):
                self._tell(differ)
                self.differ.append(_differ(study.key, differ, len(lines)))
            else:
                outcome.document["verified"] = {"runs": record.runs, "of": record.runs}
        return outcome

    def _shown(self, planned: Plan, record: Record, number: int) -> Outcome:
        """Return what is on record of a study, once runs drawn from it have come out again."""
        key, seed, found = planned.study.key, self.form.seed, on_record.scalars_of(planned, record)
        results = planned.results(found, _drawn(key, planned, self.workers, self.tell))
        outcome = reduce(planned, results, record.document["command"], _core.RESULTS_VERSION)
        on_record.check_verdicts(planned, record, outcome.document)
        sample = draw(planned, record, number, seed)
        about = _about(run.expected_s([one.scenario.work() for one in sample], self.workers))
        which = f"{len(sample)} of {record.runs:,} runs on record, drawn by seed {seed}"
        self.tell.note(f"{key}, rerunning {which}: {about}")
        with open_executor(None, self.workers) as executor, self.tell.progress(key) as progress:
            differ = differences(sample, executor, progress)
        if differ:
            self._tell(differ)
            anew = f"{_command(planned.study)} --verify all makes every run and judges anew"
            hint = f"{anew}; what was changed in papers, `git checkout papers` restores"
            raise DiffersError(f"{_differ(key, differ, len(sample))}; nothing of it is shown", hint)
        verified = {"runs": len(sample), "of": record.runs, "drawn": len(sample), "seed": seed}
        verified["results_version"] = _core.RESULTS_VERSION
        return replace(outcome, document={**record.document, "verified": verified})

    def _tell(self, differ: Sequence[str]) -> None:
        for one in differ[:_TOLD]:
            self.tell.note(one)
        if len(differ) > _TOLD:
            self.tell.note(f"and {len(differ) - _TOLD} more")


def _command(study: Study) -> str:
    return f"perhop reproduce {shlex.quote(study.called)}"


def _differ(key: str, differ: Sequence[str], made: int) -> str:
    differs = "differs" if len(differ) == 1 else "differ"
    return f"{key}: of {counted(made, 'rerun')} {len(differ)} {differs} from the record"


def _draw(study: Study, outcome: Outcome, place: Path) -> None:
    write_file(place / "report.html", page_of(study, outcome))


@contextmanager
def _drawing() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Context that draws pages beside the next study's runs, and ends when all are drawn."""
    pool = ThreadPoolExecutor(max_workers=1)
    pages: list[Future[None]] = []
    try:
        yield lambda draw: pages.append(pool.submit(draw))
        for page in pages:
            page.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def on_kernel(
    study: Study, folder: Path, workers: int | None, tell: Teller = SILENT, record: bool = False
) -> dict[str, Any]:
    """Run a study in virtual time and on real packets, put both beside the paper; return the document."""
    store = folder.parent / f"{study.key}-on-kernel.runs"
    side_by_side, why = cores.allowed(workers)
    if why:
        tell.note(why)
    measured = []
    arms = kernel.arms(study)
    check_live(one.scenario for arm in arms if arm.is_live for one in arm.plan.fitted)
    at_once = {arm.id: side_by_side if arm.is_live else cores.count() for arm in arms}
    works = {arm.id: sum(own.work for one in arm.plan.fitted for own in plan(one)) for arm in arms}
    whole = sum(run.expected_s([work], at_once[arm]) for arm, work in works.items())
    tell.note(f"{study.key}, {len(arms)} arms: {_about(whole)} in all")
    for arm in arms:
        found = run_campaigns(f"{study.key}, {arm.id}", arm.plan.campaigns, store, at_once[arm.id], tell)
        measured.append((arm, arm.plan.results(found, ())))
    with ledger.read(store) as book:
        how = {key: next(iter(of))[0] for key, of in book.values(LIVE).items()}
        made = {key: (digest, how.get(key)) for key, digest, *_ in book.made()}
    again = f"{_command(study)} --on kernel"
    document = kernel.document(study, measured, made, again, _core.RESULTS_VERSION)
    if record:
        own = study.folder / recorded.FOLDER
        own.mkdir(exist_ok=True)
        write_file(own / kernel.RECORD, encode(document), always)
    with new_folder(folder, holds_studies) as new:
        write_file(new / "result.json", encode(document))
        write_file(new / "report.html", kernel.render(study, document))
    return document


def calibrate(study: Study, store: Path, workers: int, tell: Teller = SILENT) -> dict[str, Any]:
    """Search the free parameters of a study that has some, and return the record."""

    def measured(campaigns: Sequence[Campaign], label: str) -> list[Measurements]:
        found = run_campaigns(f"{study.key}, {label}", campaigns, store, workers, tell)
        return [Measurements(one) for one in found]

    own = getattr(study.code, "calibrate", partial(refit.calibrate, study))
    found: dict[str, Any] = own(measured)
    return found


def holds_studies(folder: Path, keys: Sequence[str] = ()) -> bool:
    """Return whether a folder holds only what a study, or studies named by `keys`, left."""

    def ours(path: Path) -> bool:
        if path.name in keys:
            return not path.is_symlink() and holds_studies(path)
        return is_page(path) if path.name == "report.html" else _is_document(path)

    try:
        return all(ours(path) for path in folder.iterdir())
    except OSError:
        return False


def _is_document(file: Path) -> bool:
    """Return whether a file is the `result.json` of a study or of several."""
    if file.name != "result.json" or file.is_symlink():
        return False
    try:
        found = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return False
    documents, keys = found if isinstance(found, list) else [found], {"paper", "results_version", "claims"}
    return all(isinstance(one, dict) and keys <= one.keys() for one in documents)


def run_plan(key: str, planned: Plan, store: Path, workers: int, tell: Teller = SILENT) -> Results:
    """Run or resume the campaigns of a study in one store, then make the runs that it draws."""
    measured = run_campaigns(key, planned.campaigns, store, workers, tell)
    return planned.results(measured, _drawn(key, planned, workers, tell))


def run_campaigns(
    key: str, campaigns: Sequence[Campaign], store: Path, workers: int, tell: Teller = SILENT
) -> list[pl.DataFrame]:
    """Run or resume campaigns one after the other in one store; return each one's values."""
    planned = [plan(one) for one in campaigns]
    work = [sum(own.work for own in runs) for runs in planned]
    about = f"{_about(run.expected_s(work, workers))} if none of them has been made before"
    many = counted(len({own.key for runs in planned for own in runs}), "run")
    tell.note(f"{key}, {many}: {about}; runs are kept in {store}")
    found = []
    with open_executor(None, workers) as executor, tell.progress(key) as progress:
        for place, one in enumerate(campaigns):
            before, whole = sum(work[:place]), sum(work)

            def update(done: float, _: float, before: float = before, whole: float = whole) -> None:
                progress(before + done, whole)

            outcome = run_campaign(one, store, executor, progress=update, runs=planned[place])
            if outcome.failed:
                failed = Store.open(store).runs().filter(state="failed").row(0, named=True)
                raise FailedRunError(f"a run failed: {failed['failure']}", f"in {store}: {failed['replay']}")
            found.append(Store.open(store).scalars())
    return found


def checked(job: AnyJob, result: Result) -> Result:
    """Return a result that may be reduced: one that broke an invariant must not be averaged in."""
    if result.invariants:
        raise FailedRunError(f"a run broke an invariant: {job[1]}: {'; '.join(result.invariants)}")
    return result


def _drawn(key: str, planned: Plan, workers: int, tell: Teller) -> list[Result]:
    """Make the runs that a study draws, equal ones once."""
    jobs, label = planned.drawn, f"{key}, {counted(len(planned.drawn), 'run')} to draw"
    if not jobs:
        return []
    keys = [(source, *overrides, *trace) for source, _, overrides, *trace in jobs]
    different = dict(zip(keys, jobs, strict=True))
    once = list(different.values())
    work = run.job_work(once)
    tell.note(f"{label}: {_about(run.expected_s(work, workers))} by its packets")
    with tell.progress(label) as progress:
        kept = run.run_jobs(once, workers, progress, checked, work)
    found = dict(zip(different, kept, strict=True))
    return [found[key] for key in keys]


def _about(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return f"about {seconds:.0f} s" if seconds < 90 else f"about {seconds / 60:.0f} min"
