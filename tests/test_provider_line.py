"""The way of a provider's engineer: describe a line, ask, type in, measure. What was told is found."""

from __future__ import annotations

import json
import math
import re
import shlex
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from namespaces import namespace, need
from perhop.experiment.store import Store
from perhop.run.run import Result, run
from perhop.scenario.scenario import Scenario
from perhop.stats.intervals import mean_interval
from test_live import live, not_of_time

LINES = {
    "100 and 5": "--down 100Mbit/s --up 5Mbit/s --buffer 500ms --use pages,call,upload",
    "1000 and 50": "--down 1Gbit/s --up 50Mbit/s --round-trip 25ms --buffer 100ms --use pages,call,upload",
}
SEEDS = (1, 2, 3)
LEVEL = 0.99
"""Of an interval from real packets; that of the answer holds at every look."""
NEAR = 1.0
"""Percent by which changes may be apart beside their intervals: the kernel's TCP is not the simulator's."""


def on_time(scenario: Scenario) -> Result:
    """Run on real packets until packets are on time, three times at most."""
    for _ in range(3):
        result = run(scenario)
        assert result.live is not None
        assert not_of_time(result.live.over_budget) == []
        if not result.live.over_budget:
            return result
    pytest.skip(f"this machine is too busy for packets on time: {result.live.over_budget}")


@live
@pytest.mark.long
@pytest.mark.parametrize("words", LINES.values(), ids=LINES)
def test_real_packets_change_as_the_answer_tells(cli: Cli, words: str) -> None:
    """A race, and the line as it is and as advised on kernel TCP, three times each: four minutes."""
    began = time.monotonic()
    assert cli("init", "--pack", "line", *words.split(), "line").code == 0
    words_ = ("recommend", "line/line.toml", "--goal", "household", "-s", "run.duration=30s", "-o", "race")
    done = cli(*words_, "--json")
    assert done.code == 0, done.err
    told = done.json()
    for node in ("isp", "home"):
        command = shlex.split(told["commands"][f"queues to type in at {node}"])
        typed = cli(*command[1:], "--shape", "95%")
        assert typed.code == 0, typed.err
        assert "tc qdisc replace dev $DEV root" in typed.out
    (reference,) = (name for name, _ in [*told["rows"][0]["changes"].items()][:1])
    store = Store.open(Path("race"))
    treatments = {one.name: one.overrides for one in store.campaign.design.treatments}
    found: dict[str, list[dict[str, Any]]] = {}
    for name in (told["in_use"], told["taken"]):
        for seed in SEEDS:
            scenario = store.campaign.scenario.override(
                *treatments[name], f"run.seed={seed}", 'run.clock="live"'
            )
            result = on_time(scenario)
            values = {one.name: one.evaluate(result) for one in store.campaign.responses}
            found.setdefault(name, []).append(values)
    apart, met, bounded = [], 0, 0
    for row in told["rows"]:
        change, group = row["changes"][reference], tuple(row["of"].split(", "))
        pairs = zip(found[told["in_use"]], found[told["taken"]], strict=True)
        both = [[one[row["response"]].get(group) for one in pair] for pair in pairs]
        # what does not vary from run to run has no interval
        if change["low"] is None or not all(x and y for x, y in both):
            continue
        own = mean_interval([math.log(y / x) for x, y in both], LEVEL)
        low, high = (100 * math.expm1(end) for end in (own.low, own.high))
        # JSON has no number for an interval without an upper end
        top = math.inf if change["high"] is None else change["high"]
        bounded += top < math.inf
        here = f"{row['of']} {row['response']}: told {change['low']:.2f} to {top:.2f} %, "
        print(here + f"real {low:.2f} to {high:.2f} %")
        if low <= top + NEAR and high >= change["low"] - NEAR:
            met += 1
        else:
            apart.append(here + f"real {low:.2f} to {high:.2f} %")
    assert met > 6
    assert bounded > 6
    assert apart == []
    assert time.monotonic() - began < 20 * 60


TYPED = r"""
set -e
unshare --net sleep 60 &
FAR=$!
sleep 0.5
ip link add wan type veth peer name lan netns $FAR
ip address add 192.0.2.1/24 dev wan
ip link set wan up
nsenter --target $FAR --net sh -c \
  'ip address add 192.0.2.2/24 dev lan; ip link set lan up; iperf3 -s -1' >&2 &
COMMANDS
sleep 1
iperf3 -c 192.0.2.2 -t 5 -C cubic -J
kill $FAR
"""


@pytest.mark.long
def test_what_is_typed_in_holds_an_upload_to_what_was_told(cli: Cli) -> None:
    """Commands that any kernel with htb takes, on a veth pair: the rate and the longest wait of the queue."""
    need("tc", "iperf3", "nsenter", "ethtool")
    assert cli("init", "--pack", "line", "--down", "100Mbit/s", "--up", "5Mbit/s", "line").code == 0
    queue = 'port.home-isp.class.all.queue={ kind = "fifo", limit = "12500B" }'
    words = ("--with", "tc", "--at", "home", "--device", "isp=wan", "--shape", "95%", "-s", queue)
    typed = cli("deploy", "line/line.toml", *words)
    assert typed.code == 0, typed.err
    hint = re.search(r"# cannot: limit: .*: (ethtool -K DEV tso off gso off)", typed.out)
    assert hint is not None
    commands = hint[1].replace("DEV", "wan") + "\n" + re.sub(r"^#.*\n", "", typed.out, flags=re.MULTILINE)
    done = namespace(["sh", "-c", TYPED.replace("COMMANDS", commands.strip())])
    if "qdisc kind is unknown" in done.stderr:
        pytest.skip(f"this kernel has no htb: {done.stderr}")
    assert done.returncode == 0, done.stderr
    end = json.loads(done.stdout)["end"]
    # 1448 bytes of data in 1514 on the wire, as htb counts; a busy machine serves late, and never more
    rate, longest = 0.95 * 5e6 * 1448 / 1514, 12_500 * 8 / (0.95 * 5e6)
    assert 0.75 * rate < end["sum_received"]["bits_per_second"] < 1.01 * rate
    assert 0.5 * longest < 1e-6 * end["streams"][0]["sender"]["max_rtt"] < 2 * longest
