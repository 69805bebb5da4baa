"""What the page of a factorial experiment shows of its models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perhop.papers.papagiannaki.factorial import Cells, cube, residuals
from perhop.plot.residuals import draw_qq, draw_residuals
from perhop.report import page
from perhop.report.study import Section
from perhop.stats.effects import effects_of
from perhop.stats.residuals import normal_qq, straightest
from perhop.stats.strata import strata

_SET_ASIDE = 0.1
"""Part of the residuals that a second line of a Q-Q plot may leave out."""


def model_section(
    samples: Sequence[Cells],
    kept: Mapping[str, Sequence[str]],
    unit: str,
    figures: Mapping[str, tuple[str, str]],
    command: str,
) -> Section:
    """Show the model of each response, the normal Q-Q plot of its residuals, and these against predictions.

    Parameters
    ----------
    samples
        The replications.
    kept
        By response the terms of its model, `P:C`.
    unit
        Of the responses.
    figures
        By response the paper's numbers of both figures.
    command
        What makes them again.
    """
    drawings, text = [], []
    for name, terms in kept.items():
        found = effects_of(strata(cube(samples, name), keep=terms), level=0.90)
        matter = " ".join(
            f"{one['effect']:+.3f} [{_where(one)}]"
            for one in found.table.iter_rows(named=True)
            if not one["low"] <= 0.0 <= one["high"]
        )
        text.append(f"{name.title()}: {found.mean.value:.3f} {matter} {unit}; what differs from 0 at 90 %.")
        left, predicted = residuals(samples, name, terms)
        whole, straight = normal_qq(left), straightest(left, _SET_ASIDE)
        qq, against = figures[name]
        drawings += [
            page.drawing(
                f"figure-{qq[0]}",
                f"Figure {qq}: {name}, normal Q-Q",
                draw_qq(whole, unit, f"Q-Q plot of {name}", straight if straight.left_out.size else None),
                f"Correlation {whole.correlation:.4f}; {straight.correlation:.4f} with "
                f"{straight.left_out.size} of {left.size} set aside.",
                command,
            ),
            page.drawing(
                f"figure-{against}",
                f"Figure {against}: {name}, residuals against predicted",
                draw_residuals(predicted.ravel(), left.ravel(), unit, f"Residuals of {name}"),
                "",
                command,
            ),
        ]
    return Section("models", "Trimmed models and their residuals", text, drawings=drawings, paired=True)


def _where(one: dict[str, str]) -> str:
    pairs = zip(one["term"].split(":"), one["level"].split(":"), strict=True)
    return " ".join(f"{factor}={level}" for factor, level in pairs)
