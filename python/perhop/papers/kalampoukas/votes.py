"""Votes of readings: each only where it fits what the paper prints (decision 0084)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean

from perhop.judge.verdict import ClaimPart
from perhop.papers.kalampoukas.figures import FigureValues

NEAR = math.sqrt(2)
"""Largest ratio of a reading's error to the base's at which it fits a section."""

RESOLUTION = 0.005
"""Half a unit of the last digit of most printed numbers: the least error of one."""

Unfit = Mapping[str, str]
"""Reason why a reading does not vote, by section."""


def errors(m: FigureValues) -> dict[str, float]:
    """Return by section the RMS distance to the printed efficiencies and throughputs.

    That of a throughput is relative to what is printed.
    """
    squares = defaultdict[str, list[float]](list)
    for figure in m.figures.values():
        for quantity, printed in figure.published.items():
            if printed is not None and quantity != "slow_link_utilization":
                unit = printed if quantity.endswith("throughput") else 1.0
                off = abs(m.interval(figure.id, quantity).mean - printed) / unit
                squares[_section(figure.id)].append(max(off, RESOLUTION) ** 2)
    return {section: math.sqrt(fmean(own)) for section, own in squares.items()}


def unfit(of_base: Mapping[str, float], own: FigureValues) -> Unfit:
    """Return the sections whose printed numbers a reading does not fit, with the reason.

    `of_base` has the `errors` of the base.
    """
    return {
        section: f"does not fit what section {section} prints (off by {error:.3f} against "
        f"{of_base[section]:.3f}), so that it does not vote there"
        for section, error in errors(own).items()
        if error > NEAR * of_base[section]
    }


def voting(part: ClaimPart, where: Unfit) -> ClaimPart:
    """Return a part of a claim under a reading: not judged where the reading does not fit."""
    reason = where.get(_section(part.quantity))
    return part if reason is None else part.unjudged(reason)


def _section(name: str) -> str:
    """Return the section of a figure, or of a quantity, which begins with its figure."""
    return name.partition(".")[0]
