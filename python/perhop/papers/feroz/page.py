"""The page about the study; its words are in `page.toml` of the pack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perhop.papers.feroz import figures
from perhop.papers.feroz.case import MARKERS, Case, load_calibration
from perhop.papers.feroz.document import Reproduction
from perhop.papers.feroz.plan import FITTED, SWEPT_TOKENS, Runs
from perhop.papers.plan import Sweep
from perhop.plot import bars, curves
from perhop.report import page
from perhop.report.study import Section, StudyPage, Table, render

_QUANTITIES = (
    ("timeouts", "time-outs", 1),
    ("losses_per_s", "losses per second", 2),
    ("goodput", "goodput, B/s", 0),
    ("cov", "CoV of goodput", 3),
)
_OF_OTHERS = (
    *_QUANTITIES,
    ("unfinished", "not finished", 1),
    ("completion_mean", "completion, mean s", 2),
    ("completion_p95", "95 % of transfers, s", 2),
    ("short_over_long", "goodput, 20 ms over 200 ms", 2),
)
_DIGITS = {name: digits for name, _, digits in _OF_OTHERS if name not in ("unfinished", "short_over_long")}
_OTHERS = ("1", "1-together", "2", "2-scaled", "short", "rtt", "fast")
_RECORDED = ("after", "command", "error", "errors", "fit", "least_gain", "other", "replications", "steps")


def render_page(title: str, plan: Runs, outcome: Reproduction) -> str:
    """Return the page as HTML."""
    again, words = str(outcome.document["command"]), plan.pack.toml("page.toml")
    text = words["sections"]
    sections = [
        Section(
            "bars",
            "Published beside simulated",
            [text["bars"]],
            drawings=[*_tables(outcome, words["tables"], again), *_assured(outcome, words["tables"], again)],
        ),
        Section("marks", "Marks and queue", [text["marks"]], drawings=figures.traced(plan, outcome.drawn)),
        Section(
            "others", "Section 5.7 and simultaneous starts", [text["others"]], [_others(plan, outcome, again)]
        ),
        *_sensitivity(plan, outcome, text, again),
        *_calibration(plan, words),
    ]
    return render(
        StudyPage(
            title,
            outcome.document,
            [one for one in sections if one.drawings or any(table.rows for table in one.tables)],
            words["intro"],
            words["about"],
            words["tables"],
            {case.id: _label(case) for case in plan.cases},
            {**_DIGITS, "completed": 0},
            findings=outcome.findings,
            warnings=outcome.warnings,
            left_out=outcome.left_out,
        )
    )


def _tables(outcome: Reproduction, titles: Mapping[str, str], again: str) -> list[page.Drawing]:
    """Return a figure for each of Tables 1 to 5."""
    rows = {(row["id"], row["quantity"]): row for row in outcome.document["rows"]}
    found = []
    for table in ("1", "2", "3", "4", "5"):
        panels = [
            (
                name,
                [
                    bars.Bar(figures.SHORT[marker], row["published"], row["simulated"]["mean"], _ends(row))
                    for marker in MARKERS
                    if (row := rows.get((f"{table} {marker}", quantity)))
                ],
            )
            for quantity, name, _ in _QUANTITIES
        ]
        if panels[0][1]:
            picture = bars.draw(panels, titles[table])
            found.append(page.drawing(f"table-{table}", titles[table], picture, command=again))
    return found


def _assured(outcome: Reproduction, titles: Mapping[str, str], again: str) -> list[page.Drawing]:
    """Return a figure for each of Tables 6 and 7: obtained over promised rate."""
    found, m = [], outcome.measured[FITTED]
    for table in ("6", "7"):
        lines: list[curves.Line] = []
        for color, marker in enumerate(MARKERS[:2]):
            own = [
                (m.cases[row["id"]].assured_bit_s / 1e6, row)
                for row in outcome.document["rows"]
                if row["table"] == table and row["quantity"] == "obtained" and row["id"].endswith(marker)
            ]
            x, rows = [rate for rate, _ in own], [row for _, row in own]
            printed, means = [row["published"] for row in rows], [row["simulated"]["mean"] for row in rows]
            lines += [
                curves.Line(f"{marker}, published", x, printed, (), color, True),
                curves.Line(f"{marker}, simulated", x, means, [_ends(row) for row in rows], color),
            ]
        promised = lines[0].x
        if promised:
            lines.append(curves.Line("what is promised", promised, promised, (), 7, True))
            panels = [curves.Panel("obtained, Mbit/s", lines)]
            picture = curves.draw(panels, "promised, Mbit/s", titles[table], 3.6)
            found.append(page.drawing(f"table-{table}", titles[table], picture, command=again))
    return found


def _others(plan: Runs, outcome: Reproduction, again: str) -> Table:
    cases = [case for case in plan.cases if case.figure in _OTHERS]
    rows = [
        (case.title, case.marker, *(_value(outcome, case, name, digits) for name, _, digits in _OF_OTHERS))
        for case in cases
        if any(case.table == "extra" for case in cases)
    ]
    columns = ("runs", "marker", *(name for _, name, _ in _OF_OTHERS))
    return Table("With 95 % intervals", columns, rows, 2, command=again)


def _value(outcome: Reproduction, case: Case, quantity: str, digits: int) -> str:
    if quantity not in outcome.measured[FITTED].values[case.id]:
        return "–"
    found = outcome.measured[FITTED].interval(case.id, quantity)
    return "none" if found is None else f"{found.mean:.{digits}f} ± {found.half_width:.{digits}f}"


def _sensitivity(plan: Runs, outcome: Reproduction, text: Mapping[str, str], again: str) -> list[Section]:
    """Return how each parameter moves Tables 1 and 6."""
    if not plan.beyond:
        return []
    chosen = load_calibration(plan.pack).chosen
    first, sixth = ([one for one in plan.beyond if one.id.startswith(table)] for table in "16")
    rows = []
    for sweep in first:
        (name,) = sweep.axes
        for value in _values(sweep):
            m = outcome.measured[f"{name}={value}"]
            cells = [
                " / ".join(f"{m.mean(f'1 {marker}', quantity):.{digits}f}" for marker in MARKERS)
                for quantity, _, digits in (("timeouts", "", 0), *_QUANTITIES[1:])
            ]
            rows.append((name, f"{value}{' (chosen)' if value == str(chosen[name]) else ''}", *cells))
    columns = ("parameter", "value", "time-outs", "losses per s", "goodput, B/s", "CoV")
    return [
        Section(
            "sensitivity",
            "How each reading moves Table 1",
            [text["sensitivity"]],
            [Table("All of them", columns, rows, 2, command=again)],
            [
                _drawn(sweep, _first(sweep, outcome), f"Chosen: {chosen[sweep.axes[0]]}.", again)
                for sweep in first
            ],
        ),
        Section(
            "sensitivity-6",
            "How readings move Table 6",
            [text["sensitivity-6"]],
            drawings=[
                _drawn(
                    sweep,
                    _sixth(sweep, outcome),
                    f"Obtained over promised; dashed: the paper. Chosen: {chosen[sweep.axes[0]]}.",
                    again,
                )
                for sweep in sixth
            ],
        ),
    ]


def _values(sweep: Sweep) -> list[str]:
    return [level.name for level in sweep.campaign.design.factors[0].levels]


def _line(sweep: Sweep, outcome: Reproduction, case: str, quantity: str) -> curves.Line:
    m = [outcome.measured[f"{sweep.axes[0]}={value}"] for value in _values(sweep)]
    marker = case.split()[1]
    y, color = [one.mean(case, quantity) for one in m], MARKERS.index(marker)
    return curves.Line(marker, range(len(y)), y, (), color)


def _first(sweep: Sweep, outcome: Reproduction) -> list[curves.Panel]:
    """Give three quantities of Table 1 over a parameter."""
    return [
        curves.Panel(
            name, [_line(sweep, outcome, f"1 {marker}", quantity) for marker in MARKERS], _values(sweep)
        )
        for quantity, name, _ in _QUANTITIES
        if quantity != "goodput"
    ]


def _sixth(sweep: Sweep, outcome: Reproduction) -> list[curves.Panel]:
    """Give what the assured flow of Table 6 obtains of what it is promised, over a parameter."""
    panels: dict[str, list[curves.Line]] = {}
    for row, marker in (one.levels[1:] for one in sweep.campaign.design.treatments[: 2 * len(SWEPT_TOKENS)]):
        case = outcome.measured[FITTED].cases[f"{row} {marker}"]
        line = _line(sweep, outcome, case.id, "obtained_share")
        printed = [case.published["obtained"] * 1e6 / case.assured_bit_s] * len(line.x)
        own = panels.setdefault(f"{case.tokens} tokens", [])
        own += [line, curves.Line(f"{marker}, published", line.x, printed, (), line.color, True)]
    return [curves.Panel(name, lines, _values(sweep)) for name, lines in panels.items()]


def _drawn(sweep: Sweep, panels: Sequence[curves.Panel], caption: str, again: str) -> page.Drawing:
    (name,) = sweep.axes
    id_ = f"sweep-{name}" if sweep.id.startswith("1") else f"sweep-6-{name}"
    picture = curves.draw(panels, name, f"Table {sweep.id[0]} over {name}")
    return page.drawing(id_, f"{name}: {sweep.title}", picture, caption, again)


def _calibration(plan: Runs, words: Mapping[str, Any]) -> list[Section]:
    """Return the record of the calibration."""
    record = plan.pack.record("expected/calibration.json", _RECORDED)
    other, chosen = record["other"], record["after"]
    differences = ", ".join(
        f"{name} ({other['after'][name]}, not {chosen[name]})"
        for name in chosen
        if other["after"][name] != chosen[name]
    )
    passes = max((step["pass"] for step in record["steps"]), default=0)
    told = {**record, "passes": passes, "other": other["error"], "differences": differences}
    return [
        Section(
            "calibration",
            "Calibration",
            [words["sections"][name].format(**told) for name in ("calibration", "second-fit")],
            [_errors(record, words["tables"]), _tried(plan, record)],
        )
    ]


def _errors(record: Mapping[str, Any], titles: Mapping[str, str]) -> Table:
    errors = record["errors"]
    columns = [(when, kind) for kind in ("levels", "ratios") for when in ("before", "after")]
    return Table(
        "Error of each table, before and after",
        ("table", "", "levels before", "after", "ratios between markers before", "after"),
        [
            (
                titles[table],
                "fitted" if table in record["fit"] else "predicted",
                *(f"{errors[when][table][kind]:.3f}" for when, kind in columns),
            )
            for table in errors["after"]
        ],
        2,
        "The levels of Tables 2 and 3 exceed their links; only ratios can be compared there.",
        record["command"],
    )


def _tried(plan: Runs, record: Mapping[str, Any]) -> Table:
    last: dict[str, Mapping[str, Any]] = {step["parameter"]: step for step in record["steps"]}
    return Table(
        "What was tried, with the error of the fit in the last pass",
        ("parameter", "meaning", "tried", "before", "chosen"),
        [
            (
                one.name,
                one.meaning,
                ", ".join(f"{value} ({found:.3f})" for value, found in last[one.name]["errors"])
                if one.name in last
                else ", ".join(str(value) for value in one.values),
                str(one.before),
                str(one.chosen),
            )
            for one in load_calibration(plan.pack).parameters
        ],
        5,
        "Parameters without errors were not searched, only swept.",
        record["command"],
    )


def _label(case: Case) -> str:
    if case.table == "extra":
        return f"{case.title}: {case.marker}"
    return case.marker if case.tokens is None else f"{case.tokens} tokens, {case.marker}"


def _ends(row: Mapping[str, Any]) -> tuple[float, float] | None:
    ends: Sequence[float] | None = row["simulated"]["ci95"]
    return None if ends is None else (ends[0], ends[1])
