"""Judged claims in words: measured and claimed values, and why a claim is not judged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perhop.say.document import MOST_ROWS, Cell, Part, Table, Verdict
from perhop.units import Scale, counted

if TYPE_CHECKING:
    from perhop.judge.campaign import JudgedClaim
    from perhop.judge.verdict import ClaimPart

_WHY = "why not judged"


def depends(decided: str | None) -> str:
    """Return what decides a verdict as it is told; results on record have ``decided by``."""
    return (decided or "").replace("decided by", "depends on the reading:")


def of_claims(judged: Sequence[JudgedClaim]) -> Iterator[Part]:
    """Go through claims, each followed by its parts."""
    for place, one in enumerate(judged):
        yield f"{'' if place == 0 else chr(10)}{one.claim.id} {one.verdict}: {one.claim.statement}"
        for part, unit in zip(one.parts, one.units, strict=True):
            yield f"  {part.verdict:<13} {part.quantity}: {_measured(part, unit)}"


def _measured(part: ClaimPart, unit: str | None) -> str:
    value, interval, claimed = _numbers(part, unit)
    said = [f"claimed {claimed}", *([part.reason] if part.reason else [])]
    if part.measured is not None:
        of = counted(part.measured.n, "replication")
        said.insert(0, f"{value} ({f'{interval}, ' if interval else ''}{of})")
    return "; ".join(said)


def _numbers(part: ClaimPart, unit: str | None) -> tuple[str, str, str]:
    """Return what was measured, its interval, and what is claimed, all in one unit."""
    found = part.measured
    low, high = part.claimed
    ends = [end for end in (low, high) if end is not None]
    scale = Scale.of(unit, max(map(abs, [*ends, *([found.mean] if found else [])]), default=0.0))

    def number(value: float) -> str:
        return f"{(value + 0.0) / scale.factor:.4g}"

    def with_unit(value: float) -> str:
        return number(value) + (f" {scale.unit}" if scale.unit and value else "")

    least, most = ("more than", "less than") if part.kind == "direction" else ("at least", "at most")
    claimed = [] if low is None else [f"{least} {with_unit(low)}"]
    claimed += [] if high is None else [f"{most} {with_unit(high)}"]
    if found is None:
        return "", "", " and ".join(claimed)
    known = math.isfinite(found.half_width)
    interval = f"{number(found.low)} to {number(found.high)}" if known else ""
    return with_unit(found.mean), interval, " and ".join(claimed)


def overview(judged: Sequence[JudgedClaim]) -> Table:
    """Return a table of claims with their verdicts, and why one is not judged or inconclusive."""
    rows = []
    for one in judged:
        why = "; ".join(dict.fromkeys(part.reason for part in one.parts if part.reason))
        rows.append((one.claim.id, Verdict(one.verdict), one.claim.statement, _parts(one), why))
    return Table("", *_without_empty(("claim", "verdict", "statement", "parts", _WHY), rows), left=5)


def _without_empty(
    columns: Sequence[str], rows: Sequence[Sequence[Cell]]
) -> tuple[list[str], list[list[Cell]]]:
    """Leave out the columns of a table in which no row says anything."""
    kept = [place for place in range(len(columns)) if any(row[place] != "" for row in rows)]
    return [columns[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _parts(one: JudgedClaim) -> str:
    """Return how many parts have each verdict, where there are several."""
    found = Counter(str(part.verdict) for part in one.parts)
    return ", ".join(f"{many} {verdict}" for verdict, many in found.items()) if len(one.parts) > 1 else ""


def each(judged: Sequence[JudgedClaim]) -> Iterator[Table]:
    """Go through a table of the parts of each claim: measured, claimed, and the verdict."""
    columns = ("quantity", "verdict", "measured", "95 % interval", "claimed", "replications", _WHY)
    for one in judged:
        rows = []
        for part, unit in zip(one.parts, one.units, strict=True):
            value, interval, claimed = _numbers(part, unit)
            n = 0 if part.measured is None else part.measured.n
            cells = (value or None, interval or None, claimed, n, part.reason or "")
            rows.append((part.quantity, Verdict(part.verdict), *cells))
        shown = _without_empty(columns, rows)
        yield Table(one.claim.id, *shown, left=5, text=one.claim.statement, most=MOST_ROWS)
