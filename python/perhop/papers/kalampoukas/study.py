"""The study as `perhop reproduce` runs it: the paper's figures, then the maps and curves beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from perhop.papers.kalampoukas.document import Reproduction, reduce
from perhop.papers.kalampoukas.plan import Figure, Plan, make_plan
from perhop.papers.kalampoukas.sweeps import Sweep, SweepResult, make_sweeps, reduce_sweep
from perhop.papers.study import ListedStudy, Summary
from perhop.run import Job

_TITLE = "Two-way TCP over an asymmetric link: the study of Kalampoukas, Varma and Ramakrishnan, again"


@dataclass(frozen=True)
class FullPlan:
    """The runs of the figures and of the sweeps; a quick plan has no sweeps."""

    figures: Plan
    sweeps: tuple[Sweep, ...]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The figures' runs, then the sweeps'."""
        return (*self.figures.jobs, *(job for sweep in self.sweeps for job in sweep.jobs))

    @property
    def left_out(self) -> tuple[str, ...]:
        """What a quick plan does not do."""
        return self.figures.left_out


@dataclass(frozen=True)
class FullOutcome:
    """The reproduction and the sweeps beyond it."""

    reproduction: Reproduction
    swept: tuple[SweepResult, ...]

    @property
    def document(self) -> dict[str, Any]:
        """Rows and claims of the reproduction."""
        return self.reproduction.document

    @property
    def left_out(self) -> tuple[str, ...]:
        """What a quick reproduction does not do."""
        return self.reproduction.left_out

    @property
    def warnings(self) -> list[str]:
        """Runs that do not meet what the study assumes."""
        return self.reproduction.warnings


class Kalampoukas(ListedStudy[FullPlan, FullOutcome]):
    """Two-way TCP over an asymmetric link."""

    key = "kalampoukas"
    title = _TITLE

    def plan(self, quick: bool) -> FullPlan:
        """List the runs of the figures, and of the sweeps unless it is to be quick."""
        return FullPlan(make_plan(quick=quick), () if quick else make_sweeps())

    def reduce(self, plan: FullPlan, kept: Sequence[Any], command: str, results_version: int) -> FullOutcome:
        """Reduce the figures' runs to the document, the sweeps' to their grids."""
        results = iter(kept)
        figures = list(islice(results, len(plan.figures.jobs)))
        done = reduce(plan.figures, figures, command, results_version)
        swept = tuple(reduce_sweep(sweep, list(islice(results, len(sweep.jobs)))) for sweep in plan.sweeps)
        return FullOutcome(done, swept)

    def page(self, plan: FullPlan, outcome: FullOutcome) -> str:
        """Return the page: claims, numbers, longest queues, figures, what lies beyond the paper."""
        from perhop.report.beyond import curves, maps
        from perhop.report.paper import FigurePart, Page, render

        done = outcome.reproduction
        again = str(done.document["command"])

        def figure_part(figure: Figure) -> FigurePart:
            return FigurePart(
                figure.id,
                figure.table,
                figure.title,
                figure.command(),
                done.curves[figure.id],
                figure.setup.fast_window,
                figure.setup.alone,
            )

        return render(
            Page(
                title=self.title,
                document=done.document,
                figures=[figure_part(figure) for figure in plan.figures.figures],
                findings=done.findings,
                warnings=done.warnings,
                queue_bounds=done.queue_bounds,
                left_out=done.left_out,
                maps=maps(outcome.swept, again),
                curves=curves(outcome.swept, again),
            )
        )

    def summary(self, outcome: FullOutcome) -> Summary:
        """Return every number of the paper beside both closed forms and the simulation."""

        def number(value: float | None) -> str:
            return "-" if value is None else f"{value:.3f}"

        return Summary(
            "Published, computed, simulated",
            ("figure", "quantity", "unit", "published", "printed", "bounded", "simulated"),
            tuple(
                (
                    row["id"],
                    row["quantity"],
                    row["unit"],
                    number(row["published"]),
                    number(row["closed_form"]["printed"]),
                    number(row["closed_form"]["bounded"]),
                    number(row["simulated"]["mean"]),
                )
                for row in outcome.document["rows"]
                if row["table"] != "extra" and not row["quantity"].startswith("slow_queue")
            ),
        )


STUDY = Kalampoukas()
