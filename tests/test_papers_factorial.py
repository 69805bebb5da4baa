"""Statistics of a factorial experiment that the frame of studies gives."""

from __future__ import annotations

import numpy as np

from perhop.papers.factorial import Cells, Layout, split_plot_differences

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
