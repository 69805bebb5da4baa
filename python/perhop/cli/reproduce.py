"""`perhop reproduce`: published studies again, their numbers beside ours, claims judged."""

from __future__ import annotations

import errno
import os
import random
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import perhop
from perhop.cli import options
from perhop.cli.exit import ExitCode, UsageError
from perhop.cli.options import argument, flag, option
from perhop.cli.output import meant, note
from perhop.cli.progress import Progress
from perhop.say.claims import depends
from perhop.say.document import Heading, Table, Verdict
from perhop.say.terminal import show
from perhop.units import counted

if TYPE_CHECKING:
    from perhop.papers.outcome import Outcome
    from perhop.papers.reproduce import Form
    from perhop.papers.study import Study
    from perhop.run.run import Progress as Update

_MOST_ROWS = 60
_AGAIN = "--verify, --seed: what is on record is made again"
_OURS = Path(perhop.__file__).parent / "papers_data"
PAPERS = tuple(sorted(path.parent.name for path in _OURS.glob("*/study.toml")))
"""Names of the project's studies."""
VERIFY = 12
"""Runs of each study on record that are made again."""


def command(
    paper: str | None = argument(
        "[STUDY]",
        "A folder with a study.toml, a file that `perhop pack` made, or one of: "
        f"{', '.join(PAPERS)}; default: all of these.",
        None,
    ),
    verify: str | None = option(
        "--verify", "N|all", f"Runs on record to make again, default {VERIFY}; all: every run, judged anew."
    ),
    seed: int | None = option(
        "--seed", "N", "Make the same runs on record again; default: others each time.", min=0
    ),
    quick: bool = flag("--quick", "Shorter runs made now, not the record; says what it leaves out."),
    fitted: bool = flag(
        "--fitted", "Judge claims at the fitted point alone, not under what the paper leaves open."
    ),
    calibrate: bool = flag("--calibrate", "Search the study's free parameters again and print the record."),
    record: bool = flag("--record", "Of one study, in full: write its pack's recorded/ anew as well."),
    clock: str | None = option("--on", "kernel", "On real packets too: paper, simulator and kernel."),
    out: Path | None = option("-o --out", "DIR", "Folder; default out/<paper>, for all out/studies."),
    workers: int | None = option("-j --jobs", "N", "Runs side by side; default: all cores.", min=1),
    trust: bool = flag("--trust", "Let a packed study run the programs in it, with all your rights."),
    as_json: bool = options.JSON,
) -> int:
    """Repeat published studies: their tables and figures beside ours, their claims judged."""
    from perhop.experiment.kinds import is_study

    if paper is not None and Path(paper).is_file() and not is_study(Path(paper)):
        paper = str(_unpacked(Path(paper), out, trust))
    studies = [_study(one) for one in (PAPERS if paper is None else [paper])]
    key = studies[0].key if paper is not None else "studies"
    form = _form(quick, fitted, record, verify, seed)
    if (verify, seed) != (None, None) and (clock is not None or calibrate):
        raise UsageError(_AGAIN, "leave out --on and --calibrate")
    if clock is not None:
        if clock != "kernel" or paper is None or quick or fitted or calibrate:
            raise UsageError("--on: kernel, of one study, and alone", "name one")
        return _on_kernel(studies[0], record, out or Path("out") / f"{key}-on-kernel", workers, as_json)
    if record and (paper is None or quick or fitted or calibrate):
        hint = "name one, without --quick, --fitted and --calibrate"
        raise UsageError("--record: of one study, in full", hint)
    workers = workers or len(os.sched_getaffinity(0))
    folder = out or Path("out") / key
    if calibrate:
        if paper is None:
            raise UsageError("--calibrate: of which study?", "name one")
        _calibrate(studies[0], workers, folder.parent / f"{key}.runs")
        return ExitCode.DONE
    if fitted and (paper is None or quick):
        raise UsageError("--fitted: of one study, in full", "name one, without --quick")
    return _reproduce(studies, form, folder, workers, as_json, paper is None)


def _form(quick: bool, fitted: bool, record: bool, verify: str | None, seed: int | None) -> Form:
    """Return how much of a study is done: what is on record of it, or with other options runs made now."""
    from perhop.papers.reproduce import Form

    given = verify if verify is not None else str(VERIFY)
    if given != "all" and not (given.isascii() and given.isdecimal() and int(given) > 0):
        raise UsageError(f"--verify: {given!r} is neither all nor a whole number from 1", "--verify 12")
    if seed is not None and given == "all":
        raise UsageError("--seed: --verify all draws no runs", "leave out one of them")
    if quick or fitted or record:
        if (verify, seed) != (None, None):
            raise UsageError(_AGAIN, "leave out --quick, --fitted and --record")
        return Form(quick, fitted, record)
    if given == "all":
        return Form()
    return Form(verify=int(given), seed=random.randrange(10**6) if seed is None else seed)


