"""What closed forms say of a scenario before anything is run: values of those that hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perhop.scenario.scenario import Scenario


@dataclass(frozen=True)
class Estimate:
    """What one form says of one thing.

    Attributes
    ----------
    form
        Its name.
    of
        Flows, a link or a class, by their names in results; several flows of a group as ``bulk[*]``. Empty
        for the whole scenario.
    flows
        The flows it is of, by name; empty where it is of something else.
    quantity
        What is computed, such as goodput.
    value
        In `unit`; of one flow each. None where the form does not hold.
    unit
        ``bit/s``, ``s`` or ``1``.
    bound
        Whether the value is the most there can be and not what is expected.
    formula, source
        How it is computed, and who says so.
    range
        Where the form is valid, and how far simulation departs from it there.
    holds
        Whether this scenario lies there.
    why_not
        Why not; empty where it does.
    """

    form: str
    of: str
    flows: tuple[str, ...]
    quantity: str
    value: float | None
    unit: str
    bound: bool
    formula: str
    source: str
    range: str
    holds: bool
    why_not: str


@dataclass(frozen=True)
class Form:
    """A closed form: what every estimate by it has in common; fields as of `Estimate`."""

    name: str
    quantity: str
    unit: str
    formula: str
    source: str
    range: str
    bound: bool = False

    def gives(self, of: str, value: float, *, flow: bool = False) -> Estimate:
        """Give a value."""
        return self._estimate(of, flow, value, "")

    def refuses(self, of: str, why: str, *, flow: bool = False) -> Estimate:
        """Say why the form does not hold."""
        return self._estimate(of, flow, None, why)

    def _estimate(self, of: str, flow: bool, value: float | None, why: str) -> Estimate:
        flows = (of,) if flow else ()
        common = (self.formula, self.source, self.range)
        return Estimate(
            self.name, of, flows, self.quantity, value, self.unit, self.bound, *common, not why, why
        )


def estimates(scenario: Scenario) -> Sequence[Estimate]:
    """Return what every form says of a scenario.

    Parameters
    ----------
    scenario
        A valid one.

    Returns
    -------
    sequence
        Form by form; flows of a group with the same value, or the same reason, are one.

    Raises
    ------
    ScenarioError
        It has mistakes.
    """
    from perhop.models import estimate_links, estimate_tcp
    from perhop.models.network import Network

    network = Network(scenario)
    found: list[Estimate] = []
    for form in (
        estimate_tcp.most,
        estimate_tcp.window,
        estimate_tcp.loss,
        estimate_tcp.bucket,
        estimate_links.crossing,
        estimate_links.random_arrivals,
        estimate_links.overload,
    ):
        found += _grouped(form(network))
    return found


def _grouped(every: Sequence[Estimate]) -> list[Estimate]:
    """Write flows of one group that have the same answer once."""
    groups: dict[tuple[object, ...], list[Estimate]] = {}
    for one in every:
        base = one.of.partition("[")[0] if one.flows else one.of
        groups.setdefault((one.form, base, one.value, one.why_not), []).append(one)
    sizes: dict[str, int] = {}
    for one in every:
        base = one.of.partition("[")[0]
        sizes[base] = sizes.get(base, 0) + 1
    return [_merged(members, sizes) for members in groups.values()]


def _merged(members: list[Estimate], sizes: dict[str, int]) -> Estimate:
    first = members[0]
    if len(members) == 1:
        return first
    base = first.of.partition("[")[0]
    names = tuple(one.of for one in members)
    whole = len(members) == sizes[base]
    of = f"{base}[*]" if whole else f"{len(members)} of {base}[*]"
    return replace(first, of=of, flows=names)
