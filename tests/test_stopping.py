"""Stopping rules: intervals that may be looked at at will, and a decision whoever finished first."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from perhop.experiment.rules import Stop
from perhop.experiment.stopping import LEAST, Stopped, Stopping, described
from perhop.stats.intervals import mean_interval
from perhop.stats.sequential import PRIOR_VARIANCE, sequential_interval

CAMPAIGNS, MOST = 4000, 80
MEAN = 10.0

Rows = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def looked_at(seed: int) -> tuple[Rows, Rows, Rows]:
    """Draw campaigns, a row each; give their means and both half-widths after 2, 3, ... replications."""
    values = np.random.default_rng(seed).normal(0.0, 1.0, (CAMPAIGNS, MOST))
    n = np.arange(1, MOST + 1)
    means = np.cumsum(values, axis=1) / n
    deviations = np.sqrt((np.cumsum(values**2, axis=1) - n * means**2)[:, 1:] / (n - 1)[1:])
    # either is a multiple of the standard deviation: of 1 and -1 and as many zeros as it takes
    units = [np.array([1.0, -1.0] + [0.0] * (count - 2)) for count in n[1:]]
    always, once = (
        np.array([of(unit).half_width / unit.std(ddof=1) for unit in units]) * deviations
        for of in (sequential_interval, mean_interval)
    )
    return means[:, 1:] + MEAN, always, once


def coverage(means: Rows, widths: Rows, target: float, *, relative: bool) -> tuple[float, float]:
    """Stop each campaign where it is narrow enough; give which part holds, and how long it took."""
    narrow = widths <= (target * np.abs(means) if relative else target)
    narrow[:, -1] = True
    first = narrow.argmax(axis=1)
    row = np.arange(CAMPAIGNS)
    return float(np.mean(np.abs(means - MEAN)[row, first] <= widths[row, first])), float(first.mean()) + 2


ERROR = 3 * math.sqrt(0.95 * 0.05 / CAMPAIGNS)


def test_the_rows_are_the_intervals() -> None:
    means, always, once = looked_at(3)
    values = np.random.default_rng(3).normal(0.0, 1.0, (CAMPAIGNS, MOST))[7] + MEAN
    for n in (6, 33):
        for widths, of in ((always, sequential_interval), (once, mean_interval)):
            found = of(values[:n])
            assert means[7, n - 2] == pytest.approx(found.mean)
            assert widths[7, n - 2] == pytest.approx(found.half_width)


@pytest.mark.parametrize(
    ("target", "relative"),
    [(0.8, False), (0.6, False), (0.4, False), (0.06, True), (0.04, True), (0.0, False)],
)
def test_coverage_after_looking_at_every_replication(target: float, relative: bool) -> None:
    means, always, once = looked_at(20261122)
    holds, looks = coverage(means, always, target, relative=relative)
    assert holds >= 0.95 - ERROR
    if target > 0:
        assert 5 < looks < MOST
        # why this module is there: with the interval for one look the same rule does not give 95 %
        assert coverage(means, once, target, relative=relative)[0] < 0.93


def test_all_intervals_of_a_sequence_hold_at_once() -> None:
    means, always, once = looked_at(1)
    assert np.mean((np.abs(means - MEAN) > always).any(axis=1)) <= 0.05 + ERROR
    assert np.mean((np.abs(means - MEAN) > once).any(axis=1)) > 0.2


def test_the_interval_is_where_the_mixed_likelihood_ratio_is_twenty() -> None:
    """The formula of the interval against the test that it inverts, at its ends."""
    values = np.array([3.1, 4.7, 2.2, 5.9, 4.4, 3.8, 4.1])
    n, s = len(values), values.std(ddof=1)
    shrunk = 1 / (1 + PRIOR_VARIANCE * n)

    def ratio(mean: float) -> float:
        x = n * (values.mean() - mean) ** 2 / s**2 / (n - 1)
        return float(math.sqrt(shrunk) * ((1 + x) / (1 + shrunk * x)) ** (n / 2))

    found = sequential_interval(values)
    assert ratio(found.low) == pytest.approx(20.0, rel=1e-9)
    assert ratio(found.high) == pytest.approx(20.0, rel=1e-9)
    assert ratio(found.mean) < 1


def test_edges_of_the_interval() -> None:
    assert sequential_interval([1.0]).half_width == math.inf
    assert sequential_interval([1.0, 2.0, 3.0]).half_width == math.inf
    assert sequential_interval([2.0] * 3).half_width == math.inf
    assert sequential_interval([2.0] * 6).half_width == 0.0
    ratios = [
        sequential_interval(values).half_width / mean_interval(values).half_width
        for n in (10, 30, 100)
        for values in [np.sin(np.arange(n))]
    ]
    assert all(1.65 < ratio < 1.75 for ratio in ratios)
    for wrong in ([], [math.nan], [math.inf]):
        with pytest.raises(ValueError, match="an interval needs"):
            sequential_interval(wrong)
    with pytest.raises(ValueError, match="level"):
        sequential_interval([1.0], 1.0)


STOP = Stop("goodput", 0.08, relative=True, most=50)


def _values(treatment: int, replication: int) -> float:
    return 10.0 * (treatment + 1) + random.Random(f"{treatment}/{replication}").gauss(0, 1 + treatment)


def decide(order: list[tuple[int, int]], stop: Stop = STOP) -> Stopped | None:
    rule = Stopping(stop, treatments=2, least=3)
    for treatment, replication in order:
        rule.add(treatment, replication, {"goodput": {(): _values(treatment, replication)}})
    return rule.decided


def test_the_decision_does_not_depend_on_which_run_finished_first() -> None:
    runs = list(itertools.product(range(2), range(50)))
    in_order = decide(sorted(runs, key=lambda run: run[1]))
    assert in_order is not None
    assert in_order.met
    assert 5 < in_order.replications < 50
    for seed in range(20):
        random.Random(seed).shuffle(runs)
        assert decide(runs) == in_order
    # and it is the first number of replications at which all intervals are narrow enough
    n = in_order.replications
    widths = [
        [sequential_interval([_values(t, r) for r in range(count)]) for t in range(2)] for count in (n - 1, n)
    ]
    narrow = [[one.half_width <= 0.08 * one.mean for one in each] for each in widths]
    assert not all(narrow[0])
    assert all(narrow[1])


def test_nothing_is_decided_before_all_treatments_of_a_replication_are_there() -> None:
    assert decide([(0, replication) for replication in range(50)]) is None
    assert decide([(1, replication) for replication in range(1, 50)] + [(0, r) for r in range(50)]) is None


def test_the_cap_ends_it() -> None:
    runs = list(itertools.product(range(2), range(8)))
    found = decide(runs, Stop("goodput", 1e-9, relative=False, most=8))
    assert found is not None
    assert (found.replications, found.met) == (8, False)
    assert found.widest is not None
    assert found.widest.half_width > 1e-9


def test_failed_runs_and_groups_that_are_not_there_add_nothing() -> None:
    rule = Stopping(Stop("goodput", 1.0, relative=False, most=20), treatments=1, least=1)
    for replication in range(20):
        rule.add(0, replication, {"goodput": {} if replication < 7 else {("r",): 1.0, ("s",): None}})
    assert rule.decided is not None
    assert rule.decided.met
    # the first four values are there after the eleventh replication
    assert rule.decided.replications == 11
    assert rule.decided.widest is not None
    assert (rule.decided.widest.n, rule.decided.of) == (4, (0, ("r",)))
    # nothing at all was measured: never narrow
    rule = Stopping(Stop("goodput", 1.0, relative=False, most=3), treatments=1, least=1)
    for replication in range(3):
        rule.add(0, replication, {"goodput": {("r",): None}})
    assert rule.decided == Stopped(3, met=False)


def test_a_treatment_without_a_value_is_not_narrow() -> None:
    rule = Stopping(Stop("goodput", 1.0, relative=False, most=6), treatments=2, least=1)
    for replication in range(6):
        rule.add(0, replication, {"goodput": {(): 1.0}})
        rule.add(1, replication, None)
    assert rule.decided is not None
    assert (rule.decided.replications, rule.decided.met) == (6, False)


# values that are not normal


def stopped(values: Sequence[float], most: int = 100, half_width: float = 0.05) -> Stopped:
    rule = Stopping(Stop("goodput", half_width, relative=True, most=most), treatments=1, least=2)
    for replication, value in enumerate(values):
        rule.add(0, replication, {"goodput": {(): value}})
    assert rule.decided is not None
    return rule.decided


def campaigns(number: int, stalled: float) -> Rows:
    """Draw campaigns, a row each, whose runs stall in some cases: a flow that starves."""
    rng = np.random.default_rng(8)
    values = rng.normal(1.0, 0.02, (number, 100))
    return np.where(rng.random(values.shape) < stalled, values - 0.8, values)


def test_nothing_is_decided_before_ten_replications_or_the_cap() -> None:
    assert stopped([1.0] * 20).replications == LEAST == 10
    assert stopped([1.0] * 20, most=6).replications == 6


def test_a_run_that_stalled_is_noted_and_normal_values_are_not() -> None:
    seen = [(row, stopped(row)) for row in campaigns(200, 0.05)]
    with_stall = [found for row, found in seen if row[: found.replications].min() < 0.5]
    without = [found for row, found in seen if row[: found.replications].min() > 0.5]
    assert min(len(with_stall), len(without)) > 50
    assert all(found.odd == 1 for found in with_stall)
    assert sum(found.odd for found in without) < 0.05 * len(without)
    assert "not normal" in described(Stop("goodput", 0.05, relative=True, most=100), with_stall[0])
    text = described(
        Stop("goodput", 0.05, relative=True, most=100), next(one for one in without if not one.odd)
    )
    assert "not normal" not in text
    assert "one run in 3 " in text


def test_skewed_values_are_noted() -> None:
    rng = np.random.default_rng(2)
    assert sum(stopped(rng.lognormal(0.0, 1.0, 40), 40).odd for _ in range(50)) > 45


def test_a_stall_that_was_not_seen_cannot_be_noted() -> None:
    """Neither ten replications nor the note make the interval hold: docs/statistics.md says so."""
    found = [stopped(row) for row in campaigns(400, 0.05)]
    holds = [one.widest.low <= 0.96 <= one.widest.high for one in found if one.widest is not None]
    assert 0.3 < np.mean(holds) < 0.6
    unnoted = [one.odd == 0 for one, held in zip(found, holds, strict=True) if not held]
    assert np.mean(unnoted) > 0.9
