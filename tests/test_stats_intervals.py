"""Means and Student t intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perhop.stats.intervals import mean_interval, prediction_interval
from perhop.stats.jackknife import UndefinedRatioError, ratio_of_sums


def test_worked_example() -> None:
    # t(0.975; 9) = 2.262157; mean 5.5, s = 3.02765
    found = mean_interval(range(1, 11))
    assert found.mean == 5.5
    assert found.n == 10
    assert found.half_width == pytest.approx(2.262157 * 3.0276504 / math.sqrt(10), rel=1e-6)
    assert found.high - 5.5 == pytest.approx(5.5 - found.low)


def test_level() -> None:
    # t(0.95; 3) = 2.353363
    found = mean_interval([1.0, 2.0, 3.0, 4.0], level=0.90)
    assert found.half_width == pytest.approx(2.353363 * math.sqrt(5 / 3) / 2, rel=1e-6)


def test_equal_values_give_a_point() -> None:
    found = mean_interval([0.25] * 10)
    assert (found.low, found.mean, found.high) == (0.25, 0.25, 0.25)


def test_one_value_gives_no_bounds() -> None:
    found = mean_interval([3.0])
    assert (found.mean, found.low, found.high, found.n) == (3.0, -math.inf, math.inf, 1)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf, 0.0]])
def test_refused_values(values: list[float]) -> None:
    with pytest.raises(ValueError, match="an interval needs"):
        mean_interval(values)


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_refused_level(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        mean_interval([1.0, 2.0], level)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.floats(-1e3, 1e3))
def test_shifting_the_values_shifts_the_interval(values: list[float], shift: float) -> None:
    plain, shifted = mean_interval(values), mean_interval(np.array(values) + shift)
    assert shifted.mean == pytest.approx(plain.mean + shift, abs=1e-6)
    assert shifted.half_width == pytest.approx(plain.half_width, abs=1e-4)


def test_a_prediction_is_wider_by_the_spread_of_one_value() -> None:
    values = range(1, 11)
    mean, one = mean_interval(values), prediction_interval(values)
    assert one.mean == mean.mean
    assert one.half_width == pytest.approx(mean.half_width * math.sqrt(11))
    assert math.isinf(prediction_interval([1.0]).high)


def test_a_ratio_of_sums_is_less_biased_than_the_mean_of_ratios() -> None:
    rng = np.random.default_rng(11)
    sums, means, covered = [], [], 0
    for _ in range(400):
        over, under = rng.exponential(1.0, 20) + 0.2, rng.exponential(1.0, 20) + 0.2
        found = ratio_of_sums(over, under)
        sums.append(found.mean)
        means.append(float(np.mean(over / under)))
        covered += found.low <= 1.0 <= found.high
    assert abs(np.mean(sums) - 1.0) < 0.03
    assert np.mean(means) > 1.3
    assert covered >= 360


def test_a_ratio_of_sums_of_constants_is_a_point() -> None:
    found = ratio_of_sums([3.0] * 5, [2.0] * 5)
    assert (found.mean, found.low, found.high, found.n) == pytest.approx((1.5, 1.5, 1.5, 5))
    assert math.isinf(ratio_of_sums([3.0, 3.0], [2.0, 2.0]).high)


@pytest.mark.parametrize("under", [[0.0] * 5, [0.0, 0.0, 0.0, 0.0, 1.0], [1.0, -1.0, 0.0]])
def test_a_ratio_over_nothing_is_undefined(under: list[float]) -> None:
    with pytest.raises(UndefinedRatioError, match=r"the denominator is 0 in \d of \d replications"):
        ratio_of_sums([1.0] * len(under), under)


@pytest.mark.parametrize(("over", "under"), [([1.0], [1.0, 2.0]), ([], []), ([math.inf] * 3, [1.0] * 3)])
def test_a_ratio_of_what_is_no_pair_is_refused(over: list[float], under: list[float]) -> None:
    with pytest.raises(ValueError, match="ratio_of_sums"):
        ratio_of_sums(over, under)
