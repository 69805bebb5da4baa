"""The page about the study feroz."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from perhop.papers.feroz.document import Reproduction
from perhop.papers.feroz.measure import BOTTLENECK, SweepResult, flow_marks
from perhop.papers.feroz.plan import INTERVAL_S, Case, Plan
from perhop.papers.feroz.readings import MARKERS, assured_bit_s
from perhop.plot import bars, curves, marks
from perhop.report import page, study

_INTRO = (
    "A marker at the edge tells packets inside the contract (IN) from the rest (OUT), and RIO at the "
    "bottleneck drops OUT packets first. A token bucket marks bursts of OUT, and TCP loses several packets "
    "of a window at once. The TCP-friendly marker protects small windows and spaces the OUT packets of each "
    "flow. Every table of the paper is run again, with ten replications where the paper has one."
)
_ABOUT = (
    "Goodput is in bytes per second, as the paper's must be: 18503 x 8 x 10 is 1.48 Mbit/s on a 1.5 Mbit/s "
    "link. Its levels in Tables 2 and 3 exceed their links; there, compare markers with each other. The "
    "coefficient of variation, cov, is the standard deviation of the goodput of a run's flows over its mean. "
    "A gap is the OUT packets between two IN packets of a flow that has tokens left, and S is what it should "
    "be: gaps kept is the fraction of gaps that are S rounded down or up, gap excess by how many "
    "packets a gap is longer than S on average."
)
_TABLES = {
    "1": "Table 1: 10 Reno flows, 1.5 Mbit/s",
    "2": "Table 2: 100 Reno flows, 15 Mbit/s",
    "3": "Table 3: 100 Reno flows, 150 Mbit/s",
    "4": "Table 4: SACK",
    "5": "Table 5: NewReno",
    "6": "Table 6: one assured flow, 1.5 Mbit/s",
    "7": "Table 7: one assured flow, 150 Mbit/s",
    "extra": "Runs of ours",
}
_DIGITS = {
    "timeouts": 1,
    "losses_per_s": 2,
    "goodput": 0,
    "cov": 3,
    "completed": 0,
    "completion_mean": 2,
    "completion_p95": 2,
}
_PANELS = (
    ("timeouts", "time-outs"),
    ("losses_per_s", "losses per second"),
    ("goodput", "goodput, B/s"),
    ("cov", "CoV of goodput"),
)


def render(title: str, plan: Plan, outcome: Reproduction) -> str:
    """Return the page as HTML."""
    again = str(outcome.document["command"])
    sections = [
        study.Section(
            "bars",
            "Published beside simulated",
            ["Hollow bars are the paper's one run, filled ones the mean of ours with its 95 % interval."],
            drawings=[*_tables(outcome, again), *_assured(outcome, again)],
        ),
        study.Section(
            "marks",
            "Marks and queue",
            [
                "What Figure 1 of the paper sketches: the packets of one flow, a line for each marking "
                "interval, from a traced run of the baseline. Below, what waits at the bottleneck by colour.",
            ],
            drawings=_traced(plan, outcome),
        ),
        study.Section("others", "Section 5.7 and simultaneous starts", _OTHERS, [_others(outcome, again)]),
        *_sensitivity(outcome, again),
        _calibration(plan),
    ]
    return study.render(
        study.StudyPage(
            title,
            outcome.document,
            [
                section
                for section in sections
                if section.drawings or any(table.rows for table in section.tables)
            ],
            _INTRO,
            _ABOUT,
            _TABLES,
            {case.id: _label(case) for case in plan.cases},
            _DIGITS,
            findings=outcome.findings,
            warnings=outcome.warnings,
            left_out=outcome.left_out,
        )
    )


_OTHERS = (
    "The paper also ran short transfers, round trips of different length and fast links, and prints nothing "
    "about them but that they agree. These are our runs. It starts all flows at once and once; ours start "
    "within one empty round trip, so that replications differ. The rows with all starts together show what "
    "that changes.",
)


def _tables(outcome: Reproduction, again: str) -> list[page.Drawing]:
    """Return a figure for each of Tables 1 to 5."""
    rows = {(row["table"], row["id"], row["quantity"]): row for row in outcome.document["rows"]}
    found = []
    for table in ("1", "2", "3", "4", "5"):
        panels = []
        for quantity, name in _PANELS:
            each = [
                (marker, rows[table, f"{table} {marker}", quantity])
                for marker in MARKERS
                if (table, f"{table} {marker}", quantity) in rows
            ]
            panels.append(
                (
                    name,
                    [
                        bars.Bar(_short(marker), row["published"], row["simulated"]["mean"], _ends(row))
                        for marker, row in each
                    ],
                )
            )
        if panels[0][1]:
            found.append(
                page.drawing(
                    f"table-{table}", _TABLES[table], bars.draw(panels, _TABLES[table]), command=again
                )
            )
    return found


def _assured(outcome: Reproduction, again: str) -> list[page.Drawing]:
    """Return a figure for each of Tables 6 and 7: obtained over promised rate."""
    found = []
    for table in ("6", "7"):
        rows = [
            row for row in outcome.document["rows"] if row["table"] == table and row["quantity"] == "obtained"
        ]
        lines: list[curves.Line] = []
        for color, marker in enumerate(MARKERS[:2]):
            own = [row for row in rows if row["id"].endswith(marker)]
            x = [assured_bit_s(float(row["id"].split()[0].partition("-")[2])) / 1e6 for row in own]
            lines.append(
                curves.Line(f"{marker}, published", x, [row["published"] for row in own], (), color, True)
            )
            lines.append(
                curves.Line(
                    f"{marker}, simulated",
                    x,
                    [row["simulated"]["mean"] for row in own],
                    [_ends(row) for row in own],
                    color,
                )
            )
        if rows:
            promised = lines[0].x
            lines.append(curves.Line("what is promised", promised, promised, (), 7, True))
            picture = curves.draw(
                [curves.Panel("obtained, Mbit/s", lines)], "promised, Mbit/s", _TABLES[table], 3.6
            )
            found.append(page.drawing(f"table-{table}", _TABLES[table], picture, command=again))
    return found


def _traced(plan: Plan, outcome: Reproduction) -> list[page.Drawing]:
    """Return the marks of one flow and the queue by colour, from the traced runs."""
    cases = [case for case in plan.cases if case.figure == "marks"]
    if not all(case.id in outcome.traces for case in cases) or not cases:
        return []
    flow = "bulk[0]"
    patterns, backlogs = [], []
    for case in cases:
        trace = outcome.traces[case.id]
        own = flow_marks(trace, flow)
        interval = np.floor(own.time_s / INTERVAL_S).astype(int)
        shown = range(40, 56)
        patterns.append(marks.Pattern(case.marker, [own.is_in[interval == k].tolist() for k in shown]))
        backlogs.append(backlog(trace, case.marker))
    command = " && ".join(case.command(plan.readings, plan.readings) for case in cases)
    return [
        page.drawing(
            "pattern",
            "Packets of one flow",
            marks.draw_patterns(patterns, f"Marks of {flow} by interval"),
            "From 10 s on; filled is IN, hollow is OUT.",
            command,
        ),
        page.drawing(
            "backlog",
            "The bottleneck's queue by colour",
            marks.draw_backlogs(backlogs, "Packets that wait at the bottleneck, by colour"),
            "A cross is a dropped OUT packet, a triangle a dropped IN packet.",
            command,
        ),
    ]


def backlog(trace: pl.DataFrame, name: str) -> marks.Backlog:
    """Count what waits at the bottleneck by colour, from a packet trace."""
    trace = trace.filter(pl.col("path").str.starts_with(BOTTLENECK))
    time, event = trace["time_s"].to_numpy(), trace["event"]
    change = (event == "enqueued").to_numpy().astype(float) - (event == "sent").to_numpy()
    green, dropped = (trace["color"] == "green").to_numpy(), (event == "dropped").to_numpy()
    return marks.Backlog(
        name,
        time,
        np.cumsum(change * green),
        np.cumsum(change * ~green),
        time[dropped & green],
        time[dropped & ~green],
    )


def _others(outcome: Reproduction, again: str) -> study.Table:
    m = outcome.measurements
    columns = (
        ("timeouts", "time-outs", 1),
        ("losses_per_s", "losses per s", 2),
        ("goodput", "goodput, B/s", 0),
        ("cov", "CoV", 3),
        ("unfinished", "not finished", 1),
        ("completion_mean", "completion, mean s", 2),
        ("completion_p95", "95 % of transfers, s", 2),
        ("short_over_long", "goodput, 20 ms over 200 ms", 2),
    )
    cases = [
        case
        for case in m.cases.values()
        if case.figure in ("1", "1-together", "2", "2-scaled", "short", "rtt", "fast")
    ]
    return study.Table(
        "With 95 % intervals",
        ("runs", "marker", *(name for _, name, _ in columns)),
        [
            (
                case.title,
                case.marker,
                *(_value(outcome, case, quantity, digits) for quantity, _, digits in columns),
            )
            for case in cases
        ]
        if any(case.table == "extra" for case in cases)
        else [],
        2,
        command=again,
    )


def _value(outcome: Reproduction, case: Case, quantity: str, digits: int) -> str:
    if quantity not in outcome.measurements.values[case.id]:
        return "–"
    found = outcome.measurements.interval(case.id, quantity)
    if found is None:
        return "none"
    return f"{found.mean:.{digits}f} ± {found.half_width:.{digits}f}"


def _sensitivity(outcome: Reproduction, again: str) -> list[study.Section]:
    """Return how each reading moves Table 1."""
    if not outcome.swept:
        return []
    rows = []
    first = [swept for swept in outcome.swept if swept.sweep.table == "1"]
    sixth = [swept for swept in outcome.swept if swept.sweep.table == "6"]
    for swept in first:
        parameter = swept.sweep.parameter
        for value, means in zip(parameter.values, swept.means, strict=True):
            cells = [
                " / ".join(f"{means[f'1 {marker}'][quantity]:.{digits}f}" for marker in MARKERS)
                for quantity, digits in (("timeouts", 0), ("losses_per_s", 2), ("goodput", 0), ("cov", 3))
            ]
            star = " (chosen)" if value == parameter.chosen else ""
            rows.append((parameter.name, f"{value}{star}", *cells))
    return [
        study.Section(
            "sensitivity",
            "How each reading moves Table 1",
            [
                "One parameter at a time, everything else as chosen; four replications of each. Three "
                "numbers are TCP-friendly / token bucket / no marker. What a parameter means is said below, "
                "under Calibration.",
            ],
            [
                study.Table(
                    "All of them",
                    ("parameter", "value", "time-outs", "losses per s", "goodput, B/s", "CoV"),
                    rows,
                    2,
                    command=again,
                )
            ],
            [_sweep(swept, again) for swept in first],
        ),
        study.Section(
            "sensitivity-6",
            "How readings move Table 6",
            ["What the assured flow obtains of what it is promised, at three rates; four replications."],
            drawings=[_assured_sweep(swept, again) for swept in sixth],
        ),
    ]


def _sweep(swept: SweepResult, again: str) -> page.Drawing:
    parameter = swept.sweep.parameter
    ticks = [str(value) for value in parameter.values]
    panels = []
    for quantity, name in (
        ("timeouts", "time-outs"),
        ("losses_per_s", "losses per second"),
        ("cov", "CoV of goodput"),
    ):
        lines = [
            curves.Line(
                marker,
                range(len(ticks)),
                [means[f"1 {marker}"][quantity] for means in swept.means],
                (),
                color,
            )
            for color, marker in enumerate(MARKERS)
        ]
        panels.append(curves.Panel(name, lines, ticks))
    return page.drawing(
        f"sweep-{parameter.name}",
        f"{parameter.name}: {parameter.meaning}",
        curves.draw(panels, parameter.name, f"Table 1 over {parameter.name}"),
        f"Chosen: {parameter.chosen}.",
        again,
    )


def _assured_sweep(swept: SweepResult, again: str) -> page.Drawing:
    parameter = swept.sweep.parameter
    ticks = [str(value) for value in parameter.values]
    panels = [
        curves.Panel(
            f"{case.meter.tokens} tokens",
            [
                line
                for color, marker in enumerate(MARKERS[:2])
                for line in _assured_lines(swept, f"{case.row} {marker}", marker, color)
            ],
            ticks,
        )
        for case in swept.sweep.cases
        if case.marker == "tcp-friendly"
    ]
    return page.drawing(
        f"sweep-6-{parameter.name}",
        f"{parameter.name}: {parameter.meaning}",
        curves.draw(panels, parameter.name, f"Table 6 over {parameter.name}"),
        f"Obtained over promised; dashed: the paper. Chosen: {parameter.chosen}.",
        again,
    )


def _assured_lines(swept: SweepResult, id_: str, name: str, color: int) -> list[curves.Line]:
    (case,) = (case for case in swept.sweep.cases if case.id == id_)
    places = range(len(swept.means))
    printed = case.published["obtained"] * 1e6 / (case.assured_bit_s or 1.0)
    return [
        curves.Line(name, places, [means[id_]["obtained_share"] for means in swept.means], (), color),
        curves.Line(f"{name}, published", places, [printed] * len(places), (), color, True),
    ]


def _differences(record: Mapping[str, Any]) -> str:
    """Say what the other fit reads otherwise than the chosen one."""
    other, chosen = record["other"]["after"], record["after"]
    return ", ".join(
        f"{name} ({other[name]}, not {chosen[name]})" for name in chosen if other[name] != chosen[name]
    )


_RECORDED = ("after", "command", "error", "errors", "fit", "least_gain", "other", "replications", "steps")


def _calibration(plan: Plan) -> study.Section:
    """Return the record of the calibration."""
    name = "expected/calibration.json"
    if not (plan.pack.folder / name).is_file():
        return study.Section("calibration", "Calibration")
    record = plan.pack.record(name, _RECORDED)
    last: dict[str, Mapping[str, Any]] = {step["parameter"]: step for step in record["steps"]}
    parameters = [
        (
            parameter.name,
            parameter.meaning,
            ", ".join(f"{value} ({found:.3f})" for value, found in last[parameter.name]["errors"])
            if parameter.name in last
            else ", ".join(str(value) for value in parameter.values),
            str(parameter.before),
            str(parameter.chosen),
        )
        for parameter in plan.parameters
    ]
    errors = [
        (
            _TABLES[table],
            "fitted" if table in record["fit"] else "predicted",
            *(
                f"{record['errors'][when][table][kind]:.3f}"
                for kind in ("levels", "ratios")
                for when in ("before", "after")
            ),
        )
        for table in record["errors"]["after"]
    ]
    passes = max((step["pass"] for step in record["steps"]), default=0)
    return study.Section(
        "calibration",
        "Calibration",
        [
            "What the paper leaves open was searched in the open: one parameter at a time, each value "
            "tried, the one with the smallest error taken if it lowers the error by "
            f"{record['least_gain']:.0%}, {passes} passes, {record['replications']} replications. Only "
            "printed numbers of the fitted tables enter the error, no claim and no verdict. The error is the "
            "mean of |ln(ours / published)|: 0.1 is about ten per cent, 0.7 a factor of two. What the fit "
            "does not reach stays as it is.",
            f"The chosen readings have an error of {record['error']:.2f}. A search that may let edges "
            "promise more than the bottleneck carries ends with "
            f"{record['other']['error']:.2f}, and differs in {_differences(record)}. Tables 1, 4 and 5 are "
            'judged under both: the reading "second fit".',
        ],
        [
            study.Table(
                "Error of each table, before and after",
                ("table", "", "levels before", "after", "ratios between markers before", "after"),
                errors,
                2,
                "The levels of Tables 2 and 3 exceed their links; only ratios can be compared there.",
                record["command"],
            ),
            study.Table(
                "What was tried, with the error of the fit in the last pass",
                ("parameter", "meaning", "tried", "before", "chosen"),
                parameters,
                5,
                "Parameters without errors were not searched, only swept.",
                record["command"],
            ),
        ],
    )


def _label(case: Case) -> str:
    if case.table == "extra":
        return f"{case.title}: {case.marker}"
    return case.marker if case.meter.tokens is None else f"{case.meter.tokens} tokens, {case.marker}"


def _short(marker: str) -> str:
    return {"tcp-friendly": "friendly", "token-bucket": "bucket", "none": "none"}[marker]


def _ends(row: Mapping[str, Any]) -> tuple[float, float] | None:
    ends: Sequence[float] | None = row["simulated"]["ci95"]
    return None if ends is None else (ends[0], ends[1])
