"""Laws of loss and throughput against values worked by hand and the tables that RFC 9438 prints."""

from __future__ import annotations

import numpy as np
import pytest

from perhop.models import throughput


def test_mathis() -> None:
    assert throughput.mathis_constant([1, 2]) == pytest.approx([1.2247, 0.8660], abs=1e-4)
    # sqrt(3/2) / (0.1 * 0.1), and by sqrt(2) less with delayed ACKs
    assert throughput.mathis(0.01, 0.1) == pytest.approx(122.474, abs=1e-3)
    assert throughput.mathis(0.01, 0.1, 2) == pytest.approx(86.603, abs=1e-3)


def test_pftk_window() -> None:
    # b = 2: 2/3 + sqrt(8 * 0.99 / 0.06 + 4/9) = 2/3 + sqrt(132.4444)
    assert throughput.pftk_window(0.01, 2) == pytest.approx(12.1751, abs=1e-4)
    # b = 1: 1 + sqrt(8 * 0.5 / 1.5 + 1) = 1 + sqrt(3.66667)
    assert throughput.pftk_window(0.5) == pytest.approx(2.91485, abs=1e-5)


def test_pftk_share_of_timeouts() -> None:
    # 0.875 * (1 + 0.125 * 0.5) / 0.9375
    assert throughput.pftk_timeout_share(0.5, 4) == pytest.approx(0.991667, abs=1e-6)
    assert throughput.pftk_timeout_share(0.01, [1, 2, 3]).tolist() == [1.0, 1.0, 1.0]
    # few losses in a large window: three over the window
    assert throughput.pftk_timeout_share(1e-7, 300) == pytest.approx(3 / 300, rel=1e-3)


def test_pftk() -> None:
    # (1 + 2.914854 + 2) / (0.1 * (1.457427 + 1) + 1 * 4 / 0.5)
    assert throughput.pftk(0.5, 0.1, 1.0, b=1) == pytest.approx(0.717323, abs=1e-6)
    assert throughput.pftk_waiting(0.5, 0.1, 1.0, b=1) == pytest.approx(8 / 8.245743, abs=1e-6)
    # limited to 4 segments: (99 + 4 + 0.761070 / 0.99) / (0.1 * 27.75 + 0.761070 * 1.010204 / 0.99)
    assert throughput.pftk(0.01, 0.1, 1.0, 4) == pytest.approx(29.2174, abs=1e-3)


def test_pftk_is_the_square_root_law_where_losses_are_rare() -> None:
    for b in (1, 2):
        law = throughput.mathis(1e-7, 0.1, b)
        assert throughput.pftk(1e-7, 0.1, 1.0, b=b) == pytest.approx(law, rel=0.005)


@pytest.mark.parametrize(
    ("rtt", "c", "printed"),
    [
        (0.1, 0.4, {1e-4: 187, 1e-5: 1054, 1e-6: 5926, 1e-7: 33325, 1e-8: 187400}),
        (0.1, 4.0, {1e-3: 59, 1e-4: 333, 1e-5: 1874, 1e-8: 333250}),
        (0.1, 0.04, {1e-5: 593, 1e-6: 3332, 1e-8: 105383}),
        (0.01, 0.4, {1e-7: 5926, 1e-8: 33325}),
    ],
)
def test_cubic_as_the_tables_of_rfc_9438_have_it(rtt: float, c: float, printed: dict[float, float]) -> None:
    p = np.array(list(printed))
    assert throughput.cubic_response(p, rtt, c) == pytest.approx(list(printed.values()), rel=2e-3, abs=0.6)


def test_cubic_is_reno_in_its_friendly_region() -> None:
    p = np.array([1e-2, 1e-3, 1e-4, 1e-5])
    reno = throughput.aimd_window(p, 1.0, 0.5)
    assert throughput.cubic_response(p, 0.01) == pytest.approx(reno)
    # the RFC prints 1.2 / sqrt(p)
    assert reno == pytest.approx([12, 38, 120, 379], rel=0.025)


def test_arrays_broadcast() -> None:
    p, rtt = np.array([1e-3, 1e-2])[:, None], np.array([0.02, 0.2])
    for rate in (throughput.mathis(p, rtt), throughput.pftk(p, rtt, 1.0), throughput.cubic_response(p, rtt)):
        assert rate.shape == (2, 2)


def test_values_out_of_range_are_named() -> None:
    for p in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match=r"p = .*: must lie inside \(0, 1\)"):
            throughput.mathis(p, 0.1)
    with pytest.raises(ValueError, match=r"rtt = 0\.0: must be positive"):
        throughput.pftk(0.01, 0, 1.0)
    with pytest.raises(ValueError, match=r"beta = 1\.0"):
        throughput.cubic_window(0.01, 0.1, beta=1.0)
