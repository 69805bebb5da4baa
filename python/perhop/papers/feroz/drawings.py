"""What the page of a study of cases shows: published beside simulated, tables, sweeps of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from perhop.papers.feroz.cases import EXTRA, Case
from perhop.papers.feroz.runs import FITTED
from perhop.papers.feroz.values import CaseValues
from perhop.papers.plan import Sweep
from perhop.plot import bars, curves
from perhop.report import page
from perhop.report.study import Table

Quantity = Mapping[str, Any]
"""A table of a page's layout: `name` of a quantity, `label`, `digits`."""

Rows = Sequence[Mapping[str, Any]]
"""Of a document."""


def bars_of_tables(
    rows: Rows,
    titles: Mapping[str, str],
    quantities: Iterable[Quantity],
    treatments: Mapping[str, str],
    again: str,
) -> list[page.Drawing]:
    """Draw printed beside simulated values, a figure for each table that has rows.

    Parameters
    ----------
    rows
        Their ids are those of cases without levels: figure and treatment.
    titles
        By table.
    quantities
        A panel for each.
    treatments
        With their short names.
    again
        The command that makes the numbers again.
    """
    known, found = {(row["id"], row["quantity"]): row for row in rows}, []
    for table, title in titles.items():
        panels = [
            (
                quantity["label"],
                [
                    bars.Bar(short, row["published"], row["simulated"]["mean"], ends(row))
                    for treatment, short in treatments.items()
                    if (row := known.get((f"{table} {treatment}", quantity["name"])))
                ],
            )
            for quantity in quantities
        ]
        if panels[0][1]:
            drawn = bars.draw(panels, title)
            found.append(page.drawing(f"table-{table}", title, drawn, command=again))
    return found


def curves_of_tables(
    rows: Rows,
    m: CaseValues,
    titles: Mapping[str, str],
    quantity: Quantity,
    promised: Callable[[Case], float],
    again: str,
) -> list[page.Drawing]:
    """Draw a quantity over what is promised, printed and simulated, a figure for each table that has rows.

    Parameters
    ----------
    rows, titles, again
        As of `bars_of_tables`; the rows are of cases with levels.
    m
        The cases as fitted.
    quantity
        With `name`, `label`, and `across` for what is promised.
    promised
        To a case, in the unit of the quantity.
    """
    found = []
    for table, title in titles.items():
        own = [row for row in rows if row["table"] == table and row["quantity"] == quantity["name"]]
        lines: list[curves.Line] = []
        x: list[float] = []
        for color, treatment in enumerate(dict.fromkeys(m.cases[row["id"]].treatment for row in own)):
            of = [row for row in own if m.cases[row["id"]].treatment == treatment]
            x = [promised(m.cases[row["id"]]) for row in of]
            printed, means = [row["published"] for row in of], [row["simulated"]["mean"] for row in of]
            lines += [
                curves.Line(f"{treatment}, published", x, printed, (), color, True),
                curves.Line(f"{treatment}, simulated", x, means, [ends(row) for row in of], color),
            ]
        if x:
            lines.append(curves.Line("what is promised", x, x, (), 7, True))
            drawn = curves.draw([curves.Panel(quantity["label"], lines)], quantity["across"], title, 3.6)
            found.append(page.drawing(f"table-{table}", title, drawn, command=again))
    return found


def values_table(
    m: CaseValues, figures: Sequence[str], quantities: Sequence[Quantity], treatment: str, again: str
) -> Table:
    """Give mean and interval of every quantity of the cases of some figures, in one table.

    Parameters
    ----------
    m
        The cases as fitted.
    figures
        Whose cases are told; a table of printed ones alone stays empty.
    quantities
        A column for each.
    treatment
        What one is called.
    again
        The command that makes the numbers again.
    """

    def cell(case: Case, quantity: Quantity) -> str:
        if quantity["name"] not in m.values[case.id]:
            return "–"
        one, digits = m.interval(case.id, quantity["name"]), quantity["digits"]
        return "none" if one is None else f"{one.mean:.{digits}f} ± {one.half_width:.{digits}f}"

    cases = [case for case in m.cases.values() if case.figure in figures]
    rows = [
        (case.title, case.treatment, *(cell(case, quantity) for quantity in quantities))
        for case in cases
        if any(case.table == EXTRA for case in cases)
    ]
    columns = ("runs", treatment, *(quantity["label"] for quantity in quantities))
    return Table("With 95 % intervals", columns, rows, 2, command=again)


