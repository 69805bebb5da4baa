"""The first screen of a run's page: sentences by rules from its tables, the figure that tells most, pills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from perhop import Scenario, StoredRun
from perhop.report import answer
from perhop.say import run as sentences

EXAMPLES = Path(__file__).parents[1] / "examples"
PACK = Path(__file__).parents[1] / "python" / "perhop" / "starters" / "diffserv" / "diffserv.toml"


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    folder = tmp_path_factory.mktemp("answer") / "run"
    Scenario.load(EXAMPLES / "three-losses.toml").run(trace=["tcp"]).save(folder)
    return StoredRun.load(folder)


def of(**tables: list[dict[str, Any]]) -> StoredRun:
    """Give a run that has nothing but tables."""
    made = {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items()}
    return StoredRun(Path(), None, made)  # type: ignore[arg-type]


def queue(name: str, lost: int, came: int, filtered: int = 0) -> dict[str, Any]:
    return {
        "path": f"port.{name}",
        "dropped_packets": lost + filtered,
        "dropped_ack_filter": filtered,
        "in_packets": came,
    }


def link(name: str, share: float, lost: int = 0, packets: int = 100) -> dict[str, Any]:
    return {"name": name, "utilization": share, "lost_packets": lost, "packets": packets}


def test_transfers_are_told_by_their_time_and_the_events_are_drawn(losses: StoredRun) -> None:
    found = answer.of_run(losses)
    assert found.sentences[0].startswith("Complete after: reno 4.305 s, newreno 2.331 s and sack 2.27")
    assert found.sentences[1].endswith("; 9 packets were lost at 3 places, at most 3 at each.")
    assert len(found.sentences) <= 3
    assert found.figure is not None
    assert found.figure.id == "time-sequence"
    assert {pill.text for pill in found.pills} >= {"all invariants hold", "9 packets lost"}


@pytest.mark.usefixtures("undrawn")
def test_every_pill_leads_somewhere_and_no_figure_is_drawn_twice(losses: StoredRun) -> None:
    page = losses.report().read_text()
    for pill in answer.of_run(losses).pills:
        assert f'id="{pill.target.removeprefix("#")}"' in page
    assert page.count('<figure id="time-sequence">') == 1
    assert page.index('id="answer"') < page.index('<figure id="time-sequence">') < page.index('id="what"')


def test_classes_are_told_in_the_words_of_the_table(tmp_path: Path) -> None:
    Scenario.load(PACK).override("run.duration=20s").run().save(tmp_path / "run")
    stored = StoredRun.load(tmp_path / "run")
    found = answer.of_run(stored)
    rows = {row["class"]: row for row in stored.table("classes").to_dicts()}
    done = f"({rows['web']['transfers_completed']} of {rows['web']['transfers']} transfers complete, half"
    assert done in found.sentences[0]
    for name in rows:
        assert f"{name} " in found.sentences[0]
        assert f"{name} " in found.sentences[2]
    assert found.figure is not None
    assert found.figure.id == "class-goodput"
    lost = sum(stored.table(name)["dropped_packets"].sum() for name in ("queues", "conditioners"))
    assert f"{lost} packets were lost" in found.sentences[1]


def test_a_flow_that_waits_on_its_timer_is_named(tmp_path: Path) -> None:
    changes = ("flow.bulk.tcp.profile=rfc", "flow.bulk.tcp.window=256KiB", "run.processing_jitter=0s")
    lesson = Scenario.load(EXAMPLES / "lessons" / "drop-tail.toml").override(*changes)
    lesson.run().save(tmp_path / "run")
    said = answer.of_run(StoredRun.load(tmp_path / "run")).sentences[0]
    assert said.endswith("; starved by time-outs that follow each other: bulk[4] 4.672 kbit/s.")
    lesson.override("flow.bulk.tcp.recovery=sack").run().save(tmp_path / "sack")
    assert "starved" not in answer.of_run(StoredRun.load(tmp_path / "sack")).sentences[0]


def test_one_flow_is_told_by_its_window(tmp_path: Path) -> None:
    text = """
[run]
duration = "3s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
ends = ["a", "b"]
rate = "1Mbit/s"
delay = "5ms"
[[flow]]
name = "only"
from = "a"
to = "b"
"""
    Scenario(text.encode(), "one.toml").run().save(tmp_path / "run")
    found = answer.of_run(StoredRun.load(tmp_path / "run"))
    assert found.figure is not None
    assert found.figure.id == "cwnd_bytes"
    assert found.sentences[0].startswith("Goodput: only ")
    assert found.sentences[2].startswith("Half of the packets with data arrived within ")


@pytest.mark.parametrize(
    ("queues", "links", "said"),
    [
        (
            [queue("q", 0, 9)],
            [link("a->b", 0.5)],
            "The busiest link, a->b, was busy 50 % of the time; no packet was lost.",
        ),
        ([queue("q", 0, 9)], [link("a->b", 0.0)], "No packet was lost."),
        # a later ACK says what one that is filtered said
        (
            [queue("q", 0, 9, filtered=4)],
            [link("a->b", 0.0)],
            "No packet was lost; ACK filters dropped 4 ACKs.",
        ),
        (
            [queue("q", 1, 4, filtered=4)],
            [link("a->b", 0.0)],
            "1 packet was lost, in the queue q alone (25 % of what came there); ACK filters dropped 4 ACKs.",
        ),
        (
            [queue("q", 1, 4)],
            [link("a->b", 0.0)],
            "1 packet was lost, in the queue q alone (25 % of what came there).",
        ),
        (
            [queue("q", 30, 60), queue("p", 10, 60)],
            [link("a->b", 0.9), link("b->a", 0.9)],
            "The busiest link, a->b, was busy 90 % of the time, 1 other alike; "
            "40 packets were lost, 30 of them in the queue q (50 % of what came there).",
        ),
        (
            [queue("q", 2, 60)],
            [link("a->b", 0.0, lost=2)],
            "4 packets were lost at 2 places, at most 2 at each.",
        ),
        # what waited before the warm-up may be dropped after it: no share is told that would exceed all
        ([queue("q", 5, 4)], [link("a->b", 0.0)], "5 packets were lost, in the queue q alone."),
    ],
)
def test_where_the_loss_was(queues: list[dict[str, Any]], links: list[dict[str, Any]], said: str) -> None:
    assert sentences.lost(of(queues=queues, links=links)) == said


def test_a_damaged_run_says_so_first(losses: StoredRun) -> None:
    import msgspec

    broken = msgspec.structs.replace(losses.record, invariants=["a law"])
    found = answer.of_run(StoredRun(losses.folder, broken, losses.tables))
    assert (found.pills[0].look, found.pills[0].target) == ("bad", "#laws")
