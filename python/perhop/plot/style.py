"""The look of every figure, and its SVG in the colours of a light or dark page."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist

if not TYPE_CHECKING:
    # else each kind of artist documents itself at import, a quarter of what importing matplotlib takes
    Artist._update_set_signature_and_docstring = classmethod(lambda _: None)

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font_names
from matplotlib.ticker import LogLocator, NullFormatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

Floats = npt.NDArray[np.float64]

# Okabe and Ito's palette (Color Universal Design, 2008): told apart with any colour vision.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#7a7a7a")
"""Line colours, in the order of use; the page has a lighter one for each in its dark scheme."""

DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.4)), (0, (6, 2, 1, 2)))
"""Line styles, so that no two lines differ by colour alone."""

_MARKERS = "osD^vP*X"

INK = "#010203"
"""Colour of text and axes; follows the text of the page."""
FAINT = "#c0c1c2"
"""Colour of grid lines and reference lines."""
PAPER = "#fdfeff"
"""Colour of the page's background."""

_SPREAD = 30.0
"""From the least to the most beyond which an axis is logarithmic."""

_LIGHT_INK = "#1d2126"
_VARIABLES = {INK: "currentColor", FAINT: "var(--faint, #c0c1c2)", PAPER: "var(--page, #ffffff)"} | {
    color: f"var(--c{index}, {color})" for index, color in enumerate(COLORS)
}

_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "perhop",
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.labelsize": 11,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
    "figure.constrained_layout.use": True,
    "path.simplify_threshold": 0.3,
}


class Look(NamedTuple):
    """How figures are to look that are made for a page of print; what is None is as on pages.

    The size is in inches, `points` are of the text of axes; other text is in proportion.
    """

    size: tuple[float, float] | None = None
    points: float | None = None
    family: str | None = None


_ON_PAGES = Look()
_LOOK: ContextVar[Look] = ContextVar("_LOOK", default=_ON_PAGES)
_GENERIC = ("sans-serif", "serif", "monospace")


@contextmanager
def looking(look: Look) -> Iterator[None]:
    """Make the figures inside look so."""
    token = _LOOK.set(look)
    try:
        yield
    finally:
        _LOOK.reset(token)


def families() -> list[str]:
    """Return the families of fonts that there are."""
    return [*_GENERIC, *get_font_names()]


def points(usual: float) -> float:
    """Return the size of a text that usually has so many points."""
    wanted = _LOOK.get().points
    return usual if wanted is None else usual * wanted / _SETTINGS["font.size"]


@contextmanager
def figure(width: float = 7.6, height: float = 3.0, **subplots: Any) -> Iterator[tuple[Figure, Any]]:
    """Make a figure of so many inches and its axes in the common style; 7.6 fills the column of a page."""
    look = _LOOK.get()
    scaled = {name: points(_SETTINGS[name]) for name in _SETTINGS if name.endswith("size")}
    font = {} if look.family is None else {"font.family": look.family}
    with mpl.rc_context(_SETTINGS | scaled | font):
        made = Figure(figsize=look.size or (width, height))
        FigureCanvasSVG(made)
        yield made, made.subplots(**subplots)


_ALSO: ContextVar[tuple[str, io.BytesIO] | None] = ContextVar("_ALSO", default=None)


@contextmanager
def also_as(format: Literal["pdf", "png"]) -> Iterator[io.BytesIO]:
    """Write the figure that `svg` makes inside into the buffer, too; PNG has 200 points to the inch."""
    buffer = io.BytesIO()
    token = _ALSO.set((format, buffer))
    try:
        yield buffer
    finally:
        _ALSO.reset(token)


def _write_also(made: Figure) -> None:
    if (also := _ALSO.get()) is not None:
        format, buffer = also
        undated = {"CreationDate": None} if format == "pdf" else {"Software": None}
        made.savefig(buffer, format=format, dpi=200, facecolor="white", metadata=undated)


def _lay_out(made: Figure) -> None:
    """Lay a figure out once: with a layout engine `savefig` draws it twice."""
    engine = made.get_layout_engine()
    if engine is not None:
        engine.execute(made)
        # a label on more lines leaves its axes less room, and the label across another middle
        for _ in range(4):
            if not _fit_labels(made):
                break
            engine.execute(made)
        made.set_layout_engine("none")


def _fit_labels(made: Figure) -> bool:
    """Break the labels of axes that would be cut at the edge, or make them smaller; return whether any."""
    fitted = False
    for axes in made.axes:
        grid = axes.get_subplotspec()
        rows, columns = (1, 1) if grid is None else grid.get_gridspec().get_geometry()
        for label, low, high, parts in (
            (axes.xaxis.label, *axes.bbox.intervalx, made.bbox.width / columns),
            (axes.yaxis.label, *axes.bbox.intervaly, made.bbox.height / rows),
        ):
            whole = made.bbox.width if label is axes.xaxis.label else made.bbox.height
            middle = (low + high) / 2
            room = 0.98 * min(parts, 2 * middle, 2 * (whole - middle))
            if label.get_visible() and label.get_text() and _length(label) > room:
                _fit(label, room)
                fitted = True
    return fitted


