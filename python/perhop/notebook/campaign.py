"""`perhop.Campaign`: a campaign with a scenario that can be run."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from perhop.experiment import definition
from perhop.notebook.runs import Scenario


class Campaign(definition.Campaign):
    """A campaign with a scenario that can be run; see `perhop.experiment.definition.Campaign`."""

    scenario: Scenario

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a campaign file; see `perhop.experiment.definition.Campaign.load`."""
        found = definition.Campaign.load(path)
        return cls(**vars(found) | {"scenario": Scenario.of(found.scenario)})
