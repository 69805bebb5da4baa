"""Three outcomes for a claim: supported, contradicted, inconclusive.

A claim puts a measured quantity on one side of a boundary. It is judged from the 95 % interval of that
quantity over independent replications: the interval lies wholly inside the claimed range, wholly outside it,
or straddles an end. Below ten replications nothing is concluded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from perhop.stats.intervals import Interval

MIN_REPLICATIONS = 10


class Verdict(StrEnum):
    """Outcome of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Part:
    """One quantity of a claim, with the range it is claimed to lie in.

    Attributes
    ----------
    quantity
        What was measured, in words.
    measured
        Its mean and interval over the replications.
    low, high
        Ends of the claimed range; infinite where there is none.
    verdict
        Outcome of this part alone.
    """

    quantity: str
    measured: Interval
    low: float
    high: float
    verdict: Verdict

    def to_json(self) -> dict[str, object]:
        """As plain JSON values; an infinite end is null."""
        return {
            "quantity": self.quantity,
            "claimed": [_finite(self.low), _finite(self.high)],
            "mean": round(self.measured.mean, 6),
            "ci95": interval_json(self.measured),
            "n": self.measured.n,
            "verdict": str(self.verdict),
        }


def judge(measured: Interval, low: float = -math.inf, high: float = math.inf) -> Verdict:
    """Judge whether a quantity lies in [low, high].

    Parameters
    ----------
    measured
        Mean and interval of the quantity.
    low, high
        The claimed range.

    Returns
    -------
    Verdict
        Supported if the interval lies inside the range, contradicted if it does not meet it, otherwise
        inconclusive; always inconclusive below `MIN_REPLICATIONS` values.
    """
    if measured.n < MIN_REPLICATIONS:
        return Verdict.INCONCLUSIVE
    if low <= measured.low and measured.high <= high:
        return Verdict.SUPPORTED
    if measured.high < low or measured.low > high:
        return Verdict.CONTRADICTED
    return Verdict.INCONCLUSIVE


def part(quantity: str, measured: Interval, low: float = -math.inf, high: float = math.inf) -> Part:
    """Judge one quantity and keep what it was judged by."""
    return Part(quantity, measured, low, high, judge(measured, low, high))


def compound(verdicts: Iterable[Verdict]) -> Verdict:
    """Verdict of a claim with several parts.

    Supported only if every part is, contradicted if any part is; a claim without parts is inconclusive.
    """
    found = set(verdicts)
    if Verdict.CONTRADICTED in found:
        return Verdict.CONTRADICTED
    if found == {Verdict.SUPPORTED}:
        return Verdict.SUPPORTED
    return Verdict.INCONCLUSIVE


def interval_json(measured: Interval) -> list[float] | None:
    """Give the ends of an interval for JSON, rounded above float noise; null where one value gives none."""
    if not (math.isfinite(measured.low) and math.isfinite(measured.high)):
        return None
    return [round(measured.low, 6), round(measured.high, 6)]


def _finite(value: float) -> float | None:
    # a negative zero would be another text in JSON
    return round(value, 6) + 0.0 if math.isfinite(value) else None
