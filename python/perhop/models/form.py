"""A closed form of a scenario: its range, and its estimate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """The estimate of one form for one quantity.

    Attributes
    ----------
    of
        Flows, a link or a class, by their names in results; several flows of a group as ``bulk[*]``. Empty
        for the whole scenario.
    flows
        The flows it is of, by name; empty where it is of something else.
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
    """A closed form: the fields that all its estimates share; fields as of `Estimate`."""

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
        """Return why the form does not hold."""
        return self._estimate(of, flow, None, why)

    def _estimate(self, of: str, flow: bool, value: float | None, why: str) -> Estimate:
        flows = (of,) if flow else ()
        common = (self.formula, self.source, self.range)
        return Estimate(
            self.name, of, flows, self.quantity, value, self.unit, self.bound, *common, not why, why
        )
