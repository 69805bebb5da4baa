"""Candidates of a recommendation by their short names, and how they differ."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perhop.recommend import line
from perhop.recommend.candidates import AS_IT_IS, FACTOR
from perhop.units import counted

if TYPE_CHECKING:
    from perhop.recommend.answer import Change

PARTS = re.compile(r" (?=[\w.-]+=)")
"""The space between levels of factors in the name of a treatment."""

_NAMED = 5
"""Most candidates that are named; the others are counted."""


def short(treatment: str) -> str:
    """Return a candidate's name: the level alone, or the setting of each factor that has one."""
    parts = PARTS.split(treatment)
    if len(parts) == 1:
        return treatment.removeprefix(f"{FACTOR}=").removeprefix(f"{line.FACTOR}=")
    return ", ".join(one for one in parts if not one.endswith(f"={AS_IT_IS}")) or AS_IT_IS


def named(treatments: Sequence[str], between: str = " / ") -> str:
    """Name candidates, the first of many."""
    more = f" and {len(treatments) - _NAMED} more" if len(treatments) > _NAMED else ""
    return between.join(map(short, treatments[:_NAMED])) + more


def between(change: Change) -> str:
    """Return a change in percent with its interval, or the runs without a comparison."""
    if change.lost and change.gained:
        return f"none in {change.lost}, from none in {change.gained}, of {counted(change.runs, 'run')}"
    if change.lost:
        return f"none in {change.lost} of {counted(change.runs, 'run')}"
    if change.gained:
        return f"from none in {change.gained} of {counted(change.runs, 'run')}"
    if not math.isfinite(change.percent):
        return "no number"
    if not math.isfinite(change.low + change.high):
        return f"{signed(change.percent)} % (too few runs for an interval)"
    return f"{signed(change.percent)} % ({signed(change.low)} to {signed(change.high)} %)"


def signed(percent: float) -> str:
    """Return a percentage with its sign."""
    return f"{percent:+.3g}" if abs(percent) < 1000 else f"{percent:+,.0f}"
