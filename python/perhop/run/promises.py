"""Promises to classes of flows: `[[sla]]` of a scenario, and what a run has of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perhop.units import fraction, quantity

if TYPE_CHECKING:
    import polars as pl

    from perhop.scenario.scenario import Description


CALLED = {
    "goodput": "goodput",
    "loss": "loss",
    "delay_p50": "median delay",
    "delay_p95": "95 % delay",
    "delay_p99": "99 % delay",
    "delay_p999": "99.9 % delay",
    "ipdv_p95": "95 % delay variation",
    "transfer_mean": "mean time of a transfer",
    "transfer_p50": "median time of a transfer",
    "transfer_p95": "95 % time of a transfer",
    "transfer_p99": "99 % time of a transfer",
}
"""Quantities of a class in words; a time has the name of its column without its unit."""

_ROUNDING = 1e-9
"""Part of a bound that numbers in seconds may be off by."""


@dataclass(frozen=True)
class Promise:
    """A class of flows, a quantity of it such as ``delay_p99``, and its bound in the scenario's words."""

    of: str
    quantity: str
    bound: str

    @property
    def name(self) -> str:
        """The name of its response."""
        return f"{self.of} {self.quantity}"

    @property
    def low(self) -> float:
        """The least that keeps it, in the unit of its response; a bound that is met is kept."""
        return -math.inf if self._is_most else self._value * (1 - _ROUNDING)

    @property
    def high(self) -> float:
        """The most that keeps it."""
        return self._value * (1 + _ROUNDING) if self._is_most else math.inf

    @property
    def called(self) -> str:
        """The class and its quantity, in words."""
        return f"{self.of}: {CALLED[self.quantity]}"

    @property
    def bounded(self) -> str:
        """The bound, in words."""
        return f"at {'most' if self._is_most else 'least'} {self.bound}"

    @property
    def _is_most(self) -> bool:
        return self.quantity != "goodput"

    @property
    def _value(self) -> float:
        return fraction(self.bound) if self.quantity == "loss" else quantity(self.bound)[0]

    def measured(self, classes: pl.DataFrame) -> float | None:
        """Return what a run has of it, of its table `classes`."""
        own = classes.filter(classes["class"] == self.of).row(0, named=True)
        if self.quantity == "loss":
            return own["dropped_packets"] / own["offered_packets"] if own["offered_packets"] else None
        value: float | None = own["goodput_bit_s" if self.quantity == "goodput" else f"{self.quantity}_s"]
        return value

    def holds(self, value: float | None) -> bool | None:
        """Return whether a value is within the bound; None of none."""
        return None if value is None else self.low <= value <= self.high

    def beyond(self, value: float) -> float:
        """Return by which part of the bound a value is beyond it; below zero of one within."""
        part = value / self._value if self._value else math.inf if value > 0 else 0.0
        return part - 1.0 if self._is_most else 1.0 - part

    @property
    def expression(self) -> str:
        """The expression that measures it in a run; a class with both kinds of quotes is none."""
        quote = "'" if '"' in self.of else '"'
        where = f"where class = {quote}{self.of}{quote}"
        match self.quantity:
            case "goodput":
                return f"sum(classes.goodput_bit_s {where})"
            case "loss":
                return f"sum(classes.dropped_packets {where}) / sum(classes.offered_packets {where})"
            case time:
                return f"max(classes.{time}_s {where})"


def promises_of(meaning: Description) -> list[Promise]:
    """Return what classes of a scenario are promised, in its order."""
    return [Promise(one["class"], one["quantity"], one["bound"]) for one in meaning.settings.sla]
