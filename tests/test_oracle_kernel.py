"""The oracle of the kernel's TCP: tables are the numbers'; the simulator gives its part; the rig runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from namespaces import need
from perhop import Campaign, Scenario
from perhop.experiment.design import each
from reproduced import changed, skip_if_any
from scripts import script

FOLDER = Path(__file__).parents[1] / "oracles" / "kernel"
VERSION = 13
"""The results_version of the recorded simulator."""

compare = script(FOLDER / "compare.py", "compare")  # effects.py knows it by that name
effects = script(FOLDER / "effects.py")
rig = script(FOLDER / "rig" / "rig.py")
CELLS = {cell.name: cell for cell in rig.cells()}


@pytest.mark.parametrize(
    ("program", "many"),
    [
        ("compare.py", 1),
        ("compare.py --of bbr", 1),
        ("effects.py", len(effects.TABLES)),
        ("queues.py", 3),
        ("arms.py household", 2),
        ("arms.py acks", 2),
    ],
)
def test_the_page_has_the_tables_of_the_numbers(program: str, many: int) -> None:
    name, *options = program.split()
    words = [sys.executable, str(FOLDER / name), *options]
    tables = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    parts = [tables] if many == 1 else tables.split("\n\n")
    assert len(parts) == many
    page = (FOLDER / "README.md").read_text()
    assert [part for part in parts if f"\n{part}\n" not in page] == []


def test_the_simulator_gives_what_is_recorded() -> None:
    """One cell in five, and every start."""
    recorded = pl.read_csv(FOLDER / "tcp.csv").filter(clock="simulator", replication=0)
    campaign = Campaign.load(FOLDER / "tcp.toml")
    steady = set(list(CELLS)[::5])
    compared = older = 0
    for run in each(campaign.design, campaign.scenario, range(1)):
        names = campaign.design.names
        levels = dict(zip(names, campaign.design.treatments[run.treatment].levels, strict=True))
        if levels["clock"] != "simulator" or (levels["part"] == "steady" and levels["cell"] not in steady):
            continue
        scenario = campaign.scenario.override(*run.overrides)
        if changed(scenario, VERSION):
            older += 1
            continue
        flows = scenario.run().flows
        (row,) = recorded.filter(part=levels["part"], cell=levels["cell"]).to_dicts()
        assert flows["goodput_bit_s"].sum() == pytest.approx(row["goodput"], rel=1e-12)
        assert flows["timeouts"].sum() == row["timeouts"]
        compared += 1
    skip_if_any(older, VERSION)
    assert compared == 36


@pytest.mark.parametrize("name", ["clauses", "jitter-sizes", "processing-jitter"])
def test_the_simulator_gives_the_effects_that_are_recorded(name: str) -> None:
    """One treatment in seven, its first run."""
    recorded = pl.read_csv(FOLDER / "effects.csv", schema_overrides={"level": pl.String})
    campaign = Campaign.load(FOLDER / f"{name}.toml")
    factor, *_ = names = campaign.design.names
    runs = [run for run in each(campaign.design, campaign.scenario, range(1)) if run.treatment % 7 == 0]
    assert len(runs) >= 3
    older = 0
    for run in runs:
        levels = dict(zip(names, campaign.design.treatments[run.treatment].levels, strict=True))
        place = {"part": levels.get("part", "steady"), "cell": levels["cell"], "level": levels[factor]}
        (row,) = recorded.filter(campaign=name, replication=0, **place).to_dicts()
        scenario = campaign.scenario.override(*run.overrides)
        if changed(scenario, VERSION):
            older += 1
            continue
        flows = scenario.run().flows
        assert flows["timeouts"].sum() == row["timeouts"]
        loss = flows["retransmissions"].sum() / flows["segments_sent"].sum()
        assert loss == pytest.approx(row["loss"], rel=1e-12)
    skip_if_any(older, VERSION)


def test_the_simulator_gives_what_is_recorded_of_queues() -> None:
    """The first run of each of its treatments."""
    recorded = pl.read_csv(FOLDER / "queues.csv")
    campaign = Campaign.load(FOLDER / "queues.toml")
    compared = older = 0
    for run in each(campaign.design, campaign.scenario, range(1)):
        sender, queue, flows = campaign.design.treatments[run.treatment].levels
        own = recorded.filter(sender=sender, queue=queue, flows=int(flows))
        assert sorted(own["replication"]) == list(range(campaign.design.replications))
        if sender.startswith("simulator"):
            row = own.row(by_predicate=pl.col("replication") == 0, named=True)
            scenario = campaign.scenario.override(*run.overrides)
            if changed(scenario, VERSION):
                older += 1
                continue
            result = scenario.run()
            assert result.flows["goodput_bit_s"].sum() == pytest.approx(row["goodput"], rel=1e-12)
            (wait,) = result.queues.filter(path="port.r-d.class.all")["wait_mean_s"]
            assert wait == pytest.approx(row["wait"], rel=1e-12)
            compared += 1
    skip_if_any(older, VERSION)
    assert compared == 28


def bursts() -> dict[tuple[int, int], tuple[int, int]]:
    """Return from the page, by rate in Mbit/s and queue, what rig and simulator drop of a burst."""
    lines = (FOLDER / "README.md").read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| rate, queue |"))
    names, on_rig, simulated = (lines[first + i].split("|")[2:-1] for i in (0, 2, 3))
    keys = [(int(rate.rstrip("M")), int(queue)) for rate, queue in map(str.split, names)]
    return dict(zip(keys, zip(map(int, on_rig), map(int, simulated), strict=True), strict=True))


def test_a_burst_loses_what_the_page_says() -> None:
    scenario = Scenario.load(FOLDER / "dumbbell.toml").override(
        "flow.bulk.tcp.initial_window=60", "flow.bulk.start_jitter=0s", "run.warmup=0s",
        "run.duration=36ms", "run.interval=1ms",
    )  # fmt: skip
    assert len(bursts()) == 7
    for (rate, queue), (on_rig, simulated) in bursts().items():
        limits = (f"link.r-d.rate={rate}Mbit/s", f"port.r-d.class.all.queue.limit={queue}p")
        assert scenario.override(*limits).run().classes["dropped_packets"].sum() == simulated
        assert abs(on_rig - simulated) <= 1


def test_the_page_of_tcp_counts_the_means_that_agree() -> None:
    words = [sys.executable, str(FOLDER / "queues.py")]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    agree = re.search(r"\*\*(\d+ of \d+ means agree)\*\*", said)
    assert agree is not None
    assert f"| {agree[1]} within" in (FOLDER.parents[1] / "docs" / "tcp.md").read_text()


def test_every_arm_has_the_same_thirty_cells() -> None:
    assert len(CELLS) == 30
    for file in ("tcp.csv", "rig.csv"):
        assert set(pl.read_csv(FOLDER / file)["cell"]) == set(CELLS)


@pytest.mark.parametrize(
    ("arm", "word"),
    [([10.9, 10.95, 11.0], "agrees"), ([13.9, 14.0, 14.1], "differs"), ([6.0, 14.0, 19.0], "open")],
)
def test_a_verdict_is_by_interval_or_tenth_and_by_welch(arm: list[float], word: str) -> None:
    """The rig has 10.0 ± 0.98: a tenth is as wide."""
    assert compare._verdict("loss", np.array([9.0, 9.5, 10.0, 10.5, 11.0]), np.array(arm)) == word


def test_few_time_outs_are_not_judged() -> None:
    few = np.array([4.0, 4.5, 5.0])
    assert compare._verdict("timeouts", few, 3 * few) == ""


def test_late_runs_of_the_rig_are_left_out_and_counted(tmp_path: Path) -> None:
    every = pl.read_csv(FOLDER / "rig.csv").head(4)
    late = every.with_columns(
        late_p99_us=pl.Series([100, 501, 100, 100]), late_max_us=pl.Series([9000, 9000, 100_001, 100_000])
    )
    late.write_csv(tmp_path / "rig.csv")
    runs, left_out = compare.rig(tmp_path / "rig.csv")
    assert left_out == 2
    assert runs.filter(part="steady").height == 2


def test_the_rig_forwards_and_leaves_nothing(tmp_path: Path) -> None:
    """A run of some seconds: what is asserted holds on a busy machine too."""
    if os.geteuid():
        pytest.skip("only root can ask for SCHED_FIFO and mount a folder of its own")
    need("tc", "ethtool", "cc", "chrt")
    before = set(os.listdir("/sys/class/net"))
    cell = CELLS["10M-20ms-2-15-cubic"]
    short = rig.Cell(**{**vars(cell), "warmup_s": 5.0, "duration_s": 8.0})
    row = rig.run(short, 0, rig.compiled(tmp_path))
    assert set(row) == set(rig.COLUMNS)
    # 1460 of 1512 octets are payload
    assert 0.8 < row["goodput_bit_s"] / (cell.rate_bit_s * 1460 / 1512) < 1.01
    assert row["dropped"] > 0
    assert 0.01 < row["loss"] < 0.2
    assert 0.02 < row["srtt_s"] < 0.2
    # segments of 8 s at 10 Mbit/s, and 15 SYNs
    assert row["forwarded"] < 8.5 * 10e6 / 8 / 1512 + 15
    on_rig, _ = bursts()[10, 33]
    # on a busy machine the burst comes slower, and more of it passes
    assert rig.dropped_of_burst(cell, rig.compiled(tmp_path)) <= on_rig + 1
    assert set(os.listdir("/sys/class/net")) == before
    assert not Path("/run/netns/r").exists()