def _length(label: Text) -> float:
    """Return how much of its axis a label takes, in points of the canvas."""
    box = label.get_window_extent()
    return float(box.height if label.get_rotation() else box.width)


def _fit(label: Text, room: float) -> None:
    """Break a label between words so that it fits; where its longest word does not, shrink it."""
    words = " ".join(label.get_text().split())
    for letters in range(len(words), max(map(len, words.split())) - 1, -1):
        label.set_text(textwrap.fill(words, letters, break_long_words=False, break_on_hyphens=False))
        if _length(label) <= room:
            return
    label.set_fontsize(float(label.get_fontsize()) * room / _length(label))


def svg(made: Figure, title: str, description: str) -> str:
    """Return a figure as SVG for a page: no size in inches, no date, colours as CSS variables.

    To be called inside the `figure` context that made it. Title and description are for who cannot see it.
    """
    _lay_out(made)
    _write_also(made)
    for patch in (made.patch, *(axes.patch for axes in made.axes)):
        patch.set(facecolor="none", edgecolor="none")
    buffer = io.StringIO()
    # `savefig` would draw it twice, the first time to lay it out
    FigureCanvasSVG(made).print_svg(buffer, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = _drop_unused_ids(text)
    for color, variable in _VARIABLES.items():
        text = text.replace(color, variable)
    view = re.search(r'viewBox="[^"]+"', text)
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {view.group(0) if view else ""} role="img">'
    spoken = f"<title>{escape(title, quote=False)}</title><desc>{escape(description, quote=False)}</desc>"
    return re.sub(r"<svg[^>]*>", lambda _: opening + spoken, text, count=1, flags=re.DOTALL).strip()


def alone(picture: str) -> str:
    """Return an SVG of a page as a file of its own: a size, and colours that need no page."""
    picture = re.sub(r"var\(--\w+, (#\w+)\)", r"\1", picture).replace("currentColor", _LIGHT_INK)
    size = r'viewBox="0 0 ([^ "]+) ([^ "]+)"'
    names = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
    return re.sub(size, rf'{names} width="\1pt" height="\2pt" \g<0>', picture, count=1) + "\n"


def _drop_unused_ids(text: str) -> str:
    """Remove ids that nothing refers to, for several figures share one page."""
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', text))
    return re.sub(r' id="([^"]+)"', lambda match: match.group(0) if match.group(1) in used else "", text)


def color(place: int) -> str:
    """Return the colour of a line by its place among others; more than there are begin again."""
    return COLORS[place % len(COLORS)]


def dash(place: int) -> Any:
    """Return the style of a line by its place among others; more than there are begin again."""
    return DASHES[place % len(DASHES)]


def marker(place: int) -> str:
    """Return the marker of points by their place among others; more than there are begin again."""
    return _MARKERS[place % len(_MARKERS)]


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows of axes, which lie at 0, 1 and so on from the top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")


def steps(time: npt.ArrayLike, values: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return values of intervals that end at `time`, with the beginning of the first, for `steps-pre`."""
    ends, found = np.asarray(time, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if len(ends) < 2:
        return ends, found
    begin = max(0.0, 2 * ends[0] - ends[1])
    return np.insert(ends, 0, begin), np.insert(found, 0, found[0])


def plot(axes: Axes, x: npt.ArrayLike, values: npt.ArrayLike, of_intervals: bool, **look: Any) -> None:
    """Draw a line; where values are of intervals that end at their place, as steps."""
    if of_intervals:
        axes.plot(*steps(x, values), drawstyle="steps-pre", **look)
    else:
        axes.plot(x, values, **look)


def logarithmic(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, and add that to its label, which it has by then."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}scale": "log"})
    axis.set_label_text(", ".join(filter(None, (axis.get_label_text(), "logarithmic"))))


def spread_out(axes: Axes, least: float, most: float) -> bool:
    """Make the axis to the right logarithmic where a linear one would hide what is small; return whether."""
    if not 0 < _SPREAD * least < most:
        return False
    logarithmic(axes, "x")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    return True


def over_time(axes: Axes, warmup_s: float) -> None:
    """Finish axes of time, of what is not below zero: the end of the warm-up, limits, the legend beside."""
    if warmup_s > 0:
        axes.axvline(warmup_s, color=INK, linewidth=0.8, linestyle="--")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    legend_beside(axes)


def legend_beside(axes: Axes) -> None:
    """Put the legend to the right of the axes, where it hides no line."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), borderaxespad=0.3, handlelength=2.2)
