"""A figure of two responses against each other, of which the one to the right is to be small."""

from __future__ import annotations

import numpy as np
import polars as pl

from perhop.judge.measured import Measurements
from perhop.papers import form
from perhop.papers.study import About, Study
from perhop.plot import ellipses
from perhop.report import page
from perhop.report.study import Section
from perhop.say.document import Table
from perhop.units import Scale


def section(
    study: Study, figure: form.Figure, about: About, id_: str, fitted: Measurements, command: str
) -> Section | None:
    """Return the figure with its numbers; None where nothing was measured."""
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
    csv = pl.DataFrame(
        [
            {**dict(zip(figure.each, levels, strict=True)), right: x, up: y}
            for levels, pair in found.items()
            for x, y in zip(*pair, strict=True)
        ]
    )
    drawing = page.drawing(id_, figure.title, svg, figure.caption, command, csv.write_csv().encode())
    table = Table("In numbers", (*names, *axes, "runs"), rows, len(names), command=command)
    return Section(id_, figure.title, tables=[table], drawings=[drawing])
