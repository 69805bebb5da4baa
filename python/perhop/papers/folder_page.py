"""The page of a study in a folder: its figures, with the numbers of each, and the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import polars as pl

from perhop.experiment.analyze import analyze, asked_of
from perhop.judge.campaign import judge
from perhop.judge.measured import Measurements
from perhop.judge.quantity import Quantity
from perhop.judge.verdict import ClaimPart
from perhop.papers import ellipses, form
from perhop.papers.folder import About, StudyFolder
from perhop.papers.plan import Plan
from perhop.papers.study import Outcome
from perhop.plot.effects import Line, Mean, Panel, draw_curve, draw_means
from perhop.report import effects, page
from perhop.report.study import Section, StudyPage, render
from perhop.say.document import Table
from perhop.units import Scale


@dataclass(frozen=True, kw_only=True)
class Reproduced(Outcome):
    """Outcome of a study in a folder, which its `study.py` is given.

    Attributes
    ----------
    measured
        What each campaign measured at the fitted point, by its file.
    read
        The same under each reading that the campaign was run under: by reading, then by file.
    """

    measured: Mapping[str, Measurements]
    read: Mapping[str, Mapping[str, Measurements]]


@dataclass(frozen=True)
class Value:
    """A quantity, at the levels of `each` in its part, what was measured of it, and its unit."""

    levels: tuple[str, ...]
    quantity: Quantity
    part: ClaimPart
    unit: str | None

    @property
    def mean(self) -> float:
        """The mean; 0 without a value."""
        return 0.0 if self.part.measured is None else self.part.measured.mean

    @property
    def runs(self) -> int:
        """How many replications it is of."""
        return 0 if self.part.measured is None else self.part.measured.n

    def text(self, scale: Scale | None = None) -> str:
        """Return the value with its interval, and its unit where none is given."""
        found = self.part.measured
        if found is None:
            return "no value"
        own = Scale.of(self.unit, abs(found.mean)) if scale is None else replace(scale, unit="")
        return own.value(found.mean, found.half_width)

    def printed(self, scale: Scale) -> str | None:
        """Return what is printed, in a unit; None where nothing is."""
        return None if self.part.printed is None else f"{self.part.printed / scale.factor:g}"


def values_of(study: StudyFolder, part: form.Asked, fitted: Sequence[Measurements]) -> Iterator[Value]:
    """Yield what a part of `study.toml` asks for, as it was measured."""
    k = study.of(part.campaign)
    if k >= len(fitted):
        return
    units = {one.name: one.unit for one in study.about[k].campaign.responses}
    for one in study.about[k].quantities(part):
        of = one.quantity
        places = {**of.at, **(of.effect or {}), "response": of.response}
        levels = tuple(places[name] for name in part.each)
        for hypothesis in one.hypotheses:
            yield Value(levels, of, judge(fitted[k], hypothesis, of), of.unit(units[of.response]))


def page_of(study: StudyFolder, plan: Plan, outcome: Reproduced) -> str:
    """Return the page as HTML."""
    fitted = list(outcome.measured.values())
    sections = [
        section
        for k, figure in enumerate(study.file.figure, 1)
        if (section := _section(study, figure, k, fitted, outcome.document["command"])) is not None
    ]
    own: Callable[[Reproduced], Sequence[Section]] | None = getattr(study.code, "sections", None)
    sections += own(outcome) if own else []
    if study.file.citation is not None:
        sections.append(Section("paper", "The paper", [_cited(study.file.citation)]))
    return render(
        StudyPage(
            study.file.title,
            outcome.document,
            sections,
            study.file.question,
            study.file.about,
            study.file.labels,
            findings=outcome.findings,
            warnings=outcome.warnings,
            left_out=outcome.left_out,
        )
    )


def _cited(one: form.Citation) -> str:
    """Return a citation in a line."""
    parts = [", ".join(one.authors), one.title, one.where, "" if one.year is None else str(one.year)]
    parts += [f"doi:{one.doi}" if one.doi else "", one.url]
    licence = f" The files of this study: {one.licence}." if one.licence else ""
    return f"{', '.join(filter(None, parts))}.{licence}"


def _section(
    study: StudyFolder, figure: form.Figure, k: int, fitted: Sequence[Measurements], command: str
) -> Section | None:
    """Return a figure with its numbers; None where there is nothing to draw."""
    place, id_ = study.of(figure.campaign), f"figure-{k}"
    if place >= len(fitted):
        return None
    if figure.kind == "ellipses":
        return ellipses.section(study, figure, study.about[place], id_, fitted[place], command)
    if figure.kind != "means":
        return _analysed(study.about[place], figure, id_, fitted[place], command)
    values = {one.levels: one for one in values_of(study, figure, fitted) if one.part.measured is not None}
    if not values:
        return None
    drawn = _Means(study, figure, study.about[place], values)
    drawing = page.drawing(id_, figure.title, drawn.svg(), figure.caption, command, drawn.csv())
    return Section(id_, figure.title, tables=[drawn.table(command)], drawings=[drawing])


class _Means:
    """Means of a quantity at some levels, beside what is printed of them."""

    def __init__(
        self, study: StudyFolder, figure: form.Figure, about: About, values: Mapping[tuple[str, ...], Value]
    ) -> None:
        def label(name: str) -> str:
            return study.file.labels.get(name, name)

        self.title, self.values, self.word = figure.title, values, about.words.word
        first = next(iter(values.values()))
        self.scale = Scale.of(first.unit, max(abs(one.mean) for one in values.values()))
        self.names = [label(name) for name in figure.each]
        self.levels = [list(dict.fromkeys(at[k] for at in values)) for k in range(len(self.names))]
        self.printed = any(one.part.printed is not None for one in values.values())
        self.axis = figure.label or label(first.quantity.response)
        self.axis += f" in {self.scale.unit}" if self.scale.unit else ""

    def svg(self) -> str:
        """Draw them: over numbers as a curve, else level beside level."""
        across, *_ = reversed(self.names)
        other = self.names[-2] if len(self.names) > 1 else ""
        ticks = [self.word(level) for level in self.levels[-1]]
        panels = [
            Panel(
                ", ".join([across, *(f"{self.names[0]} {self.word(one)}" for one in first)]),
                ticks,
                list(self.lines(first)),
                other,
            )
            for first in product(*self.levels[:-2])
        ]
        numbers = effects.numbers(self.levels[-1])
        if len(panels) > 1 or numbers is None or len(ticks) < 3:
            return draw_means(panels, self.axis, self.title)
        x, ticks, unit = numbers
        panel = replace(panels[0], factor=f"{panels[0].factor}{unit}", levels=ticks)
        return draw_curve(x, panel, self.axis, self.title)

    def lines(self, first: tuple[str, ...]) -> Iterator[Line]:
        """Yield the lines of a panel, and each as it is printed."""
        for of in product(*self.levels[:-1][-1:]):
            own = [self.values.get((*first, *of, level)) for level in self.levels[-1]]
            name = ", ".join(map(self.word, of))
            yield Line(name or ("simulated" if self.printed else ""), [self.mean(one) for one in own])
            if self.printed:
                yield Line(
                    f"{name}, published" if name else "published", [self.published(one) for one in own]
                )

    def mean(self, one: Value | None) -> Mean | None:
        """Return a mean as it is drawn."""
        found = None if one is None else one.part.measured
        return (
            None
            if found is None
            else Mean(*(end / self.scale.factor for end in (found.mean, found.low, found.high)))
        )

    def published(self, one: Value | None) -> Mean | None:
        """Return a printed value as it is drawn."""
        found = None if one is None else one.part.printed
        return None if found is None else Mean(found / self.scale.factor)

    def table(self, command: str) -> Table:
        """Return the numbers as a table."""
        rows = [
            (
                *map(self.word, levels),
                one.text(self.scale),
                *([one.printed(self.scale)] if self.printed else []),
                one.runs,
            )
            for levels, one in self.values.items()
        ]
        columns = (*self.names, self.axis, *(["published"] if self.printed else []), "runs")
        return Table("In numbers", columns, rows, len(self.names), command=command)

    def csv(self) -> bytes:
        """Return the numbers as they are drawn, in the response's own unit."""
        rows = [
            {
                **dict(zip(self.names, levels, strict=True)),
                "mean": one.mean,
                "low": one.part.measured and one.part.measured.low,
                "high": one.part.measured and one.part.measured.high,
                "published": one.part.printed,
                "runs": one.runs,
            }
            for levels, one in self.values.items()
        ]
        return pl.DataFrame(rows).write_csv().encode()


def _analysed(
    about: About, figure: form.Figure, id_: str, measured: Measurements, command: str
) -> Section | None:
    """Return what the analysis of a response draws."""
    rows = measured.scalars.filter(pl.col("response") == figure.response, **figure.at)
    for one in analyze(rows, asked_of(about.campaign)):
        for drawn in effects.figures(one, id_):
            if drawn.name.removeprefix(f"{id_}-") == {"shares": "variation"}.get(figure.kind, figure.kind):
                svg = drawn.svg()
                if svg is not None:
                    caption = f"{figure.caption} {drawn.caption}".strip()
                    csv = drawn.data().write_csv().encode()
                    drawing = page.drawing(id_, figure.title, svg, caption, command, csv)
                    return Section(id_, figure.title, drawings=[drawing])
    return None
