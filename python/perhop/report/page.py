"""The template environment of every page, and writing a page whole or not at all."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from perhop.run.folder import never, write_file
from perhop.say import html
from perhop.say.claims import depends
from perhop.units import bit_rate, counted, duration, percent, size

_MOST_NUMBERS = 100_000
PANELS = ("uplot/uPlot.iife.min.js", "panels.js")
"""Scripts of a page that has figures with panels."""
_UPLOT_NAME = "/*! https://github.com/leeoniya/uPlot (v1.6.32) */"
_MARK = b'<meta name="generator" content="perhop">'


@dataclass(frozen=True)
class Drawing:
    """A figure of a page: SVG, words, the command that makes it again, a link to its numbers, its panels."""

    id: str
    title: str
    svg: Markup
    caption: str = ""
    command: str = ""
    csv: str = ""
    panels: str = ""

    @property
    def least_px(self) -> float:
        """The width from which on its smallest text, of ten points, is eleven pixels high."""
        view = re.search(r'viewBox="0 0 ([\d.]+) ', self.svg)
        return 0.0 if view is None else round(1.1 * float(view[1]))


def drawing(
    id: str,
    title: str,
    svg: str,
    caption: str = "",
    command: str = "",
    numbers: bytes = b"",
    panels: str = "",
) -> Drawing:
    """Return a figure whose SVG, made by `perhop.plot`, goes into the page as it is.

    The `numbers` that it is drawn from are CSV; more than 100 kB is left to the command. Where there are
    `panels` (`perhop.plot.panels.data`) and a browser runs scripts, these stand in its place.
    """
    csv = f"data:text/csv;base64,{b64encode(numbers).decode()}" if 0 < len(numbers) <= _MOST_NUMBERS else ""
    return Drawing(id, title, Markup(svg), caption, command, csv, panels)


def render(
    template: str, context: Mapping[str, Any], package: str | None = None, scripts: Sequence[str] = ()
) -> str:
    """Fill a template of ``report/templates`` or of the package; a name it lacks is an error.

    Text is escaped. The page's policy allows `page.js` and `scripts`, files beside it, and nothing else.
    """
    folder = files("perhop.report").joinpath("templates")
    script = "\n".join(folder.joinpath(name).read_text() for name in ("page.js", *scripts))
    if PANELS[0] in scripts:
        # its own first line is an address, which a page of one file has none of
        licence = folder.joinpath("uplot/LICENSE").read_text()
        script = f"/*! uPlot 1.6.32\n\n{licence}*/\n" + script.replace(_UPLOT_NAME, "")
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    shared = {"script": Markup(script), "script_hash": f"sha256-{digest}", "plots": PANELS[0] in scripts}
    return environment(package).get_template(template).render(**shared, **context)


@cache
def environment(package: str | None = None) -> Environment:
    """Return the template environment; it keeps templates, which are slow to compile."""
    own = [] if package is None else [PackageLoader(package, "")]
    made = Environment(
        loader=ChoiceLoader([PackageLoader("perhop.report"), *own]),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (bit_rate, duration, counted, depends, percent, size, html.number, html.badge, html.table)
    made.filters |= {one.__name__: one for one in filters}
    made.globals["draw"] = html.draw
    return made


def is_page(file: Path) -> bool:
    """Return whether a file is a page of perhop; a link to one is none."""
    if file.is_symlink() or not file.is_file():
        return False
    with open(file, "rb") as content:
        return _MARK in content.read(1000)


def write_page(path: str | Path, text: str, may_replace: Callable[[Path], bool] = never) -> None:
    """Write a page beside its place and move it there; see `perhop.run.folder.write_file`."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, text, may_replace)