def _unpacked(file: Path, out: Path | None, trust: bool) -> Path:
    """Open a packed study near what it is to give, and return its folder.

    What follows, in processes too, runs no program of it unless it is trusted.
    """
    from perhop.papers.packed import manifest_of, unpack
    from perhop.scenario.trust import set_trust

    manifest = manifest_of(file)
    if manifest.programs and not trust:
        raise UsageError(
            f"{file} holds programs, which would run with all your rights: {', '.join(manifest.programs)}",
            f"read them first, as with `unzip -p {shlex.quote(str(file))} NAME`; then --trust",
        )
    set_trust(trust)
    if manifest.results_version != perhop.RESULTS_VERSION:
        versions = f"{manifest.results_version}; this perhop has {perhop.RESULTS_VERSION}"
        note(f"{file} was packed under results version {versions}: numbers may differ")
    place = (out or Path("out") / file.stem).parent / "unpacked" / file.stem
    unpack(file, place)
    return place


def _study(called: str) -> Study:
    """Return a study by its folder or its name."""
    from perhop.papers.folder import find_study
    from perhop.scenario.trust import is_trusted

    found = find_study(called, trust=is_trusted())
    if found is None:
        if Path(called).is_dir():
            raise options.no_study(Path(called))
        if Path(called).name != called or Path(called).suffix:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), called)
        raise UsageError(f"no study {called!r}", f"{meant(called, PAPERS)}known here: {', '.join(PAPERS)}")
    return found


def _reproduce(
    studies: list[Study], form: Form, folder: Path, workers: int, as_json: bool, index: bool
) -> int:
    """Repeat one study, or each in a folder of its own with a page that leads to all."""
    from perhop.papers.reproduce import Teller, reproduce
    from perhop.report.answer_study import main_claims, stand

    _check_folder(folder, [study.key for study in studies] if index else ())
    done = reproduce(studies, form, folder, workers, Teller(note, _progress), index)
    left_out: dict[str, list[str]] = {}
    for study, outcome in zip(studies, done, strict=True):
        for one in outcome.left_out:
            left_out.setdefault(one, []).append(study.key)
    note(*(f"left out of {', '.join(keys)}: {one}" for one, keys in left_out.items()))
    if as_json:
        documents = [outcome.document for outcome in done]
        _print_record(documents if index else documents[0])
    else:
        for study, outcome in zip(studies, done, strict=True):
            _print(study, outcome)
        if index:
            every = [claim for outcome in done for claim in main_claims(outcome.document)]
            show(stand(every, f" of {counted(len(done), 'paper')}"))
        print(f"report: {(folder / 'report.html').resolve()}")
    return ExitCode.DONE


def _on_kernel(study: Study, record: bool, folder: Path, workers: int | None, as_json: bool) -> int:
    """Run a study in virtual time and on real packets, and put both beside the paper."""
    from perhop.papers import kernel
    from perhop.papers.reproduce import Teller, on_kernel

    _check_folder(folder)
    document = on_kernel(study, folder, workers, Teller(note, _progress), record)
    if as_json:
        _print_record(document)
    else:
        columns = ("claim", *document["arms"], "statement")
        show(Table("Claims", columns, list(kernel.lines(document)), whole="in the report", most=_MOST_ROWS))
        print(f"report: {(folder / 'report.html').resolve()}")
    return ExitCode.DONE


@contextmanager
def _progress(label: str) -> Iterator[Update]:
    with Progress(label) as progress:
        yield progress.update


def _check_folder(folder: Path, keys: Sequence[str] = ()) -> None:
    """Refuse a folder that holds anything but studies."""
    from perhop.papers.reproduce import holds_studies
    from perhop.run.folder import is_there, settle

    settle(folder)
    if is_there(folder) and not holds_studies(folder, keys):
        message = f"{folder} exists and holds other files: it is left alone"
        raise UsageError(message, "give another folder with -o")


def _calibrate(study: Study, workers: int, store: Path) -> None:
    from perhop.papers import reproduce

    if study.fit is None and not hasattr(study.code, "calibrate"):
        raise UsageError(f"--calibrate: {study.key} fits no parameter")
    _print_record(reproduce.calibrate(study, store, workers, reproduce.Teller(note, _progress)))


def _print_record(record: Any) -> None:
    from perhop.papers.records import encode

    sys.stdout.write(encode(record).decode())


def _print(study: Study, done: Outcome) -> None:
    from perhop.papers.outcome import printed
    from perhop.report.answer_study import main_claims, of_claims

    show(Heading(study.file.title), *of_claims(done.document), "")
    numbers, claims = printed(study, done), main_claims(done.document)
    verdicts = []
    for claim in claims:
        verdict, power = Verdict(claim["verdict"]), _power(claim["power"])
        sizes = claim["direction"], claim["size"]
        verdicts.append((claim["id"], verdict, *sizes, power, claim["statement"]))
    beside = [(claim["id"], text) for claim in claims if (text := _beside(claim))]
    for title, columns, rows in (
        (numbers.title, numbers.columns, numbers.rows),
        ("Claims", ("claim", "verdict", "direction", "size", "power", "statement"), verdicts),
        ("Notes on the verdicts", ("claim", "note"), beside),
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
    return "; ".join(filter(None, (depends(claim["evidence"]["decided"]), claim["reason"], sample)))
