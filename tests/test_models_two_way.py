"""Closed forms of two-way TCP against the numbers the paper and its errata give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perhop.models import two_way
from perhop.models.two_way import Form, TwoWay

BASE = TwoWay(
    fast_rate=5e6,
    slow_rate=1e5,
    fast_packet=1500,
    slow_packet=1500,
    ack=28,
    fast_window=65536,
    slow_window=65536,
)
FIG_5_4 = replace(BASE, slow_packet=256)
FIG_5_6 = replace(BASE, slow_packet=256, fast_packet=512)


def test_parameters_of_the_base_case() -> None:
    assert BASE.n_i == BASE.n_j == 43
    assert BASE.alpha == pytest.approx(50)
    assert BASE.beta == pytest.approx(1500 / 28)
    assert BASE.t_i_d == pytest.approx(0.12)
    assert BASE.t_i_a == pytest.approx(0.00224)
    assert BASE.t_j_d == pytest.approx(0.0024)
    assert BASE.t_j_a == pytest.approx(0.0000448)


def test_fifo() -> None:
    bounded = two_way.fifo(BASE)
    assert bounded.slow == pytest.approx(0.982, abs=5e-4)
    assert bounded.fast == pytest.approx(0.0196, abs=5e-5)
    printed = two_way.fifo(BASE, "printed")
    assert printed.slow == 1.0
    assert printed.fast == pytest.approx(0.02)


@pytest.mark.parametrize(("fast_window", "delay"), [(65536, 0.0), (3000, 4.0), (1500, 6.0), (3_500_000, 0.2)])
def test_theorem_1_is_its_three_branches(fast_window: float, delay: float) -> None:
    p = replace(BASE, fast_window=fast_window, delay=delay)
    x, y = p.n_i * p.t_i_d, p.n_j * p.t_j_d
    expected = 1.0 if x > y + delay else 2 * x / (x + y + delay) if x >= y - delay else x / y
    assert two_way.fifo(p, "printed").slow == pytest.approx(expected)


def test_theorem_2() -> None:
    queues = two_way.max_queue(BASE)
    assert queues.slow == 43
    assert queues.fast == 43
    assert two_way.max_queue(replace(BASE, delay=1.2)).slow == pytest.approx(33)
    middle = two_way.max_queue(replace(BASE, delay=5.1))
    assert middle.slow == pytest.approx((5.16 + 0.1032 - 5.1) / 0.12)


def test_condition_2_1() -> None:
    assert two_way.ack_compression(BASE)
    assert not two_way.ack_compression(replace(BASE, delay=10))


@pytest.mark.parametrize(
    ("ack", "form", "slow", "fast"),
    [
        (15, "printed", 0.50, 0.925),
        (15, "bounded", 0.538, 0.925),
        (28, "printed", 0.067, 0.989),
        (28, "bounded", 0.077, 0.989),
        (40, "printed", 0.0, 0.75),
        (40, "bounded", 0.0, 0.75),
    ],
)
def test_ack_priority(ack: int, form: Form, slow: float, fast: float) -> None:
    found = two_way.ack_priority(replace(BASE, ack=ack), form)
    assert found.slow == pytest.approx(slow, abs=5e-4)
    assert found.fast == pytest.approx(fast, abs=5e-4)


def test_steps_of_the_priority_analysis() -> None:
    p = replace(BASE, ack=15)
    assert two_way.acks_behind_data(p) == 43
    assert two_way.acks_before_next_data(p) == pytest.approx(86)
    fast = (min(43 * 0.0024, 0.12) + 86 * 0.0012) / (0.12 + 86 * 0.0012)
    assert two_way.ack_priority(p).fast == pytest.approx(fast)
    assert np.isinf(two_way.acks_before_next_data(replace(BASE, ack=40)))


@pytest.mark.parametrize(
    ("p", "form", "slow", "fast"),
    [
        (BASE, "bounded", 0.555, 0.477),
        (FIG_5_4, "bounded", 0.175, 0.884),
        (FIG_5_6, "bounded", 0.067, 0.341),
        (replace(BASE, connections=3), "bounded", 0.555, 0.477),
        (BASE, "printed", 0.067, 0.057),
        (FIG_5_4, "printed", 0.067, 0.336),
        (FIG_5_6, "printed", 0.067, 0.341),
        (replace(BASE, connections=3), "printed", 0.067, 0.057),
    ],
)
def test_backpressure(p: TwoWay, form: Form, slow: float, fast: float) -> None:
    found = two_way.backpressure(p, 1, form)
    assert found.slow == pytest.approx(slow, abs=5e-4)
    assert found.fast == pytest.approx(fast, abs=5e-4)


def test_theorem_3_other_branch_gives_the_papers_numbers() -> None:
    n, alpha, beta = BASE.n_j, BASE.alpha, BASE.beta
    found = two_way.backpressure(BASE)
    assert found.slow == pytest.approx(float(beta / (n + beta)))
    assert found.fast == pytest.approx(float(n * beta / ((n + beta) * alpha)))


def test_threshold_shares_the_window_of_acks() -> None:
    b = np.array([1, 2, 4, 8])
    found = two_way.backpressure(BASE, b)
    round_ = b * 0.12 + 43 * 0.00224
    assert found.slow == pytest.approx(b * 0.12 / round_)
    assert found.fast == pytest.approx(43 * 0.0024 / round_)
    printed = two_way.backpressure(BASE, b, "printed")
    assert np.ptp(printed.slow) == 0
    assert np.all(np.diff(printed.fast) < 0)


def test_a_threshold_beyond_the_window_is_a_fifo() -> None:
    assert np.array(two_way.backpressure(BASE, 500)) == pytest.approx(np.array(two_way.fifo(BASE)))
    assert np.array(two_way.backpressure(BASE, 43)) == pytest.approx(np.array(two_way.fifo(BASE)))


def test_delay_as_printed() -> None:
    small = two_way.backpressure_delay(FIG_5_6)
    assert not 0.0 <= float(small.slow) <= 1.0
    base = two_way.backpressure_delay(replace(BASE, delay=0.02))
    under_way = 0.14 / 0.0024
    assert base.slow == pytest.approx(1 - 43 / under_way * 50 / (1500 / 28))
    assert base.fast == pytest.approx(43 / under_way)
    filled = two_way.backpressure_delay(replace(BASE, fast_window=150_000))
    assert filled.slow == pytest.approx(1 - 50 * 28 / 1500)
    assert filled.fast == pytest.approx(50 * (1 / 50 - 28 / 1500))


@pytest.mark.parametrize(
    ("p", "share", "form", "slow", "fast"),
    [
        (BASE, 0.5, "bounded", 0.500, 0.536),
        (BASE, 0.5, "printed", 0.555, 0.477),
        (FIG_5_4, 0.5, "bounded", 0.500, 0.536),
        (FIG_5_6, 0.5, "bounded", 0.500, 0.183),
        (FIG_5_4, 0.18, "bounded", 0.180, 0.879),
        (FIG_5_4, 0.18, "printed", 0.180, 0.879),
    ],
)
def test_bandwidth_allocation(p: TwoWay, share: float, form: Form, slow: float, fast: float) -> None:
    found = two_way.bandwidth_allocation(p, share, form)
    assert found.slow == pytest.approx(slow, abs=5e-4)
    assert found.fast == pytest.approx(fast, abs=5e-4)


def test_printed_allocation_is_6_3_and_6_5() -> None:
    f, n, alpha, beta = 0.3, BASE.n_j, BASE.alpha, BASE.beta
    found = two_way.bandwidth_allocation(BASE, f, "printed")
    assert found.slow == pytest.approx(max(float(beta / (n + beta)), f))
    assert found.fast == pytest.approx(
        min(1.0, float(beta * n / (alpha * (n + beta))), float((1 - f) * beta / alpha))
    )
    assert two_way.acks_per_data(BASE, 0.5) == pytest.approx(1500 / 28)


@pytest.mark.parametrize("p", [BASE, FIG_5_4, FIG_5_6, replace(BASE, ack=15), replace(BASE, ack=40)])
def test_a_vanishing_share_is_priority(p: TwoWay) -> None:
    found, limit = np.array(two_way.bandwidth_allocation(p, 1e-9)), np.array(two_way.ack_priority(p))
    assert found == pytest.approx(limit, abs=1e-7)


def test_one_way() -> None:
    p = TwoWay(1e7, 5e4, 512, 512, 9, 16384, 4096, delay=0.0781504)
    assert float(two_way.one_way(p)) * 1e7 == pytest.approx(16384 * 8 / 0.08)
    assert two_way.one_way(replace(BASE, ack=40)) == pytest.approx(0.75)


SIZES = st.integers(28, 1500)
SETUPS = st.builds(
    TwoWay,
    fast_rate=st.sampled_from([1e5, 1e6, 5e6, 1e8]),
    slow_rate=st.just(1e5),
    fast_packet=SIZES,
    slow_packet=SIZES,
    ack=st.integers(9, 60),
    fast_window=st.integers(1500, 200_000),
    slow_window=st.integers(1500, 200_000),
    connections=st.integers(1, 5),
)


@given(SETUPS, st.integers(1, 50), st.floats(0.01, 0.99))
def test_bounded_forms_are_possible(p: TwoWay, threshold: int, share: float) -> None:
    ratio = float(p.alpha / p.beta)
    for found in (
        two_way.ack_priority(p),
        two_way.backpressure(p, threshold),
        two_way.bandwidth_allocation(p, share),
        two_way.fifo(p),
    ):
        assert all(0.0 <= float(one) * (1 - 1e-12) <= 1.0 for one in found)
        assert float(found.slow) + float(found.fast) * ratio <= 1 + 1e-9
    for found in (
        two_way.ack_priority(p),
        two_way.backpressure(p, threshold),
        two_way.bandwidth_allocation(p, share),
    ):
        assert float(found.slow) + float(found.fast) * ratio == pytest.approx(1)


@given(st.lists(SETUPS, min_size=1, max_size=4))
def test_vector_equals_scalar(setups: list[TwoWay]) -> None:
    names = list(TwoWay.__dataclass_fields__)
    stacked = TwoWay(**{name: np.array([float(getattr(p, name)) for p in setups]) for name in names})
    forms: tuple[Form, Form] = ("printed", "bounded")
    for form in forms:
        for function in (two_way.fifo, two_way.ack_priority):
            assert np.array(function(stacked, form)).T.tolist() == [
                np.array(function(p, form)).tolist() for p in setups
            ]
        together = np.array(two_way.backpressure(stacked, 2, form)).T
        assert together.tolist() == [np.array(two_way.backpressure(p, 2, form)).tolist() for p in setups]
        together = np.array(two_way.bandwidth_allocation(stacked, 0.3, form)).T
        assert together.tolist() == [
            np.array(two_way.bandwidth_allocation(p, 0.3, form)).tolist() for p in setups
        ]
    for plain in (two_way.max_queue, two_way.backpressure_delay):
        assert np.array(plain(stacked)).T.tolist() == [np.array(plain(p)).tolist() for p in setups]


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("ack", 0, "must be positive"),
        ("delay", -1, "must not be negative"),
        ("fast_rate", np.inf, "finite"),
        ("slow_window", 1000, "at least one slow_packet"),
    ],
)
def test_impossible_parameters_are_named(field: str, value: float, rule: str) -> None:
    with pytest.raises(ValueError, match=rf"TwoWay\.{field}.*{rule}"):
        replace(BASE, **{field: value})


@pytest.mark.parametrize("share", [0.0, 1.0, np.nan])
def test_share_outside_the_open_interval(share: float) -> None:
    with pytest.raises(ValueError, match="inside"):
        two_way.bandwidth_allocation(BASE, share)
