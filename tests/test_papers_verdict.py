"""The rule for verdicts: four outcomes, parts by kind, readings that decide, what one run can tell."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from itertools import product
from typing import Any

import numpy as np
import pytest

from perhop.judge.grammar import Claim
from perhop.judge.verdict import HIGHER, LOWER, ClaimPart, Hypothesis, Verdict, compound, judge, over_readings
from perhop.papers.claims import UnderReading, claim_entry, in_words
from perhop.papers.error import PackError
from perhop.papers.readings import Reading
from perhop.papers.reduce import row
from perhop.report.study import StudyPage, render
from perhop.stats.intervals import Interval, prediction_interval

YES, NO, OPEN, UNJUDGED = (
    Verdict.SUPPORTED,
    Verdict.CONTRADICTED,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_JUDGED,
)
CLAIM = Claim("C1", "A is better than B, by half.", "section 1", ours="half")
ABOVE = Hypothesis("A less B", "direction", low=HIGHER)
WIDE = (-1.0, 1.0) * 5
"""Ten values that straddle zero."""


def up(by: float = 1.0, n: int = 10, asked: Hypothesis = ABOVE) -> ClaimPart:
    """Judge n values near `by`."""
    return asked.mean(by + 0.01 * np.arange(n))


def under(id_: str, *parts: ClaimPart, of: tuple[str, ...] = ()) -> UnderReading:
    return UnderReading(Reading(id_, f"{id_} in words", of=of), parts)


@pytest.mark.parametrize(
    ("low", "high", "n", "expected"),
    [
        (0.1, 0.2, 10, YES),
        (0.0, 1.0, 10, YES),
        (1.1, 1.2, 10, NO),
        (-0.2, -0.1, 10, NO),
        (0.9, 1.1, 10, OPEN),
        (-1.0, 2.0, 10, OPEN),
        (0.1, 0.2, 9, UNJUDGED),
        (1.1, 1.2, 9, UNJUDGED),
    ],
)
def test_an_interval_is_judged_against_a_range(low: float, high: float, n: int, expected: Verdict) -> None:
    assert judge(Interval((low + high) / 2, low, high, n), 0.0, 1.0) is expected


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        ([YES, YES], YES),
        ([YES, OPEN], OPEN),
        ([YES, OPEN, NO], NO),
        ([NO, UNJUDGED], NO),
        ([OPEN, UNJUDGED], OPEN),
        ([YES, UNJUDGED], UNJUDGED),
        ([], UNJUDGED),
    ],
)
def test_a_compound_claim(verdicts: Sequence[Verdict], whole: Verdict) -> None:
    assert compound(verdicts) is whole


def test_no_difference_at_all_is_no_direction() -> None:
    assert Hypothesis("x", "direction", low=HIGHER).mean([0.0] * 10).verdict is NO
    assert Hypothesis("x", "direction", high=LOWER).mean([0.0] * 10).verdict is NO


def test_too_few_replications_are_told_and_not_called_inconclusive() -> None:
    part = up(n=9)
    assert (part.verdict, part.reason) == (UNJUDGED, "9 replications, 10 are needed")
    entry = claim_entry(CLAIM, [part])
    assert (entry["verdict"], entry["reason"]) == ("not judged", "9 replications, 10 are needed")


def test_a_value_that_is_none_is_told() -> None:
    part = ABOVE.mean([1.0] * 9 + [float("nan")])
    assert (part.verdict, part.reason) == (UNJUDGED, "no value in 1 of 10 replications")
    assert part.measured is None
    json.dumps(claim_entry(CLAIM, [part]), allow_nan=False)


def test_an_undefined_ratio_is_told_and_never_raised() -> None:
    asked = Hypothesis("A over B", "size", low=1.4)
    part = asked.ratio([1.0] * 10, [0.0] * 10)
    assert part.verdict is UNJUDGED
    assert part.reason == "the ratio is undefined: the denominator is 0 in 10 of 10 replications"
    once = asked.ratio([3.0] * 10, [0.0] + [1.0] * 9)
    assert once.verdict is YES
    assert once.measured is not None
    assert once.measured.mean == pytest.approx(30 / 9, rel=0.02)
    assert once.one_run is None
    assert asked.ratio([float("nan")] * 10, [1.0] * 10).verdict is UNJUDGED


@pytest.mark.parametrize(
    ("fitted", "others", "verdict", "differ"),
    [
        (YES, [YES, YES], YES, []),
        (YES, [YES, NO], OPEN, ["r1"]),
        (YES, [OPEN, YES], OPEN, ["r0"]),
        (NO, [NO, NO], NO, []),
        (NO, [NO, OPEN], OPEN, ["r1"]),
        (NO, [YES], OPEN, ["r0"]),
        (OPEN, [OPEN], OPEN, []),
        (OPEN, [YES], OPEN, ["r0"]),
        (YES, [UNJUDGED], YES, []),
        (UNJUDGED, [NO], UNJUDGED, []),
        (NO, [], NO, []),
    ],
)
def test_readings_that_differ_decide(
    fitted: Verdict, others: list[Verdict], verdict: Verdict, differ: list[str]
) -> None:
    named = [(f"r{k}", one) for k, one in enumerate(others)]
    assert over_readings(fitted, named) == (verdict, differ)


def test_a_claim_names_what_decides_it() -> None:
    entry = claim_entry(
        CLAIM, [up(), up(2.0)], [under("sack", up(), up(-2.0)), under("near", up(), ABOVE.mean(WIDE))]
    )
    assert entry["verdict"] == "inconclusive"
    assert entry["decided_by"] == ["sack", "near"]
    assert entry["evidence"]["decided"] == "decided by sack (contradicted), near (inconclusive)"
    first, second = entry["parts"]
    assert (first["verdict"], first["decided_by"]) == ("supported", [])
    assert (second["at_fit"], second["verdict"]) == ("supported", "inconclusive")
    assert [one["verdict"] for one in entry["readings"]] == ["contradicted", "inconclusive"]
    assert "inconclusive, decided by sack, near; supported as fitted" in entry["evidence"]["summary"]


def test_parts_hold_together_under_each_reading_before_readings_are_compared() -> None:
    fitted = [up(-1.0), up()]
    turned = [under("a", up(-1.0), up(-1.0)), under("b", up(), up())]
    entry = claim_entry(CLAIM, fitted, turned)
    assert (entry["verdict"], entry["decided_by"]) == ("inconclusive", ["b"])
    assert [part["decided_by"] for part in entry["parts"]] == [["b"], ["a"]]
    crossed = claim_entry(CLAIM, fitted, [under("c", up(), up(-1.0))])
    assert (crossed["verdict"], crossed["direction"], crossed["decided_by"]) == ("contradicted",) * 2 + ([],)
    assert [part["verdict"] for part in crossed["parts"]] == ["inconclusive"] * 2
    told = "contradicted under every reading, though no single part is under all"
    assert crossed["evidence"]["decided"] == told
    stands = claim_entry(CLAIM, fitted, [under("d", up(-1.0), up(-1.0))])
    assert (stands["verdict"], stands["decided_by"]) == ("contradicted", [])
    assert stands["parts"][1]["decided_by"] == ["d"]
    assert stands["evidence"]["decided"] is None


def test_direction_and_size_hold_together_apart() -> None:
    asked = Hypothesis("x", "size", low=1.4)
    fitted = [up(-1.0), up(1.0, asked=asked)]
    entry = claim_entry(CLAIM, fitted, [under("a", up(), up(1.0, asked=asked))])
    found = entry["verdict"], entry["direction"], entry["size"]
    assert found == ("contradicted", "inconclusive", "contradicted")


def test_a_part_that_a_reading_does_not_judge_stays_as_fitted() -> None:
    unjudged = ABOVE.undefined("no value")
    for fitted, other, verdict, of_reading, decided in (
        ([up(-1.0), up()], [unjudged, up()], "contradicted", "contradicted", []),
        ([up(-1.0), up()], [unjudged, ABOVE.mean(WIDE)], "contradicted", "contradicted", []),
        ([up(), up()], [unjudged, up()], "supported", "supported", []),
        ([up(), up()], [unjudged, up(-1.0)], "inconclusive", "contradicted", ["a"]),
        ([up(-1.0), up()], [unjudged, unjudged], "contradicted", "not judged", []),
    ):
        entry = claim_entry(CLAIM, fitted, [under("a", *other)])
        assert (entry["verdict"], entry["decided_by"]) == (verdict, decided)
        assert entry["readings"][0]["verdict"] == of_reading
    unknown = claim_entry(CLAIM, [up(), unjudged], [under("a", ABOVE.mean(WIDE), up())])
    assert (unknown["verdict"], unknown["reason"]) == ("not judged", "no value")


def test_the_order_matters_only_where_readings_contradict_different_parts() -> None:
    """Parts first and readings after, as it was once, hid nothing but contradictions."""
    of = {YES: up(), NO: up(-1.0), OPEN: ABOVE.mean(WIDE)}
    crossed = 0
    for drawn in product(of, repeat=6):
        fitted, *others = (drawn[k : k + 2] for k in (0, 2, 4))
        entry = claim_entry(
            CLAIM,
            [of[one] for one in fitted],
            [under(f"r{k}", *(of[v] for v in one)) for k, one in enumerate(others)],
        )
        parts_first = compound(Verdict(part["verdict"]) for part in entry["parts"])
        always = all(NO in one for one in (fitted, *others))
        assert entry["verdict"] == (NO if always else parts_first)
        assert parts_first is not NO or always
        crossed += entry["verdict"] != parts_first
    assert crossed == 5**3 - 2 * 3**3 + 1


def test_a_contradiction_stands_only_if_no_reading_lifts_it() -> None:
    fitted = [up(-1.0)]
    assert claim_entry(CLAIM, fitted, [under("a", up(-2.0))])["verdict"] == "contradicted"
    lifted = claim_entry(CLAIM, fitted, [under("a", up(-2.0)), under("b", up(1.0))])
    assert (lifted["verdict"], lifted["decided_by"]) == ("inconclusive", ["b"])


def test_a_pair_is_named_only_where_neither_of_it_decides_alone() -> None:
    parts = [up()]
    others = [
        under("a", up(-1.0)),
        under("b", up()),
        under("c", up()),
        under("a + b", up(-1.0), of=("a", "b")),
        under("b + c", up(-1.0), of=("b", "c")),
    ]
    assert claim_entry(CLAIM, parts, others)["decided_by"] == ["a", "b + c"]


def test_direction_and_size_are_judged_apart() -> None:
    ratio = Hypothesis("A over B", "direction", low=1 + HIGHER), Hypothesis("A over B", "size", low=1.4)
    entry = claim_entry(CLAIM, [one.ratio([1.2] * 10, np.full(10, 1.0)) for one in ratio])
    assert (entry["direction"], entry["size"], entry["verdict"]) == (
        "supported",
        "contradicted",
        "contradicted",
    )
    alone = claim_entry(CLAIM, [up()])
    assert (alone["direction"], alone["size"], alone["ours"]) == ("supported", None, "half")


def test_what_is_too_short_is_not_judged_whatever_it_shows() -> None:
    entry = claim_entry(CLAIM, [up(), up(-1.0)], unjudged="runs simulate 4 s here")
    assert entry["verdict"] == entry["direction"] == "not judged"
    assert entry["reason"] == "runs simulate 4 s here"
    assert {part["verdict"] for part in entry["parts"]} == {part["at_fit"] for part in entry["parts"]}
    assert {part["verdict"] for part in entry["parts"]} == {"not judged"}
    assert entry["evidence"]["summary"] == "0 of 2 parts supported, 2 not judged"
    assert entry["parts"][0]["mean"] == pytest.approx(1.045)


def test_a_claim_is_in_sample_where_any_part_was_fitted() -> None:
    fitted = Hypothesis("x", "direction", low=0.0, in_sample=True).mean([1.0] * 10)
    entry = claim_entry(CLAIM, [up(), fitted])
    assert entry["in_sample"] is True
    assert [part["in_sample"] for part in entry["parts"]] == [False, True]
    assert claim_entry(CLAIM, [up()])["in_sample"] is False


@pytest.mark.parametrize(
    ("printed", "others", "told"),
    [
        (1.045, [9.0], "within one run: one run cannot tell"),
        (9.0, [9.0, 20.0], "within one run only under r0"),
        (50.0, [9.0], "outside everything that was run"),
        (50.0, [], "outside one run"),
        (None, [9.0], None),
    ],
)
def test_the_printed_number_against_one_run(
    printed: float | None, others: list[float], told: str | None
) -> None:
    asked = Hypothesis("A less B", "direction", low=HIGHER, printed=printed)
    readings = [under(f"r{k}", up(by, asked=asked)) for k, by in enumerate(others)]
    (part,) = claim_entry(CLAIM, [up(asked=asked)], readings)["parts"]
    assert part["printed_is"] == told
    assert part["printed"] == printed


def test_one_run_is_a_prediction_and_no_confidence_interval() -> None:
    values = np.arange(10.0)
    part = Hypothesis("x", "size", low=0.0).mean(values)
    found = prediction_interval(values)
    # 2.262157 is Student's t for 9 degrees of freedom; s = 3.02765
    assert found.half_width == pytest.approx(2.262157 * 3.0276504 * (1.1**0.5), rel=1e-6)
    assert part.one_run == found
    assert part.measured is not None
    assert found.half_width > 3 * part.measured.half_width


def test_a_prediction_holds_one_new_value_in_nineteen_of_twenty() -> None:
    rng = np.random.default_rng(5)
    drawn = rng.normal(3.0, 2.0, (2000, 11))
    held = sum(one.low <= new <= one.high for *old, new in drawn for one in [prediction_interval(old)])
    assert 0.935 <= held / 2000 <= 0.965


def test_the_shape_of_a_claim() -> None:
    entry = claim_entry(CLAIM, [up()], [under("sack", up())], notes=["A note."])
    assert list(entry) == [
        *("id", "statement", "verdict", "reason", "direction", "size", "decided_by", "judged_under"),
        *("in_sample", "ours", "power", "parts", "readings", "evidence"),
    ]
    (part,), (reading,) = entry["parts"], entry["readings"]
    assert list(part) == [
        *("quantity", "kind", "claimed", "mean", "ci95", "one_run", "n", "printed", "printed_is"),
        *("in_sample", "at_fit", "verdict", "decided_by", "reason", "power"),
    ]
    assert part["claimed"] == [0.0, None]
    assert list(reading) == ["id", "meaning", "verdict", "parts"]
    assert list(reading["parts"][0]) == ["mean", "ci95", "one_run", "n", "verdict", "reason"]
    assert entry["evidence"] == {
        "summary": "1 of 1 parts supported",
        "where": "section 1",
        "decided": None,
        "notes": ["A note."],
    }
    assert "-0.0" not in json.dumps(claim_entry(CLAIM, [Hypothesis("x", "direction", high=LOWER).mean(WIDE)]))


def test_readings_are_counted_by_the_claims_own_of_all_that_are_listed() -> None:
    listed = [Reading(name, name) for name in ("sack", "near", "deep")] + [Reading("x", "x", of=("a", "b"))]
    others = [under("near", up()), under("sack", up()), under("shorter runs", up())]
    entry = claim_entry(CLAIM, [up()], others, listed=listed)
    assert entry["judged_under"] == {"readings": 2, "of": 3, "without": ["deep"]}
    assert claim_entry(CLAIM, [up()], others)["judged_under"] is None
    assert claim_entry(CLAIM, [up()], others, "too short", listed=listed)["judged_under"] is None


def test_one_value_gives_no_interval_and_no_infinity() -> None:
    (part,) = claim_entry(CLAIM, [up(n=1)])["parts"]
    assert (part["ci95"], part["one_run"], part["n"]) == (None, None, 1)


def test_a_reading_that_measures_something_else_is_refused() -> None:
    with pytest.raises(PackError, match="C1: reading 'sack' measures other parts"):
        claim_entry(CLAIM, [up()], [under("sack", Hypothesis("other", "direction").mean([1.0] * 10))])


def test_a_part_in_words() -> None:
    (part,) = claim_entry(CLAIM, [up(-1.0)])["parts"]
    assert in_words(part) == "A less B: -0.955 where more than 0 is claimed (contradicted)"


def page_of(*entries: dict[str, Any]) -> str:
    document = {"paper": "x", "results_version": 1, "command": "again", "rows": [], "claims": list(entries)}
    return re.sub(r"\s+", " ", unescape(render(StudyPage("X", document, [], "Intro."))))


def test_a_printed_row_that_was_not_run_is_on_the_page() -> None:
    rows = [row("t", "left out", "share", "1", 0.625, None, {"model": 0.375})]
    document = {"paper": "x", "results_version": 1, "command": "again", "rows": rows, "claims": []}
    text = render(StudyPage("X", document, [], "Intro."))
    assert ">0.625<" in text
    assert ">0.375<" in text


def test_the_page_shows_parts_readings_and_what_decides() -> None:
    asked = replace(ABOVE, printed=50.0, in_sample=True)
    entry = claim_entry(
        CLAIM,
        [up(asked=asked), up(2.0)],
        [under("sack", up(-1.0, asked=asked), up()), under("near", up(), up())],
    )
    text = page_of(entry, claim_entry(replace(CLAIM, id="C2"), [up()], unjudged="half as long"))
    for pill in (
        '<span class="badge inconclusive">1 inconclusive</span>',
        '<span class="badge not-judged">1 not judged</span>',
        '<span class="badge supported">1 supported</span>',
        '<span class="badge not-judged">not judged</span>',
    ):
        assert pill in text
    for words in (
        "depends on the reading: sack (contradicted)",
        "in sample",
        "half as long",
        "ours, not the paper's: half",
        "the printed size is outside everything that was run: A less B (50.000)",
        "power not known: the paper gives no value",
        '100 %<br><span class="quiet">100 % with the readings</span>',
        '<b>near</b><br><span class="quiet">near in words</span>',
    ):
        assert words in text
    assert re.search(r'<td class="t contradicted">-\d', text)


def test_many_parts_are_listed_only_where_a_reading_changes_them() -> None:
    parts = [Hypothesis(f"part {k}", "size", low=0.0).mean([1.0] * 10) for k in range(8)]
    changed = [*parts[:7], Hypothesis("part 7", "size", low=0.0).mean([-1.0] * 10)]
    text = page_of(claim_entry(CLAIM, parts, [under("sack", *changed), under("near", *parts)]))
    assert "part 7 (contradicted: -1.0000 to -1.0000)" in text
    assert '<td class="t wrap">none</td>' in text
    assert '<details id="claim-C1"><summary>' in text
