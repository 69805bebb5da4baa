"""A study that is a folder: its files read and checked together, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from perhop.experiment import definition, shape
from perhop.experiment.definition import Campaign, CampaignError
from perhop.experiment.fault import At, Fault, FileError
from perhop.experiment.kinds import is_study
from perhop.judge.campaign import checked, subject_of
from perhop.judge.forms import Forms
from perhop.judge.grammar import Claims, ClaimsError, ClaimsFile
from perhop.judge.parameters import unfit_predicate
from perhop.papers import folder_faults, readings
from perhop.papers.error import PackError
from perhop.papers.fit import load_cell_fit
from perhop.papers.form import FILE, StudyError, StudyFile
from perhop.papers.readings import Reading
from perhop.papers.study import CODE, About, Study

if TYPE_CHECKING:
    from perhop._core import Diagnostic

OWN = Path(__file__).parents[1] / "papers_data"
"""Folder of the project's studies."""


def own_folder(key: str) -> Path:
    """Return the folder of a study of the project; a `PackError` lists those there are."""
    known = sorted(path.parent.name for path in OWN.glob(f"*/{FILE}"))
    if key not in known:
        raise PackError(f"no pack {key!r}; there is {', '.join(known) or 'none'}")
    return (OWN / key).resolve()


def own_study(key: str) -> Study:
    """Return a study of the project by its name; errors as of `own_folder` and `load`."""
    return load(own_folder(key), key)


def find_study(called: str, *, trust: bool = True) -> Study | None:
    """Return a study by its folder, or by its name among those of the project; None where there is none.

    Errors as of `load`. That a `study.py` of the project may run is trusted.
    """
    path = Path(called)
    if is_study(path):
        return load(path, trust=trust)
    return own_study(called) if path.name == called and is_study(OWN / called) else None


def load(folder: Path, called: str = "", *, trust: bool = True) -> Study:
    """Read a study, called by its name if it is one of the project, else by its path.

    A `StudyError` has all mistakes in its files that can be told at once; a `PackError`: its `study.py` may
    not run (`trust`), or ends with an error.
    """
    reader = _Reader(folder, called, trust)
    found = reader.read()
    if found is None:
        raise StudyError(reader.mistakes)
    return found


def check(folder: Path) -> tuple[Study | None, list[Diagnostic], list[Diagnostic]]:
    """Return a study if it has no mistakes, its mistakes, and warnings; errors as of `load`."""
    reader = _Reader(folder, "", True)
    found = reader.read()
    warnings: list[Diagnostic] = []
    for path in [one.claims.path.parent / one.name for one in found.campaigns] if found else ():
        # those that code makes have no file
        warnings += definition.read(path).warnings if path.is_file() else []
    if found:
        warnings += reader.of_readings(folder_faults.unseen_under, found, found.readings, are_warnings=True)
    return found, reader.mistakes, warnings


