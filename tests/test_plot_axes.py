"""A logarithmic axis says so; one that is not says nothing."""

from __future__ import annotations

from typing import Literal

import pytest

from perhop.plot import by_class, style


@pytest.mark.parametrize(("high", "told"), [(0.02, "delay in ms"), (2.0, "delay in ms, logarithmic")])
def test_the_label_of_delays(high: float, told: str) -> None:
    rows = [by_class.Row(label="a", low=0.01, bar=0.015, high=high)]
    assert f">{told}<" in by_class.draw(rows, "Delays", "delay in ms")


@pytest.mark.parametrize("which", ["x", "y"])
def test_scale_and_label_go_together(which: Literal["x", "y"]) -> None:
    with style.figure() as (_, axes):
        axes.set(xlabel="size in B", ylabel="rate in bit/s")
        style.logarithmic(axes, which)
        assert (axes.get_xscale() == "log", axes.get_yscale() == "log") == (which == "x", which == "y")
        told = {"x": axes.get_xlabel(), "y": axes.get_ylabel()}
        assert [name for name, label in told.items() if label.endswith(", logarithmic")] == [which]
