"""`perhop.Campaign`: a campaign whose scenario can be run."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from perhop.experiment import definition
from perhop.notebook.runs import Scenario


class Campaign(definition.Campaign):
    """What is to be run and measured; what it is made of, `perhop.experiment.definition.Campaign` says."""

    scenario: Scenario

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a campaign file; see `perhop.experiment.definition.Campaign.load`."""
        found = definition.Campaign.load(path)
        return cls(**vars(found) | {"scenario": Scenario.of(found.scenario)})