class _Reader:
    """Reads the files of a study, and collects their mistakes."""

    def __init__(self, folder: Path, called: str, trust: bool) -> None:
        self.shown = folder.parent if folder.name == FILE else folder
        self.folder, self.trust = self.shown.resolve(), trust
        self.called = called or str(self.shown)
        self.place = f"papers/{called}" if called else str(self.shown)
        self.mistakes: list[Diagnostic] = []

    def read(self) -> Study | None:
        """Return the study; None where a file has mistakes."""
        path = self.shown / FILE
        self.source = path.read_bytes()
        try:
            file = shape.read(path, self.source, StudyFile, StudyError)
        except StudyError as error:
            self.mistakes += error.diagnostics
            return None
        code, about, past = self.code(), list[About](), list[tuple[str, Campaign]]()
        for k, name in enumerate(file.claims):
            with self.noting(name, ("claims", k)):
                about.append(self.about(name, code))
        if not file.claims:
            self.note([Fault(("claims",), "there is no file of claims", 'write `claims = ["claims.toml"]`')])
        self.claimed_twice(about)
        for k, name in enumerate(file.beyond):
            with self.noting(name, ("beyond", k)):
                past.append((name, Campaign.load(self.shown / name)))
        # what they are made of has its own mistakes
        past += [] if self.mistakes else self.sweeps(code).items()
        self.mistakes = list({one["rendered"]: one for one in self.mistakes}.values())
        if self.mistakes:
            return None
        words, forms = about[0].claims.file.words, getattr(code, "FORMS", {})
        beyond = [self.nothing_claimed(name, one, words, forms) for name, one in past]
        study = Study(self.folder, self.called, file, tuple(about), (), code, self.place, tuple(beyond))
        study = replace(study, readings=self.readings(study))
        self.note(folder_faults.in_study(study))
        if self.mistakes:
            return None
        fit = load_cell_fit(study.folder, about[0].subject) if file.refit else None
        return replace(study, fit=fit)

    @contextmanager
    def noting(self, name: str, at: At) -> Iterator[None]:
        """Note the mistakes in a file that `study.toml` names in a place."""
        try:
            yield
        except OSError as error:
            self.note([Fault(at, f"{name}: {error.strerror}", "the path begins at this folder")])
        except FileError as error:
            cause = error.__cause__
            self.mistakes += cause.diagnostics if isinstance(cause, CampaignError) else error.diagnostics

    def note(self, faults: Iterable[Fault]) -> None:
        """Note mistakes in `study.toml`."""
        found = list(faults)
        if found:
            self.mistakes += shape.diagnostics(self.shown / FILE, self.source, found)

    def code(self) -> ModuleType | None:
        """Run `study.py`, if there is one."""
        path = self.folder / CODE
        if not path.is_file():
            return None
        if not self.trust:
            raise PackError(f"{path}: is code, which runs only if it is trusted", "--trust")
        spec = spec_from_file_location(f"perhop_study_{self.folder.name}", path)
        if spec is None or spec.loader is None:
            raise PackError(f"{path}: cannot be run")
        module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except PackError:
            raise
        except (Exception, SystemExit) as error:
            raise self.failed(error) from error
        return module

    def about(self, name: str, code: ModuleType | None) -> About:
        """Return a file of claims with its campaign."""
        predicates, forms, stated = (getattr(code, one, {}) for one in ("PREDICATES", "FORMS", "STATED"))
        found = checked(self.shown / name, None, None, unfit_predicate(predicates), forms, stated)
        claims, campaign, subject, beside = found
        if campaign is None or subject is None or claims.file.campaign is None:
            hint = 'add `campaign = "campaign.toml"` at the top'
            raise ClaimsError(claims.diagnostics([Fault((), "which campaign is it about?", hint)]))
        return About(claims.file.campaign, claims, campaign, subject, beside)

    def nothing_claimed(self, name: str, campaign: Campaign, words: Mapping[str, str], forms: Forms) -> About:
        """Return a campaign as what nothing is claimed of."""
        claims = Claims(self.shown / "claims.toml", b"", ClaimsFile(claim=[], words=dict(words)), ())
        return About(name, claims, campaign, subject_of(campaign, claims, forms))

    def sweeps(self, code: ModuleType | None) -> Mapping[str, Campaign]:
        """Return the campaigns past the paper that `study.py` makes, by name."""
        try:
            found: Mapping[str, Campaign] = getattr(code, "sweeps", dict)()
        except Exception as error:
            raise self.failed(error) from error
        return found

    def failed(self, error: BaseException) -> PackError:
        """Return what is told of an error in `study.py`."""
        path = self.folder / CODE
        return PackError(f"{path}: {type(error).__name__}: {error}", f"python {path}")

    def claimed_twice(self, about: Sequence[About]) -> None:
        """Note claims whose name is taken, and campaigns with two files of claims."""
        taken: dict[str, str] = {}
        for place, one in enumerate(about):
            if one.name in [other.name for other in about[:place]]:
                fault = Fault(("campaign",), f"{one.name} has claims already", "write them in one file")
                self.mistakes += one.claims.diagnostics([fault])
            twice = [
                Fault(("claim", k, "id"), f"{taken[claim.id]} has a claim `{claim.id}` already")
                for k, claim in enumerate(one.claims.claims)
                if claim.id in taken
            ]
            self.mistakes += one.claims.diagnostics(twice) if twice else []
            taken |= {claim.id: one.claims.path.name for claim in one.claims.claims}

    def readings(self, study: Study) -> tuple[Reading, ...]:
        """Return the readings of `readings.toml`, none without one."""
        path, found = self.shown / readings.FILE, tuple[Reading, ...]()
        if path.exists() or path.is_symlink():
            with self.noting(path.name, ()):
                found = readings.read(path, path.read_bytes(), [claim.id for claim in study.claims])
            self.mistakes += self.of_readings(folder_faults.under_reading, study, found)
        return found

    def of_readings(
        self,
        faults: Callable[[Study, Reading, At], Iterable[Fault]],
        study: Study,
        found: Sequence[Reading],
        are_warnings: bool = False,
    ) -> list[Diagnostic]:
        """Return the mistakes, or warnings, that campaigns have under readings."""
        singles = [one for one in found if not one.of]
        every = [each for k, one in enumerate(singles) for each in faults(study, one, ("reading", k))]
        path = self.shown / readings.FILE
        return shape.diagnostics(path, path.read_bytes(), every, are_warnings=are_warnings) if every else []
