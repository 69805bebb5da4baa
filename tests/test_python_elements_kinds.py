"""Meters, schedulers, congestion controls and ACK policies in Python beside perhop's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import perhop
from elements_made import ELEMENTS, OWN_RED, TEXT, laid
from perhop import _core
from perhop.run.run import run
from perhop.scenario.scenario import Scenario

METER = """
class Halves:
    def __init__(self, place, share=0.5):
        self.rng, self.share, self.seen = place.rng, share, 0
    def measure(self, now, packet):
        assert packet.length > 0 and now >= 0
        return "{verdict}" if self.rng.unit() < self.share else "red"
    def observe_reverse(self, now, packet):
        assert packet.is_reverse
"""
EDGE = """
[[conditioner]]
name = "edge"
at = "router"
from = "host[*]"
meter = { kind = "python", file = "mine.py", name = "Halves" }
marker = { red = "drop" }
"""


def test_a_meter_colours_by_its_own_draws(tmp_path: Path) -> None:
    laid(tmp_path, OWN_RED, METER.replace("{verdict}", "green"))
    text = (tmp_path / "scenario.toml").read_text() + EDGE
    (tmp_path / "scenario.toml").write_text(text)
    results = [run(Scenario.load(tmp_path / "scenario.toml", (f"run.seed={seed}",))) for seed in (1, 1, 2)]
    green, red = (results[0].conditioners[f"{color}_packets"][0] for color in ("green", "red"))
    assert red > 20
    assert 0.3 < green / (green + red) < 0.7
    assert results[0].event_digest == results[1].event_digest != results[2].event_digest
    (tmp_path / "scenario.toml").write_text(text.replace("meter =", 'per = "flow"\nmeter ='))
    (found,) = Scenario.load(tmp_path / "scenario.toml").check()
    assert "each of several meters would be a copy of the first" in found["rule"]
    (tmp_path / "mine.py").write_text(METER.replace("{verdict}", "blue"))
    (tmp_path / "scenario.toml").write_text(text)
    with pytest.raises(
        _core.ElementError, match=r'measure returned blue: "green", "yellow" or "red" is asked'
    ):
        run(Scenario.load(tmp_path / "scenario.toml"))


SCHEDULED = """
[[port]]
at = "router"
to = "sink"
scheduler = { SCHEDULER }
[[port.class]]
name = "gold"
match = ["AF11"]
QUANTUM
queue = { kind = "red", limit = "40p", min_th = "5p", max_th = "20p", max_p = 0.1 }
[[port.class]]
name = "rest"
match = ["any"]
QUANTUM
queue = { kind = "codel", limit = "40p" }
[[flow]]
name = "up"
from = "host[0..2]"
to = "sink"
mark = "AF11"
[[flow]]
name = "other"
from = "host[2]"
to = "sink"
[[udp]]
name = "steady"
from = "host[0]"
to = "sink"
rate = "1Mbit/s"
packet_size = "700B"
"""
DRR = 'kind = "python", file = "turns.py", name = "Drr"'


def scheduled(tmp_path: Path, scheduler: str, quantum: str = "") -> Scenario:
    """Make the scenario with two classes, and a scheduler."""
    head = TEXT[: TEXT.index("[[port]]")]
    text = head + SCHEDULED.replace("SCHEDULER", scheduler).replace("QUANTUM", quantum)
    shutil.copy(ELEMENTS / "turns.py", tmp_path)
    (tmp_path / "scenario.toml").write_text(text)
    return Scenario.load(tmp_path / "scenario.toml")


def test_a_scheduler_serves_as_the_one_of_perhop(tmp_path: Path) -> None:
    mine = run(scheduled(tmp_path, DRR))
    own = run(scheduled(tmp_path, 'kind = "drr"', 'quantum = "1500B"'))
    assert mine.queues["dropped_packets"].sum() > 100
    assert mine.event_digest == own.event_digest
    assert not mine.invariants
    slower = run(scheduled(tmp_path, DRR + ", settings = { quantum = 300 }"))
    assert slower.event_digest != own.event_digest


@pytest.mark.parametrize(
    ("select", "said"),
    [
        ("return 2", "select returned 2, a class that has no packet"),
        ("return None", 'select returned None: the number of a class, or ("wait", time), is asked for'),
        ("return ('wait', now)", "which is not after now"),
        ("return heads[7]", "turns.py:5, in select at "),
    ],
)
def test_a_scheduler_that_breaks_the_rules_ends_the_run(tmp_path: Path, select: str, said: str) -> None:
    scenario = scheduled(tmp_path, DRR)
    head = "class Drr:\n    def __init__(self, place):\n        pass\n"
    (tmp_path / "turns.py").write_text(f"{head}    def select(self, now, heads):\n        {select}\n")
    with pytest.raises(_core.ElementError) as caught:
        run(scenario)
    assert said in str(caught.value)


def test_a_scheduler_may_keep_the_link_waiting(tmp_path: Path) -> None:
    scenario = scheduled(tmp_path, DRR)
    (tmp_path / "turns.py").write_text(
        "class Drr:\n"
        "    def __init__(self, place):\n"
        "        assert place.classes == ['gold', 'rest'] and place.rate_bit_s == 5_000_000\n"
        "        self.free = 0\n"
        "    def select(self, now, heads):\n"
        "        if now < self.free:\n"
        "            return 'wait', self.free\n"
        "        return next(c for c, head in enumerate(heads) if head is not None)\n"
        "    def on_served(self, now, c, packet):\n"
        "        self.free = now + 10_000_000\n"
    )
    result = run(scenario)
    sent = result.queues.filter(result.queues["path"].str.starts_with("port.router-sink"))[
        "out_packets"
    ].sum()
    assert 900 < sent <= 1000
    assert not result.invariants


CONTROLLED = """
[[flow]]
name = "up"
from = "host[*]"
to = "sink"
tcp = { profile = "rfc", ecn = true }
control = { kind = "python", file = "reno.py", name = "Reno" }
"""


def controlled(tmp_path: Path, control: str | None = None) -> Scenario:
    """Make the scenario with a congestion control in Python, or without."""
    starter = Path(perhop.__file__).parent / "starters/elements/control/reno.py.txt"
    (tmp_path / "reno.py").write_text(starter.read_text() if control is None else control)
    head = TEXT[: TEXT.index("[[flow]]")].replace("QUEUE", OWN_RED + ", ecn = true")
    (tmp_path / "scenario.toml").write_text(head + CONTROLLED)
    return Scenario.load(tmp_path / "scenario.toml", ("link.host-router.loss=0.001",))


def test_a_congestion_control_keeps_the_windows_of_perhops_own(tmp_path: Path) -> None:
    mine = controlled(tmp_path)
    text = mine.source.decode().replace("control =", "# control =").encode()
    own = run(Scenario(text, mine.name, mine.overrides, mine.files), trace=["cwnd"])
    found = run(mine, trace=["cwnd"])
    assert found.flows["timeouts"].sum() + found.flows["fast_retransmits"].sum() > 5
    assert found.event_digest == own.event_digest
    assert found.trace["cwnd"].equals(own.trace["cwnd"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("self.cwnd = 100", "cwnd is 100: a number of bytes from 1460 on is asked for"),
        ("self.ssthresh = float('nan')", "ssthresh is nan: a number of bytes from 2920 on is asked for"),
        ("self.cwnd = None", "cwnd is None: a number of bytes"),
        ("return ack.length", "reno.py:6, in on_ack at "),
    ],
)
def test_a_congestion_control_that_breaks_the_rules_ends_the_run(
    tmp_path: Path, line: str, said: str
) -> None:
    program = (
        "class Reno:\n    def __init__(self, place):\n"
        "        self.cwnd, self.ssthresh = place.initial_window, place.window\n"
        "    def on_congestion(self, now, signal, load): ...\n"
        f"    def on_ack(self, now, ack):\n        {line}\n"
    )
    with pytest.raises(_core.ElementError) as caught:
        run(controlled(tmp_path, program))
    assert said in str(caught.value)


def acknowledged(tmp_path: Path, ack: str, program: str | None = None) -> Scenario:
    """Make the scenario with a receiver."""
    starter = Path(perhop.__file__).parent / "starters/elements/ack/delayed.py.txt"
    (tmp_path / "delayed.py").write_text(starter.read_text() if program is None else program)
    flow = CONTROLLED[: CONTROLLED.index("control =")]
    head = TEXT[: TEXT.index("[[flow]]")].replace("QUEUE", OWN_RED + ", ecn = true")
    (tmp_path / "scenario.toml").write_text(f"{head}{flow}ack = {{ {ack} }}\n")
    return Scenario.load(tmp_path / "scenario.toml", ("link.host-router.loss=0.001",))


ACKS = 'control = { kind = "python", file = "delayed.py", name = "Delayed" }'


def test_an_ack_policy_answers_as_the_one_of_perhop(tmp_path: Path) -> None:
    mine = run(acknowledged(tmp_path, ACKS))
    own = run(acknowledged(tmp_path, 'policy = "delayed", timeout = "200ms"'))
    each = run(acknowledged(tmp_path, 'policy = "every-segment"'))
    assert mine.event_digest == own.event_digest != each.event_digest


@pytest.mark.parametrize("answer", ["'later'", "now - 1", "3.5"])
def test_an_ack_policy_that_breaks_the_rules_ends_the_run(tmp_path: Path, answer: str) -> None:
    head = "class Delayed:\n    def __init__(self, place): ...\n"
    program = f"{head}    def on_arrival(self, now, segment):\n        return {answer}\n"
    with pytest.raises(
        _core.ElementError, match=r'on_arrival returned .*: "now", a time from \d+ on, or None'
    ):
        run(acknowledged(tmp_path, ACKS, program))
