"""`perhop recommend --goal`: what can be put on a line, which of it fits, and the answer."""

from __future__ import annotations

import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario
from perhop.experiment import campaign as campaigns
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor, Level
from perhop.experiment.work import Finished
from perhop.recommend import goals
from perhop.recommend.candidates import fitting
from perhop.recommend.line import MARKS, is_of_probes, line, probed, slow_links
from perhop.run.run import run
from perhop.units import quantity
from test_applications import HOUSEHOLD
from test_promises import LINE
from test_recommend import ACCESS

STARTERS = ACCESS.parents[1]
DOCSIS, LTE = STARTERS / "docsis" / "docsis.toml", STARTERS / "lte" / "lte.toml"

HOME = (
    *("-s", "run.duration=12s", "-s", "run.warmup=2s", "-s", "flow.pages.application.think.mean=500ms"),
    *("--goal", "household", "--delta", "20%", "--most", "6", "-j", "2"),
)


def _ports(scenario: Scenario) -> dict[str, dict[str, Any]]:
    tables = tomllib.loads(scenario.resolve())["port"]
    return {"-".join(one.get("between") or (one["at"], one["to"])): one for one in tables}


def test_slow_links_are_those_that_bound_a_flow_or_its_acks_and_hold_what_their_limits_say() -> None:
    def held(*overrides: str) -> dict[str, float]:
        found = slow_links(Scenario.load(ACCESS, overrides))
        return {one.link.name: round(one.held_s, 4) for one in found}

    # 16, 64 and 64 kB at 5 Mbit/s; 64 kB and twice 640 at 100
    assert held() == {"gateway->isp": 0.2304, "isp->gateway": 0.1075}
    shaped = 'port.gateway-isp.shaper={ rate = "2Mbit/s" }'
    assert held(shaped) == {"gateway->isp": 0.576, "isp->gateway": 0.1075}
    fast = 'link.gateway-isp.rate={ "gateway->isp" = "2Gbit/s", "isp->gateway" = "2Gbit/s" }'
    assert held(fast, shaped)["gateway->isp"] == 0.576


def test_of_a_trace_the_mean_counts_and_of_a_shaper_before_it_the_shaper() -> None:
    held = {one.link.name: round(one.held_s, 2) for one in slow_links(Scenario.load(DOCSIS))}
    assert held == {"cmts->modem": 0.1, "modem->cmts": 0.1}
    # 1500 kB; 13036 and 14712 packets of 1500 bytes in 20 s
    rates = {one.link.name: one.rate_bit_s for one in slow_links(Scenario.load(LTE))}
    assert rates == {"tower->phone": 13036 * 600, "phone->tower": 14712 * 600}


@pytest.mark.parametrize("file", [ACCESS, HOUSEHOLD, DOCSIS, LTE])
def test_each_candidate_is_a_scenario_of_its_own(file: Path) -> None:
    scenario = Scenario.load(file)
    design, in_use, _ = fitting(Design.full([line(scenario)[0]]), scenario)
    keys = {scenario.override(*one.overrides).key().treatment for one in design.treatments}
    assert len(keys) == len(design.treatments) == len(design.factors[0].levels) >= 9
    assert in_use == 0
    assert design.treatments[0].overrides == ()


def test_what_is_crossed_is_left_out_where_it_is_no_scenario_or_that_of_another() -> None:
    scenario = Scenario.load(ACCESS)
    path = "port.gateway-isp.class.af1.queue.limit"
    kinds = ("as it is", "buffers of 100 ms", "fq for all")
    factor = line(scenario)[0]
    some = replace(factor, levels=tuple(one for one in factor.levels if one.name in kinds))
    same = Factor("af1", (Level("64kB", (f"{path}=64kB",)), Level("64000B", (f"{path}=64000B",))))
    design, in_use, left_out = fitting(Design.full([some, same]), scenario)
    first, second = "line=as it is af1=64kB", "line=buffers of 100 ms af1=64kB"
    assert [one.name for one in design.treatments] == [first, second]
    assert [[level.name for level in one.levels] for one in design.factors] == [[*kinds[:2]], ["64kB"]]
    assert in_use == 0
    assert left_out == [
        f"line=as it is af1=64000B: the same scenario as {first}",
        f"line=buffers of 100 ms af1=64000B: the same scenario as {second}",
        *(f"line=fq for all af1={one}: {path}: the file has no class `af1`" for one in ("64kB", "64000B")),
    ]
    # what no candidate avoids is a mistake, which is refused
    wrong = Factor("af1", (Level("64kB", (f"{path}=64kB",)), Level("64k", (f"{path}=64k",))))
    design, *_ = fitting(Design.full([some, wrong]), scenario)
    assert design.check(scenario).mistakes


