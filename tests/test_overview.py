"""The picture that a run's page begins with: its numbers are those of the run's tables."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.plot import panels
from perhop.report import figures

STARTERS = Path(__file__).parents[1] / "python" / "perhop" / "starters"
SHORT = ("run.duration=20s", "run.warmup=5s")


def stored(folder: Path, pack: str, *overrides: str) -> StoredRun:
    Scenario.load(STARTERS / pack / f"{pack}.toml").override(*overrides).run().save(folder / "run")
    return StoredRun.load(folder / "run")


def lines(run: StoredRun) -> dict[str, dict[str, list[float | None]]]:
    """Give the values of each line by panel and name."""
    table = figures.find(run, "overview").data()
    found: dict[str, dict[str, list[float | None]]] = {}
    for (panel, line), own in table.group_by("panel", "line", maintain_order=True):
        found.setdefault(str(panel), {})[str(line)] = own["value"].to_list()
    return found


def of(run: StoredRun, quantity: str, *prefixes: str) -> list[float]:
    """Give the sum over paths of a quantity for each time."""
    rows = run.table("series").filter(
        pl.col("quantity") == quantity,
        pl.any_horizontal(pl.col("path").str.starts_with(one) for one in prefixes),
    )
    return rows.group_by("time_s").agg(pl.sum("value")).sort("time_s")["value"].to_list()


def test_total_and_classes_are_of_the_busiest_link(tmp_path: Path) -> None:
    run = stored(tmp_path, "diffserv", *SHORT)
    found = lines(run)
    assert list(found) == ["throughput of edge->core, Mbit/s", "packets waiting", "round-trip time, ms"]
    throughput, queues, times = found.values()
    assert list(throughput) == ["total", "assured", "web", "rest", "premium", "rate 4 Mbit/s"]
    assert throughput["total"] == pytest.approx(
        [4 * one for one in of(run, "utilization", "link.edge->core")]
    )
    assert throughput["assured"] == pytest.approx(
        [one / 1e6 for one in of(run, "goodput_bit_s", "flow.bulk")]
    )
    assert throughput["premium"] == pytest.approx([one / 1e6 for one in of(run, "throughput_bit_s", "udp.")])
    assert set(throughput["rate 4 Mbit/s"]) == {4.0}
    assert list(queues) == ["ef", "af1", "best-effort"]
    assert queues["af1"] == of(run, "backlog_packets", "port.edge-core.class.af1")
    # UDP has no round-trip time
    assert list(times) == ["assured", "web", "rest"]
    got = run.table("series").filter(pl.col("quantity") == "goodput_bit_s", pl.col("value") > 0)
    srtt = run.table("series").filter(
        pl.col("quantity") == "srtt_s", pl.col("path").str.starts_with("flow.rest")
    )
    moving = srtt.join(got, ["time_s", "path"], "semi").group_by("time_s").agg(value=1e3 * pl.mean("value"))
    assert [one for one in times["rest"] if one is not None] == pytest.approx(
        moving.sort("time_s")["value"].to_list()
    )


def test_a_link_that_data_pass_both_ways_has_a_panel_for_each(tmp_path: Path) -> None:
    run = stored(tmp_path, "two-way", *SHORT)
    up, down, queues, times = lines(run).items()
    assert (up[0], list(up[1])) == ("throughput of slow->fast, kbit/s", ["total", "up", "rate 100 kbit/s"])
    assert (down[0], list(down[1])) == (
        "throughput of fast->slow, Mbit/s",
        ["total", "down", "rate 5 Mbit/s"],
    )
    assert list(queues[1]) == ["slow->fast acks", "slow->fast data", "fast->slow"]
    assert list(times[1]) == ["up", "down"]


def test_flows_of_one_class_are_one_line_if_they_are_many(tmp_path: Path) -> None:
    lesson = STARTERS.parents[2] / "examples" / "lessons" / "drop-tail.toml"
    Scenario.load(lesson).override("run.duration=12s").run().save(tmp_path / "run")
    throughput, queues, times = lines(StoredRun.load(tmp_path / "run")).values()
    assert list(throughput) == ["total", "rate 10 Mbit/s"]
    assert (list(queues), list(times)) == (["queue"], ["all flows"])


def test_a_trace_tells_its_mean_rate_and_what_its_flows_got(tmp_path: Path) -> None:
    run = stored(tmp_path, "lte", *SHORT)
    down = lines(run)["throughput of tower->phone, Mbit/s"]
    assert list(down) == ["goodput", "pages", "video", "bulk", "call", "mean rate 7.822 Mbit/s"]
    parts = [down[name] for name in ("pages", "video", "bulk", "call")]
    assert down["goodput"] == pytest.approx(
        [sum(one or 0.0 for one in each) for each in zip(*parts, strict=True)]
    )


def test_a_long_run_is_drawn_of_means_and_alike_each_time(tmp_path: Path) -> None:
    run = stored(tmp_path, "two-way", *SHORT, "run.interval=10ms")
    figure = figures.find(run, "overview")
    assert "Each point is the mean of 7 samples." in figure.caption
    assert figure.panels is not None
    told = json.loads(figure.panels())
    assert len(told["time"]) == 287  # 2000 samples by seven, and the beginning
    assert told["time"][0] == 0.0
    assert figures.find(run, "overview").panels() == figure.panels()  # type: ignore[misc]
    assert figures.find(run, "overview").svg() == figure.svg()


def test_a_span_is_drawn_alone(cli: Cli, tmp_path: Path) -> None:
    stored(tmp_path, "two-way", *SHORT)
    assert cli("figure", "run", "overview", "--from", "8s", "--to", "12s", "-o", "part.csv").code == 0
    times = pl.read_csv("part.csv")["time_s"]
    assert (times.min(), times.max()) == (8.0, 12.0)


def test_names_beside_a_panel_do_not_hide_each_other() -> None:
    alike = [panels.Line(f"line {n}", [1.0, 1.0], n) for n in range(6)]
    svg = panels.draw(panels.Panels([1.0, 2.0], [panels.Panel("things", alike)]), "Things")
    heights = sorted(float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>line \d</text>', svg))
    assert len(heights) == 6
    assert all(b - a > 9 for a, b in itertools.pairwise(heights))


def test_a_run_without_traffic_has_no_overview(tmp_path: Path) -> None:
    run = stored(
        tmp_path, "two-way", "run.duration=2s", "run.warmup=0s", "flow.up.start=2s", "flow.down.start=2s"
    )
    figure = figures.find(run, "overview")
    assert figure.svg() is None
    assert figure.data().is_empty()
