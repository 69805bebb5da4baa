"""Figures of designed experiments: whole SVG, what is drawn and what is told."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from perhop.plot.effects import Line, Mean, Panel, draw_curve, draw_means
from perhop.plot.residuals import draw_qq, draw_residuals
from perhop.plot.variation import VariationPart, draw_pareto
from perhop.stats.residuals import furthest, normal_qq


def texts(svg: str) -> list[str]:
    ElementTree.fromstring(svg.replace("<svg ", '<svg xmlns:xlink="http://www.w3.org/1999/xlink" ', 1))
    assert not re.search(r"https?://(?!www\.w3\.org)", svg), "a figure asks for nothing"
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_main_effects_and_interactions_name_levels_and_units() -> None:
    one = Panel("P", ["p", "a"], [Line("", [Mean(1.0, 0.9, 1.1), Mean(2.0)])])
    two = Panel("P", ["p", "a"], [Line(name, [Mean(1.0), None]) for name in "rf"], other="C")
    shown = draw_means([one, two], "goodput in Mbit/s", "Means", grand=1.5)
    assert {"P", "p", "a", "C", "r", "f", "goodput in Mbit/s"} <= set(texts(shown))
    assert "goodput in Mbit/s. P: p 1, a 2; P: C r: p 1, a none / C f: p 1, a none" in shown


def test_an_interval_without_ends_is_not_drawn() -> None:
    def paths(high: float) -> int:
        panel = Panel("rate in Mbit/s", ["1", "2"], [Line("", [Mean(1.0, 0.9, high), Mean(2.0, 1.9, 2.1)])])
        return draw_curve([1.0, 2.0], panel, "goodput in Mbit/s", "Curve").count("<path")

    assert paths(math.inf) == paths(math.nan) < paths(1.1)


def test_a_curve_over_decades_is_logarithmic() -> None:
    panel = Panel("rate", ["1", "10", "100"], [Line(name, [Mean(1.0)] * 3) for name in ("reno", "cubic")])
    shown = draw_curve([1.0, 10.0, 100.0], panel, "goodput", "Curve", [(1.0, 0.9)])
    assert {"1", "10", "100", "reno", "cubic"} <= set(texts(shown))
    places = [float(x) for x in re.findall(r'<text[^>]* x="([\d.]+)"[^>]*>10?0?<', shown)]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], rel=0.05)


def test_a_pareto_is_ordered_and_says_what_is_left() -> None:
    parts = [
        VariationPart("A:B", 30.0, False),
        VariationPart("A", 60.0, True),
        VariationPart("error", 10.0, None),
    ]
    shown = texts(draw_pareto(parts, "Variation"))
    order = [shown.index(name) for name in ("A", "A × B", "error")]
    assert order == sorted(order)
    assert "30.0 %, together 90.0 %" in shown
    assert "30.0 %" in texts(draw_pareto(parts, "Variation", add_up=False))
    many = texts(draw_pareto([VariationPart(f"x{i}", 5.0, True) for i in range(20)], "Variation"))
    assert "7 others" in many
    assert "35.0 %, together 100.0 %" in many


def test_residuals_with_and_without_outliers() -> None:
    values = np.array([0.1, -0.2, 0.05, 3.0, -0.1, 0.15, 0.0])
    shown = texts(draw_qq(normal_qq(values), "s", "Q-Q", normal_qq(values, furthest(values, 1))))
    assert any(text.startswith("7 residuals: correlation 0.7") for text in shown)
    assert any(text.startswith("6 residuals, 1 set aside: correlation 0.9") for text in shown)
    many = np.random.default_rng(1).normal(size=30_000)
    small = draw_residuals(many, many, "s", "Residuals")
    assert len(small) < 500_000
    assert f"30000 residuals from {many.min():.3g} to {many.max():.3g} in s" in small
    assert {"predicted in s", "residual in s"} <= set(texts(draw_residuals(values, values, "s", "Residuals")))
