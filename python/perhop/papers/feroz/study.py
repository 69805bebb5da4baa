"""The study as `perhop reproduce` runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perhop.papers.feroz.calibrate import calibrate, mean_quantities
from perhop.papers.feroz.document import Reproduction, reduce
from perhop.papers.feroz.measure import Numbers, numbers
from perhop.papers.feroz.plan import Case, Plan, make_plan
from perhop.papers.feroz.readings import Readings
from perhop.papers.study import ListedStudy, Runner, check_run
from perhop.run import AnyJob, Result


class Feroz(ListedStudy[Plan, Reproduction]):
    """A TCP-friendly traffic marker."""

    key = "feroz"
    title = "A TCP-friendly traffic marker: the study of Feroz, Kalyanaraman and Rao, again"

    def plan(self, quick: bool) -> Plan:
        """List the runs of the tables and of the sweeps."""
        return make_plan(quick=quick)

    def keep(self, job: AnyJob, result: Result) -> Numbers:
        """Keep the numbers of a run, and its trace where there is one."""
        check_run(job, result)
        return numbers(result)

    def reduce(self, plan: Plan, kept: Sequence[Any], command: str, results_version: int) -> Reproduction:
        """Turn the numbers into rows and verdicts."""
        return reduce(plan, kept, command, results_version)

    def page(self, plan: Plan, outcome: Reproduction) -> str:
        """Return the page."""
        from perhop.report.feroz import render

        return render(self.title, plan, outcome)

    def calibrate(self, run: Runner) -> dict[str, Any]:
        """Search the readings again."""
        plan = make_plan()

        known: dict[tuple[object, ...], dict[str, float]] = {}

        def run_cases(wanted: Sequence[tuple[Case, Readings]], label: str) -> list[dict[str, float]]:
            # many readings leave many cases as they are: a token bucket has no gains
            keys = [
                (case.id, case.replications, *case.overrides(readings, plan.readings))
                for case, readings in wanted
            ]
            new = {key: item for key, item in zip(keys, wanted, strict=True) if key not in known}
            jobs = [
                job
                for case, readings in new.values()
                for job in case.jobs(readings, plan.readings, plan.pack, plan.search.seed)
            ]
            runs = iter(run(jobs, label)) if jobs else iter(())
            for key, (case, _) in new.items():
                known[key] = mean_quantities(case, [next(runs) for _ in range(case.replications)])
            return [known[key] for key in keys]

        return calibrate(plan, run_cases)


STUDY = Feroz()
