"""The runs behind the verdicts of a study: where they are kept, commands to repeat them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from os.path import normpath, relpath
from pathlib import Path
from typing import Any

from perhop.experiment.definition import Campaign
from perhop.papers.plan import Plan
from perhop.papers.study import Study


def runs_behind(plan: Plan) -> dict[str, Any]:
    """Return the runs that claims are judged by, as plain JSON values.

    `runs`: of each campaign, what it is `of`, the `store` that keeps its runs, beside the folder of the page,
    how many `replications` and `runs` it has, the `command` that they have in common, and the names of its
    `treatments`. `treatments`: of each its `name`, and the `settings` to add to a command. A replication is
    one setting more, `-s run.replication=0` and so on.
    """
    runs, treatments = [], dict[str, str]()
    for of, campaign in judged(plan):
        design = campaign.design
        if design.seeds != "common":
            raise ValueError(f"{campaign.name}: the random numbers of treatments are not common")
        names = []
        for one in design.treatments:
            settings, name = _settings(one.overrides), one.name
            if treatments.setdefault(name, settings) != settings:
                name = f"{one.name} ({of})"
                treatments[name] = settings
            names.append(name)
        command = f"perhop run {_file(plan.study, campaign)} {_settings(campaign.scenario.overrides)}"
        runs.append(
            {
                "of": of,
                "store": f"{plan.study.key}.runs",
                "replications": design.replications,
                "runs": len(design.treatments) * design.replications,
                "command": command.rstrip(),
                "treatments": names,
            }
        )
    listed = [{"name": name, "settings": settings} for name, settings in treatments.items()]
    return {"runs": runs, "treatments": listed}


def judged(plan: Plan) -> Iterator[tuple[str, Campaign]]:
    """Yield each campaign that claims are judged by, with its name: the fitted point, then the readings."""
    of_readings = ((one.id, under) for one, under in plan.read)
    for of, campaigns in (("as fitted", plan.fitted), *of_readings):
        for campaign in campaigns:
            yield of if len(campaigns) == 1 else f"{of}, {campaign.name}", campaign


def _file(study: Study, campaign: Campaign) -> str:
    path = Path(normpath(Path(campaign.scenario.name).absolute()))
    return shlex.quote(normpath(f"{study.place}/{relpath(path, study.folder)}"))


def _settings(overrides: Sequence[str]) -> str:
    return " ".join(f"-s {shlex.quote(one)}" for one in overrides)
