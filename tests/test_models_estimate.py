"""What closed forms say of scenarios, held against runs of these, and the scenarios that they refuse."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from conftest import Cli
from perhop import Scenario
from perhop.models import queueing, token_bucket
from perhop.models.estimate import estimates
from perhop.models.estimate_links import _class_of
from perhop.models.form import Estimate

TOP = Path(__file__).parents[1]
TWO_WAY = """
[run]
duration = "900s"
warmup = "300s"
[[node]]
name = "slow"
[[node]]
name = "fast"
[[link]]
ends = ["slow", "fast"]
rate = { "slow->fast" = "100kbit/s", "fast->slow" = "5Mbit/s" }
pure_ack_size = "28B"
[[port]]
at = "fast"
to = "slow"
[[port.class]]
name = "all"
queue = { kind = "fifo", limit = "2000p" }
[[flow]]
name = "up"
from = "slow"
to = "fast"
tcp = { profile = "rfc", mss = "1500B", header = "0B", window = "65536B" }
ack = { policy = "every-segment" }
[[flow]]
name = "down"
from = "fast"
to = "slow"
start_jitter = "1s"
tcp = { profile = "rfc", mss = "1500B", header = "0B", window = "65536B" }
ack = { policy = "every-segment" }
[[port]]
at = "slow"
to = "fast"
"""
ONE_CLASS = """[[port.class]]
name = "all"
queue = { kind = "fifo", limit = "2000p" }
"""
TWO_CLASSES = """[[port.class]]
name = "acks"
match = ["pure-ack"]
queue = { kind = "fifo", limit = "2000p" }
[[port.class]]
name = "data"
queue = { kind = "fifo", limit = "2000p" }
"""
TREATMENTS = {
    "fifo": ONE_CLASS,
    "priority": TWO_CLASSES,
    "backpressure": "backpressure = 1\n" + ONE_CLASS,
    "paired": 'scheduler = { kind = "paired-counter", data = "data", share = 0.5 }\n' + TWO_CLASSES,
}

LINE = """
[run]
duration = "{duration}s"
warmup = "{warmup}s"
packet_size = "1500B"
[[node]]
name = "a"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"
[[link]]
ends = ["a", "r"]
rate = "{access}Mbit/s"
loss = {{ "a->r" = {loss} }}
[[link]]
ends = ["r", "b"]
rate = "10Mbit/s"
delay = "{delay}ms"
{conditioner}
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = {{ profile = "rfc", cc = "{cc}", recovery = "{recovery}", window = "{window}" }}
ack = {{ policy = "{ack}" }}
"""
PLAIN = {
    "duration": 60,
    "warmup": 20,
    "access": 100,
    "loss": 0.0,
    "delay": 25,
    "conditioner": "",
    "cc": "reno",
    "recovery": "sack",
    "window": "32KiB",
    "ack": "every-segment",
}
BUCKET = """[[conditioner]]
name = "police"
at = "r"
from = "a"
match = {{ kind = "data" }}
meter = {{ kind = "token-bucket", cir = "4Mbit/s", cbs = "{depth}p" }}
marker = {{ green = "pass", red = "drop" }}
"""


def police(kind: str = "data", mark: str = "", at: str = "a", green: str = "pass") -> dict[str, object]:
    """Return settings with a bucket that is not the one of the form: other packets, way or colours."""
    match = f'match = {{ mark = "{mark}" }}' if mark else f'match = {{ kind = "{kind}" }}'
    text = BUCKET.format(depth=40).replace('match = { kind = "data" }', match)
    text = text.replace('from = "a"', f'from = "{at}"').replace('green = "pass"', f'green = "{green}"')
    return {"conditioner": text, "delay": 50, "window": "1MiB", "access": 10}


def line(**settings: object) -> Scenario:
    return Scenario.from_text(LINE.format(**PLAIN | settings))


def of(scenario: Scenario, form: str) -> Estimate:
    (one,) = (one for one in estimates(scenario) if one.form.startswith(form))
    return one


def goodput(scenario: Scenario) -> float:
    return float(scenario.run().flows["goodput_bit_s"][0])


def held(scenario: Scenario, form: str, low: float, high: float) -> None:
    """Hold what is simulated to a range around what the form gives."""
    one = of(scenario, form)
    assert one.holds, one.why_not
    assert one.value is not None
    assert low < goodput(scenario) / one.value < high


@pytest.mark.parametrize(
    ("window", "ack"), [("32KiB", "every-segment"), ("16KiB", "delayed"), ("80KiB", "delayed")]
)
def test_a_window_a_round_trip(window: str, ack: str) -> None:
    held(line(window=window, ack=ack), "window limit", 0.99, 1.01)


def test_a_window_that_fills_the_link() -> None:
    scenario = line(window="256KiB")
    held(scenario, "window limit", 0.99, 1.01)
    assert of(scenario, "window limit").value == pytest.approx(1e7 * 1460 / 1500)


@pytest.mark.parametrize(
    ("settings", "form", "low", "high"),
    [
        ({"cc": "reno", "recovery": "reno", "loss": 0.01}, "TCP under loss: PFTK", 0.85, 1.25),
        (
            {"cc": "reno", "recovery": "reno", "loss": 0.003, "ack": "delayed"},
            "TCP under loss: PFTK",
            0.85,
            1.25,
        ),
        ({"cc": "reno", "recovery": "sack", "loss": 0.01}, "TCP under loss: square", 0.8, 1.1),
        (
            {"cc": "reno", "recovery": "sack", "loss": 0.005, "ack": "delayed"},
            "TCP under loss: square",
            0.8,
            1.1,
        ),
        ({"cc": "cubic", "recovery": "sack", "loss": 0.01}, "TCP under loss: CUBIC", 0.9, 1.25),
    ],
)
def test_laws_of_loss(settings: dict[str, object], form: str, low: float, high: float) -> None:
    held(line(**settings, delay=50, window="1MiB", duration=1000), form, low, high)


@pytest.mark.parametrize("sender", ["cc=bbr rack=true", "cc=prague ecn=true"])
def test_senders_that_no_law_was_held_to(sender: str) -> None:
    settings = [f"flow.f.tcp.{setting}" for setting in sender.split()]
    scenario = line().override(*settings)
    control = sender.split()[0].removeprefix("cc=")
    for form in ("window limit", "TCP under loss: square root law"):
        assert of(scenario, form).why_not == f"its congestion control is {control}, which no law was held to"


@pytest.mark.parametrize(("depth", "ack"), [(40, "every-segment"), (160, "every-segment"), (80, "delayed")])
def test_a_bucket_that_drops(depth: int, ack: str) -> None:
    scenario = line(
        conditioner=BUCKET.format(depth=depth), ack=ack, delay=50, window="1MiB", duration=150, access=10
    )
    held(scenario, "TCP through a token bucket", 0.9, 1.01)


def test_published_and_hand_worked_numbers() -> None:
    # 100 packets/s, 0.1 s, depth 8: 3/4 (100 + 4 / 0.1); 10 packets a round trip want 100 / 18
    assert token_bucket.policed(100.0, 0.5, 0.1) == pytest.approx(82.5)
    assert token_bucket.policed(100.0, 8.0, 0.1) == pytest.approx(100.0)
    assert token_bucket.policed(100.0, 1.0, 0.1, 2) == pytest.approx(82.5)
    # from that depth on it is every token
    assert token_bucket.policed(100.0, 100.0 / 18.0, 0.1) == pytest.approx(100.0)
    # M/D/1 at half load waits half a service time
    assert queueing.md1_wait(0.5, 2.0) == pytest.approx(1.0)
    assert queueing.weighted_shares([1.0, 9.0, 9.0], [1.0, 1.0, 3.0], 9.0) == pytest.approx([1.0, 2.0, 6.0])
    assert queueing.priority_shares([2.0, 5.0, 5.0], 6.0) == [2.0, 4.0, 0.0]
    with pytest.raises(ValueError, match=r"load = 1\.0"):
        queueing.md1_wait(1.0, 1.0)
    with pytest.raises(ValueError, match=r"depth = 0\.0"):
        token_bucket.policed(1.0, 0.0, 1.0)


@pytest.mark.parametrize("name", TREATMENTS)
@pytest.mark.parametrize("override", ["link.slow-fast.delay=6ms", "flow.up.tcp.window=16KiB"])
def test_efficiency_of_crossing_connections(name: str, override: str) -> None:
    scenario = Scenario.from_text(TWO_WAY + TREATMENTS[name]).override(override)
    run = {row["name"]: row for row in scenario.run().flows.to_dicts()}
    found = {one.of: one for one in estimates(scenario) if one.form == "two-way efficiency"}
    assert found["up"].holds
    for flow, rate in (("up", 1e5), ("down", 5e6)):
        assert run[flow]["goodput_bit_s"] / rate == pytest.approx((found[flow].value or 0.0) / rate, abs=0.03)


UDP = """
[run]
duration = "{duration}s"
warmup = "5s"
[[node]]
name = "a"
count = 2
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"
[[link]]
ends = ["a[*]", "r"]
rate = "10Mbit/s"
[[link]]
ends = ["r", "b"]
rate = "4Mbit/s"
[[port]]
at = "r"
to = "b"
scheduler = {{ kind = "{scheduler}" }}
[[port.class]]
name = "gold"
match = ["EF"]
{first}
[[port.class]]
name = "rest"
{second}
[[udp]]
name = "gold"
from = "a[0]"
to = "b"
mark = "EF"
rate = "{gold}Mbit/s"
packet_size = "500B"
pattern = {{ kind = "{pattern}" }}
[[udp]]
name = "rest"
from = "a[1]"
to = "b"
rate = "6Mbit/s"
packet_size = "1000B"
pattern = {{ kind = "{pattern}" }}
"""


@pytest.mark.parametrize(
    ("scheduler", "first", "second", "gold", "expected"),
    [
        ("strict-priority", "", "", 3, (3e6, 1e6)),
        ("wrr", "weight = 2", "weight = 3", 6, (1e6, 3e6)),
        ("drr", 'quantum = "3000B"', 'quantum = "1000B"', 6, (3e6, 1e6)),
        ("drr", 'quantum = "3000B"', 'quantum = "1000B"', 1, (1e6, 3e6)),
        ("wfq", "weight = 1", "weight = 3", 6, (1e6, 3e6)),
        ("cbq", "share = 0.25", "share = 0.75", 6, (1e6, 3e6)),
    ],
)
def test_shares_of_an_overloaded_link(
    scheduler: str, first: str, second: str, gold: int, expected: tuple[float, float]
) -> None:
    text = UDP.format(duration=30, scheduler=scheduler, first=first, second=second, gold=gold, pattern="cbr")
    scenario = Scenario.from_text(text)
    found = [one for one in estimates(scenario) if one.form == "shares of an overloaded link"]
    assert [one.value for one in found] == pytest.approx(list(expected))
    assert scenario.run().udp["throughput_bit_s"].to_list() == pytest.approx(list(expected), rel=0.01)


def test_a_stream_without_a_class_has_no_place() -> None:
    text = UDP.format(duration=30, scheduler="strict-priority", first="", second="", gold=6, pattern="cbr")
    described = Scenario.from_text(text).describe()
    ports = [link.port for link in described.links if link.port.path == "port.r-b"]
    # a file like that has a mistake, so that the description is made by hand
    bare = msgspec.structs.replace(ports[0], classes=ports[0].classes[:1])
    assert _class_of(bare, "EF") == 0
    assert _class_of(bare, "BE") is None


def test_packets_that_come_at_random() -> None:
    text = UDP.format(
        duration=400, scheduler="strict-priority", first="", second="", gold=8, pattern="poisson"
    )
    scenario = Scenario.from_text(text).override("link.r-b.rate=100Mbit/s")
    found = {one.of: one for one in estimates(scenario) if one.form == "M/D/1"}
    # 0.8 x 0.4 ms / 0.4, 0.6 x 0.8 ms / 0.8
    assert found["a[0]->r"].value == pytest.approx(0.8e-3)
    assert found["a[1]->r"].value == pytest.approx(0.6e-3)
    queues = {row["path"]: row for row in scenario.run().queues.to_dicts()}
    for place in (0, 1):
        waited = queues[f"port.a[{place}]-r.class.all"]["wait_mean_s"]
        assert waited == pytest.approx(found[f"a[{place}]->r"].value, rel=0.03)


@pytest.mark.parametrize(
    ("settings", "form", "why"),
    [
        ({"loss": 0.01}, "window limit", "its links lose or mark packets"),
        ({"window": "4MiB"}, "window limit", "it overflows"),
        ({"window": "8KiB", "ack": "delayed"}, "window limit", "delayed ACKs a window below 10"),
        ({"conditioner": BUCKET.format(depth=5), "window": "1MiB"}, "TCP through", "bursts empty the bucket"),
        ({"conditioner": BUCKET.format(depth=20)}, "window limit", "conditioner.police may drop"),
        ({}, "TCP under loss", "no link on its way loses data at random"),
        ({"loss": 0.2, "recovery": "reno"}, "TCP under loss", "outside 0.0001 to 0.1"),
        ({"loss": 0.03}, "TCP under loss", "outside 0.0001 to 0.01"),
        ({"loss": 0.005, "delay": 5}, "TCP under loss", "outside 20 to 200 ms"),
        ({"loss": 0.01, "recovery": "newreno"}, "TCP under loss", "it recovers with newreno"),
        ({"loss": 0.01, "cc": "cubic", "ack": "delayed"}, "TCP under loss", "ACKs are delayed"),
        ({"loss": 0.001, "delay": 10, "window": "1MiB"}, "TCP under loss", "more than half"),
        ({}, "TCP through", "no token bucket on its way drops"),
        (
            {"conditioner": BUCKET.format(depth=20), "cc": "cubic"},
            "TCP through",
            "the sender is cubic with sack",
        ),
        ({"conditioner": BUCKET.format(depth=20), "window": "16KiB"}, "TCP through", "bound it before"),
        (police(kind="pure-ack"), "TCP through", "a match other than kind = data"),
        (police(mark="EF"), "TCP through", "a match other than kind = data"),
        (police(at="b"), "TCP through", "is on the way of the ACKs"),
        (police(green="drop"), "TCP through", "drops or delays green packets too"),
        ({}, "two-way", "there are 2 links and not one"),
        ({}, "M/D/1", "there is no UDP flow"),
        ({}, "shares", "there is no UDP flow"),
    ],
)
def test_where_a_form_does_not_hold_it_says_why(settings: dict[str, object], form: str, why: str) -> None:
    one = of(line(**settings), form)
    assert not one.holds
    assert one.value is None
    assert why in one.why_not


@pytest.mark.parametrize(
    ("override", "why"),
    [
        ("link.slow-fast.loss=0.01", "the link loses or marks packets"),
        ("link.slow-fast.rate=1Mbit/s", "the link is as fast both ways"),
        ("link.slow-fast.delay=3s", "do not fill the path"),
        ("link.slow-fast.delay=30ms", "a tenth of a data packet's time"),
        ("flow.down.tcp.window=16KiB", "fewer than 40"),
        ("flow.up.ack.policy=delayed", "ACKs are delayed"),
        ("flow.up.tcp.size=100kB", "there are transfers that end"),
        ("port.slow-fast.class.acks.queue.limit=50p", "holds 50 packets, less than both windows"),
        ('port.slow-fast.class.acks.match=["data"]', "port.slow-fast treats ACKs in none of four ways"),
    ],
)
def test_where_connections_do_not_cross_as_the_paper_has_them(override: str, why: str) -> None:
    one = of(Scenario.from_text(TWO_WAY + TREATMENTS["priority"]).override(override), "two-way")
    assert not one.holds
    assert why in one.why_not


def test_marks_alone_are_no_share() -> None:
    scenario = Scenario.load(TOP / "papers" / "feroz" / "assured.toml")
    found = [one for one in estimates(scenario) if one.form == "TCP through a token bucket"]
    assert {one.holds for one in found} == {False}
    assert {name for one in found for name in one.flows} == {"assured", *(f"bulk[{i}]" for i in range(10))}


def test_the_command(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "line.toml"
    file.write_text(LINE.format(**PLAIN))
    text = cli("estimate", file)
    assert text.code == 0
    assert "window limit" in text.out
    lossy = cli("estimate", file, "-s", "link.a-r.loss=0.2", "--json")
    assert lossy.code == 0
    found = {one["form"]: one for one in lossy.json()["estimates"]}
    assert found["TCP under loss: square root law"]["holds"] is False
    assert found["TCP under loss: square root law"]["value"] is None
    assert cli("estimate", file, "-s", "flow.f.tcp.cc=vegas").code == 3


def test_nothing_holds_where_a_port_is_slower_than_its_link(tmp_path: Path) -> None:
    file = tmp_path / "held.toml"
    file.write_text(TWO_WAY)
    scenario = Scenario.load(file)
    assert any(one.holds for one in estimates(scenario))
    held = estimates(scenario.override('port.fast-slow.shaper={rate="2Mbit/s"}'))
    assert {one.why_not for one in held} == {"port.fast-slow holds packets to a rate of its own"}
    classes = '[{ name = "all", rate = "1Mbit/s" }]'
    htb = scenario.override('port.fast-slow.scheduler={kind="htb"}', f"port.fast-slow.class={classes}")
    assert {one.why_not for one in estimates(htb)} == {"port.fast-slow holds packets to a rate of its own"}
    cake = 'port.fast-slow.class.all.queue={ kind = "cake" }'
    assert any(one.holds for one in estimates(scenario.override(cake)))
    shaped = estimates(scenario.override(cake.replace(" }", ', rate = "2Mbit/s" }')))
    assert {one.why_not for one in shaped} == {"port.fast-slow holds packets to a rate of its own"}
