"""The search of a calibration on made-up errors."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from perhop.papers.search import Point, search

VALUES = {"depth": (1, 2, 3), "share": (0.1, 0.2, 0.3)}


def bowl(points: Sequence[Point]) -> list[float]:
    return [(float(one["depth"]) - 3) ** 2 + (float(one["share"]) - 0.2) ** 2 for one in points]


def test_it_ends_at_the_least_error_and_tries_no_point_twice() -> None:
    found = search({"depth": 1, "share": 0.1, "fixed": "x"}, VALUES, bowl, passes=9)
    assert found.best == {"depth": 3, "share": 0.2, "fixed": "x"}
    assert found.error == 0.0
    points = [tuple(point.values()) for point, _ in found.tried]
    assert len(points) == len(set(points)) == 7
    # a second pass finds nothing to change, and is the last
    assert [step["pass"] for step in found.steps] == [1, 1, 2, 2]
    assert found.steps[0] == {
        "pass": 1,
        "parameter": "depth",
        "errors": [[1, 4.01], [2, 1.01], [3, 0.01]],
        "taken": 3,
    }


def test_a_gain_that_is_too_small_is_not_taken() -> None:
    def nearly_flat(points: Sequence[Point]) -> list[float]:
        return [1.0 - 0.01 * float(one["depth"]) for one in points]

    start = {"depth": 1, "share": 0.1}
    assert search(start, VALUES, nearly_flat, passes=3, least_gain=0.05).best == start
    assert search(start, VALUES, nearly_flat, passes=3).best["depth"] == 3


def test_it_ends_after_so_many_passes() -> None:
    def away(points: Sequence[Point]) -> list[float]:
        """Each parameter would like to be where the other is not."""
        return [abs(float(one["depth"]) - 10 * float(one["share"])) for one in points]

    found = search({"depth": 3, "share": 0.1}, VALUES, away, passes=1)
    assert len(found.steps) == 2
    assert found.error == pytest.approx(0.0)
