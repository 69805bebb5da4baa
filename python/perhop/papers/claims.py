"""A judged claim: its parts as fitted and under every reading, as plain JSON values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from perhop.judge.grammar import Claim
from perhop.judge.verdict import ClaimPart, Kind, Verdict, compound, interval_json, over_readings
from perhop.papers.error import PackError
from perhop.papers.power import power_json
from perhop.papers.readings import Reading, judged_under
from perhop.stats.intervals import Interval


@dataclass(frozen=True)
class UnderReading:
    """The parts of a claim under one reading, in the order of the fitted point's."""

    reading: Reading
    parts: Sequence[ClaimPart]

    @property
    def judges(self) -> bool:
        """Whether a part can be judged under it."""
        return any(one.verdict is not Verdict.NOT_JUDGED for one in self.parts)

    def verdicts(self, fitted: Sequence[ClaimPart]) -> list[Verdict]:
        """Return the verdict of each part; one that is not judged under the reading stays as fitted."""
        if not self.judges:
            return [p.verdict for p in self.parts]
        pairs = zip(fitted, self.parts, strict=True)
        return [at_fit.verdict if p.verdict is Verdict.NOT_JUDGED else p.verdict for at_fit, p in pairs]


def claim_entry(
    claim: Claim,
    fitted: Sequence[ClaimPart],
    others: Sequence[UnderReading] = (),
    unjudged: str = "",
    notes: Sequence[str] = (),
    listed: Sequence[Reading] = (),
) -> dict[str, Any]:
    """Judge a claim as a whole, and return its entry in the document.

    `others` are its parts under each reading that applies, `listed` all readings of the study, to count
    those. `unjudged` says why nothing is to be judged: runs that are too short, readings left out.
    """
    for one in others:
        if [p.quantity for p in one.parts] != [p.quantity for p in fitted]:
            raise PackError(f"claim {claim.id}: reading {one.reading.id!r} measures other parts")
    if unjudged:
        fitted = [p.unjudged(unjudged) for p in fitted]
    readings = [one.reading for one in others]
    parts = []
    for place, p in enumerate(fitted):
        under = [(one.reading.id, one.parts[place]) for one in others]
        verdict, differ = over_readings(p.verdict, [(name, own.verdict) for name, own in under])
        entry = _part_json(p, verdict, _decisive(readings, differ), under)
        parts.append({**entry, "power": power_json([p], [[one] for _, one in under])})
    whole, differ = _together(fitted, others)
    decided = _decisive(readings, differ)
    return {
        "id": claim.id,
        "statement": claim.statement,
        "verdict": str(whole),
        "reason": _reason(fitted) if whole is Verdict.NOT_JUDGED else None,
        "direction": _of_kind("direction", fitted, others),
        "size": _of_kind("size", fitted, others),
        "decided_by": decided,
        "judged_under": None
        if whole is Verdict.NOT_JUDGED
        else judged_under(listed, [one.reading.id for one in others if one.judges]),
        "in_sample": any(p.in_sample for p in fitted),
        "ours": claim.ours,
        "power": power_json(fitted, [one.parts for one in others]),
        "parts": parts,
        "readings": [_reading_json(one, compound(one.verdicts(fitted))) for one in others],
        "evidence": {
            "summary": _summary(parts),
            "where": claim.where,
            "decided": _decided(whole, fitted, [one for one in others if one.reading.id in decided], parts),
            "notes": list(notes),
        },
    }


def _together(fitted: Sequence[ClaimPart], others: Sequence[UnderReading]) -> tuple[Verdict, list[str]]:
    """Return the verdict of parts together, and the readings that decide it.

    They hold together or not under each reading; that is compared over readings, not part by part.
    """
    under = [(one.reading.id, compound(one.verdicts(fitted))) for one in others]
    return over_readings(compound(p.verdict for p in fitted), under)


def _decided(
    whole: Verdict,
    fitted: Sequence[ClaimPart],
    deciding: Sequence[UnderReading],
    parts: Sequence[dict[str, Any]],
) -> str | None:
    """Return what decides in words: the verdicts of the deciding readings, each with its readings."""
    if whole is Verdict.CONTRADICTED and all(part["verdict"] != whole for part in parts):
        return "contradicted under every reading, though no single part is under all"
    groups: dict[str, list[str]] = {}
    for one in deciding:
        groups.setdefault(str(compound(one.verdicts(fitted))), []).append(one.reading.id)
    words = [f"{', '.join(names)} ({verdict})" for verdict, names in groups.items()]
    return f"decided by {', '.join(words)}" if words else None


