"""Applications on kernel TCP, beside virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli
from perhop import Scenario
from perhop.run.live import LiveError, differences
from test_applications import HOUSEHOLD
from test_live import live, not_of_time

IDLE = """
[run]
duration = "6s"
[[node]]
name = "server"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "client"
[[link]]
ends = ["server", "r"]
rate = "1Gbit/s"
delay = "5ms"
[[link]]
ends = ["r", "client"]
rate = "20Mbit/s"
delay = "10ms"
[[flow]]
name = "web"
from = "server"
to = "client"
tcp.profile = "linux"
[flow.application]
kind = "requests"
size = { kind = "exponential", mean = "12kB" }
think = { kind = "fixed", time = "100ms" }
[[flow]]
name = "page"
from = "server"
to = "client"
tcp.profile = "linux"
[flow.application]
kind = "pages"
main = { kind = "fixed", size = "9kB" }
objects = { kind = "fixed", count = 9 }
object = { kind = "fixed", size = "4kB" }
think = { kind = "fixed", time = "1s" }
[[udp]]
name = "call"
from = "server"
to = "client"
application = { kind = "call" }
"""
WITHIN_S = 0.002


@live
def test_loads_and_calls_on_an_idle_path_are_those_of_virtual_time() -> None:
    """Objects always; times where the machine was quiet enough for the run to be within its budget."""
    scenario = Scenario.from_text(IDLE)
    simulated, kernel = scenario.run(), scenario.override('run.clock="live"').run()
    assert kernel.live is not None
    assert not_of_time(kernel.live.over_budget) == []
    took = {}
    for name in ("web", "page"):
        both = [result.loads.filter(application=name) for result in (kernel, simulated)]
        fewest = min(loads.height for loads in both)
        assert fewest > 3
        first, second = (loads.head(fewest - 1) for loads in both)
        assert first.select("objects", "load_bytes").equals(second.select("objects", "load_bytes"))
        took[name] = ((first["done_s"] - first["asked_s"]) - (second["done_s"] - second["asked_s"])).abs()
    assert kernel.calls["name"].to_list() == ["call[0]", "call[1]"]
    if not kernel.live.over_budget:
        # a load that meets another one waits for it
        assert all(apart.median() < WITHIN_S for apart in took.values())
        assert kernel.calls["lost_packets"].to_list() == [0, 0]
        for column, bound in (("mos", 0.02), ("mouth_to_ear_s", 0.003)):
            assert ((kernel.calls[column] - simulated.calls[column]).abs() < bound).all()


@live
def test_a_household_on_kernel_tcp_has_every_table_and_the_simulator_beside(cli: Cli, tmp_path: Path) -> None:
    words = ("-s", "run.duration=8s", "-s", "run.warmup=1s", "--report", "-o", tmp_path / "home")
    assert cli("emulate", HOUSEHOLD, *words).code in {0, 4}
    _, beside = (tmp_path / "home" / "report.html").read_text().split('id="live"')
    for title in ("Times from request to last byte", "Video after the warm-up", "Calls by the E-model"):
        assert title in beside


@live
def test_iperf3_refuses_what_pauses() -> None:
    scenario = Scenario.from_text(IDLE).override('run.endpoint="iperf3"')
    with pytest.raises(LiveError, match=r"flow\.web\.application: iperf3 sends without a pause"):
        differences(scenario)
