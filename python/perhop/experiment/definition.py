"""A campaign: a scenario, a design over it, and what is measured."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perhop.units import counted

if TYPE_CHECKING:
    from pathlib import Path

    from perhop.experiment.design import Design
    from perhop.experiment.response import Response
    from perhop.scenario.scenario import Scenario


_OF_CAMPAIGNS = re.compile(rb"^[ \t]*(scenario[ \t]*=|\[\[(factor|range|response)\]\])", re.MULTILINE)


def is_campaign(source: bytes) -> bool:
    """Tell a campaign file from a scenario, mistakes or not: it names one, or has a table no scenario has."""
    return _OF_CAMPAIGNS.search(source) is not None


def name_of(file: Path) -> str:
    """Return what a campaign is called by its file; one called ``campaign.toml`` by the file's folder."""
    folder = file.resolve().parent.name
    return folder if file.stem == "campaign" and folder else file.stem


@dataclass(frozen=True)
class Stop:
    """Replicate until the intervals of a response are narrow enough.

    Parameters
    ----------
    response
        Its name.
    half_width
        To reach in every treatment and group: in the response's unit, or a part of the mean.
    relative
        Whether it is a part of the mean.
    most
        Replications after which it ends in any case.
    """

    response: str
    half_width: float
    relative: bool
    most: int


@dataclass(frozen=True)
class Goal:
    """A part of what treatments are chosen by.

    Parameters
    ----------
    response
        Its name.
    group
        Of the response; empty of one without groups.
    weight
        Below zero where less is better.
    """

    response: str
    group: tuple[str, ...]
    weight: float


@dataclass(frozen=True)
class Select:
    """Replicate until the best treatment is known; those that cannot be it get no more runs.

    Parameters
    ----------
    goals
        At least one; what they add up to is to be large.
    logarithms
        A value counts by its logarithm, so that a weight is of percents, and no value or one of zero is
        minus infinity. Otherwise values count as they are.
    delta
        A difference worth having, as a part: of the value that logarithms stand for, or of the sum.
    level
        Confidence that the best is better than the one taken by less than that.
    baseline
        Number of the treatment that is in use.
    most
        Replications after which it ends in any case.
    """

    goals: tuple[Goal, ...]
    logarithms: bool
    delta: float
    level: float
    baseline: int | None
    most: int


@dataclass(frozen=True)
class Campaign:
    """What is to be run, and what is measured.

    Parameters
    ----------
    name
        What messages and pages call it.
    scenario
        With the overrides that all runs have.
    design
        What is varied.
    responses
        At least one, each with a name of its own.
    stop
        Without it the design says how many replications there are.
    select
        In the place of `stop`.
    source
        The campaign file as read; empty without one.
    """

    name: str
    scenario: Scenario
    design: Design
    responses: tuple[Response, ...]
    stop: Stop | None = None
    source: bytes = b""
    select: Select | None = None

    @property
    def most(self) -> int:
        """Replications that there may be."""
        rule = self.stop or self.select
        return self.design.replications if rule is None else rule.most

    @classmethod
    def load(cls, path: str | Path) -> Campaign:
        """Read a campaign file.

        Parameters
        ----------
        path
            The file; it names its scenario by a path from its own folder.

        Raises
        ------
        OSError
            It cannot be read.
        CampaignError
            It has mistakes, or its scenario has.
        """
        from perhop.experiment.file import load

        return load(path)

    def __str__(self) -> str:
        design = self.design
        sizes = " x ".join(f"{factor.name} {len(factor.levels)}" for factor in design.factors)
        runs = counted(len(design.treatments) * design.replications, "run")
        times = f"{counted(len(design.treatments), 'treatment')} ({sizes}) x {design.replications} = {runs}"
        told = f"{times}; {', '.join(response.name for response in self.responses)}"
        return f"{told}; {design.fraction}" if design.fraction else told
