"""Claims over several runs and over campaigns that stand beside each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from claims_made import CAMPAIGN, HEAD, PLACE, check, laid
from perhop.judge.campaign import judge_all
from perhop.judge.grammar import ClaimsError
from perhop.judge.measured import Measurements, Together
from perhop.judge.verdict import ClaimPart
from perhop.stats.intervals import mean_interval
from perhop.stats.jackknife import jackknife_interval

STATISTIC = """campaign = "sweep.toml"
[[statistic]]
name = "{of} std"
of = ["goodput", "each"]
statistic = "std"
runs = 5
[[statistic]]
name = "spread"
of = ["each"]
statistic = "std"
[[claim]]
id = "X"
statement = "Something arrives."
"""
ABOVE = PLACE.replace('"goodput"', '"spread"') + "above = 0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return laid(tmp_path)


def values(n: int = 12, delay: str = "5ms", rates: tuple[str, ...] = ("1Mbit/s", "2Mbit/s")) -> pl.DataFrame:
    """Give goodput of n replications, and of each of two classes, at random."""
    rng = np.random.default_rng(5)
    rows = [
        {
            "key": f"{rate}{k}",
            "treatment": f"{rate} {delay}",
            "rate": rate,
            "delay": delay,
            "replication": k,
            "response": response,
            "class": of,
            "value": float(rng.normal(5, 1 + i)),
        }
        for i, rate in enumerate(rates)
        for k in range(n)
        for response, of in (("goodput", None), ("each", "a"), ("each", "b"))
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def of(frame: pl.DataFrame, response: str, rate: str) -> np.ndarray:
    """Give the values of a response, a row for each replication."""
    rows = frame.filter(response=response, rate=rate)
    return rows["value"].to_numpy().reshape(rows["replication"].n_unique(), -1)


def judged(folder: Path, text: str, frame: pl.DataFrame) -> list[ClaimPart]:
    found = check(folder, text)
    (one,) = judge_all(found, found.measured(frame))
    assert one.units == ["1" if "over" in text else "bit/s"] * len(one.parts)
    return one.parts


def test_so_many_runs_give_one_value_and_what_is_left_over_none(folder: Path) -> None:
    frame = values()
    text = STATISTIC + PLACE.replace('"goodput"', '"each std"') + "above = 0"
    (one,) = judged(folder, text, frame)
    each = of(frame, "each", "1Mbit/s")[:10].reshape(2, 10)
    wanted = mean_interval(np.std(each, ddof=1, axis=1))
    assert one.measured is not None
    assert (one.measured.mean, one.measured.n) == (pytest.approx(wanted.mean), 2)
    assert one.measured.low == pytest.approx(wanted.low)
    measured = check(folder, text).measured(frame)
    alone = np.std(of(frame, "goodput", "2Mbit/s")[:10].reshape(2, 5), ddof=1, axis=1)
    assert measured.values("goodput std", rate="2Mbit/s", delay="5ms") == pytest.approx(alone)
    # those of the campaign stay as they are
    assert measured.values("goodput", rate="2Mbit/s") == pytest.approx(of(frame, "goodput", "2Mbit/s")[:, 0])


def test_a_test_with_a_run_without_a_value_has_none() -> None:
    lacks = (pl.col("replication") == 3) & (pl.col("rate") == "1Mbit/s")
    frame = values().with_columns(pl.when(lacks).then(None).otherwise("value").alias("value"))
    found = Measurements.of(frame, {"most": Together("goodput", "max", 5)})
    assert found.values("most", rate="1Mbit/s").tolist() == [of(frame, "goodput", "1Mbit/s")[5:10].max()]
    assert len(found.values("most", rate="2Mbit/s")) == 2


@pytest.mark.parametrize("way", ["", "less", "over"])
def test_over_all_runs_the_interval_is_that_of_a_jackknife(way: str, folder: Path) -> None:
    frame = values()
    other = f'{way} = {{ rate = "2Mbit/s" }}\n' if way else ""
    (one,) = judged(folder, STATISTIC + ABOVE + other, frame)
    pairs = [*zip(of(frame, "each", "1Mbit/s"), of(frame, "each", "2Mbit/s"), strict=True)]

    def statistic(some: object) -> float:
        first, second = (float(np.std(np.concatenate(side), ddof=1)) for side in zip(*some, strict=True))  # type: ignore[call-overload]
        return {"": first, "less": first - second, "over": first / second}[way]

    wanted = jackknife_interval(pairs, statistic)
    assert one.measured is not None
    assert (one.measured.mean, one.measured.low) == (pytest.approx(wanted.mean), pytest.approx(wanted.low))
    assert (one.measured.n, one.one_run) == (12, None)


def test_a_ratio_over_no_spread_and_too_few_runs_are_not_judged(folder: Path) -> None:
    over = STATISTIC + ABOVE + 'over = { rate = "2Mbit/s" }\n'
    flat = values().with_columns(
        pl.when(pl.col("rate") == "2Mbit/s").then(7.0).otherwise("value").alias("value")
    )
    (one,) = judged(folder, over, flat)
    assert one.reason == "the ratio is undefined: it is over 0, or a run has no value"
    (one,) = judged(folder, over, values(2))
    assert one.reason == "2 replications, 10 are needed"
    (one,) = judged(folder, over, values().filter(pl.col("rate") != "2Mbit/s"))
    assert "not measured" in (one.reason or "")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"each"]', '"eich"]', "statistic[0].of[1]: there is no response `eich`"),
        ('"{of} std"', '"std"', "a second response is called `std`"),
        ('"spread"', '"goodput"', "statistic[1].name: a second response is called `goodput`"),
        ('"std"\nruns', '"sd"\nruns', "there is no statistic `sd`"),
        ("runs = 5", "runs = 0", "it is over two runs or more"),
        ("[[claim]]", '[[fitted]]\nresponse = ["good"]\n[[claim]]', "fitted[0].response[0]: there is no"),
    ],
)
def test_mistakes_in_statistics_have_their_place(old: str, new: str, told: str, folder: Path) -> None:
    with pytest.raises(ClaimsError) as wrong:
        check(folder, STATISTIC.replace(old, new, 1) + PLACE + "low = 1")
    assert told in str(wrong.value)


def test_what_was_fitted_is_in_sample_and_a_part_may_say_what_is_printed(folder: Path) -> None:
    fitted = '[[fitted]]\nresponse = ["goodput"]\nat = { rate = "1Mbit/s" }\n[[claim]]'
    text = HEAD.replace("[[claim]]", fitted) + PLACE + "above = 0\nprinted = 4.5\n"
    (one,) = judged(folder, text, values())
    assert (one.in_sample, one.printed) == (True, 4.5)
    (one,) = judged(
        folder, text.replace('at = { rate = "1Mbit/s", d', 'at = { rate = "2Mbit/s", d'), values()
    )
    assert not one.in_sample


def test_a_table_may_have_lines_of_several_responses(folder: Path) -> None:
    (folder / "printed.csv").write_text("rate,delay,of,std\n1Mbit/s,5ms,goodput,3\n2Mbit/s,5ms,each,4\n")
    table = '[[published]]\nfile = "printed.csv"\nresponse = "{of} std"\ncolumn = "std"\n[[claim]]'
    text = STATISTIC.replace("[[claim]]", table) + PLACE + "low = 1"
    subject = check(folder, text).subject
    assert subject is not None
    for rate, response, value in (("1Mbit/s", "goodput std", 3.0), ("2Mbit/s", "each std", 4.0)):
        place = {"rate": rate, "delay": "5ms"}
        assert subject.reference("printed", response, place, None) == value
        assert subject.reference("printed", "goodput", place, None) is None
    for old, new, told in (
        ("each,4", "eech,4", "line 3: there is no response `eech std`"),
        (",of,", ",what,", "printed.csv has no column `of`"),
    ):
        whole = (folder / "printed.csv").read_text()
        (folder / "printed.csv").write_text(whole.replace(old, new))
        with pytest.raises(ClaimsError, match=told):
            check(folder, text)
        (folder / "printed.csv").write_text(whole)


def test_campaigns_beside_each_other_are_one_subject(folder: Path) -> None:
    more = CAMPAIGN.replace('levels = ["5ms", "10ms"]', 'levels = ["20ms"]').replace("= 2\n", "= 9\n", 1)
    (folder / "more.toml").write_text(more)
    text = HEAD.replace("[[claim]]", 'beside = ["more.toml"]\n[[claim]]', 1)
    place = PLACE + 'less = { delay = "20ms" }\nabove = 0\n'
    found = check(folder, text + place)
    assert found.subject is not None
    assert found.subject.levels["delay"] == ("5ms", "10ms", "20ms")
    assert [one.design.replications for one in found.beside] == [9]
    # a difference is over the replications that both have
    first, second = values(12), values(9, "20ms")
    (one,) = judged(folder, text + place, pl.concat([first, second]))
    less = of(first, "goodput", "1Mbit/s")[:9, 0] - of(second, "goodput", "1Mbit/s")[:, 0]
    assert one.measured is not None
    assert (one.measured.n, one.measured.mean) == (9, pytest.approx(less.mean()))
    for old, new, told in (
        ('"20ms"', '"10ms"', "more has a treatment that is there already"),
        ('name = "delay"', 'name = "wait"', "more has other factors"),
        ('name = "each"', 'name = "apiece"', "more has other responses"),
        ("line.toml", "other.toml", "more is over another scenario"),
        ('path = "link', 'pith = "link', "more.toml: has mistakes"),
    ):
        (folder / "other.toml").write_text((folder / "line.toml").read_text() + "\n")
        (folder / "more.toml").write_text(more.replace(old, new, 1))
        with pytest.raises(ClaimsError, match=told):
            check(folder, text + place)
