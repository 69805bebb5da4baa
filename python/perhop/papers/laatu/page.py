"""The page about the study."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from perhop.papers.laatu.document import Reproduction
from perhop.papers.laatu.responses import CIR_KBPS, FLOWS, LABELS, MARKINGS, Case
from perhop.papers.plan import Plan, Sweep
from perhop.papers.study import render_page
from perhop.plot import bars
from perhop.plot.effects import Line, Mean, Panel, draw_curve, draw_means
from perhop.report import page
from perhop.report.study import Section, Table
from perhop.stats.intervals import Interval, mean_interval

TITLE = "A marker for each flow, or one for all: the study of Laatu, Harju and Loula, again"

_WORDS = ("per-flow marking is fairer", "it uses more of the committed rate", "its throughput is higher")
"""Words where a quantity of `LABELS` is higher with per-flow marking."""

Points = Mapping[str, Sequence[Case]]
"""Case for each point of a sweep, by way of marking."""


def page_of(plan: Plan, done: Reproduction) -> str:
    """Return the page as HTML."""
    rows, words = done.document["rows"], plan.pack.toml("words.toml")["page"]
    sections = [_flows(plan, done, words["flows"]), _compared(plan, done, words["cases"])]
    if done.sweeps:
        sections.append(_beyond(done, words["beyond"]))
    digits = {row["quantity"]: 1 for row in rows if row["unit"] in ("kbit/s", "packets")}
    return render_page(TITLE, done, words, sections, digits=digits)


def _flows(plan: Plan, done: Reproduction, text: str) -> Section:
    """Draw figures 2 to 5: what each flow got in one run."""
    drawings = []
    for treatment in plan.fitted[0].design.treatments:
        (id_,) = treatment.levels
        case = done.measured.cases[id_]
        figure = next(one for one in plan.pack.figures if one.get("case") == id_)
        words = ["perhop", "run", "papers/laatu/aggregate.toml"]
        for change in (*plan.fitted[0].scenario.overrides, *treatment.overrides):
            words += ["-s", change]
        fairness = [f"{part} {case[f'{part}_fairness'][0]:.3f}" for part in ("total", "committed", "excess")]
        caption = f"An equal share is {CIR_KBPS / FLOWS:g} kbit/s. Fairness here: {', '.join(fairness)}."
        numbers = f"{figure['throughput_figure']} and {figure['colour_figure']}"
        title = f"Figures {numbers}: {figure['title'][0].lower()}{figure['title'][1:]}"
        panels = [
            (f"{name}, kbit/s", [bars.Bar(str(i), None, x, None) for i, x in enumerate(case.rates[name][0])])
            for name in ("throughput", "committed", "excess")
        ]
        drawn = bars.draw(panels, title)
        drawings.append(page.drawing(f"figures-{id_}", title, drawn, caption, shlex.join(words)))
    return Section("flows", "Each flow in one run", [text], drawings=drawings)


def _compared(plan: Plan, done: Reproduction, text: str) -> Section:
    """Draw all cases side by side."""
    m, command = done.measured, str(done.document["command"])
    titles = {one["case"]: one["title"] for one in plan.pack.figures if "case" in one}
    cases = m.cases.values()
    found = {label: [mean_interval(one[name]) for one in cases] for name, label in LABELS.items()}
    drawings = []
    for quantity, label in LABELS.items():
        printed = [m.published.get(id_, {}).get(quantity) for id_ in m.cases]
        lines = [
            Line("simulated", [_mean(one) for one in found[label]]),
            Line("published", [None if one is None else Mean(one) for one in printed]),
        ]
        drawn = draw_means([Panel("", list(m.cases), lines, apart=True)], label, f"Cases: {label}")
        caption, id_ = "Means and 95 % intervals.", f"cases-{quantity}"
        drawings.append(page.drawing(id_, f"Cases: {label}", drawn, caption, command))
    rows = [
        (titles[id_], *map(_cell, each), str(each[0].n))
        for id_, each in zip(m.cases, zip(*found.values(), strict=True), strict=True)
    ]
    table = Table("The same in numbers", ("case", *found, "runs"), rows, command=command)
    return Section("cases", "Other meters in the same place", [text], [table], drawings)


def _beyond(done: Reproduction, text: str) -> Section:
    """Draw each sweep, a figure for each quantity."""
    drawings = []
    for sweep, cases in done.sweeps:
        labels, points = points_of(sweep, cases)
        words = not labels[0][0].isdigit()
        places = [float(place if words else label.split()[0]) for place, label in enumerate(labels)]
        sentence, n = verdict(labels, points), sweep.campaign.design.replications
        caption = f"{sentence[0].upper()}{sentence[1:]} {n} replications a point."
        for quantity, label in LABELS.items():
            lines = [
                Line(marking, [_mean(mean_interval(case[quantity])) for case in own])
                for marking, own in points.items()
            ]
            title, panel = f"{sweep.title}: {label}", Panel(sweep.axes[0], labels, lines, apart=words)
            drawn = draw_curve(places, panel, label, title)
            id_ = f"sweep-{sweep.id}-{quantity}"
            drawings.append(page.drawing(id_, title, drawn, caption, str(done.document["command"])))
            caption = ""
    return Section("beyond", "What the paper leaves open", [text], drawings=drawings, paired=True)


def points_of(sweep: Sweep, cases: Mapping[tuple[str, ...], Case]) -> tuple[list[str], Points]:
    """Return the labels of a sweep's points, and its cases at them by way of marking."""
    factors = sweep.campaign.design.factors
    (labels,) = ([level.name for level in one.levels] for one in factors if one.name != "marking")
    at = {
        marking: [
            cases[tuple(marking if one.name == "marking" else label for one in factors)] for label in labels
        ]
        for marking in MARKINGS
    }
    return labels, at


def verdict(labels: Sequence[str], points: Points) -> str:
    """Return in a sentence where each claim's direction holds."""
    parts = []
    for words, quantity in zip(_WORDS, LABELS, strict=True):
        pairs = zip(*(points[marking] for marking in MARKINGS), strict=True)
        less = [mean_interval(a[quantity] - b[quantity]) for a, b in pairs]
        higher = [label for label, one in zip(labels, less, strict=True) if one.low > 0.0]
        lower = [label for label, one in zip(labels, less, strict=True) if one.high < 0.0]
        reverse = f", the reverse at {_listed(lower, labels)}" if lower else ""
        parts.append(f"{words} at {_listed(higher, labels)}{reverse}")
    return "; ".join(parts) + " (95 % intervals of the paired difference)."


def _listed(found: Sequence[str], labels: Sequence[str]) -> str:
    if not found:
        return "no point"
    return "every point" if len(found) == len(labels) else ", ".join(found)


def _mean(one: Interval) -> Mean:
    return Mean(one.mean, one.low, one.high)


def _cell(one: Interval) -> str:
    digits = 1 if abs(one.mean) >= 10 else 3
    return f"{one.mean:.{digits}f} ± {one.half_width:.{digits}f}"
