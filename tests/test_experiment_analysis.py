"""Analyses of a store's table: the method follows from the design and what is there of it, and is told."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from perhop.experiment.analysis import Analysis, AnalysisRequest
from perhop.experiment.analyze import analyze, without_values
from perhop.experiment.factors import Factor, Level
from perhop.experiment.fractions import Fraction
from perhop.say import analysis
from perhop.stats.anova import anova
from perhop.stats.contrasts import tukey_of
from perhop.stats.discovery import benjamini_hochberg
from perhop.stats.intervals import mean_interval
from perhop.stats.sequential import sequential_interval
from perhop.units import Scale

TWO = AnalysisRequest({"a": "lh", "b": "xyz"}, {"speed": "bit/s"}, common_seeds=False)


def table(
    levels: dict[str, Sequence[str]],
    value: Callable[..., float],
    runs: int,
    groups: Sequence[str] = (),
    response: str = "speed",
) -> pl.DataFrame:
    """Long rows; `value` is called with the levels, the replication and the group."""
    rows = [
        {"key": f"{names}{r}", "treatment": " ".join(names), **dict(zip(levels, names, strict=True))}
        | {"replication": r, "response": response, "load": group or None, "value": value(*names, r, group)}
        for names in itertools.product(*levels.values())
        for r in range(runs)
        for group in (groups or [""])
    ]
    return pl.DataFrame(rows, schema_overrides={"load": pl.String})


def noisy(seed: int) -> Callable[..., float]:
    rng = np.random.default_rng(seed)
    return lambda a, b, *_: 1e6 * (1.0 + (a == "h")) + 1e5 * "xyz".index(b) + float(rng.normal(0, 2e4))


def only(found: list[Analysis]) -> Analysis:
    assert len(found) == 1
    return found[0]


def said(one: Analysis) -> str:
    return " ".join([*analysis.what_mattered(one), *analysis.how_sure(one)])


def test_groups_are_within_runs_and_seeds_are_blocks() -> None:
    rng = np.random.default_rng(1)
    both = [
        table(
            {"a": "lh", "b": "xyz"},
            lambda a, b, r, g: (a == "h") * (g == "r") + r + float(rng.normal(0, 0.1)),
            4,
            ["r", "f"],
            name,
        )
        for name in ("one", "two")
    ]
    found = analyze(
        pl.concat(both),
        AnalysisRequest({"a": "lh", "b": "xyz"}, {"one": None, "two": None}, common_seeds=True),
    )
    own = anova(both[0], ["a", "b", "load"], within=["load"], block="replication")
    assert found[0].within == ("load",)
    assert found[0].tests.drop("q").equals(own.table)
    p = [value for one in found for value in one.tests["p"].drop_nulls().to_list()]
    q = [value for one in found for value in one.tests["q"].drop_nulls().to_list()]
    assert q == pytest.approx(benjamini_hochberg(p).tolist()), "adjusted over all tests of the store"
    assert {"a", "load", "a:load"} <= found[0].found
    assert "a = h with load = r raises it by" in said(found[0])


def test_a_sweep_compares_its_ends() -> None:
    rng = np.random.default_rng(2)
    seeds = rng.normal(0, 1e5, 10)  # the same for all rates
    rates = {"1Mbit/s": 0.9e6, "3Mbit/s": 2.5e6}
    frame = table({"rate": list(rates)}, lambda rate, r, _: rates[rate] + seeds[r] + rng.normal(0, 1e3), 10)
    asked = AnalysisRequest({"rate": list(rates)}, {"speed": "bit/s"}, common_seeds=True)
    one = only(analyze(frame, asked))
    told = said(one)
    assert one.method == "factorial"
    assert "The effect of rate is larger than chance explains (p < 0.001)." in told
    assert "From rate = 1Mbit/s to 3Mbit/s it rises from 0.899 ± " in told
    # seeds in common: the difference is far surer than each mean
    half = float(told.split(", by 1.")[1].split("± ")[1].split()[0])
    assert half < 0.002
    independent = said(only(analyze(frame, replace(asked, common_seeds=False))))
    assert float(independent.split(", by 1.")[1].split("± ")[1].split()[0]) > 0.05
    assert "replications instead of 10 would halve the intervals of effects" in told


def test_a_failed_run_leaves_a_valid_analysis() -> None:
    frame = table({"a": "lh", "b": "xyz"}, noisy(3), 4)
    one = only(analyze(frame[1:], replace(TWO, common_seeds=True)))
    assert one.method == "unbalanced"
    assert one.tests.filter(source="blocks")["p"].to_list() == [None]
    assert {"a", "b"} <= one.found
    assert "The design is not balanced (treatments have 3 to 4 observations)" in said(one)
    split = table({"a": "lh", "b": "xyz"}, noisy(3), 4, ["r", "f"])
    apart = analyze(split.filter(pl.col("key") != split["key"][0]), TWO)
    assert [one.name for one in apart] == ["speed, load r", "speed, load f"]
    assert all("so that each load is analysed for itself" in said(one) for one in apart)
    lost = only(analyze(frame.with_columns(pl.when(pl.col("a") != "l").then("value")), TWO))
    assert lost.factors == ("b",)
    assert "12 of 24 values do not exist" in said(lost)


def test_too_little_for_a_model_leaves_means() -> None:
    frame = table({"a": "lh", "b": "xyz"}, noisy(4), 1)
    corner = frame.filter((pl.col("a") == "l") | (pl.col("b") == "x"))
    one = only(analyze(corner, TWO))
    assert (one.method, len(one.means)) == ("means", 4)
    assert "too little is left for a model" in said(one)


def test_one_replication_is_said() -> None:
    one = only(analyze(table({"a": "lh", "b": "xyz"}, noisy(5), 1), TWO))
    assert one.tests["source"].to_list() == ["a", "b", "error", "total"]
    assert "the interaction had to be taken for error. Add replications." in said(one)
    alone = only(
        analyze(table({"a": "lh"}, lambda a, *_: float(a == "h"), 1), replace(TWO, factors={"a": "lh"}))
    )
    assert alone.found == frozenset()
    assert "nothing tells effects from chance" in said(alone)


def test_what_does_not_vary_is_said() -> None:
    same = only(analyze(table({"a": "lh", "b": "xyz"}, lambda *_: 3.0, 2), TWO))
    assert "Every run gave the same value" in said(same)
    fixed = only(analyze(table({"a": "lh", "b": "xyz"}, lambda a, b, *_: float(a == "h"), 2), TWO))
    assert "nothing in these runs is drawn by chance" in said(fixed)
    nothing = only(analyze(table({"a": "l"}, lambda *_: 3.0, 2), replace(TWO, factors={"a": "lh"})))
    assert "Nothing was varied between runs" in said(nothing)
    assert analyze(same.frame.with_columns(value=pl.lit(None, pl.Float64)), TWO) == []


def test_a_latin_hypercube_is_ranked() -> None:
    rng = np.random.default_rng(6)
    rates, delays = [f"{i + 1}Mbit/s" for i in range(12)], [f"{i}ms" for i in range(12)]
    rows = [
        {"key": f"{i}{r}", "treatment": str(i), "rate": rates[i], "delay": delays[i * 7 % 12]}
        | {"replication": r, "response": "speed", "value": i + float(rng.normal(0, 0.2))}
        for i in range(12)
        for r in range(2)
    ]
    one = only(analyze(pl.DataFrame(rows), replace(TWO, factors={"rate": rates, "delay": delays})))
    assert (one.method, one.found) == ("ranks", {"rate"})
    assert one.tests["against"].to_list() == ["rank correlation +1.00", "rank correlation +0.24"]
    assert "No two treatments share a level" in said(one)
    with pytest.raises(ValueError, match="there are no effects to leave out"):
        analyze(one.frame, replace(TWO, factors={"rate": rates, "delay": delays}, keep=("rate",)))


@pytest.mark.parametrize("minus", ["", "-"])
def test_a_fraction_names_what_cannot_be_told_apart(minus: str) -> None:
    factors = [Factor(name, (Level("l"), Level("h"))) for name in "ABCD"]
    fraction = Fraction.of(factors, [f"D={minus}ABC"])
    sign = {"l": -1, "h": 1}
    rng = np.random.default_rng(7)
    rows = [
        {"key": f"{row}{r}", "treatment": str(row), **row, "replication": r, "response": "speed"}
        | {"value": 10 + 3 * sign[row["D"]] + 2 * sign[row["A"]] * sign[row["B"]] + float(rng.normal(0, 0.1))}
        for row in fraction.rows(factors)
        for r in range(3)
    ]
    asked = AnalysisRequest(
        dict.fromkeys("ABCD", "lh"), {"speed": None}, common_seeds=False, fraction=fraction
    )
    one = only(analyze(pl.DataFrame(rows), asked))
    assert one.method == "fraction"
    assert one.tests["source"].to_list()[:7] == [
        *"ABC",
        f"A:B = {minus}C:D",
        f"A:C = {minus}B:D",
        f"A:D = {minus}B:C",
        "D",
    ]
    assert one.found == {"D", f"A:B = {minus}C:D"}
    assert one.effects is not None
    at = {(row["term"], row["level"]): row["effect"] for row in one.effects.table.to_dicts()}
    assert at["D", "h"] == -at["D", "l"] == pytest.approx(3.0, abs=0.1)
    assert at[f"A:B = {minus}C:D", "h:h"] == pytest.approx(2.0, abs=0.1)
    assert "D from l to h raises it by " in said(one)
    alone = only(analyze(pl.DataFrame([row for row in rows if row["replication"] == 0]), asked))
    assert alone.tests["df"].to_list()[-2:] == [0, 7], "all seven effects have a name of at most two factors"
    assert "resolution IV" in said(one)
    assert "effects joined by = cannot be told apart" in said(one)
    broken = only(analyze(pl.DataFrame(rows[:-1]), asked))
    assert broken.method == "means"
    with pytest.raises(ValueError, match="a fraction has no effects to leave out"):
        analyze(pl.DataFrame(rows), replace(asked, keep=("A",)))


def test_a_trimmed_model_is_asked_for_by_its_effects() -> None:
    frame = table({"a": "lh", "b": "xyz"}, noisy(8), 4)
    one = only(analyze(frame, replace(TWO, keep=("a",))))
    assert one.tests["source"].to_list() == ["a", "error", "total"]
    for rows in (frame, frame[1:]):
        with pytest.raises(ValueError, match="'c' is no effect of the factors a, b"):
            analyze(rows, replace(TWO, keep=("c",)))


def test_a_trimmed_model_of_a_design_that_is_not_balanced() -> None:
    frame = table({"a": "lh", "b": "xyz"}, noisy(8), 4)[1:]
    one = only(analyze(frame, replace(TWO, keep=("b",))))
    assert (one.method, one.tests["source"].to_list()) == ("unbalanced", ["b", "error"])
    with pytest.raises(ValueError, match="a:b can only be looked at beside b"):
        analyze(frame, replace(TWO, keep=("a", "a:b")))
    split = table({"a": "lh", "b": "xyz"}, noisy(3), 4, ["r", "f"])[2:]
    apart = analyze(split, replace(TWO, keep=("a",)))
    assert [one.tests["source"].to_list() for one in apart] == [["a", "error"]] * 2
    with pytest.raises(ValueError, match="'a:load' cannot be looked at: Values are missing"):
        analyze(split, replace(TWO, keep=("a:load",)))


def test_best_and_worst_level_have_the_interval_of_all_pairs() -> None:
    rng = np.random.default_rng(15)
    names = [str(i) for i in range(10)]
    asked = AnalysisRequest({"a": names}, {"speed": None}, common_seeds=False)
    wrong = 0
    for _ in range(12):  # no level does anything
        frame = table({"a": names}, lambda *_: 9 + float(rng.normal()), 4)
        one = only(analyze(frame, asked))
        difference, half = said(one).split("a difference of ")[1].split(". ")[0].split(" ± ")
        wrong += float(difference) > float(half)
    assert wrong <= 2, "of 12 at 95 %; the interval of a pair chosen beforehand fails in more than half"
    assert one.strata is not None
    pairs = tukey_of(one.strata, "a")
    assert float(half) == pytest.approx((pairs["high"] - pairs["low"])[0] / 2, abs=0.05)
    sure = said(only(analyze(frame, replace(asked, level=0.8))))
    assert float(sure.split("a difference of ")[1].split(" ± ")[1].split(". ")[0]) < 0.85 * float(half)


def test_the_mean_of_all_has_an_interval_only_where_replications_are_of_the_same() -> None:
    frame = table({"a": "lh"}, lambda a, r, *_: 100.0 * (a == "h") + r, 4)
    asked = AnalysisRequest({"a": "lh"}, {"speed": None}, common_seeds=False)
    whole = only(analyze(frame, asked)).mean
    assert (whole.mean, whole.low) == (51.5, pytest.approx(mean_interval([50, 51, 52, 53]).low))
    lost = only(analyze(frame[1:], asked))
    assert (lost.mean.mean, lost.mean.half_width) == (pytest.approx(58.0, abs=2.0), math.inf)
    assert "± " not in analysis.what_mattered(lost)[0]
    looked = only(analyze(frame, replace(asked, looked_at="speed"))).mean
    assert looked.high == sequential_interval([50, 51, 52, 53]).high


def test_parts_of_a_run_stand_side_by_side() -> None:
    rng = np.random.default_rng(16)
    run = {(a, r): float(rng.normal(0, 5)) for a in "lh" for r in range(6)}
    frame = table(
        {"a": "lh"},
        lambda a, r, load: run[a, r] + (load == "r") + float(rng.normal(0, 0.01)),
        6,
        ["r", "f"],
    )
    asked = AnalysisRequest({"a": "lh"}, {"speed": None}, common_seeds=False)
    in_order = only(analyze(frame, asked))
    mixed = only(analyze(frame.sample(fraction=1.0, shuffle=True, seed=3), asked))
    for source in ("load", "error within runs"):
        squares = [
            one.tests.row(by_predicate=pl.col("source") == source, named=True)["sum_of_squares"]
            for one in (in_order, mixed)
        ]
        assert squares[0] == pytest.approx(squares[1])
    # as many of each group, but not of the same runs
    odd = frame.filter(
        (pl.col("load") != "r") | (pl.col("replication") != 0),
        (pl.col("load") != "f") | (pl.col("replication") != 1),
    )
    assert {one.name for one in analyze(odd, asked)} == {"speed, load r", "speed, load f"}


def test_a_design_that_leaves_combinations_out_is_not_told_that_values_are_missing() -> None:
    split = table({"a": "lh", "b": "xyz"}, noisy(3), 4, ["r", "f"])
    part = split.filter((pl.col("a") != "l") | (pl.col("b") != "z"))
    planned = analyze(part, replace(TWO, treatments=5))
    assert all(
        "Not every combination of levels is in the design, so that each load" in said(one) for one in planned
    )
    assert all("Values are missing" not in said(one) for one in planned)
    assert "Values are missing, so that each load" in said(analyze(part, TWO)[0])
    assert "Values are missing, so that each load" in said(analyze(part[2:], replace(TWO, treatments=5))[0])


def test_nothing_to_explain_is_said_of_what_is_not_balanced(recwarn: pytest.WarningsRecorder) -> None:
    same = only(analyze(table({"a": "lh", "b": "xyz"}, lambda *_: 0.1, 3)[1:], TWO))
    assert "Every run gave the same value" in said(same)
    assert same.tests.is_empty()
    assert not recwarn.list


def test_means_that_were_looked_at_have_intervals_that_hold_at_every_look() -> None:
    frame = table({"a": "lh", "b": "xyz"}, noisy(9), 6)
    looked, plain = (only(analyze(frame, replace(TWO, looked_at=name))) for name in ("speed", None))
    own = frame.filter(a="h", b="z")["value"].to_numpy()
    for one, interval in ((looked, sequential_interval(own)), (plain, mean_interval(own))):
        row = one.means.row(by_predicate=(pl.col("a") == "h") & (pl.col("b") == "z"), named=True)
        assert [row["mean"], row["low"], row["high"]] == [interval.mean, interval.low, interval.high]
    assert looked.tests.equals(plain.tests)


def test_numbers_are_said_in_readable_units() -> None:
    rate, time = Scale.of("bit/s", 9.1e5), Scale.of("s", 0.02)
    assert rate.value(904_712.0, 4_810.0) == "904.7 ± 4.8 kbit/s"
    assert time.value(0.0251, 0.0013) == "25.1 ± 1.3 ms"
    assert Scale.of(None, 3.0).value(3.14159) == "3.142"
    assert Scale.of("p", 30.0).value(30.0, 0.0) == "30 ± 0 p"


def test_a_group_without_any_value_is_no_level() -> None:
    numbers = noisy(9)
    frame = table(
        {"a": "lh", "b": "xyz"}, lambda *one: numbers(*one) if one[-1] == "web" else None, 4, ("web", "bulk")
    )
    one = only(analyze(frame, TWO))
    assert (one.method, one.within, one.of) == ("factorial", (), {"load": "web"})
    assert "24 of 48 values do not exist and are left out." in one.remarks
    single = frame.with_columns(value=pl.when(pl.int_range(pl.len()) == 0).then(None).otherwise(pl.lit(1.0)))
    (remark,) = (text for text in only(analyze(single, TWO)).remarks if "left out" in text)
    assert remark == "1 of 48 values does not exist and is left out."


def test_a_group_without_any_value_has_no_analysis_of_its_own() -> None:
    frame = table({"a": "lh", "b": "xyz"}, noisy(3), 4, ["r", "f", "g"])
    lacking = frame.with_columns(pl.when(pl.col("load") != "g").then("value"))
    found = analyze(lacking, replace(TWO, apart=True))
    assert [one.name for one in found] == ["speed, load r", "speed, load f"]


def test_where_no_replication_has_every_treatment_there_are_means_and_no_effects() -> None:
    frame = table({"a": "lh"}, lambda a, number, _: number + (a == "h"), 4)
    own = frame.filter((pl.col("a") == "l") == (pl.col("replication") < 2))
    one = only(analyze(own, replace(TWO, factors={"a": "lh"}, each=True)))
    assert (len(one.means), one.tests.height) == (2, 0)
    assert "No replication has a value in every treatment" in said(one)


def test_a_response_without_any_value_is_told() -> None:
    none = table({"a": "lh", "b": "xyz"}, lambda *_: None, 2, response="none")
    frame = pl.concat([table({"a": "lh", "b": "xyz"}, noisy(9), 2), none], how="vertical_relaxed")
    (told,) = without_values(frame, ["speed", "none"])
    assert told.startswith("`none` has no value in any of 12 runs: ")
    assert without_values(frame.clear(), ["speed"]) == []
    # a response by groups of which no run has one has no row
    runs = frame.select("key", state=pl.lit("done"))
    (told,) = without_values(frame.clear(), ["speed"], runs)
    assert told.startswith("`speed` has no value in any of 12 runs: ")
    assert without_values(frame.clear(), ["speed"], runs.with_columns(state=pl.lit("failed"))) == []
