"""Closed forms for the candidate taken, beside its simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perhop.models.estimate import estimates

if TYPE_CHECKING:
    from perhop.recommend.answer import Answer
    from perhop.scenario.scenario import Scenario


@dataclass(frozen=True)
class ClosedForm:
    """A closed form and the simulation, of each of some flows: goodput in bit/s.

    Parameters
    ----------
    form, of
        Name of the form, and of the flows.
    estimated, bound
        Its value, and whether that is the most there can be.
    simulated
        Mean of the flows and replications.
    """

    form: str
    of: str
    estimated: float
    bound: bool
    simulated: float


def closed_forms(scenario: Scenario, found: Answer) -> list[ClosedForm]:
    """Return the forms that hold for flows without end which are all of their class.

    Parameters
    ----------
    scenario
        With the overrides of the candidate taken.
    found
        The answer, for what was simulated.
    """
    goodput = {row.of: row.mean for row in found.rows if row.response == "goodput"}
    meaning = scenario.describe()
    members: dict[str, set[str]] = {}
    named = [(one.class_, one.name) for one in meaning.flows] + [
        (one.class_, one.name) for one in meaning.udp
    ]
    for class_of, name in named:
        members.setdefault(class_of, set()).add(name)
    endless = {flow.name: flow.class_ for flow in meaning.flows if flow.size_bytes is None}
    rows = []
    for one in estimates(scenario):
        if one.value is None or one.quantity != "goodput" or not one.flows:
            continue
        class_ = endless.get(one.flows[0])
        if class_ is None or members[class_] != set(one.flows):
            continue
        simulated = goodput.get(class_, math.nan) / len(one.flows)
        rows.append(ClosedForm(one.form, one.of, one.value, one.bound, simulated))
    return rows
