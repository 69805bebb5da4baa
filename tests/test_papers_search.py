"""The search of a calibration on made-up errors."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from perhop.papers.fit import Point, Search

VALUES = {"depth": (1, 2, 3), "share": (0.1, 0.2, 0.3)}


def bowl(points: Sequence[Point]) -> list[float]:
    return [(float(one["depth"]) - 3) ** 2 + (float(one["share"]) - 0.2) ** 2 for one in points]


def test_it_ends_at_the_least_error_and_tries_no_point_twice() -> None:
    found = Search({"depth": 1, "share": 0.1, "fixed": "x"}, bowl)
    assert found.go_through(VALUES)
    # a second pass finds nothing to change
    assert not found.go_through(VALUES)
    assert found.best == {"depth": 3, "share": 0.2, "fixed": "x"}
    assert found.error == 0.0
    points = [tuple(point.values()) for point, _ in found.tried]
    assert len(points) == len(set(points)) == 7
    last = {"depth": [[1, 4.0], [2, 1.0], [3, 0.0]], "share": [[0.1, 0.01], [0.2, 0.0], [0.3, 0.01]]}
    assert found.found() == {"chosen": found.best, "error": 0.0, "tried": last}
    assert found.points("f")[:3] == [
        {"fit": "f", "levels": [depth, 0.1, "x"], "error": error}
        for depth, error in ((1, 4.01), (2, 1.01), (3, 0.01))
    ]


def test_a_gain_that_is_too_small_is_not_taken() -> None:
    def nearly_flat(points: Sequence[Point]) -> list[float]:
        return [1.0 - 0.01 * float(one["depth"]) for one in points]

    start = {"depth": 1, "share": 0.1}
    demanding = Search(start, nearly_flat, least_gain=0.05)
    assert not demanding.go_through(VALUES)
    assert demanding.best == start
    any_gain = Search(start, nearly_flat)
    assert any_gain.go_through(VALUES)
    assert any_gain.best["depth"] == 3


def test_what_is_not_gone_through_stays() -> None:
    found = Search({"depth": 1, "share": 0.1}, bowl)
    assert found.go_through({"share": VALUES["share"]})
    assert found.best == {"depth": 1, "share": 0.2}
    assert found.error == pytest.approx(4.0)
