"""The page about the study of ACK marking."""

from __future__ import annotations

from perhop.papers.factorial import mean
from perhop.papers.factorial_page import model_section
from perhop.papers.papagiannaki.calibrate import load_fit
from perhop.papers.papagiannaki.cells import CLASSES, CONGESTION, KEPT, MARKINGS, at, regrets
from perhop.papers.papagiannaki.document import Reproduction
from perhop.papers.papagiannaki.plan import KEY
from perhop.papers.plan import Plan
from perhop.plot import bars
from perhop.report import page
from perhop.report.study import Section, StudyPage, Table, render
from perhop.stats.intervals import mean_interval

_TABLES = {
    "2": "Table 2: throughput of a Premium flow",
    "3": "Table 3: variation of Premium",
    "4": "Table 4: throughput of an Assured flow",
    "5": "Table 5: variation of Assured",
    "6": "Table 6 and equations (2), (5): effects on Premium",
    "7": "Table 7 and equations (3), (6): effects on Assured",
    "8": "Table 8: two strategies for Assured",
    "extra": "What the paper does not print, by the mark of Best-Effort flows' ACKs",
}
_INTRO = (
    "Three networks exchange Premium, Assured and Best-Effort flows over a Y of four routers. The ACKs of "
    "each class are marked Premium, Assured or best effort: 27 treatments, each with flows whose reverse "
    "path alone (r), forward path alone (f), or both (t) are congested. Which marks serve which class best?"
)
_ABOUT = (
    "Tables and figures are of the first three replications, as the paper's; claims are judged over all. An "
    "id such as r pab is C = r with the ACKs of Premium marked p, of Assured a, of Best-Effort b. Effects "
    "stand beside the middle of the printed 90 % interval."
)
_FIGURES = {"premium": ("2 and 3", "4"), "assured": ("5", "6")}
_STRATEGIES = ("bbb", "pab", "aab", "ppp")
"""The default; copying as the paper has it; the best for Premium (section 5.1) and for Assured at C = r."""


def render_page(plan: Plan, done: Reproduction, title: str) -> str:
    """Return the page as HTML."""
    models = model_section(done.tables, KEPT, "Mbit/s", _FIGURES, str(done.document["command"]))
    return render(
        StudyPage(
            title=title,
            document=done.document,
            sections=[_strategies(plan, done), models, _fit(plan, done)],
            intro=_INTRO,
            about_numbers=_ABOUT,
            tables=_TABLES,
            digits={"premium": 3, "assured": 3},
            findings=done.findings,
            warnings=done.warnings,
            left_out=done.left_out,
        )
    )


def _strategies(plan: Plan, done: Reproduction) -> Section:
    """Figure 7, the best marking by class and congestion, and what each marking loses."""
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
        [
            "Sections 5 and 6 of the paper: Assured ACKs for Premium, or Premium ones at C = r; for Assured, "
            "Premium or Assured ACKs at C = r, best effort elsewhere; p-a-b if congestion is not known."
        ],
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


def _fit(plan: Plan, done: Reproduction) -> Section:
    """Show the error of every cell, and what the calibration recorded."""
    fit = load_fit(plan.pack)
    record = plan.pack.record("calibration.json", ["chosen", "error", "readings"])
    means = {
        marking: {
            (name, c): at(done.measured.samples, name, marking, c) for name in CLASSES for c in CONGESTION
        }
        for marking in MARKINGS
    }
    off = fit.off(done.measured.published, means)
    rows = [
        (
            f"{marking}{' *' if any((name, marking) in fit.fitted for name in CLASSES) else ''}",
            *(f"{off[f'{name} {c} {marking}']:+.1f}" for name in CLASSES for c in CONGESTION),
        )
        for marking in MARKINGS
    ]
    chosen = ", ".join(f"{name} {level}" for name, level in record["chosen"].items())
    under = ", ".join(f"{name} {error:.1f}" for name, error in record["readings"].items())
    text = (
        f"Fitted: {chosen}. Root mean square here, in standard errors of a printed cell: {fit.rms(off):.1f} "
        f"over the {3 * len(fit.fitted)} fitted cells, {fit.rms(off, fitted=False):.1f} over the others. "
        f"Recorded by `perhop reproduce {KEY} --calibrate`: {record['error']['fitted']:.1f} and "
        f"{record['error']['held out']:.1f}; on the fitted cells under each reading: {under}."
    )
    columns = ("marking", *(f"{name} {c}" for name in CLASSES for c in CONGESTION))
    table = Table(
        "Error by cell, in standard errors of the printed one",
        columns,
        rows,
        text="A star: fitted, Premium, or both classes; calibration.toml says which.",
        command=str(done.document["command"]),
    )
    return Section("fit", "How well the model fits", [text], [table])
