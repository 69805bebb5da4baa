"""Cells of a factorial experiment, measured and printed, and what two analyses make of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from perhop.papers.error import PackError
from perhop.papers.pack import load_pack
from perhop.papers.papagiannaki import cells
from perhop.papers.papagiannaki.factorial import Cells, Layout, split_plot_differences
from perhop.papers.published import read_table

LAYOUT = Layout(("P", "C"), (("a", "b"), ("r", "f", "t")))


def replications(apart: float) -> list[Cells]:
    """Make four replications with an effect of P, little noise, and replications so far apart."""
    noise = np.random.default_rng(3)
    effect = np.array([[0.05] * 3, [-0.05] * 3])
    return [
        Cells(LAYOUT, {"y": 1.0 + effect + apart * k + noise.normal(0.0, 0.002, (2, 3))}) for k in range(4)
    ]


def test_blocks_take_up_what_replications_have_in_common() -> None:
    found = split_plot_differences(replications(1.0), ["y"], ["C"])
    alone = [one for one in found if one.startswith("y P ") and one.endswith("in the split plot alone)")]
    assert [one.split()[2] for one in alone] == ["a", "b"]


def test_an_effect_that_both_see_is_no_difference() -> None:
    assert not [one for one in split_plot_differences(replications(0.0), ["y"], ["C"]) if " P " in one]


def scalars() -> pl.DataFrame:
    """Make two replications, the later first, of two treatments and an arm; values tell where they stand."""
    rows = [
        (arm, p, c, replication, "y", 100.0 * replication + 10 * "ab".index(p) + "rft".index(c) + more)
        for replication in (1, 0)
        for arm, p, more in ((cells.EVERYWHERE, "a", 0.0), (cells.EVERYWHERE, "b", 0.0), ("copy", "a", 0.5))
        for c in "trf"
    ]
    return pl.DataFrame(rows, ["arm", "P", "where", "replication", "response", "value"], orient="row")


def test_values_measured_are_put_into_cells_by_replication() -> None:
    first, second = cells.replications(scalars(), LAYOUT, ("P", "where"))
    assert first.values["y"].tolist() == [[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]]
    assert first.arms["copy", "y"].tolist() == [0.5, 1.5, 2.5]
    assert second.values["y"].tolist() == (first.values["y"] + 100.0).tolist()


def test_a_cell_without_a_value_is_told() -> None:
    frame = scalars().filter(~((pl.col("P") == "b") & (pl.col("where") == "t")))
    with pytest.raises(KeyError, match="no value of y in some of the 6 cells"):
        cells.replications(frame, LAYOUT, ("P", "where"))


PRINTED = "P,C,y\na,r,1\na,f,2\na,t,3\nb,t,6\nb,f,5\nb,r,4\n"


def test_a_printed_table_is_put_into_cells() -> None:
    pack = replace(load_pack("papagiannaki"), published={"t": read_table(Path("t.csv"), PRINTED)})
    found = cells.printed_table(pack, "t", "y", LAYOUT)
    assert found.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@pytest.mark.parametrize(
    ("line", "instead", "told"),
    [
        ("b,r,4\n", "", "t.csv: has not all 6 cells"),
        ("b,r,4\n", "c,r,4\n", "t.csv:7: column 'P' is 'c', not a or b"),
        ("b,r,4\n", "b,r,\n", "t.csv:7: column 'y' is '', not a number"),
    ],
)
def test_a_printed_table_with_a_gap_or_an_unknown_level_is_refused(
    line: str, instead: str, told: str
) -> None:
    table = read_table(Path("t.csv"), PRINTED.replace(line, instead))
    pack = replace(load_pack("papagiannaki"), published={"t": table})
    with pytest.raises(PackError, match=told):
        cells.printed_table(pack, "t", "y", LAYOUT)
