"""The simulated TCP against the laws of loss and throughput: a few points of the sweep in `docs/laws.py`."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from scripts import script

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def laws() -> ModuleType:
    """Give the script that makes the sweep, as a module."""
    return script(DOCS / "laws.py")


def test_reno_and_sack_follow_mathis_and_pftk_where_losses_are_rare(laws: ModuleType) -> None:
    points = [
        laws.Point("reno", recovery, rtt, b, p)
        for recovery in ("reno", "sack")
        for rtt, b, p in ((0.2, 1, 1e-3), (0.2, 2, 1e-3), (0.02, 1, 3e-4))
    ]
    for point, found in zip(points, laws.measure(points, seeds=3), strict=True):
        for law, ratio in laws.ratios(point, found).items():
            # measured are 0.95 to 1.10; growth that is 30 % too slow makes 0.84 of it
            assert 0.92 < ratio < 1.16, (point, law, ratio)
        assert found.limited == 0.0


def test_cubic_follows_rfc_9438(laws: ModuleType) -> None:
    points = [laws.Point("cubic", "sack", rtt, 1, 1e-3, even=True) for rtt in (0.02, 0.2)]
    for point, found in zip(points, laws.measure(points), strict=True):
        assert 0.8 < laws.ratios(point, found)["rfc9438"] < 1.25


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Give the module about flows that fill their link."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("laws_link")


def test_one_flow_fills_its_link(links: ModuleType) -> None:
    # the short form: round trips whose sawtooth is short; all of them are in the sweep
    points = links.links(list(links.SENDERS), (10,), (10, 50)) + links.links(
        list(links.SENDERS), (100,), (10,)
    )
    points += [
        links.Link(sender, 100, 32, queue) for sender in ("linux", "default") for queue in links.QUEUES_BDP
    ]
    rows = links.measure(points, 2)
    assert [row for row in rows if links.broken(row)] == []
    # that the flow lost at the top of its sawtooth shows that it was measured over several
    assert [row for row in rows if row["repairs"] < links.TEETH - 1] == []


def test_a_flow_that_does_not_fill_its_link_breaks_the_law(links: ModuleType) -> None:
    point = links.Link("reno tahoe", 10, 10, 1.0)
    (row,) = links.measure([point], 1)
    assert links.broken(row), row
    assert links.broken({**row, "utilization": 1.0, "timeouts": links.MOST_TIMEOUTS + 1})
    assert not links.broken({**row, "utilization": point.least, "timeouts": 0})


def test_one_bbr_flow_fills_its_link_behind_every_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    bbr = importlib.import_module("laws_bbr")
    # the short form; all of them are in the sweep
    rows = bbr.measure(bbr.cells((10,), (10, 50)), 2)
    assert [row for row in rows if bbr.broken(row)] == []
    # that it looks for the least round trip costs something, everywhere
    assert max(row["utilization"] for row in rows) < 0.99
    assert bbr.broken({**rows[0], "utilization": 0.93})
    third, one = (row["lost"] for row in rows[:2])
    assert third > one > 0


@pytest.mark.parametrize(("queue", "seconds", "part"), [(0.3, 0.0964, 0.846), (3.0, 0.6134, 0.998)])
def test_a_sawtooth_by_hand(links: ModuleType, queue: float, seconds: float, part: float) -> None:
    # 10 Mbit/s, 10 ms: an empty round trip of 11.355 ms holds 9 packets of 1.2 ms. With a queue of 2, one of
    # 12 is lost: round trips of 6 (recovery), 6, 7, 8, 9, 10, 11 and 12 packets, less the lost one, 68 in
    # 5 * 11.355 + (10 + 11 + 12) * 1.2 ms. With a queue of 25 one of 35 is lost: 17 (recovery), 17 to 35,
    # less one, 510 in 511 * 1.2 ms
    length, used = links.Link("reno sack", 10, 10, queue).sawtooth()
    assert length == pytest.approx(seconds, abs=0.001)
    assert used == pytest.approx(part, abs=0.001)


def test_the_page_has_the_numbers_of_the_sweep(laws: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    laws_page = importlib.import_module("laws_page")
    text = (DOCS / "tcp-laws.md").read_text(encoding="utf-8")
    document = json.loads(laws.RESULTS.read_text(encoding="utf-8"))
    assert laws_page.page(document, text) == text
    points = laws.all_points()
    assert [(one["rtt_s"], one["p"]) for one in document["points"]] == [(one.rtt_s, one.p) for one in points]