def test_a_buffer_is_a_part_of_each_limit_by_the_rate_of_its_own_direction() -> None:
    scenario = Scenario.load(HOUSEHOLD)
    level = next(one for one in line(scenario)[0].levels if one.name == "buffers of 50 ms")
    ports = _ports(scenario.override(*level.set))
    limits = {name: ports[name]["class"][0]["queue"]["limit"] for name in ("isp-home", "home-isp")}
    # 50 ms of 20 and of 2 Mbit/s
    assert limits == {"isp-home": "125kB", "home-isp": "12500B"}


def test_in_each_class_a_queue_has_its_defaults_and_ef_keeps_its_own() -> None:
    scenario = Scenario.load(ACCESS)
    names = {one.name: one.set for one in line(scenario)[0].levels}
    port = _ports(scenario.override(*names["fq in each class"]))["gateway-isp"]
    queues = [(one["name"], one["queue"]["kind"], one["queue"]["limit"]) for one in port["class"]]
    assert queues == [("ef", "fifo", "16kB"), ("af1", "fq", "10240p"), ("best-effort", "fq", "10240p")]
    (only,) = _ports(scenario.override(*names["cake for all that filters ACKs"]))["isp-gateway"]["class"]
    assert (only["match"], only["queue"]["ack_filter"]) == (["any"], "conservative")
    assert [name for name in names if name.startswith(MARKS)][:2] == [f"{MARKS}copy", f"{MARKS}EF for all"]


def test_a_port_of_one_of_a_group_is_changed_and_not_that_of_the_others() -> None:
    scenario = Scenario.from_text("""
        node = [{ name = "home", count = 3 }, { name = "isp", kind = "router" }, { name = "server" }]
        link = [
            { ends = ["home[*]", "isp"], rate = "10Mbit/s", delay = "1ms" },
            { ends = ["isp", "server"], rate = "1Gbit/s", delay = "1ms" },
        ]
        flow = [{ name = "down", from = "server", to = "home[2]", class = "BE" }]
        run.duration = "1s"
        [[port]]
        at = "isp"
        to = "home[2]"
        class = [{ name = "all", queue = { kind = "fifo", limit = "300p" } }]
    """)
    level = next(one for one in line(scenario)[0].levels if one.name == "codel")
    ports = _ports(scenario.override(*level.set))
    kinds = {name: ports[name]["class"][0]["queue"]["kind"] for name in ("isp-home[2]", "isp-home[*]")}
    assert kinds == {"isp-home[2]": "codel", "isp-home[*]": "fifo"}


def test_acks_go_first_where_a_port_has_an_order_and_else_it_is_said() -> None:
    names = {one.name: one.set for one in line(Scenario.load(HOUSEHOLD))[0].levels}
    port = _ports(Scenario.load(HOUSEHOLD).override(*names["ACKs first"]))["isp-home"]
    assert [one["match"] for one in port["class"]] == [["pure-ack"], ["any"]]
    _, left_out = line(Scenario.load(ACCESS))
    why = "port.gateway-isp shares its link by cbq, which has no class before all others"
    assert left_out == (f"ACKs first: {why}",)


def test_a_probe_goes_over_each_slow_link_and_counts() -> None:
    scenario = probed(Scenario.load(ACCESS))
    own = [one for one in scenario.describe().udp if one.name.startswith("probe-")]
    assert [(one.name, one.source, one.target) for one in own] == [
        ("probe-gateway-isp", "pc", "server[1]"),
        ("probe-isp-gateway", "server[1]", "pc"),
    ]
    assert [is_of_probes(one) for one in scenario.overrides] == [True]
    measures = {(one.group[0], one.response): one.weight for one in goals.of_goal("gaming", scenario)}
    assert measures["probe-gateway-isp", "delay_p99"] == -3.0
    # what is dropped has no delay
    assert measures["probe-gateway-isp", "goodput"] == 1.0
    assert measures["upload", "goodput"] == 1.0


