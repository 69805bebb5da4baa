"""What a notebook shows of a run: the first screen of its page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from perhop.plot import style
from perhop.report import answer

if TYPE_CHECKING:
    from perhop.run.record import StoredRun


def render(run: StoredRun) -> str:
    """Return the answer of a run, the figure that tells most, and what judges it, as HTML without styles."""
    first = answer.of_run(run)
    title = f"<p><b>{escape(run.record.scenario)}, seed {run.record.seed}</b></p>"
    sentences = "".join(f"<p>{escape(one)}</p>" for one in first.sentences)
    pills = " · ".join(escape(one.text) for one in first.pills if one.look != "plain")
    figure = "" if first.figure is None else style.alone(str(first.figure.svg))
    return f"<div>{title}{sentences}<p><small>{pills}</small></p>{figure}</div>"
