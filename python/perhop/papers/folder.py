"""A study that is a folder: its files read and checked together, before anything runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import msgspec
import polars as pl

from perhop import _core
from perhop.experiment import definition, shape
from perhop.experiment.definition import Campaign, CampaignError
from perhop.experiment.design_check import setting_of
from perhop.experiment.fault import At, DesignError, Fault
from perhop.judge.campaign import CheckedClaims, checked, subject_of
from perhop.judge.forms import References
from perhop.judge.grammar import Claim, Claims, ClaimsError, ClaimsFile, Part
from perhop.judge.measured import Measurements, Predicates
from perhop.judge.parameters import unfit_of, unfit_predicate
from perhop.judge.quantity import Asked, Subject, Words, among, asked
from perhop.papers import cell_fit, form, readings
from perhop.papers.error import PackError
from perhop.papers.form import FILE, StudyError, StudyFile
from perhop.papers.pack import Pack
from perhop.papers.plan import Parameters, by_level, having, short, under, without
from perhop.papers.readings import Reading

if TYPE_CHECKING:
    from perhop._core import Diagnostic

CODE = "study.py"
SHORTER = "shorter runs"
"""The fitted point in runs as short as under readings, as if that were one of them."""
KINDS = ("means", "ellipses", "map", "main", "interactions", "shares", "model")
"""Kinds of figures."""
BY_LEVEL = ("means", "ellipses")
"""Those of quantities; the others are of an analysis."""


@dataclass(frozen=True)
class About:
    """A campaign of a study, and the claims about it, none of one beyond the paper.

    Attributes
    ----------
    name
        Of the campaign's file, as files of claims and `beyond` write it.
    beside
        Campaigns whose levels stand beside its own, as fitted.
    """

    name: str
    claims: Claims
    campaign: Campaign
    subject: Subject
    beside: tuple[Campaign, ...] = ()

    @property
    def words(self) -> Words:
        """Names of quantities."""
        return Words(self.claims.file.quantities, self.claims.file.words)

    @property
    def checked(self) -> CheckedClaims:
        """The same, as the judge takes it."""
        return CheckedClaims(self.claims, self.campaign, self.subject, self.beside)

    @property
    def campaigns(self) -> tuple[Campaign, ...]:
        """It and those beside it."""
        return (self.campaign, *self.beside)

    @property
    def references(self) -> References:
        """Values that its quantities are compared with."""
        return cast(References, self.subject.reference)

    def measured(self, found: Iterable[Measurements]) -> Measurements:
        """Return together what its campaigns measured, with the responses that are made of others."""
        return self.checked.measured(pl.concat([one.scalars for one in found], how="diagonal"))

    def quantities(self, part: Part) -> list[Asked]:
        """Return what a part that need not claim anything asks for.

        Raises
        ------
        DesignError
            The campaign has not what it names.
        """
        if not isinstance(part, form.Assumption):
            nothing: dict[str, Any] = dict.fromkeys(("above", "below", "high", "within"))
            part = msgspec.structs.replace(part, low=-math.inf, **nothing)
        return list(asked(part, self.subject, self.words))


@dataclass(frozen=True)
class StudyFolder:
    """A study in a folder, whose files fit together.

    Attributes
    ----------
    folder, called, place
        Where it is, how `perhop reproduce` names it, and how other commands name its folder.
    about
        Its campaigns with their claims, in the order of `claims` in `study.toml`.
    beyond
        Its campaigns past the paper.
    readings
        Of what the paper leaves open, pairs last.
    code
        Its `study.py`; None without one.
    fit
        Of what the paper leaves open to cells that it prints; None where nothing is fitted so.
    """

    folder: Path
    called: str
    file: StudyFile
    about: tuple[About, ...]
    readings: tuple[Reading, ...] = ()
    code: ModuleType | None = field(default=None, repr=False)
    place: str = ""
    beyond: tuple[About, ...] = ()
    fit: cell_fit.CellFit | None = None

    @property
    def pack(self) -> Pack:
        """The folder, as a plan has it."""
        claims = replace(self.about[0].claims, claims=tuple(self.claims))
        return Pack(self.key, self.folder, (), claims, {}, self.place)

    @property
    def key(self) -> str:
        """Name of the folder."""
        return self.folder.name

    @property
    def claims(self) -> list[Claim]:
        """All claims, of several files by the numbers in their names."""
        every = [claim for one in self.about for claim in one.claims.claims]
        return every if len(self.about) == 1 else sorted(every, key=lambda one: by_number(one.id))

    @property
    def predicates(self) -> Predicates:
        """Functions of `study.py` that judge parts of claims."""
        return getattr(self.code, "PREDICATES", {})

    @property
    def rows(self) -> Mapping[str, Callable[..., Iterable[tuple[Any, ...]]]]:
        """Functions of `study.py` that make rows."""
        return getattr(self.code, "ROWS", {})

    @property
    def numbers(self) -> Mapping[str, Callable[[Any], Any]]:
        """Functions of `study.py` whose values texts may name."""
        return getattr(self.code, "NUMBERS", {})

    @property
    def parameters(self) -> Parameters | None:
        """Function of `study.py` that gives settings where parameters of the study change."""
        return getattr(self.code, "parameters", None)

    @property
    def campaigns(self) -> tuple[About, ...]:
        """All its campaigns."""
        return (*self.about, *self.beyond)

    @property
    def levels(self) -> set[str]:
        """Levels of the factors of its campaigns, none of those beyond the paper."""
        return {level for one in self.about for own in one.subject.levels.values() for level in own}

    @property
    def shorter(self) -> tuple[Reading, ...]:
        """The fitted point in runs as short as under readings, as one of them; nothing where they are not."""
        levels, factors = {*self.file.shorter}, {name for one in self.about for name in one.subject.levels}
        claims = [one.id for one in self.claims if levels & {*chain(*map(one.levels, factors))}]
        meaning = "the fitted point, in runs as short as under all readings"
        return (Reading(SHORTER, meaning, claims=tuple(claims)),) if claims else ()

    def of(self, campaign: str | None) -> About:
        """Return a campaign by its name; without one the first."""
        return self.about[0] if campaign is None else next(o for o in self.campaigns if o.name == campaign)

    def holding(self, campaign: Campaign) -> About:
        """Return the subject that a campaign is of, or stands beside the first of."""
        own = campaign.name, campaign.source
        return next(one for one in self.about if own in [(each.name, each.source) for each in one.campaigns])

    def reads(
        self, reading: Reading, planned: Sequence[Campaign] | None = None, unjudged: Collection[str] = ()
    ) -> list[Campaign]:
        """Return the campaigns, or parts of them, that a reading's claims are about.

        Parameters
        ----------
        planned
            All campaigns as they are run; by default as their files have them.
        unjudged
            Claims that are not judged.
        """
        found, judged = list[Campaign](), {*reading.claims} - {*unjudged}
        every = [each for one in self.about for each in one.campaigns] if planned is None else planned
        for about in self.about:
            own = [one for one in every if self.holding(one) is about]
            claims = [one for one in about.claims.claims if one.id in judged]
            found += _read(own, claims, self.file.read_by) if own and claims else []
        return found

    def under(self, campaign: Campaign, reading: Reading) -> Campaign:
        """Return a campaign under a reading; errors as of `perhop.papers.plan.under`."""
        return by_level(under(campaign, reading, self.levels, self.parameters), self.file.shorter)


def _read(campaigns: Sequence[Campaign], claims: Sequence[Claim], factor: str | None) -> Iterator[Campaign]:
    """Yield what is run for claims: the first campaign, or what has the levels of a factor that they name."""
    if factor is None or factor not in campaigns[0].design.names:
        yield campaigns[0]
        return
    sets = any(isinstance(part.each.get(factor), str) for claim in claims for part in claim.parts)
    named = {*chain(*(claim.levels(factor) for claim in claims))}
    for one in campaigns:
        kept = one if sets or not named else having(one, factor, named)
        if kept.design.treatments:
            yield kept


def by_number(name: str) -> list[tuple[bool, str]]:
    """Return what names are sorted by, so that F9 comes before F10."""
    return [(part.isdigit(), part.zfill(9)) for part in re.split(r"(\d+)", name)]


def load(folder: Path, called: str = "", *, trust: bool = True) -> StudyFolder:
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


def check(
    folder: Path, *, trust: bool = True
) -> tuple[StudyFolder | None, list[Diagnostic], list[Diagnostic]]:
    """Return a study if it has no mistakes, its mistakes, and warnings of its campaigns.

    Raises
    ------
    OSError, PackError
        As of `load`.
    """
    reader = _Reader(folder, "", trust)
    found = reader.read()
    warnings = []
    for one in () if found is None else found.campaigns:
        path = one.claims.path.parent / one.name
        # those that code makes have no file
        warnings += definition.read(path).warnings if path.is_file() else []
    return found, reader.mistakes, warnings


class _Reader:
    """Reads the files of a study, and collects their mistakes."""

    def __init__(self, folder: Path, called: str, trust: bool) -> None:
        self.shown = folder.parent if folder.name == FILE else folder
        self.folder, self.trust = self.shown.resolve(), trust
        self.called = called or str(self.shown)
        self.place = f"papers/{called}" if called else str(self.shown)
        self.mistakes: list[Diagnostic] = []

    def read(self) -> StudyFolder | None:
        """Return the study; None where a file has mistakes."""
        path = self.shown / FILE
        try:
            self.source, file = form.read(path)
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
        study = StudyFolder(self.folder, self.called, file, known, (), code, self.place, past)
        study = replace(study, readings=self.readings(study))
        self.tell([*_quick(study), *_labelled(study), *_told(study), *_drawn(study)])
        if self.mistakes:
            return None
        return replace(study, fit=cell_fit.load(study.pack, study.about[0].subject)) if file.refit else study

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

    def readings(self, study: StudyFolder) -> tuple[Reading, ...]:
        """Return the readings of `readings.toml`, none without one."""
        path = self.shown / readings.FILE
        if not path.is_file():
            return ()
        source = path.read_bytes()
        try:
            found, quick = readings.read(path, source, [claim.id for claim in study.claims])
        except StudyError as error:
            self.mistakes += error.diagnostics
            return ()
        singles = [one for one in found if not one.of]
        faults = [fault for k, one in enumerate(singles) for fault in _refused(study, one, ("reading", k))]
        if quick is not None:
            hint = f"write them as `claims` of [quick] in {FILE}"
            faults.append(Fault(("quick",), "claims of the quick form stand elsewhere", hint, of_key=True))
        if faults:
            self.mistakes += shape.diagnostics(path, source, faults)
        return found


def _refused(study: StudyFolder, reading: Reading, at: At) -> Iterator[Fault]:
    """Yield the first mistake that each campaign has under a reading."""
    for own in study.reads(reading):
        try:
            yield from _faulty(partial(study.under, own, reading), reading.settings, (*at, "set"))
        except ValueError as error:
            yield Fault((*at, "change"), str(error))
            return


def _faulty(make: Callable[[], Campaign], settings: Sequence[str], at: At) -> Iterator[Fault]:
    """Yield the first mistake of a campaign that is made with settings, at the setting that makes it."""
    try:
        made = make()
        scenarios = (made.scenario.unread(*one.overrides) for one in made.design.treatments)
        wrong = next((wrong for one in scenarios for wrong in one.check()), None)
    except _core.ScenarioError as error:
        wrong = error.diagnostics[0]
    if wrong is not None:
        place = setting_of(settings, wrong["path"])
        own = at if place is None else (*at, place)
        yield Fault(own, f"{wrong['path']}: {wrong['rule']}", wrong["hint"])


def _quick(study: StudyFolder) -> Iterator[Fault]:
    """Yield the mistakes in the quick form, and in how often a reading is run."""
    quick, known = study.file.quick, [claim.id for claim in study.claims]
    times: dict[At, int | None] = {
        ("replications",): study.file.replications,
        ("rows_of",): study.file.rows_of,
        ("quick", "replications"): quick.replications,
    }
    for at, many in times.items():
        if many is not None and many < 1:
            yield Fault(at, f"{many} replications are none", "write 10 or more, so that claims can be judged")
    if quick.claims is not None:
        yield from form.unknown(("quick", "claims"), quick.claims, known)
    own = study.file.under
    for one in study.about:
        yield from _faulty(partial(short, one.campaign, quick.set), quick.set, ("quick", "set"))
        yield from _faulty(partial(short, one.campaign, own.set), own.set, ("under", "set"))
    try:
        for one in study.about if own.without else ():
            without(one.campaign, own.without)
    except ValueError as error:
        yield Fault(("under", "without"), str(error))
    by: dict[At, Mapping[str, list[str]]] = {
        ("quick", "change"): quick.change,
        ("shorter",): study.file.shorter,
    }
    for at, change in by.items():
        yield from _levels(study, at, change)
        for each in (one for about in study.about for one in about.campaigns if change):
            yield from _faulty(partial(by_level, each, change), (), at)
    yield from _levels(study, ("quick", "without"), {name: k for k, name in enumerate(quick.without)})
    factors = [name for one in study.about for name in one.subject.levels]
    if study.file.read_by not in (None, *factors):
        name = str(study.file.read_by)
        yield Fault(("read_by",), f"there is no factor `{name}`", among(name, factors))


def _levels(study: StudyFolder, at: At, named: Mapping[str, object]) -> Iterator[Fault]:
    """Yield the levels that no campaign has; of a list each has its place."""
    for name, value in named.items():
        if name not in study.levels:
            place = value if isinstance(value, int) else name
            rule, is_key = f"no factor has a level `{name}`", place == name
            yield Fault((*at, place), rule, among(name, [*study.levels]), of_key=is_key)


def _labelled(study: StudyFolder) -> Iterator[Fault]:
    """Yield the labels of what has none on the page."""
    known = dict[str, None]()
    for one in study.campaigns:
        groups = [name for own in one.subject.responses.values() for name in own]
        tables = [Path(table.file).stem for table in one.claims.file.published]
        known |= dict.fromkeys([*one.subject.levels, *groups, *one.subject.responses, *tables])
    for row in study.file.row:
        own = [level for levels in row.each.values() if isinstance(levels, list) for level in levels]
        known |= dict.fromkeys([row.table, *own])
    levels = {level for one in study.about for own in one.subject.levels.values() for level in own}
    for name in study.file.labels:
        if name not in known:
            hint = "levels have theirs in [words] of the claims" if name in levels else among(name, [*known])
            rule = f"no factor, group, response or table is called `{name}`"
            yield Fault(("labels", name), rule, hint, of_key=True)


def _told(study: StudyFolder) -> Iterator[Fault]:
    """Yield what rows, sections and runs to draw ask for and the campaigns have not."""
    file, claims = study.file, {claim.id: about for about in study.about for claim in about.claims.claims}
    for k, row in enumerate(file.row):
        yield from _asked(study, row, ("row", k)) if row.made is None else _made(study, row, ("row", k))
    for k, name in enumerate(file.told):
        if name not in (tables := [*dict.fromkeys(row.table for row in file.row)]):
            yield Fault(("told", k), f"no row is of a table `{name}`", among(name, tables))
    for about in study.about if file.row else ():
        yield from _without_row(study, about)
    for k, section in enumerate(file.section):
        yield from _asked(study, section, ("section", k))
    if file.draw:
        first = next(iter(study.about[0].subject.responses))
        for fault in _asked(study, form.Asked(response=first, each=file.draw), ()):
            if fault.at[:1] == ("each",):
                yield replace(fault, at=("draw", *fault.at[1:]))
    for claim, factor in file.by_row.items():
        at: At = ("by_row", claim)
        if claim not in claims:
            yield Fault(at, f"there is no claim `{claim}`", among(claim, [*claims]), of_key=True)
        elif factor not in (known := claims[claim].subject.levels):
            yield Fault(at, f"there is no factor `{factor}`", among(factor, [*known]))


def _made(study: StudyFolder, row: form.Rows, at: At) -> Iterator[Fault]:
    """Yield what is wrong with rows that a function makes."""
    name = row.made or ""
    if name not in study.rows:
        yield Fault((*at, "made"), f"{CODE} has no `{name}` in ROWS", among(name, [*study.rows]))
    elif wrong := unfit_of(name, row.parameters, study.rows):
        yield Fault((*at, "made"), wrong)


def _without_row(study: StudyFolder, about: About) -> Iterator[Fault]:
    """Yield the first printed value of a campaign that no row has."""
    names = (None, *(one.name for one in study.campaigns))
    rows = [row for row in study.file.row if row.campaign in names and row.made is None]
    try:
        asked = [
            one.quantity for row in rows if study.of(row.campaign) is about for one in about.quantities(row)
        ]
    except DesignError:
        return
    for table, _, response, place, _ in about.references.listed:
        if not any(
            of.response == response
            and place.items() <= {**next(iter(about.subject.fitting(of.at)), {}), **of.at}.items()
            for of in asked
        ):
            where = ", ".join(f"{name} = {level}" for name, level in place.items())
            yield Fault(("row",), f"{table.file} prints `{response}` at {where}, which no row has")
            return


def _drawn(study: StudyFolder) -> Iterator[Fault]:
    """Yield what figures, assumptions and findings ask for and the campaigns have not."""
    file = study.file
    for k, figure in enumerate(file.figure):
        at: At = ("figure", k)
        yield from _asked(study, figure, at)
        if figure.kind not in KINDS:
            yield Fault((*at, "kind"), f"there is no figure `{figure.kind}`", among(figure.kind, KINDS))
        elif figure.kind in BY_LEVEL and not 1 <= len(figure.each) <= 3:
            hint = 'such as `each = { rtt = "all" }`; of two, a line for each of the first'
            yield Fault(at, f"a figure of {figure.kind} needs `each` of one, two or three", hint)
        elif figure.kind == "map" and len({*figure.each} - {"response"}) != 2 + figure.apart:
            hint = "of three with `apart`, a map for each of the first"
            yield Fault(at, "a map needs two factors in `each`, beside responses", hint)
    for k, one in enumerate(file.assumption):
        yield from _asked(study, one, ("assumption", k))
    for k, finding in enumerate(file.finding):
        if finding.title is None and not finding.claims:
            yield Fault(("finding", k), "it stands nowhere", "add a `title`, or `claims` that it is beside")
        yield from form.unknown(("finding", k, "claims"), finding.claims, [one.id for one in study.claims])
        for name, value in finding.values.items():
            yield from _valued(study, value, ("finding", k, "values", name))
        try:
            parsed = [
                (name, spec) for _, name, spec, _ in Formatter().parse(finding.text) if name is not None
            ]
            for name, spec in parsed:
                format(1.0, (spec or "") if name in finding.values else "")
        except ValueError as error:
            yield Fault(("finding", k, "text"), str(error), "a brace is written twice, {{ and }}")
            continue
        fields = {name for name, _ in parsed}
        fields = {re.split(r"[.\[]", name, maxsplit=1)[0] for name in fields}
        for name in sorted(fields - finding.values.keys() - study.numbers.keys()):
            hint = _core.suggest(name, list(finding.values)) or f"add it to `values`, or write {{{{{name}}}}}"
            yield Fault(("finding", k, "text"), f"there is no value `{name}`", hint)


def _valued(study: StudyFolder, value: form.Value, at: At) -> Iterator[Fault]:
    """Yield the mistakes of a value in a text."""
    yield from _asked(study, value, at, alone=True)
    for key, own, known in (
        ("reading", value.reading, [one.id for one in study.readings]),
        ("form", value.form, [*study.about[0].references.forms]),
    ):
        if own is not None and own not in known:
            yield Fault((*at, key), f"there is no {key} `{own}`", among(own, known))


def _asked(study: StudyFolder, part: form.Asked, at: At, *, alone: bool = False) -> Iterator[Fault]:
    """Yield why a part cannot be asked of its campaign."""
    names = [one.name for one in study.campaigns]
    if part.campaign is not None and part.campaign not in names:
        rule = f"no file of claims names `{part.campaign}`, and `beyond` has it not"
        yield Fault((*at, "campaign"), rule, among(part.campaign, names))
        return
    if part.predicate is not None:
        yield Fault((*at, "predicate"), "a predicate judges claims", of_key=True)
        return
    about = study.of(part.campaign)
    if isinstance(part, form.Figure):
        yield from _against(part, about.subject, at)
    if isinstance(part, form.Figure) and part.kind not in (*BY_LEVEL, "map"):
        yield from _analysed(about.subject, part, at)
        return
    try:
        found = about.quantities(part)
    except DesignError as error:
        for fault in error.faults:
            yield Fault((*at, *fault.at), fault.rule, fault.hint, of_key=fault.of_key)
        return
    if isinstance(part, form.Rows):
        try:
            part.id.format_map(found[0].quantity.at if found else {})
        except (LookupError, ValueError, AttributeError, TypeError) as error:
            yield Fault((*at, "id"), f"there is nothing to fill in for {error}")
    if not found or (alone and len(found) > 1):
        yield Fault(at, "one value is needed" if found else "asks for nothing: no level is left in `each`")


def _against(figure: form.Figure, subject: Subject, at: At) -> Iterator[Fault]:
    """Yield what is wrong with `against`, which ellipses have and no other figure."""
    if figure.against is None:
        if figure.kind == "ellipses":
            yield Fault(
                at, "ellipses need `against`, the response to the right", 'such as `against = "wait"`'
            )
    elif figure.kind != "ellipses":
        yield Fault((*at, "against"), "only ellipses are drawn against a response", of_key=True)
    elif subject.responses.get(figure.against) != subject.responses.get(figure.response or ""):
        rule = f"there is no response `{figure.against}` with the groups of `{figure.response}`"
        yield Fault((*at, "against"), rule, among(figure.against, [*subject.responses]))


def _analysed(subject: Subject, figure: form.Figure, at: At) -> Iterator[Fault]:
    """Yield the mistakes of a figure of an analysis, which has a response and levels alone."""
    response = figure.response or ""
    if response not in subject.responses:
        rule = f"there is no response `{response}`"
        yield Fault((*at, "response") if response else at, rule, among(response, [*subject.responses]))
        return
    if figure.kind == "model" and subject.factorial is None:
        yield Fault((*at, "kind"), "the file of claims has no [factorial]")
    known = subject.known(response)
    for name, level in figure.at.items():
        own = known.get(name)
        if name not in known:
            rule = f"`{response}` has no factor and no group `{name}`"
            yield Fault((*at, "at", name), rule, _core.suggest(name, list(known)), of_key=True)
        elif own is not None and level not in own:
            yield Fault((*at, "at", name), f"`{name}` has no level `{level}`", among(level, own))
