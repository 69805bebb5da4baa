"""The first screen of a run's page: sentences by rules from its tables, the figure that tells most, pills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from perhop import Scenario, StoredRun
from perhop.report import answer
from perhop.say import run as sentences
from perhop.units import bit_rate, duration

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


def test_classes_are_told_in_a_table(tmp_path: Path) -> None:
    Scenario.load(PACK).override("run.duration=20s").run().save(tmp_path / "run")
    stored = StoredRun.load(tmp_path / "run")
    found = answer.of_run(stored)
    rows = {row["class"]: row for row in stored.table("classes").to_dicts()}
    total = bit_rate(sum(row["goodput_bit_s"] for row in rows.values()))
    assert found.sentences[0].startswith(f"{len(rows)} classes of flows got {total} of goodput together; ")
    assert found.table is not None
    told = {row[0]: dict(zip(found.table.columns, row, strict=True)) for row in found.table.rows}
    for name, row in rows.items():
        assert told[name]["goodput"] == bit_rate(row["goodput_bit_s"])
        assert told[name]["delay 50 %"] == duration(row["delay_p50_s"])
        assert told[name]["delay 99 %"] == duration(row["delay_p99_s"])
    done = f"{rows['web']['transfers_completed']} of {rows['web']['transfers']}"
    assert (told["web"]["transfers complete"], told["premium"]["transfers complete"]) == (done, None)
    assert found.figure is not None
    assert found.figure.id == "overview"
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


def test_one_flow_is_told_by_its_class(tmp_path: Path) -> None:
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
    assert found.figure.id == "overview"
    assert found.sentences[0].startswith("Goodput: only ")
    assert found.table is not None
    assert [row[0] for row in found.table.rows] == ["default"]


def test_a_few_unlike_flows_of_a_class_have_a_row_each(tmp_path: Path) -> None:
    """The delays of an upload and of a download on another queue are no distribution."""
    pack = PACK.parents[1] / "two-way" / "two-way.toml"
    Scenario.load(pack).override("run.duration=20s", "run.warmup=5s").run().save(tmp_path / "run")
    run = StoredRun.load(tmp_path / "run")
    table = answer.of_run(run).table
    assert table is not None
    assert list(table.columns) == ["flow", "goodput", "mean delay"]
    delays = dict(run.table("flows").select("name", "delay_mean_s").iter_rows())
    assert [(row[0], row[2]) for row in table.rows] == [
        (name, duration(delay)) for name, delay in delays.items()
    ]


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
