"""The page about the study of per-flow and aggregate marking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perhop.papers.laatu.setup import CIR_KBPS
from perhop.plot import marking as drawn
from perhop.report import page
from perhop.report.study import Section, StudyPage, Table, render

if TYPE_CHECKING:
    from perhop.papers.laatu.document import Reproduction
    from perhop.papers.laatu.plan import Case, Plan
    from perhop.papers.laatu.sweeps import SweepResult

_PANELS = (
    ("total_fairness", "fairness of the total"),
    ("cir_utilization", "utilization of the CIR"),
    ("aggregate_throughput", "throughput in kbit/s"),
)
_TABLES = {
    "throughput": "Tables 2 and 4: utilization, goodput, throughput",
    "fairness": "Tables 3 and 5: fairness indices",
    "extra": "What the paper does not print",
}
_INTRO = (
    "Four TCP flows of one customer cross a 2 Mbit/s class of Assured Forwarding together with seven others. "
    "Their packets are marked by one two-rate three-colour meter for the customer, or by one for each flow. "
    "Which is fairer, and which gets more through?"
)
_ABOUT = (
    "A standard deviation, a minimum and a maximum are those of five runs, as in the paper, and each such "
    "five is one value here; for per-flow quantities they are over the flows of all five runs."
)


def render_marking(plan: Plan, done: Reproduction, title: str) -> str:
    """Return the page as HTML."""
    return render(
        StudyPage(
            title=title,
            document=done.document,
            sections=[_flows(plan, done), _compared(plan, done), *_beyond(done)],
            intro=_INTRO,
            about_numbers=_ABOUT,
            tables=_TABLES,
            digits=_digits(done.document["rows"]),
            findings=done.findings,
            warnings=done.warnings,
            left_out=done.left_out,
        )
    )


def _flows(plan: Plan, done: Reproduction) -> Section:
    """Figures 2 to 5: what each flow got in one run."""
    m = done.measurements
    shown = [case for case, _ in plan.cases if case.table == "published"]
    top = 1.08 * max(float(m.runs[case.id][0].throughput.max()) for case in shown)
    drawings = []
    for case in shown:
        run = m.runs[case.id][0]
        numbers = next(table for table in plan.pack.figures if table.get("case") == case.id)
        ideal = CIR_KBPS / case.setup.flows
        for kind, bands in (
            ("throughput_figure", [drawn.Band("throughput", list(run.throughput))]),
            ("colour_figure", [drawn.Band("green", list(run.green)), drawn.Band("excess", list(run.excess))]),
        ):
            name = f"Figure {numbers[kind]}: {case.title[0].lower()}{case.title[1:]}"
            drawings.append(
                page.drawing(
                    f"figure-{numbers[kind]}",
                    name,
                    drawn.draw_bars(bands, name, ideal, max(top, 1.08 * ideal)),
                    _caption(case, done),
                    case.command(plan.duration_s),
                )
            )
    text = (
        "One run each, as the paper shows it: here replication 0. The ideal share is the committed rate over "
        "the flows; the paper prints no numbers for these figures."
    )
    return Section("flows", "Each flow in one run", [text], drawings=drawings, paired=True)


def _caption(case: Case, done: Reproduction) -> str:
    values = done.measurements.values[case.id]
    return (
        f"Fairness in this run: total {values['total_fairness'][0]:.3f}, committed "
        f"{values['committed_fairness'][0]:.3f}, excess {values['excess_fairness'][0]:.3f}."
    )


def _compared(plan: Plan, done: Reproduction) -> Section:
    """All cases side by side."""
    m = done.measurements
    cases = [case for case, _ in plan.cases]
    panels = []
    for quantity, label in _PANELS:
        reference = {
            row["id"]: row["published"]
            for row in done.document["rows"]
            if row["quantity"] == quantity and row["published"] is not None
        }
        panels.append(
            drawn.Panel(label, {"simulated": [m.interval(case.id, quantity) for case in cases]}, reference)
        )
    title = "Other meters in the same seat"
    text = (
        "The paper compares the first two rows. The others ask what its difference is made of: per-flow "
        "marking also gives the customer four times the bucket depth. Other meters could have the same seat."
    )
    names = [case.id for case in cases]
    rows = [
        (case.title, *(_cell(m.interval(case.id, quantity)) for quantity, _ in _PANELS), str(n))
        for case, n in plan.cases
    ]
    table = Table(
        "The same in numbers",
        ("case", *(label for _, label in _PANELS), "runs"),
        rows,
        command=str(done.document["command"]),
    )
    return Section(
        "cases",
        title,
        [text],
        [table],
        [
            page.drawing(
                "cases",
                title,
                drawn.draw_cases(names, panels, title),
                "Mean and 95 % interval; diamonds are the paper's.",
                str(done.document["command"]),
            )
        ],
    )


def _beyond(done: Reproduction) -> list[Section]:
    if not done.sweeps:
        return []
    text = (
        "The paper gives neither round-trip time, packet size, averaging, buffer nor TCP's settings. Each is "
        "swept alone around the defaults, both ways of marking with the same random numbers."
    )
    return [
        Section(
            "beyond",
            "What the paper leaves open",
            [text],
            drawings=[_sweep(one, str(done.document["command"])) for one in done.sweeps],
        )
    ]


def _sweep(one: SweepResult, command: str) -> page.Drawing:
    sweep = one.sweep
    panels = [
        drawn.Panel(label, {str(name): lines for name, lines in one.simulated[quantity].items()})
        for quantity, label in _PANELS
    ]
    labels = [point.label for point in sweep.points]
    places = [point.value for point in sweep.points]
    picture = drawn.draw_sweep(sweep.axis, labels, places, panels, sweep.title, sweep.words)
    caption = f"{one.verdict()[0].upper()}{one.verdict()[1:]} {sweep.replications} replications a point."
    return page.drawing(f"sweep-{sweep.id}", sweep.title, picture, caption, command)


def _cell(one: Any) -> str:
    digits = 1 if abs(one.mean) >= 10 else 3
    return f"{one.mean:.{digits}f} ± {one.half_width:.{digits}f}"


def _digits(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {row["quantity"]: 1 for row in rows if row["unit"] in ("kbit/s", "packets")}
