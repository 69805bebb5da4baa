"""The kernel's tbf and htb beside perhop's: the page has the record, the simulator gives its part."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from namespaces import need
from scripts import script

FOLDER = Path(__file__).parents[1] / "oracles" / "kernel-shapers"
shapers = script(FOLDER / "shapers.py")

RECORDED = pl.read_csv(FOLDER / "shapers.csv")


def test_the_page_has_the_table_of_the_record() -> None:
    assert "\n".join(shapers.table()) in (FOLDER / "README.md").read_text()


def test_every_cell_is_on_record() -> None:
    arms = RECORDED.group_by("cell", "arm").agg(pl.col("replication").n_unique())
    found = {(cell, arm): runs for cell, arm, runs in arms.rows()}
    runs = {"kernel": 4, "simulator": 1, "live arm": 4}
    assert found == {
        (name, arm): runs[arm]
        for name, cell in shapers.CELLS.items()
        for arm in shapers.ARMS
        if not (cell.is_burst and arm == "live arm")
    }


@pytest.mark.parametrize("name", shapers.CELLS)
def test_the_simulator_gives_what_is_recorded(name: str) -> None:
    own = RECORDED.filter(cell=name, arm="simulator").select("class", "quantity", "value").rows()
    found = shapers.by_perhop(shapers.CELLS[name])
    assert [(at, quantity, round(value, 4)) for at, quantity, value in found] == own


@pytest.mark.parametrize("name", shapers.CELLS)
def test_the_kernel_gives_the_same(name: str) -> None:
    """Half a percent: timers are late now and then, and a packet is 0.12 % of what a class gets at most."""
    keys = ["class", "quantity"]
    means = RECORDED.filter(cell=name).group_by(*keys, "arm").agg(pl.col("value").mean())
    table = means.pivot("arm", index=keys, values="value")
    for row in table.iter_rows(named=True):
        assert row["kernel"] == pytest.approx(row["simulator"], rel=5e-3)
        assert row.get("live arm") in (None, pytest.approx(row["simulator"], rel=5e-3))


def test_a_burst_through_the_kernel_now() -> None:
    if os.geteuid():
        pytest.skip("only root can make namespaces with names")
    need("tc")
    found = {quantity: value for _, quantity, value in shapers.by_the_kernel(shapers.CELLS["tbf, a burst"])}
    assert 10 <= found["within 1 ms"] <= 11
    assert found["last after, ms"] == pytest.approx(72.7, rel=0.2)
