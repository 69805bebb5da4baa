"""Documents as HTML: numbers, badges and tables for the templates of pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from perhop.say.document import Cell, Table, Verdict, filled

_LONG = 60
"""Letters of a cell from which on it folds."""


def number(value: float | int | None, digits: int = 3) -> str:
    """Return a number with that many decimals, an integer with thin spaces between thousands."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{value:.{digits}f}"


def badge(verdict: str) -> Markup:
    """Return a verdict in its colours."""
    look = verdict.look if isinstance(verdict, Verdict) else verdict
    return Markup('<span class="badge {}">{}</span>').format(look.replace(" ", "-"), verdict)


def cell(value: Cell) -> Markup:
    """Return a cell: a verdict as a badge, a number with digits, text as it is."""
    if isinstance(value, Verdict):
        return badge(value)
    return escape(value if isinstance(value, str) else number(value))


def table(one: Table) -> Markup:
    """Return a table: a box for detail, the first rows, the others behind a line to press."""
    return Markup("\n").join(_lines(one))


def draw(part: Mapping[str, Any], *columns: str) -> Markup:
    """Return the table that `filled` makes of a part: its rows, and fields of a `Table`."""
    return table(filled("", columns, **part))


def _lines(one: Table) -> Iterator[Markup]:
    if one.title:
        yield Markup("<h3>{}</h3>").format(one.title)
    if one.text:
        yield Markup("<p>{}</p>").format(one.text)
    if one.detail:
        box = '<div class="fold"><label class="all"><input type="checkbox"> {}</label>'
        yield Markup(box).format(", ".join(one.detail))
    shown = one.rows[: one.most]
    yield from _rows(one, shown)
    if folded := one.rows[len(shown) :]:
        which = "" if one.picked == "the first" else f"; above, {one.picked}"
        yield Markup("<details><summary>{} more rows{}</summary>").format(len(folded), which)
        yield from _rows(one, folded)
        if more := one.total - len(one.rows):
            yield Markup("<p>{} rows more are {}.</p>").format(number(more), one.whole)
        yield Markup("</details>")
    if one.detail:
        yield Markup("</div>")
    if one.command:
        yield Markup('<p class="rerun"><code>{}</code></p>').format(one.command)


def _rows(one: Table, rows: Sequence[Sequence[Cell]]) -> Iterator[Markup]:
    columns = [(left, heading in one.detail) for left, heading in zip(one.lefts(), one.columns, strict=True)]

    def row(tag: str, cells: Sequence[Cell]) -> Markup:
        each = zip(cells, columns, strict=True)
        found = "".join(_cell(tag, value, *column, one.left is not None) for value, column in each)
        return Markup(f"<tr>{found}</tr>")

    head = row("th", one.columns)
    yield Markup('<div class="scroll" tabindex="0"><table>\n<thead>{}</thead>\n<tbody>').format(head)
    for cells in rows:
        yield row("td", cells)
    yield Markup("</tbody></table></div>")


def _cell(tag: str, value: Cell, left: bool, detail: bool, folds: bool) -> str:
    folds = left and tag == "td" and (folds or len(str(value)) > _LONG)
    words = [word for word, given in (("t", left), ("what", folds), ("x", detail)) if given]
    kind = f' class="{" ".join(words)}"' if words else ""
    # `Markup.format` takes ten times as long, and a page has ten thousands of cells
    return f"<{tag}{kind}>{cell(value)}</{tag}>"
