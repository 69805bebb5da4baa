"""Senders that only a kernel has: what takes such a scenario, what refuses it, and a run of BBR."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Cli, Done
from perhop import Campaign, Scenario, ScenarioError, StoredRun
from perhop.cli.exit import ExitCode
from perhop.models.estimate import estimates
from perhop.run import machine
from perhop.run.live import LackingError, differences
from perhop.run.run import job_work
from test_live import live, not_of_time

NETWORK = """
[run]
duration = "3s"
warmup = "1s"
interval = "100ms"
[[node]]
name = "host"
[[node]]
name = "edge"
kind = "router"
[[node]]
name = "sink"
[[link]]
ends = ["host", "edge"]
rate = "100Mbit/s"
[[link]]
ends = ["edge", "sink"]
rate = "10Mbit/s"
delay = "5ms"
[[port]]
at = "edge"
to = "sink"
[[port.class]]
name = "ef"
match = ["EF"]
[[port.class]]
name = "rest"
queue = { kind = "fifo", limit = "40p" }
[[flow]]
name = "bulk"
from = "host"
to = "sink"
tcp = { profile = "linux", cc = "kernel:bbr" }
"""
CODEL = '{ kind = "codel", limit = "40p" }'
HAS_BBR = "bbr" in machine.controls()
bbr = pytest.mark.skipif(not HAS_BBR, reason=f"this kernel has {', '.join(machine.controls())} and no BBR")
RULE = "`kernel:bbr` is a kernel's congestion control, and virtual time has none"


def ended(status: ExitCode, done: Done) -> Done:
    """Return what a command left that was to end so."""
    assert done.code == status, done.err
    return done


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "net.toml"
    file.write_text(NETWORK)
    return file


@pytest.fixture
def scenario() -> Scenario:
    return Scenario.from_text(NETWORK)


def test_check_takes_it_and_says_what_runs_it(cli: Cli, path: Path) -> None:
    said = cli("check", path).out
    assert said == (
        f"{path}: valid; runs on real packets alone (perhop emulate): flow.bulk.tcp.cc is kernel:bbr\n"
    )
    (told,) = cli("check", path, "--json").json()["files"]
    assert told["ok"]
    assert [one["rule"] for one in told["kernel_only"]] == [RULE]
    own = cli("check", path, "-s", "flow.bulk.tcp.cc=cubic")
    assert own.out == f"{path}: valid\n"


def test_a_simulation_is_refused_at_the_setting_and_leaves_nothing(cli: Cli, path: Path) -> None:
    refused = ended(ExitCode.INVALID, cli("run", path, "-o", path.parent / "out" / "run"))
    assert f"flow.bulk.tcp.cc: {RULE}" in refused.err
    assert 'tcp = { profile = "linux", cc = "kernel:bbr" }' in refused.err
    assert "────" in refused.err
    assert "`perhop emulate` runs the scenario on real packets" in refused.err
    assert not (path.parent / "out" / "run").exists()


def test_python_refuses_it_before_anything_runs(scenario: Scenario) -> None:
    assert scenario.check() == []
    assert [one["path"] for one in scenario.kernel_only()] == ["flow.bulk.tcp.cc"]
    with pytest.raises(ScenarioError, match="virtual time has none"):
        scenario.run()
    with pytest.raises(ScenarioError, match="virtual time has none"):
        job_work([(NETWORK.encode(), "net.toml", [])])
    assert scenario.override("run.clock=live").kernel_only() == []
    broken = scenario.unread("flow.bulk.tcp.cc=kernel:BBR")
    assert broken.kernel_only() == []
    assert [one["path"] for one in broken.check()] == ["flow.bulk.tcp.cc"]


@pytest.mark.parametrize(
    "command", [("recommend",), ("sweep", "--measure", "goodput=sum(flows.goodput_bit_s)")]
)
def test_what_simulates_refuses_it(cli: Cli, path: Path, command: tuple[str, ...]) -> None:
    name, *factors = command
    marked = NETWORK.replace("cc =", 'window = "64KiB", cc =')
    path.write_text(marked)
    refused = ended(ExitCode.INVALID, cli(name, path, *factors, "-o", path.parent / "store"))
    assert "virtual time has none" in refused.err
    assert "Traceback" not in refused.err
    assert not (path.parent / "store").exists()


def test_a_campaign_is_told_which_level_needs_real_packets(cli: Cli, path: Path) -> None:
    campaign = path.parent / "campaign.toml"
    text = """
