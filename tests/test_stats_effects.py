"""Effects and analyses of variance: by hand, by statsmodels, and on published tables."""

from __future__ import annotations

import csv
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from perhop.stats.anova import Anova, anova, split_plot
from perhop.stats.effects import effects
from perhop.stats.layout import UnbalancedError

PUBLISHED = Path(__file__).parents[1] / "papers/papagiannaki/published"
TABLES = {"premium": "table2_premium.csv", "assured": "table4_assured.csv"}


def design(levels: dict[str, str], values: list[list[float]]) -> pl.DataFrame:
    """A row an observation; `values` by treatment, the last factor fastest."""
    rows = [
        {**dict(zip(levels, names, strict=True)), "replication": i, "value": float(value)}
        for names, cell in zip(product(*levels.values()), values, strict=True)
        for i, value in enumerate(cell)
    ]
    return pl.DataFrame(rows)


def source(found: Anova, name: str) -> dict[str, Any]:
    return found.table.row(by_predicate=pl.col("source") == name, named=True)


def published(name: str) -> list[dict[str, str]]:
    with open(PUBLISHED / name, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_two_factors_at_two_levels_by_hand() -> None:
    # Jain 1991, sections 17.1 and 18.1: memory 4 and 16 MB, cache 1 and 2 KB
    levels = {"memory": "sl", "cache": "sl"}
    once = effects(design(levels, [[15], [25], [45], [75]]), ["memory", "cache"])
    assert once.mean.value == 40
    assert once.at(memory="l").value == 20
    assert once.at(cache="l").value == 10
    assert once.at(cache="l", memory="l").value == 5
    assert math.isnan(once.at(cache="l").high)
    shares = anova(design(levels, [[15], [25], [45], [75]]), ["memory", "cache"])
    assert [shares.percent(name) for name in ("memory", "cache", "cache:memory")] == pytest.approx(
        [76.190476, 19.047619, 4.761905]
    )
    assert source(shares, "memory")["f"] is None
    frame = design(levels, [[15, 18, 12], [25, 28, 19], [45, 48, 51], [75, 75, 81]])
    found = effects(frame, ["memory", "cache"], level=0.90)
    assert found.mean.value == 41
    assert [found.at(memory="l").value, found.at(memory="l", cache="l").value] == [21.5, 5]
    table = anova(frame, ["memory", "cache"])
    squares = dict(table.table.select("source", "sum_of_squares").iter_rows())
    assert squares == pytest.approx(
        {"memory": 5547, "cache": 1083, "memory:cache": 300, "error": 102, "total": 7032}
    )
    # s_e = sqrt(102/8), s_q = s_e/sqrt(12), t(0.95; 8) = 1.859548
    half = 1.859548 * math.sqrt(102 / 8 / 12)
    assert found.at(memory="s").low == pytest.approx(-21.5 - half, rel=1e-6)
    assert found.mean.high == pytest.approx(41 + half, rel=1e-6)
    normal = effects(frame, ["memory", "cache"], quantile="normal")
    assert normal.at(memory="s").low == pytest.approx(-21.5 - 1.644854 * math.sqrt(102 / 96), rel=1e-6)


def test_one_factor_by_hand() -> None:
    # Jain 1991, section 20.1: code size on three processors
    values = [[144, 120, 176, 288, 144], [101, 144, 211, 288, 72], [130, 180, 141, 374, 302]]
    frame = design({"processor": "RVZ"}, values)
    found = effects(frame, ["processor"])
    assert found.mean.value == pytest.approx(187.666667)
    assert found.table["effect"].to_list() == pytest.approx([-13.266667, -24.466667, 37.733333])
    table = anova(frame, ["processor"])
    assert source(table, "processor")["sum_of_squares"] == pytest.approx(10992.133333)
    assert source(table, "error") | {"mean_square": 0} == pytest.approx(
        {"source": "error", "df": 12, "sum_of_squares": 94365.2, "percent": 100 * 94365.2 / 105357.333333}
        | {"mean_square": 0, "f": None, "p": None, "against": None}
    )
    # each effect: s_e sqrt((a-1)/(ar)) = s_e sqrt(2/15)
    assert found.at(processor="R").standard_error == pytest.approx(math.sqrt(94365.2 / 12 * 2 / 15))


BATTERY = [
    *([130, 155, 74, 180], [34, 40, 80, 75], [20, 70, 82, 58]),
    *([150, 188, 159, 126], [136, 122, 106, 115], [25, 70, 58, 45]),
    *([138, 110, 168, 160], [174, 120, 150, 139], [96, 104, 82, 60]),
]
"""Montgomery, section 5.3: life of a battery by material and temperature, four replications."""


def test_two_factors_with_replications_by_hand() -> None:
    found = anova(design({"material": "123", "temperature": "abc"}, BATTERY), ["material", "temperature"])
    squares = {"material": 10683.722, "temperature": 39118.722, "material:temperature": 9613.778}
    assert dict(found.table.select("source", "sum_of_squares").iter_rows()) == pytest.approx(
        squares | {"error": 18230.75, "total": 77646.972}, abs=1e-3
    )
    assert found.table["df"].to_list() == [2, 2, 4, 27, 35]
    assert found.table["f"].drop_nulls().to_list() == pytest.approx([7.91, 28.97, 3.56], abs=5e-3)
    assert found.table["p"].drop_nulls().to_list() == pytest.approx([0.0020, 0.0000, 0.0186], abs=5e-5)


def pulp() -> pl.DataFrame:
    """Montgomery, section 14.4: strength of paper; a batch of pulp is split over four temperatures."""
    by_temperature = [
        [[30, 28, 31], [34, 31, 35], [29, 31, 32]],
        [[35, 32, 37], [41, 36, 40], [26, 30, 34]],
        [[37, 40, 41], [38, 42, 39], [33, 32, 39]],
        [[36, 41, 40], [42, 40, 44], [36, 40, 45]],
    ]
    cells = [by_temperature[heat][batch] for batch in range(3) for heat in range(4)]
    return design({"pulp": "123", "heat": "abcd"}, cells)


def test_a_split_plot_by_hand() -> None:
    found = split_plot(pulp(), ["pulp", "heat"], within=["heat"], block="replication")
    squares = dict(found.table.select("source", "sum_of_squares").iter_rows())
    # the error within runs is two rows of Montgomery's, 20.67 of blocks with the split factor and 50.83
    assert squares == pytest.approx(
        {"pulp": 128.39, "heat": 434.08, "pulp:heat": 75.17, "blocks": 77.56, "error between runs": 36.28}
        | {"error within runs": 71.50, "total": 822.97},
        abs=6e-3,
    )
    assert found.table["df"].to_list() == [2, 3, 6, 2, 4, 18, 35]
    assert source(found, "pulp")["against"] == "error between runs"
    assert source(found, "pulp")["f"] == pytest.approx(128.39 / 2 / (36.28 / 4), rel=1e-3)
    assert source(found, "pulp:heat")["f"] == pytest.approx(75.17 / 6 / (71.50 / 18), rel=1e-3)


@pytest.mark.parametrize("order", [None, 2])
def test_tables_are_those_of_statsmodels(order: int | None) -> None:
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    rng = np.random.default_rng(7)
    frame = design({"a": "pqr", "b": "xy", "c": "123"}, rng.normal(5.0, 1.0, (18, 4)).tolist())
    frame = frame.sample(fraction=1.0, shuffle=True, seed=3)
    theirs = anova_lm(ols("value ~ C(a) * C(b) * C(c)", pd.DataFrame(frame.to_dict(as_series=False))).fit())
    found = anova(frame, ["a", "b", "c"], order=order)
    for name in ("a", "c", "b:c", "a:b:c"):
        mine = source(found, name if order is None or name != "a:b:c" else "higher orders")
        row = theirs.loc[":".join(f"C({factor})" for factor in name.split(":"))]
        assert mine["df"] == row["df"]
        assert [mine["sum_of_squares"], mine["f"], mine["p"]] == pytest.approx(
            [row["sum_sq"], row["F"], row["PR(>F)"]], rel=1e-9
        )
    assert source(found, "error")["mean_square"] == pytest.approx(theirs.loc["Residual", "mean_sq"], rel=1e-9)


def test_blocks_splits_and_trimmed_models_are_those_of_statsmodels() -> None:
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    rng = np.random.default_rng(8)
    frame = design({"a": "pqr", "b": "xy", "c": "123"}, rng.normal(5.0, 1.0, (18, 4)).tolist())
    frame = frame.sample(fraction=1.0, shuffle=True, seed=4)
    data = pd.DataFrame(frame.to_dict(as_series=False))
    formula = "value ~ C(replication) + C(a) * C(b) * C(c) + C(replication):C(a):C(b)"
    theirs = anova_lm(ols(formula, data).fit())
    found = anova(frame, ["a", "b", "c"], within=["c"], block="replication")
    assert source(found, "blocks")["sum_of_squares"] == pytest.approx(
        theirs.loc["C(replication)", "sum_sq"], rel=1e-9
    )
    run = theirs.loc["C(replication):C(a):C(b)"]
    assert [source(found, "error between runs")[name] for name in ("df", "sum_of_squares")] == pytest.approx(
        [run["df"], run["sum_sq"]], rel=1e-9
    )
    assert source(found, "a")["f"] == pytest.approx(theirs.loc["C(a)", "mean_sq"] / run["mean_sq"], rel=1e-9)
    assert [source(found, "a:c")["f"], source(found, "a:c")["p"]] == pytest.approx(
        theirs.loc["C(a):C(c)", ["F", "PR(>F)"]].to_list(), rel=1e-9
    )
    trimmed = anova(frame, ["a", "b", "c"], keep=["c", "b:a", "a", "b"])
    theirs = anova_lm(ols("value ~ C(a) * C(b) + C(c)", data).fit())
    assert source(trimmed, "a:b")["p"] == pytest.approx(theirs.loc["C(a):C(b)", "PR(>F)"], rel=1e-9)
    assert source(trimmed, "error")["df"] == theirs.loc["Residual", "df"]


@pytest.mark.parametrize("response", TABLES)
def test_effects_of_the_published_cells_are_the_published_effects(response: str) -> None:
    frame = pl.read_csv(PUBLISHED / TABLES[response])
    found = effects(frame, ["C", "P", "A", "B"], "throughput_mbps")
    # the printed grand means are those of tables cut off, not rounded, after two decimals
    assert found.mean.value == pytest.approx({"premium": 0.9047, "assured": 0.6090}[response], abs=5e-5)
    printed = [row for row in published("effects.csv") if row["response"] == response]
    assert float(printed[0]["effect"]) - found.mean.value == pytest.approx(0.004, abs=1e-3)
    for row in printed[1:]:
        levels = dict(zip(row["component"], row["level"], strict=True))
        assert found.at(**levels).value == pytest.approx(float(row["effect"]), abs=0.002), row


@pytest.mark.parametrize("response", TABLES)
def test_shares_of_variation_rank_as_published(response: str) -> None:
    frame = pl.read_csv(PUBLISHED / TABLES[response])
    found = anova(frame, ["C", "P", "A", "B"], "throughput_mbps")
    printed = {
        row["component"]: float(row["percent_of_variation"])
        for row in published("anova.csv")
        if row["response"] == response
    }
    ours = {name: found.percent(":".join(name)) for name in printed}
    for one, other in product(printed, printed):
        if printed[one] > printed[other] and ours[one] < ours[other]:
            assert min(printed[one] - printed[other], ours[other] - ours[one]) < 0.5, (one, other)


def test_the_replication_decides_what_is_a_block() -> None:
    frame = pulp()
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    # an Enum keeps the order of its levels
    shuffled = shuffled.with_columns(
        pl.col("pulp").cast(pl.Enum(["1", "2", "3"])), pl.col("heat").cast(pl.Enum(["a", "b", "c", "d"]))
    )
    one = split_plot(frame, ["pulp", "heat"], ["heat"], "replication").table
    other = split_plot(shuffled, ["pulp", "heat"], ["heat"], "replication").table
    assert one["sum_of_squares"].to_list() == pytest.approx(other["sum_of_squares"].to_list(), rel=1e-12)
    assert effects(shuffled, ["heat"]).table["level"].to_list() == ["a", "b", "c", "d"]


def test_what_is_not_balanced_is_refused() -> None:
    frame = pulp()
    with pytest.raises(UnbalancedError, match="2 to 3 observations"):
        anova(frame[1:], ["pulp", "heat"])
    with pytest.raises(UnbalancedError, match="1 of 12 have none"):
        anova(frame[3:], ["pulp", "heat"])
    with pytest.raises(UnbalancedError, match="1 of 36 values"):
        anova(frame.with_columns(pl.col("value").replace(26.0, None)), ["pulp"])
    moved = frame.with_columns(replication=pl.int_range(pl.len()))
    with pytest.raises(UnbalancedError, match="each of 'replication' once"):
        anova(moved, ["pulp", "heat"], block="replication")
    with pytest.raises(UnbalancedError, match="each of 'replication' once"):
        anova(frame, ["heat"], block="replication")
    with pytest.raises(ValueError, match="single level"):
        anova(frame.filter(pulp="1"), ["pulp", "heat"])
    with pytest.raises(ValueError, match="no effect of the factors"):
        anova(frame, ["pulp", "heat"], keep=["pulp:cold"])
    with pytest.raises(ValueError, match="every factor is within a run"):
        anova(frame, ["pulp", "heat"], within=["pulp", "heat"])
