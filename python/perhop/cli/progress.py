"""Progress of long work on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import TYPE_CHECKING

from perhop.cli.output import note

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_SECONDS_BETWEEN_LINES = 5.0


def _between() -> float:
    """Return the seconds between two lines: `PERHOP_PROGRESS`, set by those who show them on."""
    try:
        return float(os.environ.get("PERHOP_PROGRESS", ""))
    except ValueError:
        return _SECONDS_BETWEEN_LINES


class Progress:
    """Context that shows how far its work is; `update` may be called as often as one likes.

    Work with a `bound` may end before all of it is done: the time left is the most it can be.
    """

    def __init__(self, label: str, *, quiet: bool = False, bound: bool = False) -> None:
        self._label = label
        self._quiet = quiet
        self._of, self._about = (" of the most", "at most") if bound else ("", "about")
        self._bar: Bar | None = None
        self._began = self._noted = time.monotonic()
        self._first: float | None = None
        self._between = _between()

    def __enter__(self) -> Progress:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            done = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
            left = TextColumn(self._about), TimeRemainingColumn()
            console = Console(stderr=True)
            # the time left follows from all that is done: a few long runs say little about the others
            self._bar = Bar(*done, *left, console=console, transient=True, speed_estimate_period=math.inf)
            self._bar.start()
            self._bar.add_task(self._label, total=1.0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float, total: float, label: str = "") -> None:
        """Show how far the work is; `label` replaces that of before."""
        self._label = label or self._label
        fraction = done / total if total > 0 else 1.0
        if self._first is None:  # what was there before says nothing about the pace
            self._first, self._began = done, time.monotonic()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, description=self._label)
            return
        now = time.monotonic()
        if self._quiet or now - self._noted < self._between or done <= self._first:
            return
        self._noted = now
        left = (now - self._began) * (total - done) / (done - self._first)
        note(f"{self._label}: {fraction:.0%}{self._of}, {self._about} {left:.0f} s left")