scenario = "net.toml"
replications = 1
[[factor]]
name = "sender"
path = "flow.bulk.tcp.cc"
levels = ["cubic", "kernel:cubic", "kernel:bbr"]
[[response]]
name = "goodput"
measure = "sum(flows.goodput_bit_s)"
"""
    campaign.write_text(text)
    said = ended(ExitCode.INVALID, cli("check", campaign)).out
    assert f"sender=kernel:bbr: flow.bulk.tcp.cc: {RULE}" in said
    assert "sender=kernel:cubic: flow.bulk.tcp.cc: `kernel:cubic`" in said
    assert "sender=cubic" not in said
    ended(ExitCode.INVALID, cli("campaign", "run", campaign, "-o", path.parent / "store"))
    assert not (path.parent / "store").exists()
    campaign.write_text(text.replace("replications", 'set = ["run.clock=live"]\nreplications', 1))
    assert len(Campaign.load(campaign).design.treatments) == 3
    # a name that no kernel has is found before the first run
    campaign.write_text(campaign.read_text().replace("kernel:bbr", "kernel:no-such"))
    refused = ended(ExitCode.MACHINE, cli("campaign", "run", campaign, "-o", path.parent / "store"))
    assert "kernel:no-such: this kernel has no such congestion control: it has" in refused.err
    assert not (path.parent / "store").exists()


def test_describe_estimate_and_deploy_name_it_or_need_nothing_of_it(cli: Cli, path: Path) -> None:
    assert "cc kernel:bbr, " in cli("describe", path).out
    found = {one.form: one for one in estimates(Scenario.load(path)) if one.of == "bulk"}
    refused = "its congestion control is a kernel's (kernel:bbr)"
    assert found["window limit"].why_not == refused
    assert found["TCP under loss: square root law"].why_not == refused
    assert found["most that window and links permit"].value
    assert "Traceback" not in cli("estimate", path).err
    assert "table inet perhop_ackmark" in cli("deploy", path, "-s", 'flow.bulk.ack.marking={kind="copy"}').out


@pytest.mark.parametrize("name", ["", "BBR", "a b", "../x", "0123456789abcdef", "b;r", "bbr\\n"])
def test_no_other_text_reaches_a_program_with_privileges(scenario: Scenario, name: str) -> None:
    (mistake,) = scenario.unread(f'flow.bulk.tcp.cc="kernel:{name}"').check()
    assert "as in `kernel:bbr`" in (mistake["hint"] or "")


def test_doctor_lists_what_the_kernel_has_and_what_are_modules(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = {one["what"]: one for one in cli("doctor", "--json").json()["findings"]}
    assert findings["TCP senders"]["found"].split(";")[0] == ", ".join(machine.controls())
    folder = tmp_path / "kernel" / "net" / "ipv4"
    folder.mkdir(parents=True)
    for file in ("tcp_dctcp.ko.xz", "tcp_bbr.ko", "tcp_diag.ko", "ip_gre.ko"):
        (folder / file).touch()
    assert machine.modules(str(tmp_path)) == ["bbr", "dctcp"]
    monkeypatch.setattr(machine, "controls", lambda: ["bbr", "reno"])
    monkeypatch.setattr(machine, "modules", lambda: ["bbr", "dctcp"])
    assert machine._listed() == "bbr, reno; as modules: dctcp"
    monkeypatch.setattr(machine, "controls", list)
    assert machine._listed() is None


@live
def test_a_name_that_the_kernel_does_not_have_is_refused_before_anything_starts(
    cli: Cli, path: Path, scenario: Scenario
) -> None:
    other = "flow.bulk.tcp.cc=kernel:no-such"
    has = f"this kernel has no congestion control `no-such`: it has {', '.join(machine.controls())}"
    with pytest.raises(LackingError, match=has):
        differences(scenario.override("run.clock=live", other))
    refused = ended(ExitCode.MACHINE, cli("emulate", path, "-s", other, "-o", path.parent / "run"))
    assert has in refused.err
    assert not (path.parent / "run").exists()


@live
@bbr
@pytest.mark.parametrize("queue", ["fifo", "codel"])
def test_bbr_fills_the_link_and_the_record_names_it(cli: Cli, path: Path, queue: str) -> None:
    if queue == "codel":
        path.write_text(NETWORK.replace('{ kind = "fifo", limit = "40p" }', CODEL))
    run = path.parent / "run"
    document = cli("emulate", path, "-o", run, "--json").json()
    how = document["record"]["live"]
    assert not_of_time(how["over_budget"]) == []
    (flow,) = document["flows"]
    # 1448 of 1500 bytes are payload
    assert 0.8 * 10e6 * 1448 / 1500 <= flow["goodput_bit_s"] <= 10e6
    stored = StoredRun.load(run)
    assert stored.record.live is not None
    hosts = stored.record.live.hosts
    assert hosts["host"].controls == ["bbr"]
    assert hosts["sink"].controls is None
    assert any(one.startswith("cc: the kernel's bbr grows the window") for one in how["differences"])
    assert not any(one.startswith(("slow_start", "prr", "cubic_form")) for one in how["differences"])
    page = Path(json.loads(cli("report", run, "--json").out)["report"]).read_text()
    assert "There is no simulation beside it: flow.bulk.tcp.cc is kernel:bbr" in page
    assert "host: MTU 1512, sends by bbr" in page


@live
@bbr
def test_iperf3_sends_by_it_too(cli: Cli, path: Path) -> None:
    if machine.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    words = ("-s", 'run.endpoint="iperf3"', "-o", path.parent / "run", "--json")
    how = cli("emulate", path, *words).json()["record"]["live"]
    assert how["hosts"]["host"]["controls"] == ["bbr"]
    assert how["hosts"]["host"]["route"]["congctl"] == "bbr"
