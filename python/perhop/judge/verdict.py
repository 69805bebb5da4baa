"""Four outcomes for a part of a claim: supported, contradicted, inconclusive, not judged.

A part puts one measured quantity on one side of a boundary, or between two. It is judged from the 95 %
interval of that quantity over independent replications: the interval lies wholly inside the claimed range,
wholly outside it, or straddles an end. Where too little was run, or the quantity has no value, nothing is
judged, and the reason is kept. The rule as a reader needs it: `docs/verdicts.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

from perhop.experiment.rules import MIN_REPLICATIONS
from perhop.stats.intervals import Interval, mean_interval, prediction_interval
from perhop.stats.jackknife import UndefinedRatioError, ratio_of_sums
from perhop.stats.sequential import sequential_interval
from perhop.units import counted

HIGHER, LOWER = 1e-9, -1e-9
"""Ends of the range of a difference above or below zero; zero itself does not suffice."""

Kind = Literal["direction", "size"]
"""Kind of a claim: which is better, or by how much."""


class Verdict(StrEnum):
    """Outcome of a part, or of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    INCONCLUSIVE = "inconclusive"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class ClaimPart:
    """One quantity of a claim, with the range it is claimed to lie in.

    What was `measured` has the interval over the replications; None without a value, as `one_run`, the 95 %
    prediction interval of one new run. `low` and `high` are infinite where the range has no end. `as_printed`
    is the interval that the noise of the replications gives about what the paper says, if that is a number.
    `in_sample`: whether a calibration fitted what is judged.
    """

    quantity: str
    kind: Kind
    measured: Interval | None
    low: float
    high: float
    verdict: Verdict
    one_run: Interval | None = None
    printed: float | None = None
    in_sample: bool = False
    reason: str | None = None
    as_printed: Interval | None = None

    @property
    def claimed(self) -> tuple[float | None, float | None]:
        """Ends of the claimed range as written, None for none; those of a direction are outside."""
        shift = (HIGHER, LOWER) if self.kind == "direction" else (0.0, 0.0)
        low, high = (
            float(f"{end - by:.12g}") + 0.0 if math.isfinite(end) else None
            for end, by in zip((self.low, self.high), shift, strict=True)
        )
        return low, high

    def unjudged(self, reason: str) -> ClaimPart:
        """Return the part without a verdict; a reason of its own stays."""
        return replace(self, verdict=Verdict.NOT_JUDGED, reason=self.reason or reason)


def judge(measured: Interval, low: float = -math.inf, high: float = math.inf) -> Verdict:
    """Judge whether a quantity lies in [low, high].

    Supported if the interval lies inside the range, contradicted if it does not meet it, otherwise
    inconclusive; below `MIN_REPLICATIONS` values not judged.
    """
    if measured.n < MIN_REPLICATIONS:
        return Verdict.NOT_JUDGED
    within = {True: Verdict.SUPPORTED, False: Verdict.CONTRADICTED, None: Verdict.INCONCLUSIVE}
    return within[measured.within(low, high)]


@dataclass(frozen=True)
class Hypothesis:
    """The claim of a part before anything is measured: what the claim and the paper give of a `ClaimPart`.

    `stated` is the value by the paper's words, where no number of its own is printed.
    """

    quantity: str
    kind: Kind
    low: float = -math.inf
    high: float = math.inf
    printed: float | None = None
    in_sample: bool = False
    stated: float | None = None

    def estimated(
        self, measured: Interval, one_run: Interval | None = None, as_printed: Interval | None = None
    ) -> ClaimPart:
        """Judge by an interval that was estimated elsewhere.

        Without `as_printed` the noise about what the paper says is taken to be that about the mean.
        """
        verdict = judge(measured, self.low, self.high)
        few = f"{counted(measured.n, 'replication')}, {MIN_REPLICATIONS} are needed"
        return replace(
            self.undefined(few),
            measured=measured,
            verdict=verdict,
            one_run=one_run,
            reason=few if verdict is Verdict.NOT_JUDGED else None,
            as_printed=as_printed or self._about_the_papers(measured),
        )

    def _about_the_papers(self, measured: Interval) -> Interval | None:
        """Return the interval moved to the paper's value; None where the paper gives none."""
        value = self.printed if self.stated is None else self.stated
        if value is None:
            return None
        by = value - measured.mean
        return Interval(value, measured.low + by, measured.high + by, measured.n)

    def mean(self, values: npt.ArrayLike, *, at_every_look: bool = False) -> ClaimPart:
        """Judge the mean of one value per replication; not judged where one is not finite.

        By Student's interval, or by one that holds at every number of replications.
        """
        x = np.asarray(values, dtype=np.float64).ravel()
        if lacking := _lacking(np.isfinite(x)):
            return self.undefined(lacking)
        interval = sequential_interval if at_every_look else mean_interval
        return self.estimated(interval(x), prediction_interval(x))

    def ratio(self, over: npt.ArrayLike, under: npt.ArrayLike) -> ClaimPart:
        """Judge the ratio of two sums over paired replications; not judged where undefined."""
        x, y = np.asarray(over, dtype=np.float64).ravel(), np.asarray(under, dtype=np.float64).ravel()
        if lacking := _lacking(np.isfinite(x) & np.isfinite(y)):
            return self.undefined(lacking)
        try:
            measured = ratio_of_sums(x, y)
        except UndefinedRatioError as error:
            return self.undefined(f"the ratio is undefined: {error}")
        return self.estimated(measured, prediction_interval(x / y) if np.all(y != 0.0) else None)

    def undefined(self, reason: str) -> ClaimPart:
        """Return the part without a value and not judged, with the reason."""
        claimed = (self.quantity, self.kind, None, self.low, self.high, Verdict.NOT_JUDGED)
        return ClaimPart(*claimed, printed=self.printed, in_sample=self.in_sample, reason=reason)


def _lacking(known: npt.NDArray[np.bool_]) -> str | None:
    """Return why there is nothing to judge, where replications have no value."""
    without = known.size - int(np.count_nonzero(known))
    return f"no value in {without} of {known.size} replications" if without else None


def compound(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a claim with several parts.

    Supported only if every part is; contradicted if any part is; inconclusive if any other is; otherwise,
    and without parts, not judged.
    """
    found = set(verdicts)
    for verdict in (Verdict.CONTRADICTED, Verdict.INCONCLUSIVE):
        if verdict in found:
            return verdict
    return Verdict.SUPPORTED if found == {Verdict.SUPPORTED} else Verdict.NOT_JUDGED


def over_readings(fitted: Verdict, others: Iterable[tuple[str, Verdict]]) -> tuple[Verdict, list[str]]:
    """Return the verdict over all readings, and the readings that decide it: of a part, or of a whole claim.

    It is that of the fitted point if no reading changes it, otherwise inconclusive. A reading that could not
    judge says nothing.
    """
    if fitted is Verdict.NOT_JUDGED:
        return Verdict.NOT_JUDGED, []
    differ = [name for name, verdict in others if verdict not in (fitted, Verdict.NOT_JUDGED)]
    return (Verdict.INCONCLUSIVE if differ else fitted), differ


def interval_json(measured: Interval | None) -> list[float] | None:
    """Return the ends of an interval, rounded above float noise; None without one, or if one is infinite."""
    if measured is None or not (math.isfinite(measured.low) and math.isfinite(measured.high)):
        return None
    return [round(measured.low, 6), round(measured.high, 6)]