def _part_json(
    p: ClaimPart, verdict: Verdict, decided_by: list[str], under: Sequence[tuple[str, ClaimPart]]
) -> dict[str, Any]:
    return {
        "quantity": p.quantity,
        "kind": p.kind,
        "claimed": [_finite(p.low), _finite(p.high)],
        **_measured_json(p),
        "printed": None if p.printed is None else round(p.printed, 6),
        "printed_is": printed_is(p, under),
        "in_sample": p.in_sample,
        "at_fit": str(p.verdict),
        "verdict": str(verdict),
        "decided_by": decided_by,
        "reason": p.reason,
    }


def _reading_json(one: UnderReading, whole: Verdict) -> dict[str, Any]:
    return {
        "id": one.reading.id,
        "meaning": one.reading.meaning,
        "verdict": str(whole),
        "parts": [{**_measured_json(p), "verdict": str(p.verdict), "reason": p.reason} for p in one.parts],
    }


def _measured_json(p: ClaimPart) -> dict[str, Any]:
    return {
        "mean": None if p.measured is None else round(p.measured.mean, 6),
        "ci95": interval_json(p.measured),
        "one_run": interval_json(p.one_run),
        "n": 0 if p.measured is None else p.measured.n,
    }


def printed_is(fitted: ClaimPart, under: Sequence[tuple[str, ClaimPart]]) -> str | None:
    """Return how the printed number compares with one run of ours; None where unknown."""
    printed = fitted.printed
    if printed is None or fitted.one_run is None:
        return None
    if _holds(fitted, printed):
        return "within one run: one run cannot tell"
    if not under:
        return "outside one run"
    holding = [name for name, one in under if _holds(one, printed)]
    return f"within one run only under {', '.join(holding)}" if holding else "outside everything that was run"


def _holds(p: ClaimPart, value: float) -> bool:
    return p.one_run is not None and p.one_run.low <= value <= p.one_run.high


def _decisive(readings: Sequence[Reading], differ: Sequence[str]) -> list[str]:
    """Leave out pairs of readings of which one decides alone."""
    pairs = {reading.id: reading.of for reading in readings}
    return [name for name in differ if not set(pairs[name]) & set(differ)]


def _of_kind(kind: Kind, fitted: Sequence[ClaimPart], others: Sequence[UnderReading]) -> str | None:
    places = [place for place, p in enumerate(fitted) if p.kind == kind]
    if not places:
        return None
    under = [UnderReading(one.reading, [one.parts[place] for place in places]) for one in others]
    return str(_together([fitted[place] for place in places], under)[0])


def _reason(parts: Sequence[ClaimPart]) -> str:
    reasons = dict.fromkeys(p.reason for p in parts if p.reason)
    return "; ".join(reasons) or "nothing was measured"


def _summary(parts: Sequence[dict[str, Any]]) -> str:
    failing = [p for p in parts if p["verdict"] != Verdict.SUPPORTED]
    unjudged = [p for p in failing if p["verdict"] == Verdict.NOT_JUDGED]
    summary = f"{len(parts) - len(failing)} of {len(parts)} parts supported"
    if unjudged:
        summary += f", {len(unjudged)} not judged"
    return "; ".join([summary, *(in_words(p) for p in failing if p not in unjudged)])


def in_words(p: dict[str, Any]) -> str:
    """Return a part in words: what was measured, what is claimed, and the verdict."""
    low, high = p["claimed"]
    ends = (low, "at least", "more than"), (high, "at most", "less than")
    claimed = " and ".join(_end(*end) for end in ends if end[0] is not None)
    verdict = p["verdict"]
    if p["decided_by"]:
        verdict += f", decided by {', '.join(p['decided_by'])}; {p['at_fit']} as fitted"
    return f"{p['quantity']}: {p['mean']:.4g} where {claimed} is claimed ({verdict})"


def _end(value: float, bound: str, strict: str) -> str:
    """Return an end of a range in words; an end at 0 is strict."""
    return f"{strict} 0" if value == 0.0 else f"{bound} {value:.3g}"


def as_measured(p: ClaimPart) -> dict[str, Any]:
    """Return the numbers of a part as its entry has them, not rounded."""

    def ends(found: Interval | None) -> list[float] | None:
        return None if interval_json(found) is None or found is None else [found.low, found.high]

    return {
        "claimed": list(p.claimed),
        "mean": None if p.measured is None else p.measured.mean,
        "ci95": ends(p.measured),
        "one_run": ends(p.one_run),
        "printed": p.printed,
    }


def _finite(value: float) -> float | None:
    # a negative zero would be another text in JSON
    return round(value, 6) + 0.0 if math.isfinite(value) else None