def test_probes_have_names_of_their_own() -> None:
    text = ACCESS.read_text().replace('name = "call-up"\nclass = "call"', 'name = "probe-gateway-isp"')
    scenario = probed(Scenario.from_text(text))
    names = [one.name for one in scenario.describe().udp if one.name.startswith("probe-")]
    assert names == ["probe-gateway-isp", "probe-gateway-isp-2", "probe-isp-gateway"]


def test_without_acks_and_with_a_queue_that_cannot_be_shortened_less_is_tried() -> None:
    text = HOUSEHOLD.read_text()
    udp = (
        text[: text.index("[[flow]]")]
        + text[text.index("[[udp]]") : text.index('[[flow]]\nname = "download"')]
    )
    names = [one.name for one in line(Scenario.from_text(udp))[0].levels]
    assert "fq" in names
    assert not [name for name in names if "ACK" in name]
    red = '{ kind = "red", limit = "256kB", min_th = "30kB", max_th = "90kB", max_p = 0.1 }'
    factor, left_out = line(Scenario.load(HOUSEHOLD, (f"port.isp-home.class.all.queue={red}",)))
    assert not [one for one in factor.levels if one.name.startswith("buffers")]
    assert "buffers of 50 ms: port.isp-home has red, which keeps its own delay" in left_out


def test_applications_are_weighed_by_what_comes_of_them() -> None:
    found = {(one.group[0], one.response) for one in goals.usual(Scenario.load(HOUSEHOLD))}
    assert found == {
        *(("bulk", "goodput"), ("pages", "load_p95"), ("chat", "load_p95"), ("film", "rate")),
        *(("call[0]", "mos"), ("call[1]", "mos")),
    }


@pytest.mark.long
def test_the_page_has_the_gains_of_the_access_pack(cli: Cli, tmp_path: Path) -> None:
    """A race of 22 candidates, a minute."""
    done = cli("recommend", ACCESS, "--goal", "household", "-o", tmp_path / "out")
    assert done.code == 0
    assert "Take fq in each class." in done.out
    measures = "up", "down", "web", "upload"
    gains = re.search(
        r"probe-gateway-isp's 99 % delay -([\d.]+) .* probe-isp-gateway's 99 % delay -([\d.]+) .* "
        r"web's mean time of a transfer -([\d.]+) .*; worse are upload's goodput -([\d.]+) %",
        done.out,
    )
    marks = re.search(r"by marks alone is ACK marks: EF for web: \+([\d.]+) %", done.out)
    all_in_all = re.search(r"Over what is in use: \+([\d.]+) %", done.out)
    assert gains is not None
    assert marks is not None
    assert all_in_all is not None
    of = dict(zip(measures, map(float, gains.groups()), strict=True))
    part = {3: "a third", 4: "a quarter", 5: "a fifth", 6: "a sixth"}
    web = part[round(1 / (1 - of["web"] / 100))]
    alone = part[round(float(all_in_all[1]) / float(marks[1]))]
    text = " ".join((Path(__file__).parents[1] / "docs" / "recommend.md").read_text().split())
    assert (
        f"the answer is `fq in each class`: delays of the probes fall by {of['up']:.0f} and "
        f"{of['down']:.0f} %, the web's transfers take {web} of the time, and the upload loses "
        f"{of['upload']:.0f} %. "
        f"The best by marks alone, EF for the web, has {alone} of that gain."
    ) in text


LARGE = "--down 1Gbit/s --up 50Mbit/s --round-trip 25ms --buffer 100ms"


