"""The simulated TCP against the laws of loss and throughput: a few points of the sweep in `docs/laws.py`."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def laws() -> ModuleType:
    """Give the script that makes the sweep, as a module."""
    spec = importlib.util.spec_from_file_location("laws", DOCS / "laws.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up
    sys.modules["laws"] = module
    spec.loader.exec_module(module)
    return module


def test_reno_and_sack_follow_mathis_and_pftk_where_losses_are_rare(laws: ModuleType) -> None:
    points = [
        laws.Point("reno", recovery, rtt, b, p)
        for recovery in ("reno", "sack")
        for rtt, b, p in ((0.2, 1, 1e-3), (0.2, 2, 1e-3), (0.02, 1, 3e-4))
    ]
    for point, found in zip(points, laws.measure(points, seeds=3), strict=True):
        for law, ratio in laws.ratios(point, found).items():
            assert 0.8 < ratio < 1.25, (point, law, ratio)
        assert found.limited == 0.0


def test_cubic_follows_rfc_9438(laws: ModuleType) -> None:
    points = [laws.Point("cubic", "sack", rtt, 1, 1e-3, even=True) for rtt in (0.02, 0.2)]
    for point, found in zip(points, laws.measure(points), strict=True):
        assert 0.8 < laws.ratios(point, found)["rfc9438"] < 1.25


def test_the_page_has_the_numbers_of_the_sweep(laws: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    laws_page = importlib.import_module("laws_page")
    text = (DOCS / "tcp-laws.md").read_text(encoding="utf-8")
    document = json.loads(laws.RESULTS.read_text(encoding="utf-8"))
    assert laws_page.page(document, text) == text
    points = laws.all_points()
    assert [(one["rtt_s"], one["p"]) for one in document["points"]] == [(one.rtt_s, one.p) for one in points]
