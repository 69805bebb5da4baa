"""What keeps short commands short: plain values, columns that are asked for, ledgers that are read once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import perhop
from conftest import Cli
from perhop.experiment import ledger, work
from perhop.experiment.response import Response
from perhop.run.run import run
from scripts import script
from test_campaign_run import SCENARIO

WAITS = script(Path(__file__).parents[1] / "bench" / "waits.py")
TINY = perhop.Scenario.from_text(WAITS.TINY)
MEASURES = (
    "count(marks)",
    "count(links where utilization > 0.5)",
    "count(queues where not dropped_packets > 0 or path = 'x')",
    "sum(flows.goodput_bit_s where name in ('up[0]', 'up[1]'))",
    "mean(flows.goodput_bit_s / flows.segments_sent) by class",
    "mean(flows.completed_s where completed_s >= 0)",
    "max(classes.delay_p97_s) by class",
    "max(flows.duration_s)",
    "sum(8 * queues.dropped_packets) - count(flows)",
)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_worker_measures_as_a_whole_run_does(measure: str) -> None:
    one = Response.parse("x", measure)
    _, version, results_version = work.identity()
    task = work.Task(TINY.source, "x", (), work.measures_of([one]), version, results_version)
    done = work.execute(task)
    assert done.failure is None
    assert {value.group: value.value for value in done.values} == one.evaluate(TINY.run())


def test_a_run_has_the_columns_that_are_asked_for() -> None:
    some = run(TINY, only={"flows": {"goodput_bit_s", "name"}})
    whole = run(TINY)
    assert some.flows.equals(whole.flows.select("name", "goodput_bit_s"))
    assert some.queues.columns == []
    assert some.event_digest == whole.event_digest


def test_the_campaign_that_is_measured_is_valid(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(WAITS.TINY)
    (tmp_path / "many.toml").write_text(WAITS.CAMPAIGN.format(5))
    assert "4 treatments (rate 2 x limit 2) x 5 = 20 runs" in cli("check", tmp_path / "many.toml").out
    plan = cli("campaign", "plan", tmp_path / "many.toml", "-j", "2", "--json").json()
    assert 20 * 0.003 / 2 < plan["about_s"] < 0.1


def test_a_ledger_is_compared_with_its_hashes_once_until_it_is_written_to(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.toml").write_text(SCENARIO)
    store = tmp_path / "store"
    words = ("--vary", "link.a-b.rate=1Mbit/s,2Mbit/s", "--measure", "sum(flows.goodput_bit_s)", "-j", "1")
    assert cli("sweep", tmp_path / "net.toml", *words, "-o", store).code == 0
    looked = []
    whole = ledger.damage

    def damage(connection: Any) -> str | None:
        looked.append(connection)
        return whole(connection)

    monkeypatch.setattr(ledger, "damage", damage)
    ledger._WHOLE.clear()
    for _ in range(3):
        with ledger.read(store) as book:
            assert book.states()["done"] == 20
    assert len(looked) == 1
    with ledger.driven(store) as book:
        book.work_with(3)
    with ledger.read(store):
        pass
    assert len(looked) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--seed", "1_0"), ""),
        (("--seed", "+7"), ""),
        (("--seed", "1.5"), "--seed: '1.5' is not a whole number"),
        (("--seed", "99999999999999999999"), "the most allowed"),
    ],
)
def test_what_is_not_plain_typer_reads(
    cli: Cli, words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    (tmp_path / "tiny.toml").write_text(WAITS.TINY)
    done = cli("run", tmp_path / "tiny.toml", *words, "-o", tmp_path / "run")
    assert (message in done.err) if message else (done.code == 0)