def swept_values(sweep: Sweep) -> list[str]:
    """Give the values of the parameter that a sweep is over."""
    return [level.name for level in sweep.campaign.design.factors[0].levels]


def swept_line(
    sweep: Sweep, measured: Mapping[str, CaseValues], case: Case, quantity: str, color: int
) -> curves.Line:
    """Give the means of a quantity of a case over a parameter."""
    means = [measured[f"{sweep.axes[0]}={value}"].mean(case.id, quantity) for value in swept_values(sweep)]
    return curves.Line(case.treatment, range(len(means)), means, (), color)


def swept_panels(
    sweep: Sweep,
    measured: Mapping[str, CaseValues],
    quantities: Iterable[Quantity],
    group: Callable[[Case, Quantity], str],
    printed: Callable[[Case], float] | None = None,
) -> list[curves.Panel]:
    """Draw a sweep over a parameter: a line for each treatment.

    Parameters
    ----------
    sweep
        Its cases are as many at each value.
    measured
        By `parameter=value`, and as fitted.
    quantities
        Of the cases.
    group
        In which panel a case's quantity stands: its title.
    printed
        What the paper has of a case, in the unit of the quantity.
    """
    cases, panels, colors = measured[FITTED].cases, dict[str, list[curves.Line]](), dict[str, int]()
    _, rows, treatments = sweep.campaign.design.factors
    for quantity in quantities:
        for row in rows.levels:
            for treatment in treatments.levels:
                case = cases[f"{row.name} {treatment.name}"]
                color = colors.setdefault(case.treatment, len(colors))
                line = swept_line(sweep, measured, case, quantity["name"], color)
                own = panels.setdefault(group(case, quantity), [])
                own.append(line)
                if printed:
                    y = [printed(case)] * len(line.x)
                    own.append(curves.Line(f"{case.treatment}, published", line.x, y, (), color, True))
    return [curves.Panel(title, lines, swept_values(sweep)) for title, lines in panels.items()]


def swept_table(
    sweeps: Sequence[Sweep],
    measured: Mapping[str, CaseValues],
    cases: Sequence[Case],
    quantities: Sequence[Quantity],
    chosen: Mapping[str, object],
    again: str,
) -> Table:
    """Give the means of quantities at each value of each parameter, cases in one cell with slashes.

    Parameters
    ----------
    sweeps, measured
        As of `swept_panels`.
    cases
        Of one row, in order.
    quantities
        A column for each; with `swept` and `swept_digits` where heading and decimals are others here.
    chosen
        Value of each parameter that was chosen.
    again
        The command that makes the numbers again.
    """
    rows = []
    for sweep in sweeps:
        (name,) = sweep.axes
        for value in swept_values(sweep):
            m = measured[f"{name}={value}"]
            cells = [
                " / ".join(f"{m.mean(case.id, one['name']):.{one['swept_digits']}f}" for case in cases)
                for one in quantities
            ]
            rows.append((name, f"{value}{' (chosen)' if value == str(chosen[name]) else ''}", *cells))
    return Table(
        "All of them", ("parameter", "value", *(one["swept"] for one in quantities)), rows, 2, command=again
    )


def ends(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """Give the ends of the interval of a document's row."""
    found: Sequence[float] | None = row["simulated"]["ci95"]
    return None if found is None else (found[0], found[1])
