"""What parts of claims ask for, and how they are judged on made numbers."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from claims_made import HEAD, PLACE, PRINTED, check, claims_in, laid, scalars
from perhop.experiment.analyze import mean_rows
from perhop.experiment.fault import DesignError
from perhop.judge.campaign import judge_all, rows
from perhop.judge.grammar import read
from perhop.judge.measured import Measurements
from perhop.judge.quantity import Subject, Words, quantity_claims
from perhop.judge.verdict import HIGHER, LOWER, ClaimPart, Verdict
from perhop.papers.claims import as_measured
from perhop.say.claims import each, of_claims, overview


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return laid(tmp_path)


# what a part asks for


def quantities(folder: Path, text: str) -> list[tuple[str, float, float, str]]:
    claims, subject = claims_in(folder, text)
    words = Words(claims.file.quantities, claims.file.words)
    (claim,) = claims.claims
    return [
        (hypothesis.quantity, hypothesis.low, hypothesis.high, hypothesis.kind)
        for part in claim.parts
        for one in quantity_claims(part, subject, words)
        for hypothesis in one.hypotheses
    ]


INF = float("inf")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PLACE + "low = 1", [("goodput at 1Mbit/s, 5ms", 1.0, INF, "size")]),
        (
            PLACE + 'less = { rate = "2Mbit/s" }\nbelow = 0',
            [("goodput at 1Mbit/s, 5ms, less that at 2Mbit/s, 5ms", -INF, LOWER, "direction")],
        ),
        (
            PLACE + 'over = { rate = "2Mbit/s" }\nabove = 1\nlow = 2',
            [
                ("goodput at 1Mbit/s, 5ms, over that at 2Mbit/s, 5ms", low, INF, kind)
                for low, kind in ((1 + HIGHER, "direction"), (2.0, "size"))
            ],
        ),
        (
            PLACE.replace('rate = "1Mbit/s", ', "")
            + 'each = { rate = "all" }\nless = { rate = "previous" }\n'
            + 'above = 0\nquantity = "{less rate} to {rate}"',
            [
                ("1Mbit/s to 2Mbit/s", HIGHER, INF, "direction"),
                ("2Mbit/s to 3Mbit/s", HIGHER, INF, "direction"),
            ],
        ),
        (
            'each = { delay = "all", rate = ["1Mbit/s", "3Mbit/s"] }\nresponse = "goodput"\nhigh = 1\n'
            'quantity = "{delay} {rate}"',
            [
                (one, -INF, 1.0, "size")
                for one in ("5ms 1Mbit/s", "5ms 3Mbit/s", "10ms 1Mbit/s", "10ms 3Mbit/s")
            ],
        ),
        (
            PLACE + "per = 1e6\nabout = 1\nwithin = [0.2, '10%']",
            [("goodput at 1Mbit/s, 5ms, over 1e+06", 0.9, 1.1, "size")],
        ),
        (
            PLACE + 'over = { delay = "10ms" }\nwithin = 0.05',
            [("goodput at 1Mbit/s, 5ms, over that at 1Mbit/s, 10ms", 0.95, 1.05, "size")],
        ),
        (
            'response = "goodput"\neffect = { rate = "2Mbit/s", delay = "5ms" }\nabove = 0',
            [("goodput: effect of rate=2Mbit/s delay=5ms", HIGHER, INF, "direction")],
        ),
        (
            'response = "goodput"\neffect = { rate = "2Mbit/s" }\nless = { rate = "1Mbit/s" }\nwithin = 3',
            [("goodput: effect of rate=2Mbit/s less rate=1Mbit/s", -3.0, 3.0, "size")],
        ),
    ],
)
def test_a_part_asks_for(folder: Path, text: str, expected: list[tuple[str, float, float, str]]) -> None:
    assert quantities(folder, HEAD + text) == [pytest.approx(one) for one in expected]


def test_what_parts_have_in_common_stands_in_the_claim(folder: Path) -> None:
    text = 'response = "goodput"\nat = { rate = "1Mbit/s" }\n'
    text += 'part = [{ at = { delay = "5ms" }, low = 1 }, { each = { delay = "all" }, high = 2 }]'
    assert [one[0] for one in quantities(folder, HEAD + text)] == [
        "goodput at 1Mbit/s, 5ms",
        "goodput at 1Mbit/s, 5ms",
        "goodput at 1Mbit/s, 10ms",
    ]


def test_words_of_the_file(folder: Path) -> None:
    own = (
        'words = { goodput = "what arrives", 5ms = "near" }\nquantities = { alone = "{response}: {delay}" }\n'
    )
    assert quantities(folder, own + HEAD + PLACE + "low = 1")[0][0] == "what arrives: near"


def test_printed_values_are_judged_by_and_known_of_every_part(folder: Path) -> None:
    text = PRINTED + 'response = "goodput"\nat = { delay = "5ms" }\neach = { rate = "printed" }\n'
    near = 'part = [{ about = "printed", within = "10%" }, { less = { rate = "1Mbit/s" }, low = 0 }]'
    claims, subject = claims_in(folder, text + near)
    parts = [
        list(quantity_claims(one, subject, Words(claims.file.quantities))) for one in claims.claims[0].parts
    ]
    # nothing is printed for 2 Mbit/s
    assert [one.quantity.at["rate"] for one in parts[0]] == ["1Mbit/s", "3Mbit/s"]
    (first,), (second,) = (one.hypotheses for one in parts[0])
    assert (first.printed, first.low, first.high) == pytest.approx((0.9e6, 0.81e6, 0.99e6))
    assert second.printed == 2e6
    assert [one.hypotheses[0].printed for one in parts[1]] == [0.0, pytest.approx(1.1e6)]
    assert first.stated is None


def test_what_is_said_to_be_alike_is_what_the_paper_states_where_it_prints_nothing(folder: Path) -> None:
    claims, subject = claims_in(folder, HEAD + PLACE + 'over = { delay = "10ms" }\nwithin = 0.05')
    (one,) = quantity_claims(claims.claims[0].parts[0], subject, Words(claims.file.quantities))
    assert (one.hypotheses[0].stated, one.hypotheses[0].printed) == (1.0, None)


# judged on numbers


def judged(folder: Path, text: str, frame: pl.DataFrame) -> list[ClaimPart]:
    (one,) = judge_all(check(folder, HEAD + text), Measurements(frame))
    assert len(one.units) == len(one.parts)
    return one.parts


def test_parts_are_judged(folder: Path) -> None:
    steps = scalars(lambda rate, _: 1.0 + rate)
    less = PLACE + 'less = { rate = "2Mbit/s" }\n'
    assert judged(folder, less + "below = 0", steps)[0].verdict is Verdict.SUPPORTED
    assert judged(folder, less + "above = 0", steps)[0].verdict is Verdict.CONTRADICTED
    assert judged(folder, PLACE + "low = 1.05", steps)[0].verdict is Verdict.INCONCLUSIVE
    (ratio,) = judged(folder, PLACE + 'over = { rate = "3Mbit/s" }\nlow = 0.3', steps)
    assert ratio.measured is not None
    # (10 + 0.5) / (30 + 0.5), less what the jackknife takes off
    assert ratio.measured.mean == pytest.approx(10.5 / 30.5, abs=1e-3)
    order = (
        PLACE.replace('rate = "1Mbit/s", ', "") + 'each = { rate = "all" }\nless = { rate = "previous" }\n'
    )
    assert [one.verdict for one in judged(folder, order + "above = 0", steps)] == [Verdict.SUPPORTED] * 2
    (few,) = judged(folder, less + "below = 0", scalars(lambda rate, _: 1.0 + rate, 5))
    assert (few.verdict, few.reason) == (Verdict.NOT_JUDGED, "5 replications, 10 are needed")
    (one,) = judged(folder, less + "below = 0", scalars(lambda rate, _: 1.0 + rate, 1))
    assert (one.verdict, one.reason) == (Verdict.NOT_JUDGED, "1 replication, 10 are needed")


def test_tables_of_claims_have_a_reason_where_there_is_one(folder: Path) -> None:
    text = HEAD + PLACE + "low = 1"
    for n, last, reason in ((10, "statement", []), (5, "why not judged", ["5 replications, 10 are needed"])):
        claims = judge_all(check(folder, text), Measurements(scalars(lambda rate, _: 3.0 + rate, n)))
        table, (own,) = overview(claims), each(claims)
        assert (table.columns[-1], list(table.rows[0][3:])) == (last, reason)
        assert ("why not judged" in own.columns) == bool(reason)
        assert len(own.rows[0]) == len(own.columns)


def test_a_target_divides_both_of_a_difference_and_not_a_ratio_twice(folder: Path) -> None:
    steps = scalars(lambda rate, _: 1.0 + rate)
    for way, expected in (("less", -0.5), ("over", pytest.approx(10.5 / 20.5 / 2, abs=1e-3))):
        (one,) = judged(folder, PLACE + f'{way} = {{ rate = "2Mbit/s" }}\nper = 2\nlow = 0', steps)
        assert one.measured is not None
        assert one.measured.mean == expected


def test_effects_are_what_levels_do_beyond_the_mean(folder: Path) -> None:
    # 0, 1, 2 by rate, and 3 more where the last rate meets the second delay
    frame = scalars(lambda rate, delay: rate + 3.0 * (rate == 2 and delay == 1))

    def effect(levels: str, less: str = "") -> float:
        (one,) = judged(folder, f'response = "goodput"\neffect = {{ {levels} }}\n{less}\nlow = 0', frame)
        assert one.measured is not None
        return one.measured.mean

    # means by rate 0, 1, 3.5; by delay 1, 2
    assert effect('rate = "3Mbit/s"') == pytest.approx(2.0)
    assert effect('delay = "10ms"') == pytest.approx(0.5)
    assert effect('rate = "3Mbit/s", delay = "10ms"') == pytest.approx(5.0 - 1.5 - 2.0 - 0.5)
    assert effect('rate = "3Mbit/s"', 'less = { rate = "1Mbit/s" }') == pytest.approx(3.5)


def test_what_was_not_measured_is_told_and_never_raised(folder: Path) -> None:
    some = scalars(lambda rate, _: 1.0 + rate).filter(pl.col("rate") != "3Mbit/s")
    lacking = PLACE.replace("1Mbit/s", "3Mbit/s") + "low = 1"
    (one,) = judged(folder, lacking, some)
    assert one.verdict is Verdict.NOT_JUDGED
    assert "not measured" in (one.reason or "")


def test_several_values_of_a_replication_are_refused() -> None:
    with pytest.raises(ValueError, match="several values of a replication"):
        Measurements(scalars(lambda *_: 1.0)).values("goodput", rate="1Mbit/s")


def test_a_table_of_means_has_a_row_for_each() -> None:
    rows = list(mean_rows(scalars(lambda rate, _: 1.0 + rate)))
    assert rows[0] == ["rate", "delay", "response", "mean", "from", "to", "n"]
    assert rows[1] == ["1Mbit/s", "5ms", "goodput", "1.05", "1.0123", "1.0877", 10]


def test_a_part_that_cannot_be_asked_says_where() -> None:
    subject = Subject({"rate": {}}, {}, [])
    part = read(Path("c.toml"), HEAD.encode() + b'response = "other"\nlow = 1').claims[0].parts[0]
    with pytest.raises(DesignError, match="there is no response `other`"):
        list(quantity_claims(part, subject, Words(read(Path("c.toml"), HEAD.encode()).file.quantities)))


def test_small_numbers_keep_their_digits(folder: Path) -> None:
    small = scalars(lambda rate, _: 1.0 + rate).with_columns(pl.col("value") * 1.23456789e-7)
    (one,) = judge_all(check(folder, HEAD + PLACE + "above = 0\nlow = 1.5e-7"), Measurements(small))
    assert [part[7:10] for part in rows([one])] == [("0", "", "1.296e-07"), ("1.5e-07", "", "1.296e-07")]
    text = "\n".join(str(part) for part in of_claims([one._replace(units=["1", "1"])]))
    assert "5ms: 1.296e-07 (1.25e-07 to 1.343e-07, 10 replications); claimed more than 0" in text
    assert "claimed at least 1.5e-07" in text
    first, second = (as_measured(part) for part in one.parts)
    assert (first["claimed"], second["claimed"]) == ([0.0, None], [1.5e-7, None])
    assert first["mean"] == pytest.approx(1.05 * 1.23456789e-7, rel=1e-12)
