"""Differences of a campaign's treatments, of all pairs or of two, in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from perhop.say.analysis import differences, p_value
from perhop.say.document import Heading, Part
from perhop.units import Scale, counted

if TYPE_CHECKING:
    from perhop.experiment.comparisons import Comparison, Own, Pairs


def of_pairs(found: Sequence[Pairs], level: float) -> Iterator[Part]:
    """Go through the pairs of each response and group, the furthest apart first."""
    for one in found:
        yield from ("", Heading(one.own.name))
        yield from (f"  {remark}" for remark in one.remarks)
        if not one.table.is_empty():
            table = one.table.sort(one.table["difference"].abs(), descending=True, maintain_order=True)
            yield differences(table, _scale(one.own), level)


def of_two(found: Sequence[Comparison], level: float) -> Iterator[Part]:
    """Go through sentences on the difference of two treatments in each response and group."""
    if found:
        yield f"{found[0].second} less {found[0].first}, {100 * level:.3g} % intervals:"
    for one in found:
        yield from ("", Heading(one.own.name))
        yield from (f"  {sentence}" for sentence in (*one.remarks, *in_words(one)))


def in_words(one: Comparison) -> list[str]:
    """Return sentences on the difference, what pairing saved, and sameness within the margin."""
    unit, found = _scale(one.own), one.found
    many = counted(found.difference.n, "replication")
    if found.difference.n < 2:
        return [f"A difference of {unit.value(found.difference.mean)}; one replication gives no interval."]
    apart = unit.value(found.difference.mean, found.difference.half_width)
    sentences = [f"A difference of {apart} over {many}, {p_value(found.p)}."]
    if math.isfinite(found.saved):
        times = f"{found.saved:.3g} times as many replications"
        sentences.append(f"Treatments with seeds of their own would need {times}.")
    if one.same is not None:
        is_share = one.margin is not None and one.margin.relative
        if is_share and not any(one.own.arm(one.first, one.own.shared([one.first, one.second]))):
            nothing = f"{one.first} is 0, and a share of 0 says nothing"
            return [*sentences, f"{nothing}: give the margin in the response's unit."]
        within = f"within {one.margin}" + (f" of {one.first}" if is_share else "")
        verdict = "They are the same" if one.same.equivalent else "It is not shown that they are the same"
        sentences.append(f"{verdict} {within} ({p_value(one.same.p)}).")
    return sentences


def _scale(own: Own) -> Scale:
    return Scale.of(own.unit, max(map(abs, own.rows["value"].to_list())))


def pairs_document(one: Pairs) -> dict[str, Any]:
    """Return pairs as JSON has them, in the response's own unit."""
    return {**_of(one.own), "remarks": one.remarks, "pairs": one.table.to_dicts()}


def comparison_document(one: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON has it, in the response's own unit."""
    found, same = one.found, one.same
    difference = found.difference
    return {
        **_of(one.own),
        "first": one.first,
        "second": one.second,
        "replications": difference.n,
        "difference": {"mean": difference.mean, "low": difference.low, "high": difference.high},
        "p": found.p,
        "correlation": found.correlation,
        "saved": found.saved,
        "margin": one.margin and {"value": one.margin.value, "relative": one.margin.relative},
        "equivalent": same and same.equivalent,
        "p_equivalent": same and same.p,
        "remarks": one.remarks,
    }


def _of(own: Own) -> dict[str, Any]:
    return {"response": own.response, "unit": own.unit, "of": dict(own.of)}
