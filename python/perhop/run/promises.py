"""Promises to classes of flows: `[[sla]]` of a scenario, and what a run has of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from perhop.units import fraction, quantity

if TYPE_CHECKING:
    from perhop.scenario.scenario import Description


class _Measure(NamedTuple):
    called: str
    measure: str
    is_most: bool = True


def _of(column: str) -> str:
    return f"classes.{column} where class = {{of}}"


_MEASURES = {
    "goodput": _Measure("goodput", f"sum({_of('goodput_bit_s')})", is_most=False),
    "loss": _Measure(
        "loss",
        f"sum({_of('dropped_packets')}) / sum({_of('offered_packets')})",
    ),
    **{
        name: _Measure(called, f"max({_of(f'{name}_s')})")
        for name, called in (
            ("delay_p50", "median delay"),
            ("delay_p95", "95 % delay"),
            ("delay_p99", "99 % delay"),
            ("delay_p999", "99.9 % delay"),
            ("ipdv_p95", "95 % delay variation"),
            ("transfer_mean", "mean time of a transfer"),
            ("transfer_p95", "95 % time of a transfer"),
        )
    },
}


_ROUNDING = 1e-9
"""Part of a bound that numbers in seconds may be off by."""


@dataclass(frozen=True)
class Promise:
    """A quantity of a class of flows and its bound, as a scenario has it.

    Attributes
    ----------
    of
        The class.
    quantity
        As in the scenario, ``delay_p99``.
    bound
        In the words of the scenario, ``150ms``.
    """

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
        return -math.inf if _MEASURES[self.quantity].is_most else self._value * (1 - _ROUNDING)

    @property
    def high(self) -> float:
        """The most that keeps it."""
        return self._value * (1 + _ROUNDING) if _MEASURES[self.quantity].is_most else math.inf

    @property
    def called(self) -> str:
        """The class and its quantity, in words."""
        return f"{self.of}: {_MEASURES[self.quantity].called}"

    @property
    def bounded(self) -> str:
        """The bound, in words."""
        return f"at {'most' if _MEASURES[self.quantity].is_most else 'least'} {self.bound}"

    @property
    def _value(self) -> float:
        return fraction(self.bound) if self.quantity == "loss" else quantity(self.bound)[0]

    def measured(self, classes: pl.DataFrame) -> float | None:
        """Return what a run has of it, of its table `classes`."""
        own = classes.row(by_predicate=pl.col("class") == self.of, named=True)
        if self.quantity == "loss":
            return own["dropped_packets"] / own["offered_packets"] if own["offered_packets"] else None
        value: float | None = own["goodput_bit_s" if self.quantity == "goodput" else f"{self.quantity}_s"]
        return value

    @property
    def expression(self) -> str:
        """The expression that measures it in a run; a class with both kinds of quotes is none."""
        quote = "'" if '"' in self.of else '"'
        return _MEASURES[self.quantity].measure.replace("{of}", f"{quote}{self.of}{quote}")


def promises_of(meaning: Description) -> list[Promise]:
    """Return what classes of a scenario are promised, in its order."""
    return [Promise(one["class"], one["quantity"], one["bound"]) for one in meaning.settings.sla]
