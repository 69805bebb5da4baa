"""A figure of the model that a paper has of a response: its terms, and what it leaves of the runs."""

from __future__ import annotations

from collections.abc import Mapping

from perhop.judge.cells import Cells
from perhop.judge.terms import residuals
from perhop.papers import form
from perhop.papers.study import About, Study
from perhop.plot.residuals import draw_qq, draw_residuals
from perhop.report import page
from perhop.report.study import Section
from perhop.stats.effects import effects_of
from perhop.stats.residuals import normal_qq, straightest
from perhop.stats.strata import strata

_SET_ASIDE = 0.1
"""Part of the residuals that a second line of a Q-Q plot may leave out."""


def section(
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
    told = (
        f"Correlation {whole.correlation:.4f}; {straight.correlation:.4f} with "
        f"{straight.left_out.size} of {left.size} set aside."
    )
    qq = draw_qq(whole, unit, f"Q-Q plot of {word}", second)
    against = draw_residuals(predicted.ravel(), left.ravel(), unit, f"Residuals of {word}")
    drawings = [
        page.drawing(f"{id_}-qq", f"{figure.title}: normal Q-Q", qq, told, command),
        page.drawing(
            f"{id_}-residuals", f"{figure.title}: residuals against predicted", against, "", command
        ),
    ]
    return Section(id_, figure.title, [*filter(None, [figure.caption]), text], drawings=drawings, paired=True)


def _where(one: Mapping[str, str]) -> str:
    pairs = zip(one["term"].split(":"), one["level"].split(":"), strict=True)
    return " ".join(f"{factor}={level}" for factor, level in pairs)
