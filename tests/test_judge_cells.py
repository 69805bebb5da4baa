"""Cells of a factorial in a campaign: measured and printed, claimed about, and its mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from claims_made import check, laid, scalars
from perhop.judge.campaign import judge_all
from perhop.judge.cells import Cells
from perhop.judge.grammar import ClaimsError
from perhop.judge.verdict import ClaimPart, Verdict
from perhop.stats.effects import differing
from perhop.stats.intervals import mean_interval
from perhop.stats.jackknife import jackknife_interval, ratio_of_sums
from perhop.stats.layout import Cube

FACTORIAL = """campaign = "sweep.toml"
[factorial]
factors = ["rate", "delay"]
[factorial.model]
goodput = ["rate"]
[[published]]
file = "printed.csv"
response = "goodput"
column = "mbit_s"
[[claim]]
id = "X"
statement = "Something arrives."
"""
WHOLE = "rate,delay,mbit_s\n" + "".join(
    f"{rate}Mbit/s,{delay},{value}\n"
    for rate, own in ((1, (10, 11)), (2, (14, 12)), (3, (15, 13)))
    for delay, value in zip(("5ms", "10ms"), own, strict=True)
)


def cells(folder: Path, claim: str, frame: pl.DataFrame | None = None) -> tuple[Cells, list[ClaimPart]]:
    """Return what was measured and the parts of a claim, of ten replications as printed."""
    (laid(folder) / "printed.csv").write_text(WHOLE)
    own = check(folder, FACTORIAL + claim)
    given = (
        scalars(lambda rate, delay: float([[10, 11], [14, 12], [15, 13]][rate][delay]))
        if frame is None
        else frame
    )
    found = own.measured(given)
    assert isinstance(found, Cells)
    return found, judge_all(own, found)[0].parts


EFFECT = 'response = "goodput"\neffect = { rate = "1Mbit/s", delay = "5ms" }\nbelow = 0\n'
RATIO = (
    'response = "goodput"\nat = { rate = "3Mbit/s", delay = "5ms" }\nover = { rate = "1Mbit/s" }\nlow = 1.4\n'
)


def test_the_printed_effect_is_that_of_printed_cells(tmp_path: Path) -> None:
    _, (part,) = cells(tmp_path, EFFECT)
    # 10 less the means of its row and column, and the grand mean
    assert part.printed == pytest.approx(10 - 10.5 - 13 + 12.5)
    assert (part.verdict, part.quantity) == (Verdict.SUPPORTED, "goodput: effect of rate=1Mbit/s delay=5ms")


def test_an_effect_has_no_printed_value_where_a_cell_is_not_printed(tmp_path: Path) -> None:
    laid(tmp_path)  # its table is not whole
    own = check(tmp_path, FACTORIAL + EFFECT)
    assert judge_all(own, own.measured(scalars(lambda rate, delay: rate)))[0].parts[0].printed is None


def test_a_ratio_has_the_noise_of_its_cells_about_what_is_printed(tmp_path: Path) -> None:
    frame = scalars(lambda rate, delay: 3.0 + rate).with_columns(
        value=pl.col("value") * (1.0 + 0.1 * (pl.col("replication") % 3))
    )
    m, (part,) = cells(tmp_path, RATIO, frame)
    over, under = (m.values("goodput", rate=f"{rate}Mbit/s", delay="5ms") for rate in (3, 1))
    assert part.measured == ratio_of_sums(over, under)
    assert part.one_run is None
    assert part.as_printed == ratio_of_sums(over - over.mean() + 15.0, under - under.mean() + 10.0)


@pytest.mark.parametrize(
    ("claim", "supported"),
    [
        (
            'predicate = "share"\nparameters = { response = "goodput", component = "rate", at_least = 70 }',
            True,
        ),
        (
            'predicate = "share"\nparameters = { response = "goodput", component = "delay", at_least = 70 }',
            False,
        ),
        ('predicate = "largest"\nparameters = { response = "goodput", components = ["rate"] }', True),
        ('predicate = "largest"\nparameters = { response = "goodput", components = ["delay"] }', False),
        ('predicate = "lowest"\nparameters = { response = "goodput", lowest = "rate=1Mbit/s" }', True),
        ('predicate = "lowest"\nparameters = { response = "goodput", lowest = "rate=2Mbit/s" }', False),
        ('predicate = "none_below"\nparameters = { response = "goodput", at_least = 9.9 }', True),
        ('predicate = "none_below"\nparameters = { response = "goodput", at_least = 10.5 }', False),
        (
            'predicate = "near"\nparameters = { response = "goodput", factor = "rate", level = "2Mbit/s", '
            'over = "delay", levels = ["5ms", "10ms"], within = 0.1 }',
            True,
        ),
        (
            'predicate = "loses"\nparameters = { response = "goodput", treatment = ["1Mbit/s"], '
            'over = "delay", levels = ["5ms", "10ms"], within = 0.1 }',
            False,
        ),
        (
            'predicate = "least_regret"\nparameters = { responses = ["goodput"], treatment = ["3Mbit/s"], '
            'over = "delay" }',
            True,
        ),
        (
            'predicate = "no_best"\nparameters = { responses = ["goodput"], over = "delay", '
            'levels = ["5ms"], quantity = "least loss" }',
            False,
        ),
    ],
)
def test_predicates_on_a_factorial(claim: str, supported: bool, tmp_path: Path) -> None:
    _, parts = cells(tmp_path, claim)
    assert {part.verdict for part in parts} & {Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE}
    assert all(part.verdict is Verdict.SUPPORTED for part in parts) == supported
    assert all(part.as_printed is not None for part in parts)


def test_a_statistic_is_judged_by_the_jackknife_also_about_what_is_printed(tmp_path: Path) -> None:
    m, _ = cells(tmp_path, EFFECT)
    part = m.part("spread", "size", lambda cubes: float(np.ptp(cubes["goodput"].cells)), low=1.0)
    each = m.cubes["goodput"].values
    assert part.printed == 5.0
    found = jackknife_interval(range(10), lambda some: float(np.ptp(each[..., list(some)].mean(axis=-1))))
    assert part.measured is not None
    assert (part.measured.low, part.measured.high) == pytest.approx((found.low, found.high))
    moved = each - each.mean(axis=-1, keepdims=True) + np.array([[10, 11], [14, 12], [15, 13]])[..., None]
    about = jackknife_interval(range(10), lambda some: float(np.ptp(moved[..., list(some)].mean(axis=-1))))
    assert part.as_printed is not None
    assert (part.as_printed.low, part.as_printed.high) == pytest.approx((about.low, about.high))
    assert m.first(2).part("s", "size", lambda cubes: 1.0 * cubes["goodput"].replications).reason == (
        "2 replications are too few"
    )
    assert m.part("s", "size", lambda cubes: cubes["each"].cells.min()).reason == "not measured"


def test_values_measured_are_put_into_cells_by_replication(tmp_path: Path) -> None:
    frame = scalars(lambda rate, delay: 10.0 * rate + delay, n=2)
    m, _ = cells(tmp_path, EFFECT, frame.sample(fraction=1.0, shuffle=True, seed=3))
    assert m.cubes["goodput"].values[..., 0].tolist() == [[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]]
    assert m.cubes["goodput"].values[..., 1] == pytest.approx(m.cubes["goodput"].values[..., 0] + 0.1)


def test_a_cell_without_a_value_is_told(tmp_path: Path) -> None:
    whole = scalars(lambda rate, delay: rate)
    gap = whole.filter(~((pl.col("rate") == "1Mbit/s") & (pl.col("delay") == "5ms")))
    m, _ = cells(tmp_path, EFFECT, gap)
    with pytest.raises(KeyError, match="goodput: treatments have 0 to 10 observations"):
        m.cubes["goodput"]


@pytest.mark.parametrize(
    ("text", "instead", "place", "told"),
    [
        ('"rate", "delay"]', '"rate", "delays"]', "3:20", "there is no factor and no group `delays`"),
        ('"rate", "delay"]', '"rate", "rate"]', "3:20", "`rate` is there twice"),
        ('factors = ["rate", "delay"]', 'factors = ["rate"]', "2:1", "is 3 treatments, and 6 are there"),
        ('["rate", "delay"]\n', '["rate"]\nat = { delay = "6ms" }\n', "4:16", "`delay` has no level `6ms`"),
        ('["rate", "delay"]\n', '["rate"]\nat = { way = "6ms" }\n', "4:8", "there is no factor `way`"),
        (
            "[factorial.model]\n",
            "[factorial.levels]\nname = []\n[factorial.model]\n",
            "5:1",
            "there is no group",
        ),
        (
            "[factorial.model]\n",
            '[factorial.levels]\nclass = ["x"]\n[factorial.model]\n',
            "5:10",
            "has no value `x`",
        ),
        ('goodput = ["rate"]', 'good = ["rate"]', "5:1", "there is no response `good`"),
        ('goodput = ["rate"]', 'goodput = ["rate:way"]', "5:12", "`rate:way` is no effect of rate, delay"),
        ('"mbit_s"\n', '"mbit_s"\nat = { rate = "9" }\n', "10:6", "there is no level `9` of `rate`"),
        ("[factorial]", "[factorials]", "2:2", "there is no setting `factorials` here"),
    ],
)
def test_a_mistake_in_a_factorial_is_told_with_its_place(
    text: str, instead: str, place: str, told: str, tmp_path: Path
) -> None:
    (laid(tmp_path) / "printed.csv").write_text(WHOLE)
    assert text in FACTORIAL
    with pytest.raises(ClaimsError) as caught:
        check(tmp_path, FACTORIAL.replace(text, instead, 1) + EFFECT)
    first = caught.value.diagnostics[0]
    assert told in first["rule"]
    assert f"{first['line']}:{first['column']}" == place


def test_predicates_on_a_factorial_need_one(tmp_path: Path) -> None:
    laid(tmp_path)
    claim = 'predicate = "none_below"\nparameters = { response = "goodput", at_least = 1 }\n'
    with pytest.raises(ClaimsError, match="a predicate is a function of a study"):
        check(
            tmp_path,
            FACTORIAL.replace('[factorial]\nfactors = ["rate", "delay"]\n', "").replace(
                '[factorial.model]\ngoodput = ["rate"]\n', ""
            )
            + claim,
        )
    with pytest.raises(ClaimsError, match="'parameters' has no 'at_least'"):
        check(tmp_path, FACTORIAL + claim.replace(", at_least = 1", ""))


# two analyses


def replicated(apart: float) -> Cube:
    """Make four replications with an effect of P, little noise, and replications so far apart."""
    noise = np.random.default_rng(3)
    effect = np.array([[0.05] * 3, [-0.05] * 3])[..., None]
    values = 1.0 + effect + apart * np.arange(4) + noise.normal(0.0, 0.002, (2, 3, 4))
    return Cube(("P", "C"), (("a", "b"), ("r", "f", "t")), values, np.zeros(values.shape, dtype=np.int64))


def test_blocks_take_up_what_replications_have_in_common() -> None:
    alone = [one for one in differing(replicated(1.0), ["C"]) if one.startswith("P ")]
    assert [one.split()[1] for one in alone] == ["a", "b"]
    assert all(one.endswith("in the split plot alone)") for one in alone)


def test_an_effect_that_both_see_is_no_difference() -> None:
    assert not [one for one in differing(replicated(0.0), ["C"]) if one.startswith("P ")]


def test_means_by_level_are_over_the_rest_or_at_a_level() -> None:
    cube = replicated(0.0)
    values = cube.cells
    assert cube.level_means("C") == pytest.approx(dict(zip("rft", values.mean(axis=0), strict=True)))
    assert cube.level_means("C", {"P": "b"}) == pytest.approx(dict(zip("rft", values[1], strict=True)))
    assert cube.effect_of({"P": "a"}) == pytest.approx(values[0].mean() - values.mean())
    assert mean_interval([cube.effect_of({"P": "a", "C": "r"})]).mean == pytest.approx(
        values[0, 0] - values[0].mean() - values[:, 0].mean() + values.mean()
    )
