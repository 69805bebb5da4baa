"""iperf3 as what sends and receives on real packets."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.run.live import LiveError, differences, started
from test_live import _is_running, _running_child, _scenario, _until, live, not_of_time

ENDPOINT = 'run.endpoint="iperf3"'
iperf3 = pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")


def _programs(parent: int) -> list[int]:
    """The programs of iperf3 that `parent` has started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            name, _, rest = (process / "stat").read_text().partition("(")[2].rpartition(")")
            if name == "iperf3" and int(rest.split()[1]) == parent:
                found.append(int(process.name))
    return found


@live
@iperf3
def test_what_iperf3_measures_is_what_the_packets_show(cli: Cli, tmp_path: Path) -> None:
    path, run = _scenario(tmp_path, duration="3s"), tmp_path / "run"
    document = cli(
        "emulate", path, "-s", ENDPOINT, "-s", 'flow.bulk.ack.marking.kind="best-effort"',
        "-o", run, "--trace", "packets", "--report", "--json",
    ).json()  # fmt: skip
    how = document["record"]["live"]
    assert not_of_time(how["over_budget"]) == []
    assert how["iperf3"]["version"].startswith("iperf 3")
    flows = how["iperf3"]["flows"]
    assert [one["flow"] for one in flows] == ["bulk[0]", "bulk[1]"]
    for one in flows:
        # its own 37 bytes are acknowledged too; the last ACKs were under way when the run was over
        assert 0 <= one["received_bytes"] + 37 - one["acknowledged_bytes"] <= 10 * 1460
        assert one["sent_bytes"] >= one["received_bytes"] > 100_000
    for one in how["retransmissions_differ"]:
        # some may have left the kernel when the run was over
        assert abs(one["packets"] - one["kernel"]) <= 3
    # on a busy machine programs start late
    assert sum(flow["goodput_bit_s"] for flow in document["flows"]) > 0.5 * 9.8e6 * 1448 / 1500
    stored = StoredRun.load(run)
    assert stored.table("series").filter(pl.col("quantity") == "cwnd_bytes")["value"].max() > 1448
    said = json.loads((run / "iperf3.json").read_text())
    assert said["bulk[0]"]["client"]["start"]["test_start"]["tos"] == 10 << 2
    assert said["bulk[0]"]["client"]["end"]["sum_sent"]["bytes"] == flows[0]["sent_bytes"]
    assert "said" not in how["iperf3"]
    packets = stored.trace("packets")
    assert packets is not None
    own = packets.filter(pl.col("flow") == "bulk[0]").select("path", "mark").unique().collect()

    def marks(port: str) -> set[str]:
        return set(own.filter(pl.col("path") == port)["mark"])

    # iperf3 marks when the connection has begun, and its server as its client: the scenario has the last word
    assert marks("port.core-sink") == {"AF11"}
    assert marks("port.sink-core") == {"BE"}
    assert "What iperf3 measured" in (run / "report.html").read_text()


@live
@iperf3
def test_programs_go_with_a_killed_run_and_a_run_knows_of_a_killed_program(tmp_path: Path) -> None:
    path = _scenario(tmp_path, duration="60s")
    words = [sys.executable, "-m", "perhop.cli", "emulate", str(path), "-s", ENDPOINT]
    with subprocess.Popen(
        [*words, "-o", str(tmp_path / "run")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as driver:
        child = _until(lambda: _running_child(driver.pid), "the run to start")
        _until(lambda: len(_programs(child)) == 4, "two servers and two clients")
        programs = _programs(child)
        os.kill(child, signal.SIGKILL)
    _until(lambda: not any(map(_is_running, programs)), "the programs to end")

    text = Scenario.load(_scenario(tmp_path, duration="4s")).override(ENDPOINT).resolve()
    with tempfile.TemporaryFile() as out:
        with started([], text, [out]) as run:
            _until(lambda: len(_programs(run.pid)) == 4, "two servers and two clients")
            os.kill(max(_programs(run.pid)), signal.SIGTERM)
            run.communicate()
        out.seek(0)
        over = json.load(out)["live"]["over_budget"]
    broken = not_of_time(over)
    assert len(broken) == 1
    assert broken[0].startswith("flow bulk["), broken
    assert "iperf3 ended before the run did" in broken[0]


def test_what_iperf3_cannot_do_is_refused_or_told(tmp_path: Path) -> None:
    scenario = Scenario.load(_scenario(tmp_path)).override(ENDPOINT)
    told = differences(scenario)
    assert any("37 bytes of iperf3's own" in word for word in told)
    assert not any(word.startswith("max_rto") for word in told)
    assert any(
        word.startswith("max_rto: iperf3")
        for word in differences(scenario.override('flow.bulk.tcp.max_rto="60s"'))
    )
    with pytest.raises(LiveError, match=r"flow\.bulk\[0\]\.size: iperf3's server closes"):
        differences(scenario.override('flow.bulk.tcp.size="100kB"'))
    with pytest.raises(LiveError, match=r"flow\.bulk\[0\]\.mss: iperf3 takes no segments above 9216 bytes"):
        differences(scenario.override('flow.bulk.tcp.mss="9205B"'))


@live
def test_a_machine_without_iperf3_is_told_so_before_the_run(process: Cli, tmp_path: Path) -> None:
    path = _scenario(tmp_path, duration="60s")
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("ip", "sh"):
        found = shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        assert found is not None
        (tools / tool).symlink_to(found)
    done = process("emulate", path, "-s", ENDPOINT, "-o", tmp_path / "run", PATH=str(tools))
    assert done.code == 7
    assert 'run.endpoint = "iperf3": iperf3 cannot be started' in done.err
    assert "perhop doctor" in done.err
    assert not (tmp_path / "run").exists()


def test_the_simulator_has_a_tcp_of_its_own(tmp_path: Path) -> None:
    scenario = Scenario.load(_scenario(tmp_path))
    own, other = scenario.run(), scenario.override(ENDPOINT).run()
    assert own.event_digest == other.event_digest