@pytest.mark.long
@pytest.mark.parametrize(("words", "answer"), [("", "fq that filters ACKs"), (LARGE, "fq that filters ACKs")])
def test_the_page_has_the_answer_on_the_pack_line(cli: Cli, words: str, answer: str) -> None:
    """Races of 12 candidates on 100 and 5 Mbit/s, and of 11 on 1000 and 50: 40 and 150 s."""
    assert cli("init", "--pack", "line", *words.split(), "own").code == 0
    done = cli("recommend", "own/line.toml", "--goal", "household", "-o", "out")
    assert done.code == 0
    assert f"Take {answer}." in done.out
    rows = [re.split(r" {2,}", line) for line in done.out.splitlines()]

    def both(of: str, measure: str) -> list[float]:
        (row,) = (one for one in rows if one[:2] == [of, f"{measure} (weighed)"])
        return [quantity(text)[0] for text in row[2:4]]

    pages = both("pages", "95 % load time")
    down, up = (both(f"probe-{way}", "99 % delay") for way in ("isp-home", "home-isp"))
    waits = ", ".join(f"{1e3 * was:.0f} to {1e3 * now:.0f} ms" for was, now in (down, up))
    runs = re.search(r"It took (\d+) runs", done.out)
    assert runs is not None

    def gain(of: str) -> str:
        (row,) = (one for one in rows if one[:2] == [of, "goodput (weighed)"])
        low, high = map(float, re.findall(r"[-+][\d.]+", row[4])[1:])
        return "not shown to change" if low < 0 < high else row[4].partition("(")[2].rstrip(")")

    gains = f"{gain('download')}, {gain('upload')}"
    told = f"| {gains} | {pages[0]:.1f} to {pages[1]:.2g} s | {waits} | {runs[1]} |"
    assert told in (Path(__file__).parents[1] / "docs" / "recommend.md").read_text()


def test_a_household_is_advised_and_told_what_its_line_holds(cli: Cli) -> None:
    done = cli("recommend", HOUSEHOLD, *HOME, "-o", "race")
    assert done.code == 0, done.err
    advice, holds, *_ = done.out.splitlines()
    assert advice.startswith(("Take fq", "Take cake", "Take cobalt", "Take codel", "Not settled")), advice
    assert "busy for: isp->home 102.4 ms, home->isp 1.024 s." in holds
    assert "probe-" not in next(one for one in done.out.splitlines() if one.startswith("try it: "))
    assert "mean opinion score" in done.out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--goal", "speed"), "--goal speed: there are household, gaming, bulk"),
        (("--goal", "bulk", "--try", "queue"), "--goal and --try: give one of them"),
        (("--goal", "bulk", "--weigh", "web:goodput=1"), "--goal and --weigh: give one of them"),
        (("--weigh", "web:mos=1"), "no application or way of a call 'web'; there are none"),
    ],
)
def test_what_does_not_go_together_is_refused(cli: Cli, words: tuple[str, ...], why: str) -> None:
    done = cli("recommend", ACCESS, *words)
    assert (done.code, why in done.err) == (2, True), done.err


@pytest.mark.usefixtures("undrawn")
def test_a_warning_of_the_scenario_is_told_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some candidates mark, so that the others have it as a warning of levels."""
    monkeypatch.setattr(campaigns, "execute", lambda _: Finished())
    monkeypatch.setattr("perhop.experiment.executors.open_executor", lambda *_: ThreadPoolExecutor(1))
    Path("line.toml").write_text(LINE + "tcp = { ecn = true }\n")
    done = cli("recommend", "line.toml", "--goal", "bulk", "--most", "2", "-o", "out")
    assert "no value in any run" in done.err
    assert done.err.count("it has ECN in vain") == 1


@pytest.mark.long
def test_the_page_has_what_videos_take_from_a_download(cli: Cli) -> None:
    """The range over seeds, and what the trace shows of the first."""
    users = "--round-trip 20ms --buffer 100ms --use video=2,download"
    line = f"--down 250Mbit/s --up 25Mbit/s {users} fast"
    assert cli("init", "--pack", "line", *line.split()).code == 0
    fast = Scenario.load("fast/line.toml").override('port.isp-home.class.all.queue={ kind = "fq" }')
    runs = {seed: fast.override(f"run.seed={seed}") for seed in range(1, 7)}
    goodput = [
        run(runs[seed]).flows.filter(name="download")["goodput_bit_s"].item() / 1e6 for seed in range(2, 7)
    ]
    page = " ".join((Path(__file__).parents[1] / "docs" / "recommend.md").read_text().split())
    assert f"With seeds 2 to 6 the download has {min(goodput):.0f} to {max(goodput):.0f} Mbit/s." in page
    assert cli("run", "fast/line.toml", "-s", fast.overrides[0], "--trace", "tcp", "-o", "traced").code == 0
    events = pl.read_parquet("traced/trace.tcp.parquet")
    drops = events.filter(pl.col("time_s") > 10.0, flow="download", event="drop")
    assert drops["time_s"].diff().drop_nulls().to_list() == pytest.approx([4.0] * 12, abs=0.05)
    assert drops["cwnd_packets"].to_list() == pytest.approx([330.0] * 13, rel=0.05)
