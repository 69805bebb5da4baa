"""Contrasts, Tukey, residuals, power, pairs, equivalence, discoveries, unbalanced designs."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from perhop.stats.contrasts import contrast, tukey, tukey_of
from perhop.stats.discovery import benjamini_hochberg, benjamini_yekutieli
from perhop.stats.effects import error_variance_behind
from perhop.stats.intervals import mean_interval
from perhop.stats.layout import cube
from perhop.stats.paired import paired_difference, tost, tost_share
from perhop.stats.power import detectable, power, replications_for_half_width, replications_needed
from perhop.stats.ranks import rank_correlation
from perhop.stats.residuals import assumptions, furthest, normal_qq, residuals
from perhop.stats.strata import Strata, Stratum, strata
from perhop.stats.unbalanced import NotEstimableError, unbalanced

RNG = np.random.default_rng


def sample(seed: int, a: str = "pqr", b: str = "xy", c: str = "123", r: int = 4) -> pl.DataFrame:
    rng = RNG(seed)
    rows = [
        {"a": i, "b": j, "c": k, "replication": m, "value": float(rng.normal(5.0, 1.0))}
        for i, j, k, m in product(a, b, c, range(r))
    ]
    return pl.DataFrame(rows).sample(fraction=1.0, shuffle=True, seed=seed)


def shared(frame: pl.DataFrame, **more: Any) -> Strata:
    block = "replication" if more.get("block") else None
    return strata(cube(frame, ["a", "b", "c"], "value", block), **more)


def pandas(frame: pl.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(frame.to_dict(as_series=False))


def test_a_contrast_by_hand() -> None:
    # Jain 1991, section 20.1: code size on R and V: -13.27 - (-24.47) = 11.2, s_e = 88.7
    values = {"R": [144, 120, 176, 288, 144], "V": [101, 144, 211, 288, 72], "Z": [130, 180, 141, 374, 302]}
    frame = pl.DataFrame([{"p": name, "value": float(x)} for name, xs in values.items() for x in xs])
    parts = strata(cube(frame, ["p"]))
    found = contrast(parts, [({"p": "R"}, 1.0), ({"p": "V"}, -1.0)], level=0.90)
    assert found.value == pytest.approx(11.2)
    assert found.standard_error == pytest.approx(math.sqrt(94365.2 / 12 * 2 / 5))
    assert found.high == pytest.approx(11.2 + 1.782288 * found.standard_error, rel=1e-6)


def test_contrasts_are_those_of_statsmodels() -> None:
    from statsmodels.formula.api import ols

    frame = sample(1)
    fit = ols("value ~ C(a, Sum) * C(b, Sum) + C(c, Sum)", pandas(frame)).fit()
    found = contrast(
        shared(frame, keep=["a", "b", "c", "a:b"]),
        [({"a": "p", "b": "x"}, 1.0), ({"b": "y", "a": "p"}, -1.0)],
        level=0.95,
    )
    names = list(fit.params.index)
    row = np.zeros(len(names))
    # p, x less p, y: 2 b_x + 2 (ab)_px
    row[names.index("C(b, Sum)[S.x]")] = row[names.index("C(a, Sum)[S.p]:C(b, Sum)[S.x]")] = 2.0
    theirs = fit.t_test(row)
    assert [found.value, found.standard_error, found.p, found.df] == pytest.approx(
        [theirs.effect.item(), theirs.sd.item(), float(theirs.pvalue), fit.df_resid], rel=1e-9
    )
    assert [found.low, found.high] == pytest.approx(theirs.conf_int().ravel().tolist(), rel=1e-9)


def test_contrasts_of_a_split_plot() -> None:
    frame = sample(2)
    parts = shared(frame, within=["c"], block=True)
    assert parts.within is not None
    between, within = parts.between.mean_square, parts.within.mean_square
    # two treatments of runs, all that is measured in them averaged: the run is the unit
    runs = frame.group_by("a", "b", "replication").agg(pl.col("value").mean())
    same = contrast(strata(cube(runs, ["a", "b"])), [({"a": "p"}, 1), ({"a": "q"}, -1)])
    found = contrast(parts, [({"a": "p"}, 1), ({"a": "q"}, -1)])
    assert found.value == pytest.approx(same.value)
    assert found.standard_error == pytest.approx(math.sqrt(between * 2 / 24))
    # inside of a run only its own error counts
    inner = contrast(parts, [({"a": "p", "b": "x", "c": "1"}, 1), ({"a": "p", "b": "x", "c": "2"}, -1)])
    assert (inner.df, inner.standard_error) == pytest.approx((parts.within.df, math.sqrt(within * 2 / 4)))
    # across runs at one level of what is inside, both do: (MS1 + (3 - 1) MS2) / 3 of one observation
    both = contrast(parts, [({"a": "p", "b": "x", "c": "1"}, 1), ({"a": "q", "b": "x", "c": "1"}, -1)])
    one, two = between / 3 * 2 / 4, within * 2 / 3 * 2 / 4
    assert both.standard_error == pytest.approx(math.sqrt(one + two))
    assert both.df == pytest.approx((one + two) ** 2 / (one**2 / parts.between.df + two**2 / parts.within.df))
    with pytest.raises(ValueError, match="add up to zero"):
        contrast(parts, [({"a": "p"}, 1)])
    with pytest.raises(ValueError, match="no level 'z'; known here: "):
        contrast(parts, [({"a": "z"}, 1), ({"a": "p"}, -1)])


def test_split_plot_contrasts_cover() -> None:
    rng, covered = RNG(12), 0
    for _ in range(300):
        frame = pl.DataFrame(
            [
                {"a": i, "c": k, "replication": m, "value": block + run + float(rng.normal(0, 0.5))}
                for m, block in enumerate(rng.normal(0, 3, 4))
                for i, run in zip("pq", rng.normal(0, 1, 2), strict=True)
                for k in "12"
            ]
        )
        parts = strata(cube(frame, ["a", "c"], "value", "replication"), within=["c"], block=True)
        found = contrast(parts, [({"a": "p", "c": "1"}, 1), ({"a": "q", "c": "1"}, -1)], level=0.9)
        covered += found.low <= 0.0 <= found.high
    assert 255 <= covered <= 285, "0.90 of 300 is 270, with a standard deviation of 5.2"


def test_tukey_is_that_of_statsmodels() -> None:
    from statsmodels.stats.multicomp import pairwise_tukeyhsd

    frame = sample(3).sort("a", "replication")[:-3]
    theirs = pairwise_tukeyhsd(frame["value"].to_numpy(), frame["a"].to_numpy(), alpha=0.05, use_var="equal")
    groups = {name: frame.filter(a=name)["value"].to_numpy() for name in "pqr"}
    error = Stratum(len(frame) - 3, sum(float(np.sum((x - x.mean()) ** 2)) for x in groups.values()))
    found = tukey({name: x.mean() for name, x in groups.items()}, [len(x) for x in groups.values()], error)
    assert found["difference"].to_list() == pytest.approx(theirs.meandiffs.tolist(), rel=1e-9)
    assert found["p"].to_list() == pytest.approx(np.asarray(theirs.pvalues).tolist(), rel=1e-9)
    assert found.select("low", "high").to_numpy().ravel().tolist() == pytest.approx(
        theirs.confint.ravel().tolist(), rel=1e-9
    )
    whole = tukey_of(strata(cube(sample(3).sort("a"), ["a"])), "a")
    assert whole["p"].to_list() == pytest.approx(
        pairwise_tukeyhsd(sample(3)["value"].to_numpy(), sample(3)["a"].to_numpy()).pvalues.tolist(), rel=1e-9
    )
    with pytest.raises(ValueError, match="leaves no error"):
        tukey_of(shared(sample(3, r=1)), "a")


def test_residuals_are_those_of_statsmodels() -> None:
    from statsmodels.formula.api import ols

    frame = sample(4)
    fit = ols("value ~ C(a) * C(b) + C(c) + C(replication)", pandas(frame)).fit()
    found = residuals(frame, shared(frame, keep=["a", "b", "c", "a:b"], block=True))
    assert found["predicted"].to_list() == pytest.approx(fit.fittedvalues.to_list(), rel=1e-9)
    assert found["residual"].to_list() == pytest.approx(fit.resid.to_list(), abs=1e-9)
    studentized = fit.get_influence().resid_studentized_external
    assert found["studentized"].to_list() == pytest.approx(studentized.tolist(), rel=1e-9)


def test_a_rank_correlation_is_that_of_scipy() -> None:
    from scipy.stats import spearmanr

    x, y = RNG(3).integers(0, 6, 30), RNG(4).normal(size=30)
    theirs = spearmanr(x, y)
    assert rank_correlation(x, y) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)
    assert rank_correlation([1, 2, 3, 4], [1, 4, 9, 16]) == (pytest.approx(1.0), 0.0)
    assert math.isnan(rank_correlation([1, 1, 1], [1, 2, 3]).p)


def test_a_normal_qq_by_hand() -> None:
    # positions 0.625/4.25, 1.625/4.25 and their mirror images: -1.049131, -0.299307, 0.299307, 1.049131
    found = normal_qq([3.0, -1.0, 100.0, 1.0, -3.0], leave_out=[2])
    assert found.theoretical.tolist() == pytest.approx([-1.049131, -0.299307, 0.299307, 1.049131], abs=1e-6)
    assert found.ordered.tolist() == [-3, -1, 1, 3]
    top, bottom = 2 * (3 * 1.049131 + 0.299307), math.sqrt(20 * 2 * (1.049131**2 + 0.299307**2))
    assert found.correlation == pytest.approx(top / bottom, abs=1e-6)
    assert found.left_out.tolist() == [100.0]
    assert furthest([3.0, -5.0, 1.0], 2) == [1, 0]
    with pytest.raises(ValueError, match="at least four values"):
        normal_qq([1.0, 2.0, 3.0])


@pytest.mark.parametrize("n", [10, 50, 243])
def test_one_in_a_hundred_normal_samples_is_below_the_critical_correlation(n: int) -> None:
    rng = RNG(n)
    found = [normal_qq(rng.normal(size=n)) for _ in range(4000)]
    below = sum(one.correlation < one.critical for one in found)
    assert 15 <= below <= 75, "40 are expected"


def checks(frame: pl.DataFrame) -> dict[str, tuple[bool | None, str]]:
    parts = strata(cube(frame, ["a", "b", "c"]))
    found = assumptions(residuals(frame, parts), parts.between.df, ["a", "b", "c", "replication"])
    return {one.name: (one.holds, one.sentence) for one in found}


def test_assumptions_are_judged_in_words() -> None:
    good = checks(sample(5, r=6))
    assert [holds for holds, _ in good.values()] == [True, True, True], good
    odd = sample(5, r=6).with_row_index()
    place = odd["index"] == 17
    told = checks(odd.with_columns(pl.when(place).then(50.0).otherwise("value").alias("value")))
    row = odd.row(17, named=True)
    assert told["outliers"][0] is False
    assert (
        f"a {row['a']} b {row['b']} c {row['c']} replication {row['replication']} (+" in told["outliers"][1]
    )
    level = pl.col("a").replace_strict({"p": 0.0, "q": 10.0, "r": 40.0})
    grows = checks(sample(5, r=6).with_columns((level + pl.col("value") * (1 + level)).alias("value")))
    assert grows["spread"][0] is False
    assert "spread of the residuals grows with the predicted value" in grows["spread"][1]
    assert checks(sample(5, r=6).with_columns(value=pl.lit(3.0)))["residuals"][0] is None


def test_a_response_that_hardly_varies_has_no_absurd_outliers() -> None:
    steady = sample(5, r=6).with_columns(value=5.0 + 1e-10 * pl.col("value"))
    assert checks(steady) == {"residuals": (None, "The residuals cannot be judged: nothing is left over.")}
    one = sample(5, r=6).with_row_index().with_columns(value=40.0 - (pl.col("index") == 17))
    holds, said = checks(one)["outliers"]
    assert holds is False
    assert "(beyond -100: hardly any other run differs)" in said


@pytest.mark.parametrize(("levels", "each", "difference"), [(3, 5, 1.0), (2, 12, 0.5), (4, 81, 0.1)])
def test_power_is_that_of_statsmodels(levels: int, each: int, difference: float) -> None:
    from statsmodels.stats.power import FTestAnovaPower

    variance = 0.7
    # two means half a difference below and above the others: f^2 = 2 (difference/2)^2 / levels / variance
    size = math.sqrt(difference**2 / 2 / levels / variance)
    theirs = FTestAnovaPower().power(size, levels * each, 0.05, k_groups=levels)
    assert power(difference, variance, levels, each, levels * (each - 1)) == pytest.approx(theirs, rel=1e-9)


def test_replications_are_the_fewest_that_do() -> None:
    found = replications_needed(1.0, 2.0, 3, 9)
    assert found is not None

    def reached(r: int) -> float:
        return power(1.0, 2.0, 3, 3 * r, 9 * (r - 1))

    assert reached(found) >= 0.8 > reached(found - 1)
    assert replications_needed(1e-9, 2.0, 3, 9, most=500) is None
    assert power(detectable(2.0, 3, 30, 81), 2.0, 3, 30, 81) == pytest.approx(0.8)
    assert math.isnan(detectable(2.0, 3, 1, 0))
    half = replications_for_half_width(0.2, 2.0, 2, 8)
    # t(0.975; 8 (r-1)) sqrt(2 / (8 r)) <= 0.2: r = 24 gives 1.9732 * 0.10206 = 0.2014, r = 25 gives 0.1973
    assert half == 25
    assert replications_for_half_width(0.2, 0.0, 2, 8) == 2


def test_a_paired_comparison_by_hand() -> None:
    # differences 1, 2, 3: mean 2, s = 1, t = 2 sqrt(3), p of two sides with 2 degrees of freedom 0.074180
    found = paired_difference([10.0, 20.0, 30.0], [11.0, 22.0, 33.0])
    assert found.difference == mean_interval([1.0, 2.0, 3.0])
    assert found.p == pytest.approx(0.0741799, abs=1e-6)
    assert found.correlation == pytest.approx(1.0)
    assert found.saved == pytest.approx(100.0 + 121.0)
    same = paired_difference([1.0, 2.0], [1.0, 2.0])
    assert (same.difference.mean, same.p) == (0.0, 1.0)
    with pytest.raises(ValueError, match="no pairs"):
        paired_difference([1.0], [1.0, 2.0])


def test_equivalence_is_that_of_statsmodels() -> None:
    from statsmodels.stats.weightstats import ttost_paired

    rng = RNG(9)
    x, y = rng.normal(5, 1, 12), rng.normal(5.2, 1, 12)
    p, low, high = ttost_paired(x, y, -0.9, 0.8)
    found = tost(x - y, -0.9, 0.8)
    assert [found.p, found.p_low, found.p_high] == pytest.approx([p, low[1], high[1]], rel=1e-9)
    for bound in (0.3, 3.0):
        same = tost(x - y, -bound, bound)
        assert same.equivalent == (-bound < same.mean.low and same.mean.high < bound)
    assert tost([1.0, 1.0], 0.0, 2.0).equivalent
    with pytest.raises(ValueError, match="must lie below"):
        tost([1.0, 2.0], 1.0, -1.0)


def test_discoveries_are_those_of_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    p = RNG(10).uniform(size=40) ** 3
    for ours, theirs in ((benjamini_hochberg, "fdr_bh"), (benjamini_yekutieli, "fdr_by")):
        assert ours(p).tolist() == pytest.approx(multipletests(p, method=theirs)[1].tolist(), rel=1e-12)
    assert benjamini_hochberg([]).size == 0
    # 0.01 3/1, 0.02 3/2 and 0.9: NaN is no test
    assert benjamini_hochberg([0.02, math.nan, 0.9, 0.01])[[0, 2, 3]].tolist() == pytest.approx(
        [0.03, 0.9, 0.03]
    )
    with pytest.raises(ValueError, match="inside"):
        benjamini_hochberg([1.1])


def test_an_unbalanced_design_is_that_of_statsmodels() -> None:
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    frame = sample(11)[:-7]
    theirs = anova_lm(ols("value ~ (C(a) + C(b) + C(c))**2 + C(replication)", pandas(frame)).fit(), typ=2)
    found = unbalanced(frame, ["a", "b", "c"], block="replication")
    for name, label in (("a", "C(a)"), ("b:c", "C(b):C(c)"), ("blocks", "C(replication)")):
        row = found.row(by_predicate=pl.col("source") == name, named=True)
        assert [row["sum_of_squares"], row["f"], row["p"]] == pytest.approx(
            theirs.loc[label, ["sum_sq", "F", "PR(>F)"]].to_list(), rel=1e-9
        )
    assert found["df"].to_list()[-1] == theirs.loc["Residual", "df"]
    assert found["sum_of_squares"].to_list()[-1] == pytest.approx(theirs.loc["Residual", "sum_sq"], rel=1e-9)
    with pytest.raises(
        NotEstimableError, match="observations do not tell apart the effects a, b, c, a:b, a:c, b:c"
    ):
        unbalanced(frame.filter((pl.col("a") != "p") | (pl.col("b") != "x")), ["a", "b", "c"])


def test_replications_are_not_taken_for_a_factor() -> None:
    frame = pl.DataFrame({"blocks": ["p", "q"] * 4, "replication": [0, 0, 1, 1] * 2, "value": range(8)})
    with pytest.raises(ValueError, match="a factor called blocks"):
        unbalanced(frame, ["blocks"], block="replication")
    assert unbalanced(frame, ["blocks"])["source"].to_list() == ["blocks", "error"]


def test_the_error_behind_a_printed_interval() -> None:
    # half = 1.644854 sqrt(v 2/243): v = (0.0048/1.644854)^2 243/2
    assert error_variance_behind(0.0048, 2 / 243) == pytest.approx((0.0048 / 1.644854) ** 2 * 121.5, rel=1e-6)


def test_a_share_of_what_was_measured_is_as_unsure_as_that() -> None:
    # by hand: y - 0.9 x = 1.1, 1.9, 3.1 and y - 1.1 x = -0.9, -2.1, -2.9, two degrees of freedom
    x, y = np.array([10.0, 20.0, 30.0]), np.array([10.1, 19.9, 30.1])
    found = tost_share(x, y, 0.1)
    assert found.mean.mean == pytest.approx(0.1 / 3)
    for p, values in ((found.p_low, [1.1, 1.9, 3.1]), (found.p_high, [0.9, 2.1, 2.9])):
        t = np.mean(values) / (np.std(values, ddof=1) / math.sqrt(3))
        assert p == pytest.approx(0.5 * (1.0 - t / math.sqrt(2.0 + t * t))), "Student's t of two degrees"
    assert tost_share(-x, -y, 0.1) == replace(found, mean=tost_share(-x, -y, 0.1).mean)
    with pytest.raises(ValueError, match="above zero"):
        tost_share(x, y, 0.0)


def test_equal_constants_are_the_same_but_for_a_share_of_0() -> None:
    zeros, ones = np.zeros(5), np.ones(5)
    assert tost(zeros - zeros, -1e-9, 1e-9).equivalent
    assert tost(ones - ones, -1e-9, 1e-9).equivalent
    assert tost_share(ones, ones, 1e-9).equivalent
    assert not tost_share(zeros, zeros, 0.5).equivalent


def test_equivalence_within_a_share_errs_as_seldom_as_it_says() -> None:
    # true ratio at the bound: 1.05; the first arm varies by a fifth, what a margin taken for known leaves out
    rng = RNG(5)
    called = 0
    for _ in range(4000):
        x = rng.normal(1.0, 0.2, 8)
        called += tost_share(x, 1.05 * rng.normal(1.0, 0.02, 8), 0.05).equivalent
        called += tost_share(x, 1.05 * x + rng.normal(0.0, 0.01, 8), 0.05).equivalent
    assert called / 8000 <= 0.055
