"""What is said of live runs, without making one: what is not compared, and the other arm's command."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from perhop import Scenario, StoredRun
from perhop.cli import replay_live
from perhop.cli.exit import CommandError, ExitCode
from perhop.report.live import _virtual_command
from perhop.run import summary
from perhop.run.live import LackingError, LiveError, differences, program
from test_live import FIFO, NETWORK


def _scenario(duration: str) -> Scenario:
    return Scenario.from_text(NETWORK.format(duration=duration) + FIFO)


def _stored(scenario: Scenario, series: pl.DataFrame) -> StoredRun:
    return cast(StoredRun, SimpleNamespace(table=lambda name: series, scenario=lambda: scenario))


def test_a_run_too_short_to_be_compared_is_told_before_it_is_made_again() -> None:
    scenario = _scenario("1s")  # five intervals after the warm-up

    def again() -> Any:
        pytest.fail("it was run again")

    series = scenario.run().series
    short = SimpleNamespace(describe=scenario.describe, run=lambda **_: again())
    stored = cast(StoredRun, SimpleNamespace(table=lambda name: series, scenario=lambda: short))
    with pytest.raises(CommandError, match="too short to be compared") as caught:
        replay_live.compare(Path("run"), stored, as_json=False)
    assert caught.value.code == ExitCode.USAGE


def test_what_carried_nothing_in_one_of_two_runs_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = _scenario("3s")
    series = scenario.run().series
    calls = [path for path, name in summary.class_of(scenario.describe()).items() if name == "call"]
    silent = series.filter(~pl.col("path").is_in(calls))
    assert silent.height < series.height

    def compared(recorded: pl.DataFrame) -> tuple[int, dict[str, dict[str, Any]]]:
        code = replay_live.compare(Path("run"), _stored(scenario, recorded), as_json=True)
        told = json.loads(capsys.readouterr().out)["compared"]
        return code, {one["what"]: one for one in told}

    code, same = compared(series)
    assert code == ExitCode.DONE
    code, found = compared(silent)
    assert code == ExitCode.DIFFERS
    assert found.keys() == same.keys()
    differ = {what for what, one in found.items() if not one["agree"]}
    assert differ
    assert all(what.startswith("call, ") and found[what]["recorded"]["mean"] == 0 for what in differ)


def test_the_command_of_the_simulated_arm_is_virtual_whatever_the_file_says() -> None:
    record = SimpleNamespace(scenario="a b.toml", overrides=["run.seed=2", 'run.clock="live"'])
    told = _virtual_command(cast(StoredRun, SimpleNamespace(record=record)))
    assert told == "perhop run 'a b.toml' -s run.seed=2 -s run.clock=virtual"


def test_a_segment_that_no_socket_can_be_told_is_refused() -> None:
    try:
        program()
    except LackingError as error:
        pytest.skip(str(error))
    scenario = _scenario("1s")
    # 32767 bytes with 12 of timestamps
    differences(scenario.override('flow.bulk.tcp.mss="32755B"'))
    with pytest.raises(
        LiveError, match=r"flow\.bulk\[0\]\.mss: Linux is told of no segments above 32767 bytes"
    ):
        differences(scenario.override('flow.bulk.tcp.mss="32756B"'))
