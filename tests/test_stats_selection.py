"""The rule by which candidates are dropped: its error on many drawn cases, and each of its steps by hand."""

from collections.abc import Callable

import numpy as np
import pytest

from perhop.stats.selection import Race
from perhop.stats.sequential import half_width_over_s, sequential_interval

CASES, SYSTEMS, DELTA, MOST = 1000, 6, 1.0, 150
# 5 %, and three standard deviations of a count among 1,000 cases
BOUND = 0.05 + 3 * (0.05 * 0.95 / CASES) ** 0.5

Noise = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def _independent(spread: float) -> Noise:
    return lambda draw, shape: spread * draw.standard_normal(shape)


def _common(spread: float, correlation: float) -> Noise:
    """Noise of which all systems share a part, as under common random numbers."""

    def noise(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        shared = correlation**0.5 * draw.standard_normal((shape[0], 1))
        return spread * (shared + (1 - correlation) ** 0.5 * draw.standard_normal(shape))

    return noise


def _unequal(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return np.geomspace(0.5, 4.0, shape[1]) * draw.standard_normal(shape)


def _exponential(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return 2.0 * (draw.exponential(size=shape) - 1.0)


def _lognormal(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return draw.lognormal(size=shape) - np.exp(0.5)


def _skewed(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Noise that keeps the best below its mean most of the time."""
    noise = 0.2 * draw.standard_normal(shape)
    noise[:, 0] += 2.0 * (draw.exponential(size=shape[0]) - 1.0)
    return noise


NOISE: dict[str, Noise] = {
    "little": _independent(0.7),
    "independent": _independent(2.0),
    "much": _independent(8.0),
    "common": _common(4.0, 0.8),
    "unequal": _unequal,
    "exponential": _exponential,
    "lognormal": _lognormal,
    "skewed": _skewed,
}
MEANS = {
    # one is better than all others by hardly more than what is worth having, where it is hardest
    "slippage": np.r_[1.01 * DELTA, np.zeros(SYSTEMS - 1)],
    "equal": np.zeros(SYSTEMS),
    "stairs": np.arange(SYSTEMS)[::-1] * 0.7 * DELTA,
}


def _wrong(race: Race, means: np.ndarray, noise: Noise, seed: int) -> tuple[float, float]:
    """Return in how many cases what is said is wrong, and in how many the best was dropped before."""
    draw = np.random.default_rng(seed)
    taken = np.full(CASES, -1)
    dropped = np.zeros(CASES, bool)
    best = int(np.argmax(means))
    for _ in range(MOST):
        race.add(means + noise(draw, (CASES, SYSTEMS)))
        choice = race.choice()
        dropped |= ~race.left[:, best] & (taken < 0)
        taken = np.where((taken < 0) & choice.decided, choice.system, taken)
        if (taken >= 0).all():
            break
    at_the_cap = taken < 0
    system = np.where(at_the_cap, choice.system, taken)
    behind = means[best] - means[system]
    said = np.where(at_the_cap, choice.behind, DELTA)
    return float((behind > said).mean()), float(dropped.mean())


@pytest.mark.parametrize("means", MEANS)
@pytest.mark.parametrize("noise", NOISE)
def test_in_1000_cases_the_error_is_within_its_bound(means: str, noise: str):
    wrong, dropped = _wrong(Race(SYSTEMS, DELTA, shape=(CASES,)), MEANS[means], NOISE[noise], seed=1)
    assert wrong <= BOUND
    assert dropped <= BOUND


@pytest.mark.parametrize("baseline", [0, 3])
def test_a_baseline_that_is_preferred_is_no_more_often_wrong(baseline: int):
    race = Race(SYSTEMS, DELTA, baseline=baseline, shape=(CASES,))
    wrong, _ = _wrong(race, MEANS["slippage"], NOISE["independent"], seed=2)
    assert wrong <= BOUND


def test_the_best_of_the_proven_is_found_beside_a_better_one_that_is_out_later():
    means = np.r_[3.0 * DELTA, MEANS["slippage"][:-1]]
    noise, draw = NOISE["independent"], np.random.default_rng(8)
    race, others = Race(SYSTEMS, DELTA, shape=(CASES,)), np.arange(SYSTEMS) > 0
    taken = np.full(CASES, -1)
    for number in range(MOST):
        race.add(means + noise(draw, (CASES, SYSTEMS)), others & (number >= 10), ~others & (number >= 15))
        choice = race.choice()
        assert number >= 10 or (race.left.all() and not choice.decided.any())
        taken = np.where((taken < 0) & choice.decided, choice.system, taken)
    assert not (taken == 0).any()
    assert (taken > 0).mean() > 0.9
    assert (means[1] - means[taken[taken > 0]] > DELTA).mean() <= BOUND


def test_students_interval_at_every_look_would_be_wrong_more_often(monkeypatch: pytest.MonkeyPatch):
    from scipy.special import stdtrit

    def student(n: int, level: float) -> float:
        return float(stdtrit(n - 1, (1 + level) / 2)) / n**0.5 if n > 1 else np.inf

    monkeypatch.setattr("perhop.stats.selection.half_width_over_s", student)
    race = Race(SYSTEMS, DELTA, shape=(CASES,))
    race.level = 0.95
    wrong, _ = _wrong(race, MEANS["slippage"], NOISE["independent"], seed=1)
    assert wrong > 2 * BOUND


def test_an_interval_is_that_of_the_differences_shared_among_the_pairs():
    draw = np.random.default_rng(3)
    values = draw.standard_normal((9, 4))
    race = Race(4, 0.0, level=0.9)
    for each in values:
        race.add(each)
    one = sequential_interval(values[:, 2] - values[:, 0], 1 - 0.1 / 3)
    assert race.mean[2, 0] == pytest.approx(one.mean)
    assert race.half_width()[2, 0] == pytest.approx(one.half_width)
    assert half_width_over_s(1, 0.95) == np.inf


def test_who_is_worse_is_dropped_and_who_leads_is_taken():
    draw = np.random.default_rng(4)
    race = Race(3, 0.5)
    for _ in range(12):
        race.add(np.array([1.0, 5.0, 4.9]) + 0.1 * draw.standard_normal(3))
    choice = race.choice()
    assert race.left.tolist() == [False, True, True]
    assert (int(choice.system), bool(choice.decided)) == (1, True)
    assert float(choice.behind) <= 0.5
    assert race.n[0, 1] < race.n[1, 2] == 12


def test_the_baseline_is_taken_when_nothing_is_better_by_delta():
    draw = np.random.default_rng(5)
    race = Race(3, 0.5, baseline=0)
    for _ in range(30):
        race.add(np.array([4.95, 5.0, 1.0]) + 0.3 * draw.standard_normal(3))
    choice = race.choice()
    assert race.left[0]
    assert (int(choice.system), bool(choice.decided)) == (0, True)


def test_the_baseline_is_not_dropped_for_one_that_is_better_by_less_than_delta():
    draw = np.random.default_rng(5)
    race = Race(2, 0.5, baseline=0)
    for _ in range(12):
        race.add(np.array([4.9, 5.0]) + draw.standard_normal())
    choice = race.choice()
    assert (int(choice.system), bool(choice.decided)) == (0, True)


def test_a_relative_delta_is_a_part_of_the_mean():
    draw = np.random.default_rng(6)
    noise = 1.0 * draw.standard_normal((12, 2))
    taken = []
    for mean in (10.0, 1e6):
        race = Race(2, 0.02, relative=True)
        for each in noise:
            race.add(mean + each)
        taken.append(bool(race.choice().decided))
    assert taken == [False, True]


def test_systems_that_are_the_same_are_good_enough_at_once():
    race = Race(2, 0.0)
    for value in (1.0, 4.0, 2.0, 7.0, 3.0):
        race.add([value, value])
    assert bool(race.choice().decided)


def test_minus_infinity_drops_unless_nobody_else_is_left():
    race = Race(3, 0.1)
    race.add([-np.inf, 1.0, 2.0])
    assert race.left.tolist() == [False, True, True]
    race.add([np.nan, -np.inf, -np.inf])
    assert race.left.tolist() == [False, True, True]
    assert race.n[1, 2] == 1


def test_a_run_without_a_value_counts_for_no_pair():
    race = Race(3, 0.1)
    race.add([1.0, np.nan, 2.0])
    race.add([1.0, 3.0, 2.0])
    assert race.n[0].tolist() == [2, 1, 2]
    assert race.left.all()


@pytest.mark.parametrize("bad", [{"systems": 0}, {"level": 1.0}, {"delta": -1.0}, {"delta": np.nan}])
def test_a_race_that_cannot_be_is_refused(bad: dict[str, float]):
    with pytest.raises(ValueError, match="no race"):
        Race(**({"systems": 3, "delta": 1.0} | bad))  # type: ignore[arg-type]


def test_who_has_no_value_leads_nobody():
    race = Race(3, 0.1)
    for _ in range(3):
        race.add([np.nan, 5.0, 4.0])
    choice = race.choice()
    assert int(choice.system) == 1
    assert not choice.decided


def test_of_those_that_are_good_enough_the_first_is_taken_even_if_another_leads():
    draw = np.random.default_rng(7)
    race = Race(3, 1.0)
    for noise in draw.permutation(np.linspace(-1.2, 1.2, 12)):
        race.add([0.0, 0.05 + noise, -0.05 - noise])
    most, choice = race.most(), race.choice()
    assert race.left.all()
    assert race.mean[1, 0] > 0
    assert most[1, 0] <= 1.0 < most[2, 1]
    assert (int(choice.system), bool(choice.decided)) == (0, True)
    assert float(choice.behind) <= 1.0


def test_one_that_was_minus_infinity_is_not_sound_though_it_is_left():
    race = Race(2, 0.1)
    race.add([1.0, 2.0])
    assert race.sound.tolist() == [True, True]
    race.add([-np.inf, -np.inf])
    assert race.left.tolist() == [True, True]
    assert race.sound.tolist() == [False, False]
    for _ in range(9):
        race.add([1.0, 2.0])
    assert not race.choice().decided
