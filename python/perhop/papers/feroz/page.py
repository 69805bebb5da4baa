"""The page about the study; `page.toml` of the pack has its words and table layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from perhop.papers.feroz.calibrate import SECOND
from perhop.papers.feroz.calibration import Calibration, load_calibration
from perhop.papers.feroz.cases import EXTRA, FITTED, INTERVAL_S, Case, rate
from perhop.papers.feroz.document import Reproduction
from perhop.papers.feroz.measure import BOTTLENECK, CaseValues, flow_marks
from perhop.papers.feroz.plan import Runs
from perhop.papers.fit import BASE, fit_section, read_record
from perhop.papers.plan import Sweep
from perhop.papers.study import render_page
from perhop.plot import backlog, bars, curves, marks
from perhop.report import page
from perhop.report.study import Section, Table

TITLE = "A TCP-friendly traffic marker: the study of Feroz, Kalyanaraman and Rao, again"

Quantity = Mapping[str, Any]
"""A table `[[quantity]]` of `page.toml`."""


def page_of(plan: Runs, outcome: Reproduction) -> str:
    """Return the page as HTML."""
    own = _Page(plan, outcome, plan.pack.toml("page.toml"))
    sections = [own.bars(), own.marks(), own.others(), *own.sensitivity(), own.calibration()]
    shown = [one for one in sections if one.drawings or any(table.rows for table in one.tables)]
    labels = {case.id: _label(case) for case in plan.cases}
    return render_page(TITLE, outcome, own.words, shown, labels, own.words["digits"])


@dataclass(frozen=True)
class _Page:
    plan: Runs
    outcome: Reproduction
    words: Mapping[str, Any]

    @property
    def text(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.words["sections"]
        return found

    @property
    def four(self) -> Sequence[Quantity]:
        """The quantities of Tables 1 to 5."""
        found: Sequence[Quantity] = self.words["quantity"][:4]
        return found

    @property
    def again(self) -> str:
        return str(self.outcome.document["command"])

    @cached_property
    def fit(self) -> Calibration:
        return load_calibration(self.plan.pack)

    @property
    def fitted(self) -> CaseValues:
        return self.outcome.measured[FITTED]

    def bars(self) -> Section:
        """Draw each table that has rows: bars for 1 to 5, obtained over promised rate for 6 and 7."""
        titles, drawn = self.words["tables"], self.words["drawn"]
        every = ((of, table) for of in ("bars", "curves") for table in drawn[of])
        drawings = []
        for of, table in every:
            picture = (self._bars if of == "bars" else self._curves)(table, titles[table])
            if picture:
                drawings.append(page.drawing(f"table-{table}", titles[table], picture, command=self.again))
        return Section("bars", "Published beside simulated", [self.text["bars"]], drawings=drawings)

    def _bars(self, table: str, title: str) -> str:
        known = {(row["id"], row["quantity"]): row for row in self.outcome.document["rows"]}
        panels = [
            (
                quantity["label"],
                [
                    bars.Bar(short, row["published"], row["simulated"]["mean"], _ends(row))
                    for marker, short in self.words["short"].items()
                    if (row := known.get((f"{table} {marker}", quantity["name"])))
                ],
            )
            for quantity in self.four
        ]
        return bars.draw(panels, title) if panels[0][1] else ""

    def _curves(self, table: str, title: str) -> str:
        quantity, cases = self.words["obtained"], self.fitted.cases
        lines: list[curves.Line] = []
        by_marker: dict[str, list[Mapping[str, Any]]] = {}
        for row in self.outcome.document["rows"]:
            if (row["table"], row["quantity"]) == (table, quantity["name"]):
                by_marker.setdefault(cases[row["id"]].marker, []).append(row)
        for color, (marker, rows) in enumerate(by_marker.items()):
            x = [rate(cases[row["id"]].tokens or 0) / 1e6 for row in rows]
            printed, means = [row["published"] for row in rows], [row["simulated"]["mean"] for row in rows]
            lines += [
                curves.Line(f"{marker}, published", x, printed, (), color, True),
                curves.Line(f"{marker}, simulated", x, means, [_ends(row) for row in rows], color),
            ]
        if not lines:
            return ""
        lines.append(curves.Line("what is promised", lines[-1].x, lines[-1].x, (), 7, True))
        return curves.draw([curves.Panel(quantity["label"], lines)], quantity["across"], title, 3.6)

    def marks(self) -> Section:
        """Draw the marks of one flow and the queue by colour, from the traced runs."""
        cases, words = [case for case in self.plan.cases if case.figure == "marks"], self.words
        traces = {case.marker: self.outcome.drawn[f"{case.id} 0"].trace["packets"] for case in cases}
        command = " && ".join(case.command(self.plan.pack, self.fit) for case in cases)
        lines = dict[str, list[list[bool]]]()
        for marker, trace in traces.items():
            own = flow_marks(trace, words["pattern"]["flow"])
            at = own.interval(INTERVAL_S)
            lines[marker] = [own.is_in[at == k].tolist() for k in range(*words["pattern"]["intervals"])]
        queues = {marker: backlog.backlog(trace, BOTTLENECK) for marker, trace in traces.items()}
        drawn = {
            "pattern": marks.draw(lines, words["pattern"]["description"]),
            "backlog": backlog.draw(queues, words["backlog"]["description"]),
        }
        drawings = [
            page.drawing(id_, words[id_]["title"], svg, words[id_]["caption"], command)
            for id_, svg in drawn.items()
        ]
        return Section("marks", "Marks and queue", [self.text["marks"]], drawings=drawings)

    def others(self) -> Section:
        """Show every quantity of the runs of ours and of the baselines, in one table."""

        def cell(case: Case, quantity: Quantity) -> str:
            if quantity["name"] not in m.values[case.id]:
                return "–"
            one, digits = m.interval(case.id, quantity["name"]), quantity["digits"]
            return "none" if one is None else f"{one.mean:.{digits}f} ± {one.half_width:.{digits}f}"

        m, quantities = self.fitted, self.words["quantity"]
        cases = [case for case in m.cases.values() if case.figure in self.words["drawn"]["others"]]
        rows = [
            (case.title, case.marker, *(cell(case, quantity) for quantity in quantities))
            for case in cases
            if any(case.table == EXTRA for case in cases)
        ]
        columns = ("runs", "marker", *(quantity["label"] for quantity in quantities))
        table = Table("With 95 % intervals", columns, rows, 2, command=self.again)
        return Section("others", "Section 5.7 and simultaneous starts", [self.text["others"]], [table])

    def sensitivity(self) -> Iterator[Section]:
        """Yield the sections on how each parameter moves Tables 1 and 6."""
        if not self.plan.beyond:
            return
        first, sixth = ([one for one in self.plan.beyond if one.id.startswith(table)] for table in "16")
        three = [one for one in self.four if one["name"] != "goodput"]
        drawings = [
            self._swept(one, "sweep", "", self._panels(one, three, lambda _, quantity: quantity["label"]))
            for one in first
        ]
        tables = [self._swept_table(first)]
        yield Section(
            "sensitivity", "How each reading moves Table 1", [self.text["sensitivity"]], tables, drawings
        )
        share, caption = [{"name": "obtained_share"}], self.words["obtained"]["caption"]
        drawings = [
            self._swept(
                one, "sweep-6", caption, self._panels(one, share, lambda case, _: f"{case.tokens} tokens")
            )
            for one in sixth
        ]
        text = [self.text["sensitivity-6"]]
        yield Section("sensitivity-6", "How readings move Table 6", text, drawings=drawings)

    def _swept(self, sweep: Sweep, id_: str, caption: str, panels: Sequence[curves.Panel]) -> page.Drawing:
        (name,) = sweep.axes
        picture = curves.draw(panels, name, f"Table {sweep.id[0]} over {name}")
        caption = f"{caption}Chosen: {self.fit.chosen[name]}."
        return page.drawing(f"{id_}-{name}", f"{name}: {sweep.title}", picture, caption, self.again)

    def _panels(
        self, sweep: Sweep, quantities: Sequence[Quantity], title: Callable[[Case, Quantity], str]
    ) -> list[curves.Panel]:
        """Return panels by `title`, with a line for each marker and for each printed share."""
        measured, (name,) = self.outcome.measured, sweep.axes
        panels, colors, x = dict[str, list[curves.Line]](), dict[str, int](), range(len(_values(sweep)))
        _, rows, markers = sweep.campaign.design.factors
        for quantity in quantities:
            for id_ in (f"{row.name} {marker.name}" for row in rows.levels for marker in markers.levels):
                case = self.fitted.cases[id_]
                color = colors.setdefault(case.marker, len(colors))
                y = [measured[f"{name}={value}"].mean(id_, quantity["name"]) for value in _values(sweep)]
                lines = panels.setdefault(title(case, quantity), [])
                lines.append(curves.Line(case.marker, x, y, (), color))
                if case.tokens is not None:
                    printed = [case.published["obtained"] * 1e6 / rate(case.tokens)] * len(x)
                    lines.append(curves.Line(f"{case.marker}, published", x, printed, (), color, True))
        return [curves.Panel(title, lines, _values(sweep)) for title, lines in panels.items()]

    def _swept_table(self, sweeps: Sequence[Sweep]) -> Table:
        """Return the table of means in Table 1 at each value of each parameter."""
        cases, rows = [case for case in self.plan.cases if case.figure == "1"], []
        for sweep in sweeps:
            (name,) = sweep.axes
            for value in _values(sweep):
                m = self.outcome.measured[f"{name}={value}"]
                cells = [
                    " / ".join(f"{m.mean(case.id, one['name']):.{one['swept_digits']}f}" for case in cases)
                    for one in self.four
                ]
                chosen = " (chosen)" if value == str(self.fit.chosen[name]) else ""
                rows.append((name, f"{value}{chosen}", *cells))
        columns = ("parameter", "value", *(one["swept"] for one in self.four))
        return Table("All of them", columns, rows, 2, command=self.again)

    def calibration(self) -> Section:
        """Show how what the paper leaves open was searched, and the error of each table."""
        record = read_record(self.plan.pack)
        first, second = (record["fits"][name] for name in (BASE, SECOND))
        differences = ", ".join(
            f"{name} ({second['chosen'][name]}, not {value})"
            for name, value in first["chosen"].items()
            if second["chosen"][name] != value
        )
        named = {**record, **first, "other": second["error"], "differences": differences}
        text = [self.text[one].format(**named) for one in ("calibration", "second-fit")]
        columns = [(when, kind) for kind in ("levels", "ratios") for when in ("before", "after")]
        rows = [
            (
                self.words["tables"][table],
                "fitted" if table in record["fitted"] else "predicted",
                *(f"{record['errors'][when][table][kind]:.3f}" for when, kind in columns),
            )
            for table in record["errors"]["after"]
        ]
        errors = Table(
            "Error of each table, before and after",
            ("table", "", "levels before", "after", "ratios between markers before", "after"),
            rows,
            2,
            self.words["errors"],
            record["command"],
        )
        return fit_section(self.fit, record, text, [errors])


def _values(sweep: Sweep) -> list[str]:
    """Return the values of the parameter that a sweep is over."""
    return [level.name for level in sweep.campaign.design.factors[0].levels]


def _ends(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the ends of the interval of a document's row; None where it has none."""
    found: Sequence[float] | None = row["simulated"]["ci95"]
    return None if found is None else (found[0], found[1])


def _label(case: Case) -> str:
    if case.table == EXTRA:
        return f"{case.title}: {case.marker}"
    return case.marker if case.tokens is None else f"{case.tokens} tokens, {case.marker}"
