"""The page about the study; its words and the layout of its tables are in `page.toml` of the pack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perhop.papers.feroz import drawings
from perhop.papers.feroz.calibrate import SECOND
from perhop.papers.feroz.calibration import load_calibration
from perhop.papers.feroz.case import INTERVAL_S, rate
from perhop.papers.feroz.cases import EXTRA, Case
from perhop.papers.feroz.document import Reproduction
from perhop.papers.feroz.measure import BOTTLENECK, EDGES
from perhop.papers.feroz.plan import Runs
from perhop.papers.feroz.runs import FITTED
from perhop.papers.feroz.traced import flow_marks
from perhop.papers.fit import BASE, fit_section, read_record
from perhop.papers.plan import Sweep
from perhop.plot import backlog, curves, marks
from perhop.report import page
from perhop.report.study import Section, StudyPage, Table, render


def render_page(title: str, plan: Runs, outcome: Reproduction) -> str:
    """Return the page as HTML."""
    words, fit = plan.pack.toml("page.toml"), load_calibration(plan.pack)
    text, tables = words["sections"], words["tables"]
    record = read_record(plan.pack)
    said, errors = _searched(record, text), _errors(record, tables, words["errors"])
    sections = [*_measured(outcome, words), _traced(plan, outcome, words), *_others(outcome, words)]
    sections += [*_sensitivity(plan, outcome, words), fit_section(fit, record, said, [errors])]
    return render(
        StudyPage(
            title,
            outcome.document,
            [one for one in sections if one.drawings or any(table.rows for table in one.tables)],
            words["intro"],
            words["about"],
            tables,
            {case.id: _label(case) for case in plan.cases},
            words["digits"],
            findings=outcome.findings,
            warnings=outcome.warnings,
            left_out=outcome.left_out,
        )
    )


def _measured(outcome: Reproduction, words: Mapping[str, Any]) -> list[Section]:
    """Return a figure for each table: bars for Tables 1 to 5, obtained over promised rate for 6 and 7."""
    rows, again, m = outcome.document["rows"], outcome.document["command"], outcome.measured[FITTED]
    five, two = ({one: words["tables"][one] for one in words["drawn"][how]} for how in ("bars", "curves"))
    drawn = drawings.bars_of_tables(rows, five, words["quantity"][:4], words["short"], again)
    drawn += drawings.curves_of_tables(
        rows, m, two, words["obtained"], lambda case: rate(case.level or 0) / 1e6, again
    )
    return [Section("bars", "Published beside simulated", [words["sections"]["bars"]], drawings=drawn)]


def _traced(plan: Runs, outcome: Reproduction, words: Mapping[str, Any]) -> Section:
    """Return the marks of one flow and the queue by colour, from the traced runs."""
    cases, fit = [case for case in plan.cases if case.figure == "marks"], load_calibration(plan.pack)
    traces = {case.treatment: outcome.drawn[f"{case.id} 0"].trace["packets"] for case in cases}
    command = " && ".join(case.command(plan.pack, fit) for case in cases)
    pattern, waiting = words["pattern"], words["backlog"]
    lines = dict[str, list[list[bool]]]()
    for marker, trace in traces.items():
        own = flow_marks(trace, pattern["flow"], EDGES)
        at = own.interval(INTERVAL_S)
        lines[marker] = [own.is_in[at == k].tolist() for k in range(*pattern["intervals"])]
    queues = {marker: backlog.backlog(trace, BOTTLENECK) for marker, trace in traces.items()}
    drawn = (marks.draw(lines, pattern["told"]), backlog.draw(queues, waiting["told"]))
    drawings = [
        page.drawing(id_, words[id_]["title"], svg, words[id_]["caption"], command)
        for id_, svg in zip(("pattern", "backlog"), drawn, strict=True)
    ]
    return Section("marks", "Marks and queue", [words["sections"]["marks"]], drawings=drawings)


def _others(outcome: Reproduction, words: Mapping[str, Any]) -> list[Section]:
    m, again = outcome.measured[FITTED], outcome.document["command"]
    table = drawings.values_table(m, words["drawn"]["others"], words["quantity"], "marker", again)
    title = "Section 5.7 and simultaneous starts"
    return [Section("others", title, [words["sections"]["others"]], [table])]


def _sensitivity(plan: Runs, outcome: Reproduction, words: Mapping[str, Any]) -> list[Section]:
    """Return how each parameter moves Tables 1 and 6."""
    if not plan.beyond:
        return []
    chosen, text, measured = load_calibration(plan.pack).chosen, words["sections"], outcome.measured
    again, four = outcome.document["command"], words["quantity"][:4]
    first, sixth = ([one for one in plan.beyond if one.id.startswith(table)] for table in "16")
    cases = [case for case in plan.cases if case.figure == "1"]

    def drawn(sweep: Sweep, id_: str, panels: Sequence[curves.Panel], caption: str) -> page.Drawing:
        (name,) = sweep.axes
        picture = curves.draw(panels, name, f"Table {sweep.id[0]} over {name}")
        told = f"{caption}Chosen: {chosen[name]}."
        return page.drawing(f"{id_}-{name}", f"{name}: {sweep.title}", picture, told, again)

    three = [one for one in four if one["name"] != "goodput"]
    table_1 = [
        drawn(
            one,
            "sweep",
            drawings.swept_panels(one, measured, three, lambda _, quantity: quantity["label"]),
            "",
        )
        for one in first
    ]
    share = {"name": "obtained_share"}
    table_6 = [
        drawn(
            one,
            "sweep-6",
            drawings.swept_panels(
                one, measured, [share], lambda case, _: f"{case.level} tokens", _printed_share
            ),
            words["obtained"]["caption"],
        )
        for one in sixth
    ]
    table = drawings.swept_table(first, measured, cases, four, chosen, again)
    return [
        Section("sensitivity", "How each reading moves Table 1", [text["sensitivity"]], [table], table_1),
        Section("sensitivity-6", "How readings move Table 6", [text["sensitivity-6"]], drawings=table_6),
    ]


def _searched(record: Mapping[str, Any], text: Mapping[str, str]) -> list[str]:
    """Say how what the paper leaves open was searched, and where a search ends that may take more."""
    first, second = (record["fits"][name] for name in (BASE, SECOND))
    differences = ", ".join(
        f"{name} ({second['chosen'][name]}, not {value})"
        for name, value in first["chosen"].items()
        if second["chosen"][name] != value
    )
    named = {**record, **first, "other": second["error"], "differences": differences}
    return [text[one].format(**named) for one in ("calibration", "second-fit")]


def _errors(record: Mapping[str, Any], titles: Mapping[str, str], note: str) -> Table:
    errors = record["errors"]
    columns = [(when, kind) for kind in ("levels", "ratios") for when in ("before", "after")]
    return Table(
        "Error of each table, before and after",
        ("table", "", "levels before", "after", "ratios between markers before", "after"),
        [
            (
                titles[table],
                "fitted" if table in record["fitted"] else "predicted",
                *(f"{errors[when][table][kind]:.3f}" for when, kind in columns),
            )
            for table in errors["after"]
        ],
        2,
        note,
        record["command"],
    )


def _printed_share(case: Case) -> float:
    return case.published["obtained"] * 1e6 / rate(case.level or 0)


def _label(case: Case) -> str:
    if case.table == EXTRA:
        return f"{case.title}: {case.treatment}"
    return case.treatment if case.level is None else f"{case.level} tokens, {case.treatment}"
