"""The mistakes of a `study.toml` that need its campaigns to be seen: names, settings and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import Formatter

import msgspec

from perhop import _core
from perhop.experiment.definition import Campaign
from perhop.experiment.design_check import setting_of
from perhop.experiment.fault import At, DesignError, Fault
from perhop.experiment.vocabulary import words
from perhop.judge.parameters import unfit_of
from perhop.judge.quantity import Subject, among
from perhop.papers import form
from perhop.papers.campaigns import by_level, less, short
from perhop.papers.readings import Reading
from perhop.papers.study import CODE, About, Study

KINDS = ("means", "ellipses", "map", "main", "interactions", "shares", "model")
"""Kinds of figures."""
BY_LEVEL = ("means", "ellipses")
"""Those of quantities; the others are of an analysis."""


def in_study(study: Study) -> Iterator[Fault]:
    """Yield the mistakes in `study.toml`."""
    for part in (_forms, _labelled, _told, _drawn):
        yield from part(study)


def under_reading(study: Study, reading: Reading, at: At) -> Iterator[Fault]:
    """Yield the first mistake that each campaign has under a reading."""
    bare = _without_under(study)
    for own in bare.reads(reading):
        try:
            yield from _faulty(partial(bare.under, own, reading), reading.settings, (*at, "set"))
        except ValueError as error:
            yield Fault((*at, "change"), str(error))
            return


def unseen_under(study: Study, reading: Reading, at: At) -> Iterator[Fault]:
    """Yield a warning for each response that looks for what a reading takes away, and would be nothing."""
    bare = _without_under(study)
    for own in bare.reads(reading):
        before, now = words(own.scenario), words(bare.under(own, reading).scenario)
        for response in own.responses:
            lost = response.doubts(now)
            if lost and not response.doubts(before):
                yield Fault((*at, "id"), f"{own.name}: `{response.name}`: {lost[0].rule}", lost[0].hint)


def _without_under(study: Study) -> Study:
    """Return a study without `[under]`: what that does has its own mistakes."""
    return replace(study, file=msgspec.structs.replace(study.file, under=form.RunChanges()))


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


def _forms(study: Study) -> Iterator[Fault]:
    """Yield the mistakes in the quick form, and in how runs under readings differ."""
    file, known = study.file, [claim.id for claim in study.claims]
    yield from form.unknown(("quick", "claims"), file.quick.claims or (), known)
    forms: dict[str, form.RunChanges] = {"quick": file.quick, "under": file.under}
    times: dict[At, int | None] = {(name, "replications"): own.replications for name, own in forms.items()}
    for at, many in {("rows_of",): file.rows_of, **times}.items():
        if many is not None and many < 1:
            yield Fault(at, f"{many} replications are none", "write 10 or more, so that claims can be judged")
    for name, own in forms.items():
        for one in study.about:
            yield from _faulty(partial(short, one.campaign, own.set), own.set, (name, "set"))
        yield from unknown_levels(study, (name, "change"), own.change)
        for each in study.fitted if own.change else ():
            yield from _faulty(partial(by_level, each, own.change), (), (name, "change"))
        yield from unknown_levels(study, (name, "without"), {level: k for k, level in enumerate(own.without)})
        if not any(less(one, own.without).design.treatments for one in study.fitted):
            yield Fault((name, "without"), "no treatment is left")
    factors = [name for one in study.about for name in one.subject.levels]
    if file.read_by is not None and file.read_by not in factors:
        yield Fault(("read_by",), f"there is no factor `{file.read_by}`", among(file.read_by, factors))


def unknown_levels(study: Study, at: At, named: Mapping[str, object]) -> Iterator[Fault]:
    """Yield the levels that no campaign has; of a list each has its place."""
    for name, value in named.items():
        if name not in study.levels:
            place = value if isinstance(value, int) else name
            rule, is_key = f"no factor has a level `{name}`", place == name
            yield Fault((*at, place), rule, among(name, [*study.levels]), of_key=is_key)


def _labelled(study: Study) -> Iterator[Fault]:
    """Yield the labels of what has none on the page."""
    known = dict[str, None]()
    for one in study.campaigns:
        groups = [name for own in one.subject.responses.values() for name in own]
        tables = [Path(table.file).stem for table in one.claims.file.published]
        known |= dict.fromkeys([*one.subject.levels, *groups, *one.subject.responses, *tables])
    for row in study.file.row:
        own = [level for levels in row.each.values() if isinstance(levels, list) for level in levels]
        known |= dict.fromkeys([row.table, *own])
    for name in study.file.labels:
        if name not in known:
            of_claims = "levels have theirs in [words] of the claims"
            hint = of_claims if name in study.levels else among(name, [*known])
            rule = f"no factor, group, response or table is called `{name}`"
            yield Fault(("labels", name), rule, hint, of_key=True)


def _told(study: Study) -> Iterator[Fault]:
    """Yield what rows, sections and runs to draw ask for and the campaigns have not."""
    file, claims = study.file, {claim.id: about for about in study.about for claim in about.claims.claims}
    for k, row in enumerate(file.row):
        yield from _asked(study, row, ("row", k)) if row.made is None else _made(study, row, ("row", k))
    tables = [*dict.fromkeys(row.table for row in file.row)]
    for k, name in enumerate(file.told):
        if name not in tables:
            yield Fault(("told", k), f"no row is of a table `{name}`", among(name, tables))
    for about in study.about if file.row else ():
        yield from _without_row(study, about)
    for k, section in enumerate(file.section):
        yield from _asked(study, section, ("section", k))
    if file.draw:
        first = next(iter(study.about[0].subject.responses))
        drawn = _asked(study, form.CampaignPart(response=first, each=file.draw), ())
        yield from (replace(one, at=("draw", *one.at[1:])) for one in drawn if one.at[:1] == ("each",))
    for claim, factor in file.by_row.items():
        at: At = ("by_row", claim)
        if claim not in claims:
            yield Fault(at, f"there is no claim `{claim}`", among(claim, [*claims]), of_key=True)
        elif factor not in (known := claims[claim].subject.levels):
            yield Fault(at, f"there is no factor `{factor}`", among(factor, [*known]))


def _made(study: Study, row: form.Rows, at: At) -> Iterator[Fault]:
    """Yield what is wrong with rows that a function makes."""
    name = row.made or ""
    if name not in study.rows:
        yield Fault((*at, "made"), f"{CODE} has no `{name}` in ROWS", among(name, [*study.rows]))
    elif wrong := unfit_of(name, row.parameters, study.rows):
        yield Fault((*at, "made"), wrong)


def _without_row(study: Study, about: About) -> Iterator[Fault]:
    """Yield the first printed value of a campaign that no row has."""
    names = (None, *(one.name for one in study.campaigns))
    rows = [row for row in study.file.row if row.campaign in names and row.made is None]
    own = [row for row in rows if study.of(row.campaign) is about]
    try:
        asked = [one.quantity for row in own for one in about.quantities(row)]
    except DesignError:
        return
    places = [(of.response, about.subject.whole(of.at)) for of in asked]
    for table, _, response, place, _ in about.references.listed:
        if not any(of == response and place.items() <= at.items() for of, at in places):
            where = ", ".join(f"{name} = {level}" for name, level in place.items())
            yield Fault(("row",), f"{table.file} prints `{response}` at {where}, which no row has")
            return


def _drawn(study: Study) -> Iterator[Fault]:
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
            for _, field, spec, _ in [*Formatter().parse(finding.text)]:
                format(1.0, spec if spec and field in finding.values else "")
        except ValueError as error:
            yield Fault(("finding", k, "text"), str(error), "a brace is written twice, {{ and }}")
            continue
        for name in sorted(form.fields(finding.text) - finding.values.keys() - study.numbers.keys()):
            hint = _core.suggest(name, list(finding.values)) or f"add it to `values`, or write {{{{{name}}}}}"
            yield Fault(("finding", k, "text"), f"there is no value `{name}`", hint)


def _valued(study: Study, value: form.Value, at: At) -> Iterator[Fault]:
    """Yield the mistakes of a value in a text."""
    yield from _asked(study, value, at, alone=True)
    for key, own, known in (
        ("reading", value.reading, [one.id for one in study.readings]),
        ("form", value.form, [*study.about[0].references.forms]),
    ):
        if own is not None and own not in known:
            yield Fault((*at, key), f"there is no {key} `{own}`", among(own, known))


def _asked(study: Study, part: form.CampaignPart, at: At, *, alone: bool = False) -> Iterator[Fault]:
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
        if part.kind not in (*BY_LEVEL, "map"):
            yield from _analysed(about.subject, part, at)
            return
    try:
        found = about.quantities(part)
    except DesignError as error:
        yield from (replace(fault, at=(*at, *fault.at)) for fault in error.faults)
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
    if figure.against is None and figure.kind == "ellipses":
        yield Fault(at, "ellipses need `against`, the response to the right", 'such as `against = "wait"`')
    elif figure.against is None:
        return
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
