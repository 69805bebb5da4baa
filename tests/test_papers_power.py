"""How often a true claim is found supported: the formula against draws, and the claims of the ACK study."""

from __future__ import annotations

import csv
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, nct, t

from perhop.judge.campaign import JudgedClaim, judge_all
from perhop.judge.grammar import Claim
from perhop.judge.measured import Floats, Measurements
from perhop.judge.verdict import Hypothesis, Verdict
from perhop.papers.claims import UnderReading, claim_entry
from perhop.papers.readings import Reading
from perhop.stats.intervals import deviation_behind, mean_interval
from perhop.stats.power import interval_inside
from test_papers_papagiannaki import ABOUT, ARMS, EVERYWHERE, FOLDER, LAYOUT, PRINTED

CLAIM = Claim("C1", "A is better than B, by half.", "section 1", ours="half")

# the formula


@pytest.mark.parametrize("distance", [0.0, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("n", [3, 10, 40])
def test_with_one_end_it_is_the_noncentral_t_distribution(distance: float, n: int) -> None:
    expected = nct.sf(t.ppf(0.975, n - 1), n - 1, distance * math.sqrt(n) / 2.0)
    assert interval_inside(5.0 + distance, 2.0, n, 5.0, math.inf) == pytest.approx(expected, abs=2e-4)
    assert interval_inside(5.0 - distance, 2.0, n, -math.inf, 5.0) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-0.5, 2.0), (0.2, 3.0), (1.0, 1.1)])
def test_between_two_ends_it_is_what_draws_give(low: float, high: float) -> None:
    drawn = np.random.default_rng(3).normal(0.1, 1.0, (20_000, 10))
    half = t.ppf(0.975, 9) * drawn.std(axis=1, ddof=1) / math.sqrt(10)
    inside = np.mean((low <= drawn.mean(axis=1) - half) & (drawn.mean(axis=1) + half <= high))
    assert interval_inside(0.1, 1.0, 10, low, high) == pytest.approx(inside, abs=0.01)


def test_without_noise_it_is_certain() -> None:
    assert interval_inside(1.0, 0.0, 10, 1.0, math.inf) == 1.0
    assert interval_inside(1.0, 0.0, 10, 1.1, math.inf) == 0.0


def test_the_deviation_behind_an_interval() -> None:
    values = np.array([1.0, 4.0, 2.0, 8.0])
    assert deviation_behind(mean_interval(values)) == pytest.approx(values.std(ddof=1))


# parts, claims, readings


NOISE = (-1.0, 1.0) * 5
DEVIATION = float(np.std(NOISE, ddof=1))


def ten(mean: float = 0.0, spread: float = 1.0) -> list[float]:
    return [mean + spread * one for one in NOISE]


def test_a_part_has_the_paper_value_and_our_noise() -> None:
    part = Hypothesis("x", "size", low=1.0, printed=2.0).mean(ten(50.0))
    (entry,) = claim_entry(CLAIM, [part])["parts"]
    expected = interval_inside(2.0, DEVIATION, 10, 1.0, math.inf)
    assert entry["power"] == {"as_fitted": round(expected, 3), "with_readings": None, "reason": None}
    assert 0.7 < expected < 0.8


def test_a_claim_multiplies_quantities_and_readings_and_joins_ranges_of_one() -> None:
    of_x = Hypothesis("x", "direction", low=0.0, printed=2.0), Hypothesis("x", "size", low=1.0, printed=2.0)
    parts = [*(one.mean(ten()) for one in of_x), Hypothesis("y", "size", low=-1.0, printed=0.0).mean(ten())]
    noisier = [*(one.mean(ten(9.0, 1.5)) for one in of_x), parts[2]]
    one = interval_inside(2.0, DEVIATION, 10, 1.0, math.inf)
    found = claim_entry(CLAIM, parts, [UnderReading(Reading("sack", "in words"), noisier)])["power"]
    two = interval_inside(2.0, 1.5 * DEVIATION, 10, 1.0, math.inf)
    assert found["as_fitted"] == pytest.approx(one * one, abs=6e-4)
    assert found["with_readings"] == pytest.approx(one * one * two * one, abs=6e-4)
    # the noise of two readings is pooled
    under = [UnderReading(Reading(name, "in words"), own) for name, own in (("a", parts), ("b", noisier))]
    two = interval_inside(2.0, DEVIATION * math.sqrt((1 + 1.5**2) / 2), 10, 1.0, math.inf)
    found = claim_entry(CLAIM, parts, under)["power"]
    assert found["with_readings"] == pytest.approx(one * one * (two * one) ** 2, abs=6e-4)


