"""Figures of a study that are no means: two responses against each other, and the model of a response."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from perhop.judge.cells import Cells
from perhop.judge.measured import Measurements
from perhop.judge.terms import residuals
from perhop.papers import form
from perhop.papers.study import About, Study
from perhop.plot import ellipses
from perhop.plot.residuals import draw_qq, draw_residuals
from perhop.report import page
from perhop.report.study import Section
from perhop.say.document import Table
from perhop.stats.effects import effects_of
from perhop.stats.residuals import normal_qq, straightest
from perhop.stats.strata import strata
from perhop.units import Scale

_SET_ASIDE = 0.1
"""Part of the residuals that a second line of a Q-Q plot may leave out."""


def of_ellipses(
    study: Study, figure: form.Figure, about: About, id_: str, fitted: Measurements, command: str
) -> Section | None:
    """Return two responses against each other, with their numbers; None where nothing was measured."""
    up, right = figure.response or "", figure.against or ""
    found = {}
    for one in about.quantities(figure):
        at = one.quantity.at
        try:
            pair = [fitted.sample(response, at, None) for response in (right, up)]
        except KeyError:
            continue
        both = np.isfinite(pair).all(axis=0)
        if both.any():
            found[tuple(at[name] for name in figure.each)] = [values[both] for values in pair]
    if not found:
        return None
    units = about.subject.units
    scales = [
        Scale.of(units[name], max(float(abs(pair[k]).mean()) for pair in found.values()))
        for k, name in enumerate((right, up))
    ]
    labels = study.file.labels
    words = (labels.get(right, right), figure.label or labels.get(up, up))
    axes = tuple(word + scale.in_unit for word, scale in zip(words, scales, strict=True))
    panels: dict[str, list[ellipses.Group]] = {}
    rows: list[tuple[str | int, ...]] = []
    for levels, pair in found.items():
        told = [about.words.word(level) for level in levels]
        group = ellipses.Group(told[-1], *(x / scale.factor for x, scale in zip(pair, scales, strict=True)))
        panels.setdefault(", ".join(told[:-1]), []).append(group)
        rows.append((*told, *(f"{mean:.4g}" for mean in group.mean), len(group.x)))
    svg = ellipses.draw(list(panels.items()), (axes[0], axes[1]), figure.title)
    names = [labels.get(name, name) for name in figure.each]
    every = ((dict(zip(figure.each, at, strict=True)), pair) for at, pair in found.items())
    csv = pl.DataFrame([{**at, right: x, up: y} for at, pair in every for x, y in zip(*pair, strict=True)])
    drawing = page.drawing(id_, figure.title, svg, figure.caption, command, csv.write_csv().encode())
    table = Table("In numbers", (*names, *axes, "runs"), rows, len(names), command=command)
    return Section(id_, figure.title, tables=[table], drawings=[drawing])


def of_model(
    study: Study, figure: form.Figure, about: About, id_: str, measured: Cells, command: str
) -> Section:
    """Return the model, the normal Q-Q plot of its residuals, and these by prediction."""
    response = figure.response or ""
    cube, kept = measured.cubes[response], measured.model(response)
    word, unit = study.file.labels.get(response, response), about.subject.units[response] or ""
    found = effects_of(strata(cube, keep=kept), level=0.90)
    matter = " ".join(
        f"{one['effect']:+.3f} [{_where(one)}]"
        for one in found.table.iter_rows(named=True)
        if not one["low"] <= 0.0 <= one["high"]
    )
    text = f"{found.mean.value:.3f} {matter} {unit}; what differs from 0 at 90 %."
    left, predicted = residuals(cube, kept)
    whole, straight = normal_qq(left), straightest(left, _SET_ASIDE)
    second = straight if straight.left_out.size else None
    aside = f"{straight.left_out.size} of {left.size} set aside"
    told = f"Correlation {whole.correlation:.4f}; {straight.correlation:.4f} with {aside}."
    qq = draw_qq(whole, unit, f"Q-Q plot of {word}", second)
    against = draw_residuals(predicted.ravel(), left.ravel(), unit, f"Residuals of {word}")
    title = f"{figure.title}: residuals against predicted"
    drawings = [
        page.drawing(f"{id_}-qq", f"{figure.title}: normal Q-Q", qq, told, command),
        page.drawing(f"{id_}-residuals", title, against, "", command),
    ]
    return Section(id_, figure.title, [*filter(None, [figure.caption]), text], drawings=drawings, paired=True)


def _where(one: Mapping[str, str]) -> str:
    pairs = zip(one["term"].split(":"), one["level"].split(":"), strict=True)
    return " ".join(f"{factor}={level}" for factor, level in pairs)
