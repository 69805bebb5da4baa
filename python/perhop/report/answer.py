"""The first screen of a page: three sentences at most, pills that lead on, one picture, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perhop.report import figures
from perhop.run import phase, summary
from perhop.say.run import got, losses, lost, shares
from perhop.units import counted

if TYPE_CHECKING:
    from perhop.report.figure import Figure
    from perhop.report.page import Drawing
    from perhop.run.record import StoredRun
    from perhop.say.document import Table
    from perhop.scenario.scenario import Description


@dataclass(frozen=True)
class Pill:
    """A few words that lead to `target`, ``#id`` on the page or an address.

    The look is ``good``, ``bad``, ``open``, or a verdict; ``plain`` judges nothing.
    """

    text: str
    target: str
    look: str = "plain"


@dataclass(frozen=True)
class Answer:
    """The answer that a page begins with: three sentences at most, a figure if one can be drawn, pills.

    A run has a table, too, and what `perhop.run.summary.unsettled` and `perhop.run.phase.effect` say of it.
    """

    sentences: tuple[str, ...]
    figure: Drawing | None
    pills: tuple[Pill, ...]
    table: Table | None = None
    unsettled: str | None = None
    phase: str | None = None


def of_run(run: StoredRun) -> Answer:
    """Return the answer of a run, in numbers of the time after its warm-up."""
    meaning = run.scenario().describe()
    return of_figures(run, meaning, list(figures.of_run(run, meaning)))


def of_figures(run: StoredRun, meaning: Description, drawable: Sequence[Figure], view: str = "") -> Answer:
    """Return the answer of a run whose scenario and figures are known; `view` as for `Figure.draw`."""
    each = tuple(one for one in (got(run, meaning), lost(run)) if one)
    doubts = summary.unsettled(run.tables["series"], meaning), _phase_effect(run, meaning)
    table, picture = shares(run, meaning), _picture(run, meaning, drawable, view)
    return Answer(each, picture, tuple(_pills(run, *doubts)), table if table.rows else None, *doubts)


def _picture(run: StoredRun, meaning: Description, drawable: Sequence[Figure], view: str) -> Drawing | None:
    """Draw the figure that tells most.

    The events of TCP where they were traced of at most four flows; else the overview.
    """
    alone = [f"time-sequence-{meaning.flows[0].name}"] if len(meaning.flows) == 1 else []
    asked = ["time-sequence", *alone, "overview", "topology"]
    found = {one.name: one for one in drawable}
    drawn = (found[name].draw(run.folder, view) for name in asked if name in found)
    return next((one for one in drawn if one is not None), None)


def _pills(run: StoredRun, unsettled: str | None, phase: str | None) -> list[Pill]:
    """Return pills: whether the run can be trusted, then the parts further down."""
    classes = run.table("classes")
    unfinished = int(classes["transfers_unfinished"].sum())
    gone = sum(place.lost for place in losses(run))
    pills = (
        (unsettled, Pill("warm-up in doubt", "#warm-up", "open")),
        (phase, Pill("phase effect", "#phase", "open")),
        (unfinished, Pill(f"{counted(unfinished, 'transfer')} not complete", "#flows", "open")),
        (True, Pill(f"{counted(gone, 'packet')} lost" if gone else "no packet lost", "#queues")),
        (len(classes) > 1, Pill(f"{len(classes)} classes", "#classes")),
        (classes["delay_p50_s"].is_not_null().any(), Pill("delays", "#class-delay")),
        (True, Pill("over time", "#series")),
        (True, Pill("rerun", "#rerun")),
    )
    return [_trust(run), *(pill for is_so, pill in pills if is_so)]


def _phase_effect(run: StoredRun, meaning: Description) -> str | None:
    """Return the words of `perhop.run.phase.effect`; None of a run on real packets."""
    tables = {name: run.table(name) for name in ("flows", "udp", "links", "queues")}
    return None if run.record.live else phase.effect(tables, meaning)


def _trust(run: StoredRun) -> Pill:
    """Return a pill that tells whether the run is evidence of anything."""
    if run.record.live is not None and run.record.live.over_budget:
        return Pill("over the error budget: not valid", "#live", "bad")
    if run.record.invariants:
        return Pill("broken invariants: do not use", "#laws", "bad")
    return Pill("all invariants hold", "#laws", "good")
