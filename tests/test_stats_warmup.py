"""Where a transient ends: MSER-5 by hand, by its definition, and on series whose transient is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perhop.stats.warmup import LEAST_BATCHES, Truncation, mser


def test_worked_example() -> None:
    # batch means 9, 5, and 38 times 1 or -1 by turns; sum of squared deviations over (40 - d)^2:
    # d = 0: (81 + 25 + 38 - 14^2/40)/1600 = 0.0869, d = 1: (25 + 38 - 5^2/39)/1521 = 0.0410,
    # d = 2: 38/1444 = 0.0263, d = 3: (37 - 1/37)/1369 = 0.0270, d = 4: 36/1296 = 0.0278, then more
    means = np.array([9.0, 5.0, *[1.0, -1.0] * 19])
    within = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])  # what a batch has inside does not matter
    series = (means[:, None] + within).ravel()
    assert mser(series) == Truncation(10, settled=True)
    assert mser([*series, 1e9, 1e9]) == Truncation(10, settled=True), "they fill no batch"
    assert mser(means, batch=1) == Truncation(2, settled=True)


def test_too_little_is_not_judged() -> None:
    assert mser(np.zeros(5 * LEAST_BATCHES - 1)) is None
    assert mser(np.zeros(5 * LEAST_BATCHES)) == Truncation(0, settled=True)
    assert mser([]) is None


@given(st.lists(st.floats(-1e3, 1e3), min_size=100, max_size=200), st.integers(1, 5))
def test_equals_the_definition(series: list[float], batch: int) -> None:
    found = mser(series, batch)
    assert found is not None
    n = len(series) // batch
    means = np.array(series[: n * batch]).reshape(n, batch).mean(axis=1)
    error = np.array([np.sum((means[d:] - means[d:].mean()) ** 2) / (n - d) ** 2 for d in range(n // 2 + 1)])
    assert error[found.values // batch] <= error.min() + 1e-6 * max(1.0, float(np.ptp(means)) ** 2)
    assert found.settled == (found.values < n // 2 * batch)


def _autoregressive(seed: int, n: int = 1000) -> npt.NDArray[np.float64]:
    noise = np.random.default_rng(seed).standard_normal(n)
    values = np.zeros(n)
    for i in range(1, n):
        values[i] = 0.5 * values[i - 1] + noise[i]
    return values


def test_finds_the_end_of_a_ramp() -> None:
    # from -10 to 0 in 200 of 1000 values; the noise has a standard deviation of 1.15
    ramp = -10 * np.clip(1 - np.arange(1000) / 200, 0, None)
    unsettled = 0
    for seed in range(100):
        series = _autoregressive(seed) + ramp
        found = mser(series)
        assert found is not None
        unsettled += not found.settled
        if found.settled:
            assert 150 <= found.values <= 300, seed
            # what is left of the bias is far below the 1.0 of the whole series
            assert abs(series[found.values :].mean()) < 0.3, seed
    assert unsettled == 0


def test_nothing_settles_on_a_ramp_without_end() -> None:
    for seed in range(20):
        found = mser(_autoregressive(seed) + np.arange(1000) / 20)
        assert found is not None
        assert not found.settled, seed


def test_a_steady_series_is_left_whole_or_cut_early() -> None:
    # what is said of chance in decision 0024: of short series 3 % seem not to settle, of long ones hardly any
    for n, most in ((100, 0.06), (200, 0.02), (1000, 0.0)):
        found = [mser(_autoregressive(seed, n)) for seed in range(200)]
        cuts = np.array([one.values for one in found if one is not None])
        assert len(cuts) == 200
        assert np.median(cuts) <= 10
        assert np.mean([one is not None and not one.settled for one in found]) <= most, n


def test_refuses_what_is_no_series() -> None:
    with pytest.raises(ValueError, match="finite"):
        mser([0.0] * 99 + [float("nan")])
    with pytest.raises(ValueError, match="at least one value"):
        mser([0.0] * 100, batch=0)
