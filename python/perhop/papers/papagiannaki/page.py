"""The page about the study of ACK marking; its words are in `page.toml` of the pack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perhop.papers.fit import BASE, fit_section, read_record
from perhop.papers.papagiannaki.cells import CLASSES, CONGESTION, KEPT, MARKINGS, by_cell, regrets
from perhop.papers.papagiannaki.document import Reproduction
from perhop.papers.papagiannaki.factorial import at, cube, mean, residuals
from perhop.papers.papagiannaki.fit import load_fit
from perhop.papers.plan import Plan
from perhop.papers.study import render_page
from perhop.plot import bars
from perhop.plot.residuals import draw_qq, draw_residuals
from perhop.report import page
from perhop.report.study import Section, Table
from perhop.stats.effects import effects_of
from perhop.stats.intervals import mean_interval
from perhop.stats.residuals import normal_qq, straightest
from perhop.stats.strata import strata

TITLE = "Which mark should acknowledgments carry? The study of Papagiannaki and others, again"

_FIGURES = {"premium": ("2 and 3", "4"), "assured": ("5", "6")}
_SET_ASIDE = 0.1
"""Part of the residuals that a second line of a Q-Q plot may leave out."""

_STRATEGIES = ("bbb", "pab", "aab", "ppp")
"""Markings: the default, copying, the best for Premium (5.1) and for Assured at C = r."""


def page_of(plan: Plan, done: Reproduction) -> str:
    """Return the page as HTML."""
    words = plan.pack.toml("page.toml")
    sections = [_strategies(done, words["strategies"]), _models(done), _fit(plan, done, words["fit"])]
    return render_page(TITLE, done, words, sections)


def _strategies(done: Reproduction, text: str) -> Section:
    """Show Figure 7, the best marking by class and congestion, and what each marking loses."""
    command, every = str(done.document["command"]), done.measured.samples
    drawings, best, losses = [], [], []
    for name in CLASSES:
        panels = []
        for c in CONGESTION:
            own = []
            for marking in _STRATEGIES:
                one = mean_interval([at([sample], name, marking, c) for sample in done.tables])
                printed = at([done.measured.published], name, marking, c)
                own.append(bars.Bar(marking, printed, one.mean, (one.low, one.high)))
            panels.append((f"{name}, C = {c}, Mbit/s", own))
        title = f"Figure 7: strategies, {name}"
        caption = "Open bars are the paper's. b-b-b is the default, p-a-b stands for copying."
        drawings.append(page.drawing(f"figure-7-{name}", title, bars.draw(panels, title), caption, command))
    name = "assured_retransmissions"
    again = [(marking, *(f"{at(every, name, marking, c):.0f}" for c in CONGESTION)) for marking in MARKINGS]
    sources = (every, [done.measured.published])
    for name in CLASSES:
        for place, c in enumerate(CONGESTION):
            tables = [mean(cells, name).reshape(27, 3)[:, place] for cells in sources]
            best.append((name, c, *(f"{MARKINGS[int(y.argmax())]} {y.max():.3f}" for y in tables)))
    for place, marking in enumerate(MARKINGS):
        worst = [max(float(regrets(cells, name)[place].max()) for name in CLASSES) for cells in sources]
        losses.append((marking, *(f"{100 * one:.1f} %" for one in worst)))
    losses.sort(key=lambda one: float(one[1].split()[0]))
    return Section(
        "strategies",
        "Strategies",
        [text],
        [
            Table("The best marking", ("class", "C", "here, Mbit/s", "paper"), best, 2, command=command),
            Table(
                "What a marking loses at worst against the best, over classes and C",
                ("marking", "here", "paper"),
                losses,
                command=command,
            ),
            Table(
                "What an Assured flow sends again, segments a run",
                ("marking", *(f"C = {c}" for c in CONGESTION)),
                again,
                command=command,
            ),
        ],
        drawings,
    )


def _models(done: Reproduction) -> Section:
    """Show the model of each class, the Q-Q plot of its residuals, and these by prediction."""
    drawings, text, command = [], [], str(done.document["command"])
    for name, terms in KEPT.items():
        found = effects_of(strata(cube(done.tables, name), keep=terms), level=0.90)
        matter = " ".join(
            f"{one['effect']:+.3f} [{_where(one)}]"
            for one in found.table.iter_rows(named=True)
            if not one["low"] <= 0.0 <= one["high"]
        )
        text.append(f"{name.title()}: {found.mean.value:.3f} {matter} Mbit/s; what differs from 0 at 90 %.")
        left, predicted = residuals(done.tables, name, terms)
        whole, straight = normal_qq(left), straightest(left, _SET_ASIDE)
        qq, against = _FIGURES[name]
        second = straight if straight.left_out.size else None
        correlations = (
            f"Correlation {whole.correlation:.4f}; {straight.correlation:.4f} with "
            f"{straight.left_out.size} of {left.size} set aside."
        )
        drawn = draw_residuals(predicted.ravel(), left.ravel(), "Mbit/s", f"Residuals of {name}")
        drawings += [
            page.drawing(
                f"figure-{qq[0]}",
                f"Figure {qq}: {name}, normal Q-Q",
                draw_qq(whole, "Mbit/s", f"Q-Q plot of {name}", second),
                correlations,
                command,
            ),
            page.drawing(
                f"figure-{against}",
                f"Figure {against}: {name}, residuals against predicted",
                drawn,
                command=command,
            ),
        ]
    return Section("models", "Trimmed models and their residuals", text, drawings=drawings, paired=True)


def _where(one: dict[str, str]) -> str:
    pairs = zip(one["term"].split(":"), one["level"].split(":"), strict=True)
    return " ".join(f"{factor}={level}" for factor, level in pairs)


def _fit(plan: Plan, done: Reproduction, star: str) -> Section:
    """Show the error of every printed number, and of every reading at its fitted point."""
    fit, record, m = load_fit(plan.pack), read_record(plan.pack), done.measured
    off = fit.off(by_cell([m.published]), by_cell(m.samples))
    base, least = record["fits"][BASE], min(one["error"] for one in record["fits"].values())
    fitted = sum(marking in fit.treatments for _, _, marking in off)
    text = (
        f"Fitted: {_point(base['chosen'])}. Root mean square here, in standard errors of a printed cell: "
        f"{fit.rms(off):.1f} over the {fitted} fitted cells, {fit.rms(off, fitted=False):.1f} over the "
        f"others. Recorded by `{record['command']}`: {base['error']:.1f} and {base['held out']:.1f}. Every "
        f"reading was fitted in the same way; one with more than {fit.near * least:.1f} does not fit the "
        "paper's own cells and does not vote."
    )
    by_reading = Table(
        "Error by reading, each at the point fitted under it",
        ("reading", "fitted cells", "held out", "votes", "fitted to"),
        [
            (
                name,
                f"{one['error']:.1f}",
                "" if one["held out"] is None else f"{one['held out']:.1f}",
                "yes" if one["fits"] else "no: does not fit the paper's own cells",
                _point(one["chosen"]),
            )
            for name, one in record["fits"].items()
        ],
        command=record["command"],
    )
    columns = [(name, c) for name in CLASSES for c in CONGESTION]
    by_cell_ = Table(
        "Error by cell, in standard errors of the printed one",
        ("marking", *(" ".join(column) for column in columns)),
        [
            (
                f"{marking}{' *' if marking in fit.treatments else ''}",
                *(f"{off[name, c, marking]:+.1f}" for name, c in columns),
            )
            for marking in MARKINGS
        ],
        text=star,
        command=str(done.document["command"]),
    )
    return fit_section(fit, record, [text], [by_reading, by_cell_])


def _point(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {level}" for name, level in point.items())
