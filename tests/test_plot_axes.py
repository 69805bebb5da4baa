"""A logarithmic axis says so; one that is not says nothing."""

from __future__ import annotations

from typing import Literal

import polars as pl
import pytest

from perhop.plot import by_class, series, style


@pytest.mark.parametrize(("high", "told"), [(0.02, "delay in ms"), (2.0, "delay in ms, logarithmic")])
def test_the_label_of_delays(high: float, told: str) -> None:
    rows = [by_class.ClassRow(label="a", low=0.01, bar=0.015, high=high)]
    assert f">{told}<" in by_class.draw(rows, "Delays", "delay in ms")


@pytest.mark.parametrize("which", ["x", "y"])
def test_scale_and_label_go_together(which: Literal["x", "y"]) -> None:
    with style.figure() as (_, axes):
        axes.set(xlabel="size in B", ylabel="rate in bit/s")
        style.logarithmic(axes, which)
        assert (axes.get_xscale() == "log", axes.get_yscale() == "log") == (which == "x", which == "y")
        told = {"x": axes.get_xlabel(), "y": axes.get_ylabel()}
        assert [name for name, label in told.items() if label.endswith(", logarithmic")] == [which]


def test_idle_links_are_left_out_and_flows_are_not() -> None:
    shares = {"link.a->b": 1.0, "link.b->a": 0.00267, "link.c->a": 0.02}
    rows = [
        {"time_s": time, "path": path, "quantity": "utilization", "value": share}
        for path, share in shares.items()
        for time in (1.0, 2.0)
    ]
    quantity = next(one for one in series.QUANTITIES if one.name == "utilization")
    drawn = series.draw(pl.DataFrame(rows), quantity)
    assert drawn is not None
    assert "b-&gt;a" not in drawn
    assert "1 idle, not drawn" in drawn
    assert "a-&gt;b" in drawn
    assert "c-&gt;a" in drawn
    flows = pl.DataFrame(rows).with_columns(
        path=pl.col("path").str.replace("link", "flow"), quantity=pl.lit("goodput_bit_s")
    )
    goodput = next(one for one in series.QUANTITIES if one.name == "goodput_bit_s")
    all_flows = series.draw(flows, goodput)
    assert all_flows is not None
    assert "b-&gt;a" in all_flows
