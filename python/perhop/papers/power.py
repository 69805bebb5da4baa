"""The power of a verdict: how often a claim is supported if what the paper says is true.

Every quantity of a claim is taken to be what the paper says, with the noise that our own replications have,
and to be normal. A claim is supported if all its parts are, as fitted and under every reading; quantities and
readings are taken to be independent, so that their probabilities are multiplied. The noise of a quantity
under readings is pooled over them: a few replications alone know it badly, and a product takes the worst.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from perhop.judge.verdict import ClaimPart, Verdict
from perhop.stats.intervals import Interval, deviation_behind
from perhop.stats.power import interval_inside

NO_VALUE = "the paper gives no value"

Noise = tuple[float, float]
"""Mean and standard deviation of a quantity, were it what the paper says."""


def power_json(fitted: Sequence[ClaimPart], others: Sequence[Sequence[ClaimPart]]) -> dict[str, Any]:
    """Return the probability that all parts are supported: as fitted, and under all readings.

    None where unknown or no reading was run. One under which a part could not be judged says nothing of it.
    """
    why = dict.fromkeys(reason for part in fitted if (reason := _unknown(part)))
    if why or not fitted:
        return {"as_fitted": None, "with_readings": None, "reason": "; ".join(why) or "nothing was measured"}
    found = _all_supported((part, _pooled([part])) for part in fitted)
    under = [_pooled(parts) for parts in zip(*others, strict=True)]
    both = math.prod((found, *(_all_supported(zip(parts, under, strict=True)) for parts in others)))
    with_readings = round(both, 3) if others else None
    return {"as_fitted": round(found, 3), "with_readings": with_readings, "reason": None}


def _unknown(part: ClaimPart) -> str | None:
    """Return why a part has no power; None where it has."""
    if part.verdict is Verdict.NOT_JUDGED:
        return part.reason
    return None if part.as_printed else NO_VALUE


def _known(part: ClaimPart) -> Interval | None:
    return None if _unknown(part) else part.as_printed


def _pooled(parts: Iterable[ClaimPart]) -> Noise:
    """Return a part's mean and deviation about the paper's value, pooled over readings."""
    known = [about for part in parts if (about := _known(part))]
    if not known:
        return math.nan, math.nan
    squares = [deviation_behind(about) ** 2 for about in known]
    return sum(about.mean for about in known) / len(known), math.sqrt(sum(squares) / len(known))


def _all_supported(parts: Iterable[tuple[ClaimPart, Noise]]) -> float:
    """Return the probability that all parts are supported, a product over quantities.

    The ranges that are claimed of one quantity are met together.
    """
    asked: dict[tuple[str, Noise, int], list[ClaimPart]] = {}
    for part, noise in parts:
        if about := _known(part):
            asked.setdefault((part.quantity, noise, about.n), []).append(part)
    return math.prod(
        interval_inside(*noise, n, max(one.low for one in own), min(one.high for one in own))
        for (_, noise, n), own in asked.items()
    )
