"""A study that is a folder: its files read and checked together, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from perhop.experiment import definition, shape
from perhop.experiment.definition import Campaign, CampaignError
from perhop.experiment.fault import Fault
from perhop.experiment.kinds import is_study
from perhop.judge.campaign import checked, subject_of
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
    """Return the folder of a study of the project.

    Raises
    ------
    PackError
        There is none; the message lists those there are.
    """
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
    """Read a study.

    Parameters
    ----------
    called
        Its name, of a study of the project; others are named by their path.
    trust
        Whether its `study.py` may run.

    Raises
    ------
    OSError
        It has no `study.toml`, or a file cannot be read.
    StudyError
        Its files have mistakes; all that can be told at once.
    PackError
        Its `study.py` may not run, or ends with an error.
    """
    reader = _Reader(folder, called, trust)
    found = reader.read()
    if found is None:
        raise StudyError(reader.mistakes)
    return found


def check(folder: Path) -> tuple[Study | None, list[Diagnostic], list[Diagnostic]]:
    """Return a study if it has no mistakes, its mistakes, and warnings of its campaigns.

    Raises
    ------
    OSError, PackError
        As of `load`.
    """
    reader = _Reader(folder, "", True)
    found = reader.read()
    warnings = []
    for one in () if found is None else found.campaigns:
        path = one.claims.path.parent / one.name
        # those that code makes have no file
        warnings += definition.read(path).warnings if path.is_file() else []
    return found, reader.mistakes, [*warnings, *(reader.unseen(found) if found else ())]


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
        code = self.code()
        about = [self.about(k, name, code) for k, name in enumerate(file.claims)]
        if not about:
            self.tell([Fault(("claims",), "there is no file of claims", 'write `claims = ["claims.toml"]`')])
        known = tuple(one for one in about if one is not None)
        self.claimed_twice(known)
        words = known[0].claims.file.words if known else {}
        beyond = [self.beyond(k, name, words, code) for k, name in enumerate(file.beyond)]
        # what they are made of has its own mistakes
        swept = {} if self.mistakes else self.sweeps(code)
        beyond += [self.nothing_claimed(name, one, words, code) for name, one in swept.items()]
        self.mistakes = list({one["rendered"]: one for one in self.mistakes}.values())
        if self.mistakes:
            return None
        past = tuple(one for one in beyond if one is not None)
        study = Study(self.folder, self.called, file, known, (), code, self.place, past)
        study = replace(study, readings=self.readings(study))
        self.tell(folder_faults.in_study(study))
        if self.mistakes:
            return None
        fit = load_cell_fit(study.folder, known[0].subject) if file.refit else None
        return replace(study, fit=fit)

    def unseen(self, study: Study) -> list[Diagnostic]:
        """Return warnings of responses that look for what a reading takes away."""
        path = self.shown / readings.FILE
        singles = [one for one in study.readings if not one.of]
        faults = [
            fault
            for k, one in enumerate(singles)
            for fault in folder_faults.unseen_under(study, one, ("reading", k))
        ]
        return shape.diagnostics(path, path.read_bytes(), faults, are_warnings=True) if faults else []

    def tell(self, faults: Iterable[Fault]) -> None:
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

    def about(self, k: int, name: str, code: ModuleType | None) -> About | None:
        """Return a file of claims with its campaign."""
        path, predicates = self.shown / name, getattr(code, "PREDICATES", {})
        forms, stated = getattr(code, "FORMS", {}), getattr(code, "STATED", {})
        try:
            found = checked(path, None, None, unfit_predicate(predicates), forms, stated)
        except OSError as error:
            self.tell([Fault(("claims", k), f"{name}: {error.strerror}", "the path begins at this folder")])
            return None
        except ClaimsError as error:
            cause = error.__cause__
            self.mistakes += cause.diagnostics if isinstance(cause, CampaignError) else error.diagnostics
            return None
        claims, campaign, subject, beside = found
        if campaign is None or subject is None or claims.file.campaign is None:
            hint = 'add `campaign = "campaign.toml"` at the top'
            self.mistakes += claims.diagnostics([Fault((), "which campaign is it about?", hint)])
            return None
        return About(claims.file.campaign, claims, campaign, subject, beside)

    def beyond(self, k: int, name: str, words: Mapping[str, str], code: ModuleType | None) -> About | None:
        """Return a campaign about which nothing is claimed."""
        path = self.shown / name
        try:
            campaign = Campaign.load(path)
        except OSError as error:
            self.tell([Fault(("beyond", k), f"{name}: {error.strerror}", "the path begins at this folder")])
            return None
        except CampaignError as error:
            self.mistakes += error.diagnostics
            return None
        return self.nothing_claimed(name, campaign, words, code)

    def nothing_claimed(
        self, name: str, campaign: Campaign, words: Mapping[str, str], code: ModuleType | None
    ) -> About:
        """Return a campaign as what nothing is claimed of."""
        claims = Claims(self.shown / "claims.toml", b"", ClaimsFile(claim=[], words=dict(words)), ())
        return About(name, claims, campaign, subject_of(campaign, claims, getattr(code, "FORMS", {})))

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
                rule = f"{one.name} has claims already"
                self.mistakes += one.claims.diagnostics(
                    [Fault(("campaign",), rule, "write them in one file")]
                )
            twice = [
                Fault(("claim", k, "id"), f"{taken[claim.id]} has a claim `{claim.id}` already")
                for k, claim in enumerate(one.claims.claims)
                if claim.id in taken
            ]
            self.mistakes += one.claims.diagnostics(twice) if twice else []
            taken |= {claim.id: one.claims.path.name for claim in one.claims.claims}

    def readings(self, study: Study) -> tuple[Reading, ...]:
        """Return the readings of `readings.toml`, none without one."""
        path = self.shown / readings.FILE
        if not path.is_file():
            return ()
        source = path.read_bytes()
        try:
            found = readings.read(path, source, [claim.id for claim in study.claims])
        except StudyError as error:
            self.mistakes += error.diagnostics
            return ()
        singles = [one for one in found if not one.of]
        faults = [
            fault
            for k, one in enumerate(singles)
            for fault in folder_faults.under_reading(study, one, ("reading", k))
        ]
        if faults:
            self.mistakes += shape.diagnostics(path, source, faults)
        return found