@pytest.mark.parametrize(
    ("asked", "n", "unjudged", "reason"),
    [
        (Hypothesis("x", "size", low=0.0), 10, "", "the paper gives no value"),
        (Hypothesis("x", "size", low=0.0, printed=1.0), 4, "", "4 replications, 10 are needed"),
        (Hypothesis("x", "size", low=0.0, printed=1.0), 10, "half as long", "half as long"),
    ],
)
def test_where_power_is_not_known_the_reason_stands_there(
    asked: Hypothesis, n: int, unjudged: str, reason: str
) -> None:
    known = Hypothesis("y", "size", low=-9.0, printed=0.0).mean(ten()[:n])
    entry = claim_entry(CLAIM, [known, asked.mean(ten()[:n])], unjudged=unjudged)
    expected = {"as_fitted": None, "with_readings": None, "reason": reason}
    assert entry["power"] == entry["parts"][1]["power"] == expected


def test_what_the_paper_says_in_words_is_a_value_too() -> None:
    (entry,) = claim_entry(CLAIM, [Hypothesis("x", "size", -9.0, 9.0, stated=0.0).mean(ten())])["parts"]
    assert (entry["printed"], entry["power"]["as_fitted"]) == (None, 1.0)


def test_a_reading_that_is_not_judged_says_nothing() -> None:
    asked = Hypothesis("x", "size", low=1.0, printed=2.0)
    found = claim_entry(
        CLAIM, [asked.mean(ten())], [UnderReading(Reading("a", "a"), [asked.undefined("none")])]
    )
    assert found["power"]["with_readings"] == found["power"]["as_fitted"]


# the claims of the ACK study

READINGS = 9
LONGER = math.sqrt(600 / 240)
"""How much more runs of 240 s scatter than those of 600 s."""

CANNOT = {"P1", "P23", "P24"}
"""Claims that a truth as printed does not carry past noise: docs/decisions/0076."""


def recorded_noise() -> dict[str, Floats]:
    """Give the standard deviation of every cell over thirty replications of 600 s."""
    found = {name: np.full(values.shape, np.nan) for name, values in PRINTED.items()}
    with (FOLDER.folder / "beyond/recorded/replications.csv").open() as file:
        for row in csv.DictReader(file):
            if row["response"] in found:
                place = tuple(own.index(row[name]) for name, own in zip("PABC", LAYOUT.levels, strict=True))
                half, n = (float(row["to"]) - float(row["from"])) / 2, int(row["n"])
                found[row["response"]][place] = half * math.sqrt(n) / t.ppf(0.975, n - 1)
    return found


NOISE_S600 = recorded_noise()


def drawn(rng: np.random.Generator, scale: float, n: int = 10) -> pl.DataFrame:
    """Draw replications around the printed tables; arms give what p-a-b gives."""
    rows = []
    for replication in range(n):
        for name, values in PRINTED.items():
            own = values + rng.normal(0.0, scale * NOISE_S600[name])
            for place in np.ndindex(*values.shape):
                levels = [one[k] for one, k in zip(LAYOUT.levels, place, strict=True)]
                rows.append((EVERYWHERE, *levels, replication, name, own[place]))
            for arm in ARMS[:2]:
                cells = values[0, 1, 2] + rng.normal(0.0, scale * NOISE_S600[name][0, 1, 2])
                rows += [
                    (arm, *"pab", c, replication, name, x)
                    for c, x in zip(LAYOUT.levels[3], cells, strict=True)
                ]
    frame = pl.DataFrame(rows, ["arm", *"PABC", "replication", "response", "value"], orient="row")
    return frame.with_columns(key=pl.lit(""), treatment=pl.concat_str("arm", "P", "A", "B"))


def test_the_formula_and_draws_agree_on_the_claims_that_cannot_be_supported() -> None:
    """Whole tables are drawn, as under readings, and judged by the predicates; the formula has one study."""
    # P17 and P30 have no printed value, P14, P25 and P27 are about the noise itself
    claims = [claim for claim in FOLDER.claims if claim.id not in ("P14", "P17", "P25", "P27", "P30")]
    asked = ABOUT.checked._replace(claims=replace(ABOUT.claims, claims=tuple(claims)))

    def judge(frame: pl.DataFrame) -> list[JudgedClaim]:
        return judge_all(asked, ABOUT.measured([Measurements(frame)]))

    rng, draws = np.random.default_rng(11), 30
    failed = Counter[str]()
    for m in (drawn(rng, LONGER) for _ in range(draws)):
        for one in judge(m):
            failed[one.claim.id] += one.verdict is not Verdict.SUPPORTED
    # nine readings and the fitted point are all supported in 80 % where one is in 98 %
    found = {id_ for id_, count in failed.items() if binom.sf(count - 1, draws, 0.02) < 0.01}
    fitted, read = judge(drawn(rng, 1.0)), [judge(drawn(rng, LONGER)) for _ in range(READINGS)]
    below = set()
    for k, claim in enumerate(claims):
        others = [UnderReading(Reading("true", "as true"), own[k].parts) for own in read]
        if claim_entry(claim, fitted[k].parts, others)["power"]["with_readings"] < 0.8:
            below.add(claim.id)
    assert (found, below) == (CANNOT, CANNOT)
