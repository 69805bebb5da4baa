"""The responses that measure the promises of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perhop.experiment.response import Response
from perhop.run.promises import promises_of

if TYPE_CHECKING:
    from perhop.scenario.scenario import Scenario


def promised_responses(scenario: Scenario) -> list[Response]:
    """Return a response for each promise."""
    return [Response.parse(one.name, one.expression) for one in promises_of(scenario.describe())]
