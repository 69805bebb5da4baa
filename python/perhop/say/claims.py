"""Judged claims in words: measured and claimed values, and why a claim is not judged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perhop.judge.verdict import compound
from perhop.say.document import Part
from perhop.units import Scale, counted

if TYPE_CHECKING:
    from perhop.judge.campaign import JudgedClaim
    from perhop.judge.verdict import ClaimPart


def of_claims(judged: Sequence[JudgedClaim]) -> Iterator[Part]:
    """Go through claims, each followed by its parts."""
    for place, one in enumerate(judged):
        whole = compound(part.verdict for part in one.parts)
        yield f"{'' if place == 0 else chr(10)}{one.claim.id} {whole}: {one.claim.statement}"
        for part, unit in zip(one.parts, one.units, strict=True):
            yield f"  {part.verdict:<13} {part.quantity}: {_measured(part, unit)}"


def _measured(part: ClaimPart, unit: str | None) -> str:
    found = part.measured
    low, high = part.claimed
    ends = [end for end in (low, high) if end is not None]
    scale = Scale.of(unit, max(map(abs, [*ends, *([found.mean] if found else [])]), default=0.0))

    def number(value: float) -> str:
        return f"{(value + 0.0) / scale.factor:.4g}"

    def with_unit(value: float) -> str:
        # no line is broken before a unit
        return number(value) + (f"\N{NO-BREAK SPACE}{scale.unit}" if scale.unit and value else "")

    least, most = ("more than", "less than") if part.kind == "direction" else ("at least", "at most")
    claimed = [] if low is None else [f"{least} {with_unit(low)}"]
    claimed += [] if high is None else [f"{most} {with_unit(high)}"]
    said = [f"claimed {' and '.join(claimed)}", *([part.reason] if part.reason else [])]
    if found is not None:
        known = math.isfinite(found.half_width)
        interval = f"{number(found.low)} to {number(found.high)}, " if known else ""
        said.insert(0, f"{with_unit(found.mean)} ({interval}{counted(found.n, 'replication')})")
    return "; ".join(said)
