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
    """A few words that lead to a part of the page.

    Parameters
    ----------
    target
        Where it leads: ``#id`` on the page, or an address.
    look
        ``good``, ``bad``, ``open``, or a verdict; ``plain`` judges nothing.
    """

    text: str
    target: str
    look: str = "plain"


@dataclass(frozen=True)
class Answer:
    """The answer that a page begins with: three sentences at most, a figure if one can be drawn, pills.

    A run has a table below the figure; `unsettled` and `phase` are what `perhop.run.summary.unsettled` and
    `perhop.run.phase.effect` say of it.
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
    table = shares(run, meaning)
    return Answer(
        each,
        _picture(run, meaning, drawable, view),
        tuple(_pills(run, *doubts)),
        table if table.rows else None,
        *doubts,
    )


def _picture(run: StoredRun, meaning: Description, drawable: Sequence[Figure], view: str) -> Drawing | None:
    """Draw the figure that tells most.

    The events of TCP where they were traced of at most four flows; else the overview.
    """
    alone = [f"time-sequence-{flow.name}" for flow in meaning.flows] if len(meaning.flows) == 1 else []
    asked = ["time-sequence", *alone, "overview", "topology"]
    found = {one.name: one for one in drawable}
    drawn = (found[name].draw(run.folder, view) for name in asked if name in found)
    return next((one for one in drawn if one is not None), None)


def _pills(run: StoredRun, unsettled: str | None, phase: str | None) -> list[Pill]:
    """Return pills: whether the run can be trusted, then the parts further down."""
    pills = [_trust(run)]
    if unsettled:
        pills.append(Pill("warm-up in doubt", "#warm-up", "open"))
    if phase:
        pills.append(Pill("phase effect", "#phase", "open"))
    classes = run.table("classes")
    unfinished = int(classes["transfers_unfinished"].sum()) if len(classes) else 0
    if unfinished:
        pills.append(Pill(f"{counted(unfinished, 'transfer')} not complete", "#flows", "open"))
    gone = sum(place.lost for place in losses(run))
    pills.append(Pill(f"{counted(gone, 'packet')} lost" if gone else "no packet lost", "#queues"))
    if len(classes) > 1:
        pills.append(Pill(f"{len(classes)} classes", "#classes"))
    if classes["delay_p50_s"].is_not_null().any():
        pills.append(Pill("delays", "#class-delay"))
    pills += [Pill("over time", "#series"), Pill("rerun", "#rerun")]
    return pills


def _phase_effect(run: StoredRun, meaning: Description) -> str | None:
    """Return the words of `perhop.run.phase.effect`; None of a run on real packets."""
    tables = {name: run.table(name) for name in ("flows", "udp", "links", "queues")}
    return None if run.record.live else phase.effect(tables, meaning)


def _trust(run: StoredRun) -> Pill:
    """Return a pill that tells whether the run is evidence of anything."""
    record = run.record
    if record.live is not None and record.live.over_budget:
        return Pill("over the error budget: not valid", "#live", "bad")
    if record.invariants:
        return Pill("broken invariants: do not use", "#laws", "bad")
    return Pill("all invariants hold", "#laws", "good")
