"""The page on treatments of acknowledgments: its table, and the runs behind it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from perhop import Scenario
from perhop.experiment.definition import Campaign
from scripts import script

TOP = Path(__file__).parents[1]
FOLDER = TOP / "examples" / "acks"
PAGE = (TOP / "docs" / "acks.md").read_text()
TABLE: Any = script(FOLDER / "table.py")
RECORDED = pl.read_csv(FOLDER / "acks.csv")


def test_the_page_has_the_table_of_what_is_recorded() -> None:
    assert "\n".join(TABLE.table(RECORDED)) in PAGE
    assert RECORDED.height == 8 * 4 * 10


@pytest.mark.parametrize(
    ("acks", "ratio"), [("none", 10), ("filter, conservative", 10), ("fq", 50), ("ACKs first", 20)]
)
def test_a_run_gives_what_is_recorded(acks: str, ratio: int) -> None:
    design = Campaign.load(FOLDER / "campaign.toml").design
    (one,) = (each for each in design.treatments if each.levels == (str(ratio), acks))
    run = Scenario.load(FOLDER / "line.toml").override(*one.overrides, "run.replication=3").run()
    (row,) = RECORDED.filter(acks=acks, ratio=ratio, replication=3).to_dicts()
    goodput = dict(run.flows.select("name", "goodput_bit_s").rows())
    assert goodput == pytest.approx({name: row[name] for name in ("download", "upload")}, rel=1e-9)
    (call,) = run.calls.filter(pl.col("from") == "pc").to_dicts()
    assert (call["mos"], call["mouth_to_ear_s"]) == pytest.approx((row["mos"], row["delay"]), rel=1e-9)


def test_a_filter_in_one_queue_lets_few_acks_through_and_costs_nothing_alone() -> None:
    filtered = Scenario.load(FOLDER / "line.toml").override(
        "port.home-isp.class.all.queue.ack_filter=conservative"
    )
    run = filtered.run()
    flow = run.flows.row(by_predicate=pl.col("name") == "download", named=True)
    dropped = run.queues.filter(path="port.home-isp.class.all")["dropped_ack_filter"][0]
    said = re.search(r"(\d+) of ([\d,]+) pass in 30 s", PAGE)
    assert said is not None
    assert (flow["rtt_samples"], dropped + flow["rtt_samples"]) == (
        int(said[1]),
        int(said[2].replace(",", "")),
    )
    alone = filtered.override("flow.upload.start=49s").run().flows.filter(name="download")["goodput_bit_s"][0]
    assert f"({alone / 1e6:.1f} Mbit/s)" in PAGE


def test_acks_are_counted_where_they_are_sent() -> None:
    scenario = Scenario.load(FOLDER / "line.toml").override("run.duration=25s", "flow.upload.start=24s")
    counted = []
    for policy in ("every-segment", "delayed"):
        run = scenario.override(
            f"flow.download.ack.policy={policy}", "port.home-isp.class.all.queue={}"
        ).run()
        flow = run.flows.row(by_predicate=pl.col("name") == "download", named=True)
        counted.append(flow["segments_sent"] / flow["acks_sent"])
    # what was in the queues when the measured time began counts among ACKs alone
    assert counted == pytest.approx([1.0, 2.0], rel=0.02)
