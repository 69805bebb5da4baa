"""The page of a study in a folder: its figures, with the numbers of each, and the paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, cast

import msgspec
import numpy as np
import polars as pl

from perhop.experiment.analyze import analyze, asked_of
from perhop.judge.cells import Cells
from perhop.judge.measured import Measurements
from perhop.papers import figures, form, refit
from perhop.papers.outcome import Outcome, Value, values_of
from perhop.papers.study import About, Study
from perhop.plot import comparison, maps
from perhop.plot.effects import Line, Mean, Panel, draw_curve, draw_means
from perhop.report import effects, page
from perhop.report.study import Section, StudyPage, render
from perhop.say.document import Table
from perhop.units import Scale


def page_of(study: Study, outcome: Outcome) -> str:
    """Return the page as HTML."""
    measured = {**outcome.shown, **outcome.beyond}
    command, own = outcome.document["command"], getattr(study.code, "sections", lambda _: ())
    drawn = [_section(study, one, k, measured, command) for k, one in enumerate(study.file.figure, 1)]
    sections: list[Section] = [*own(outcome), *filter(None, drawn)]
    if study.fit is not None:
        sections.append(refit.section(study, outcome.measured[study.about[0].name], command))
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
            overview=_overview(outcome.document),
            findings=outcome.findings,
            warnings=outcome.warnings,
            left_out=outcome.left_out,
        )
    )


def _overview(document: Mapping[str, Any]) -> page.Drawing | None:
    """Draw what is printed, computed and simulated of all shares; None where no form of a paper is of one."""
    shown = [
        comparison.Comparison(
            f"{row['id']} {row['quantity'].replace('_', ' ')}",
            *(row["published"], row["closed_form"]["printed"], row["closed_form"]["bounded"]),
            *(row["simulated"]["mean"], row["simulated"]["ci95"]),
        )
        for row in document["rows"]
        if row["unit"] == "1"
        and row["simulated"]["mean"] is not None
        and any(row["closed_form"][name] is not None for name in ("printed", "bounded"))
    ]
    title = "Published, computed and simulated"
    caption = "A line for each row of the tables below that has a closed form."
    return page.drawing("overview", title, comparison.draw(shown, title, "share"), caption) if shown else None


def _cited(one: form.Citation) -> str:
    """Return a citation in a line."""
    parts = [", ".join(one.authors), one.title, one.where, "" if one.year is None else str(one.year)]
    parts += [f"doi:{one.doi}" if one.doi else "", one.url]
    licence = f" The files of this study: {one.licence}." if one.licence else ""
    return f"{', '.join(filter(None, parts))}.{licence}"


def _section(
    study: Study, figure: form.Figure, k: int, measured: Mapping[str, Measurements], command: str
) -> Section | None:
    """Return a figure with its numbers; None where there is nothing to draw."""
    about, id_ = study.of(figure.campaign), f"figure-{k}"
    if about.name not in measured:
        return None
    if figure.kind == "ellipses":
        return figures.of_ellipses(study, figure, about, id_, measured[about.name], command)
    if figure.kind == "model":
        return figures.of_model(study, figure, about, id_, cast(Cells, measured[about.name]), command)
    if figure.kind not in ("means", "map"):
        return _analysed(about, figure, id_, measured[about.name], command)
    drawings, tables = list[page.Drawing](), list[Table]()
    for first, drawn in figure_of(study, figure, measured).items():
        svg = drawn.map() if figure.kind == "map" else drawn.svg()
        above = _above(study, figure, first, drawn, measured)
        caption = " ".join(filter(None, ("" if drawings else figure.caption, drawn.distances(), above)))
        name = f"{id_}-{len(drawings) + 1}" if first else id_
        drawings.append(page.drawing(name, drawn.title, svg, caption, command, drawn.csv()))
        if about not in study.beyond:
            tables.append(drawn.table(command))
    if not drawings:
        return None
    paired = figure.apart and figure.kind == "means"
    return Section(id_, figure.title, tables=tables, drawings=drawings, paired=paired)


def figure_of(study: Study, figure: form.Figure, measured: Mapping[str, Measurements]) -> dict[str, Means]:
    """Return the drawings of a figure of means: by the level that each is of where they are apart."""
    about, groups = study.of(figure.campaign), dict[str, dict[tuple[str, ...], Value]]()
    for one in values_of(study, figure, measured):
        if one.part.measured is not None:
            first = one.levels[0] if figure.apart else ""
            groups.setdefault(first, {})[one.levels[figure.apart :]] = one
    return {first: Means(study, figure, about, first, own) for first, own in groups.items()}


def _above(
    study: Study, figure: form.Figure, first: str, drawn: Means, measured: Mapping[str, Measurements]
) -> str:
    """Return in a sentence where one of two lines of a response is above the other; else nothing."""
    compared = figure.less or figure.over or figure.effect
    if figure.kind != "means" or len(drawn.each) != 2 or len(drawn.levels[0]) != 2 or compared:
        return ""
    (name, axis), (one, other), points = drawn.each, drawn.levels[0], drawn.levels[1]
    if name == "response":
        return ""
    points = [point for point in points if {(one, point), (other, point)} <= drawn.values.keys()]
    at, each = {**figure.at, name: one}, dict[str, str | list[str]]({axis: points})
    if figure.apart:
        each = {next(iter(figure.each)): [first], **each}
    part = msgspec.structs.replace(figure, at=at, less={name: other}, each=each, quantity="{response}")
    ends = [(value.levels[-1], value.part.measured) for value in values_of(study, part, measured)]
    parts = []
    for way, there in (
        ("above", [drawn.word(point) for point, less in ends if less is not None and less.low > 0.0]),
        ("below", [drawn.word(point) for point, less in ends if less is not None and less.high < 0.0]),
    ):
        if there:
            where = "every point" if len(there) == len(ends) else ", ".join(there)
            parts.append(f"{way} {drawn.word(other)} at {where}")
    told = "; ".join(parts) or f"neither above nor below {drawn.word(other)} at any point"
    return f"{drawn.word(one)} is {told} (95 % intervals of the difference, paired by replication)."


class Means:
    """Means of a quantity at some levels, beside what is printed of them and what closed forms give."""

    def __init__(
        self,
        study: Study,
        figure: form.Figure,
        about: About,
        of: str,
        values: Mapping[tuple[str, ...], Value],
    ) -> None:
        self.figure, self.values, self.word = figure, values, about.words.word
        self.title = f"{figure.title}: {self.word(of)}" if of else figure.title
        every, labels = [*values.values()], study.file.labels
        self.scale = Scale.of(every[0].unit, max(abs(one.mean) for one in every))
        self.each = [*figure.each][figure.apart :]
        self.names = [labels.get(name, name) for name in self.each]
        known = about.references.forms
        self.forms = [name for name in known if any(one.forms[name] is not None for one in every)]
        self.levels = [list(dict.fromkeys(at[k] for at in values)) for k in range(len(self.names))]
        self.printed = any(one.part.printed is not None for one in every)
        response = every[0].quantity.response
        self.axis = (figure.label or labels.get(response, self.word(response))) + self.scale.in_unit

    def svg(self) -> str:
        """Draw them: over numbers as a curve, else level beside level."""
        across, *_ = reversed(self.names)
        other = self.names[-2] if len(self.names) > 1 else ""
        ticks = [self.word(level) for level in self.levels[-1]]
        panels = []
        for first in product(*self.levels[:-2]):
            title = ", ".join([across, *(f"{self.names[0]} {self.word(one)}" for one in first)])
            panels.append(Panel(title, ticks, list(self.lines(first)), other))
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
            found = [None if one is None else one.part.measured for one in own]
            means = [None if one is None else self.drawn(one.mean, one.low, one.high) for one in found]
            yield Line(name or ("simulated" if self.printed else ""), means)
            given = {
                f"{form} form": [None if one is None else one.forms[form] for one in own]
                for form in self.forms
            }
            if self.printed:
                given = {"published": [None if one is None else one.part.printed for one in own], **given}
            for which, values in given.items():
                shown = [None if value is None else self.drawn(value) for value in values]
                yield Line(f"{name}, {which}" if name else which, shown)

    def drawn(self, *values: float) -> Mean:
        """Return a mean with its ends, or a printed or computed value, as it is drawn."""
        return Mean(*(value / self.scale.factor for value in values))

    def map(self) -> str:
        """Draw a map over two factors for each response, and one of the distance to the last closed form."""
        across, up = (k for k, name in enumerate(self.each) if name != "response")
        grid = [self.levels[across], self.levels[up]]
        responses = dict.fromkeys(one.quantity.response for one in self.values.values())
        empty = np.full((len(grid[0]), len(grid[1])), np.nan)
        found, error = {name: empty.copy() for name in responses}, empty.copy()
        form = self.forms[-1] if self.forms else None
        for levels, one in self.values.items():
            at = grid[0].index(levels[across]), grid[1].index(levels[up])
            found[one.quantity.response][at] = one.mean / self.scale.factor
            error[at] = np.fmax(error[at], math.nan if form is None else one.off(form) / self.scale.factor)
        most = max(1.0, *(float(np.nanmax(own)) for own in found.values()))
        steps = np.linspace(0.0, most, 11)
        shown = [maps.Map(f"{self.word(name)}, simulated", own, steps) for name, own in found.items()]
        crossed = np.nan_to_num(error) > (self.figure.tolerance or math.inf)
        if form is not None:
            steps = most * np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0])
            shown.append(maps.Map(f"distance to the {form} form", error, steps, "magma_r", crossed))
        axes = [
            maps.Axis(f"{self.names[k]}{unit}", ticks)
            for k, own in ((across, grid[0]), (up, grid[1]))
            for _, ticks, unit in [effects.numbers(own) or ([], [*map(self.word, own)], "")]
        ]
        ends = ((self.word(name), np.nanmin(own), np.nanmax(own)) for name, own in found.items())
        told = ", ".join(f"{word} {least:.2f} to {most:.2f}" for word, least, most in ends)
        return maps.draw((axes[0], axes[1]), shown, self.title, f"simulated {told}")

    def distances(self) -> str:
        """Return how far what was measured is from each closed form; empty where nothing is asked of it."""
        tolerance = self.figure.tolerance
        if tolerance is None:
            return ""
        return "; ".join(self.distance(name, tolerance) for name in self.forms) + "."

    def distance(self, form: str, tolerance: float) -> str:
        """Return in a sentence where a form fails, and by how much."""
        places = [k for k, name in enumerate(self.each) if name != "response"]
        off: dict[tuple[str, ...], float] = {}
        outside, figure = 0, self.figure
        for levels, one in self.values.items():
            value, where = one.forms[form], tuple(levels[k] for k in places)
            if value is not None:
                off[where] = max(off.get(where, 0.0), one.off(form))
                low = -math.inf if figure.low is None else figure.low
                outside += not low <= value <= (math.inf if figure.high is None else figure.high)
        worst = max(off, key=lambda at: off[at])
        names = [self.names[k].partition(" in ") for k in places]
        pairs = zip(names, map(self.word, worst), strict=True)
        at = ", ".join(f"{name} {word} {unit}".rstrip() for (name, _, unit), word in pairs)
        many = sum(one > tolerance for one in off.values())
        text = f"{form}: off by more than {tolerance:g} at {many} of {len(off)} points"
        text += f", at most by {off[worst]:.3f} ({at})"
        return text + (f"; {outside} values outside [{figure.low:g}, {figure.high:g}]" if outside else "")

    def table(self, command: str) -> Table:
        """Return the numbers as a table."""
        rows = []
        for levels, one in self.values.items():
            printed = [one.printed(self.scale)] if self.printed else []
            rows.append((*map(self.word, levels), one.text(self.scale), *printed, one.runs))
        columns = (*self.names, self.axis, *(["published"] if self.printed else []), "runs")
        return Table("In numbers", columns, rows, len(self.names), command=command)

    def csv(self) -> bytes:
        """Return the numbers as they are drawn, in the response's own unit."""
        rows = []
        for levels, one in self.values.items():
            found, at = one.part.measured, dict(zip(self.names, levels, strict=True))
            ends = {"low": found and found.low, "high": found and found.high}
            rest = {"published": one.part.printed, **one.forms, "runs": one.runs}
            rows.append({**at, "mean": one.mean, **ends, **rest})
        return pl.DataFrame(rows).write_csv().encode()


def _analysed(
    about: About, figure: form.Figure, id_: str, measured: Measurements, command: str
) -> Section | None:
    """Return what the analysis of a response draws."""
    rows = measured.scalars.filter(pl.col("response") == figure.response, **figure.at)
    name = f"{id_}-{'variation' if figure.kind == 'shares' else figure.kind}"
    every = (one for own in analyze(rows, asked_of(about.campaign)) for one in effects.figures(own, id_))
    for drawn in every:
        if drawn.name == name and (svg := drawn.svg()) is not None:
            caption = f"{figure.caption} {drawn.caption}".strip()
            csv = drawn.data().write_csv().encode()
            drawing = page.drawing(id_, figure.title, svg, caption, command, csv)
            return Section(id_, figure.title, drawings=[drawing])
    return None
