"""Elements in Python decide as perhop's own do, travel with their scenario, end a run that they break."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import perhop
from conftest import Cli
from perhop import ScenarioError, StoredRun, _core
from perhop.cli.exit import ExitCode
from perhop.run.run import run
from perhop.scenario.files import Files
from perhop.scenario.scenario import Scenario
from perhop.scenario.trust import TRUST

ELEMENTS = Path(__file__).parent / "elements"
PORT = "port.router-sink.class.all.queue"

TEXT = """
[run]
duration = "10s"
processing_jitter = "1ms"
[[node]]
name = "host"
count = 3
[[node]]
name = "router"
kind = "router"
[[node]]
name = "sink"
[[link]]
ends = ["host[*]", "router"]
rate = "100Mbit/s"
delay = "1ms"
[[link]]
ends = ["router", "sink"]
rate = "5Mbit/s"
delay = "10ms"
[[port]]
at = "router"
to = "sink"
[[port.class]]
name = "all"
match = ["any"]
queue = { QUEUE }
[[flow]]
name = "up"
from = "host[*]"
to = "sink"
tcp.ecn = false
"""

FIFO = 'kind = "python", file = "early.py", name = "Fifo", limit = "20p"'
RED = (
    'kind = "python", file = "early.py", name = "Red", limit = "30p", '
    "settings = { min_th = 5, max_th = 15, max_p = 0.1 }"
)
CODEL = 'kind = "python", file = "codel.py", name = "Codel", limit = "60p"'
OWN_RED = 'kind = "red", limit = "30p", min_th = "5p", max_th = "15p", max_p = 0.1'


@pytest.fixture
def of(tmp_path: Path) -> Callable[..., Scenario]:
    """Make the scenario with a queue, and a file of elements beside it."""

    def make(queue: str, program: str | None = None, *overrides: str) -> Scenario:
        for file in ELEMENTS.glob("*.py"):
            shutil.copy(file, tmp_path)
        if program is not None:
            (tmp_path / "mine.py").write_text(program)
        (tmp_path / "scenario.toml").write_text(TEXT.replace("QUEUE", queue))
        return Scenario.load(tmp_path / "scenario.toml", overrides)

    return make


Make = Callable[..., Scenario]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("mine", "own"),
    [(FIFO, 'kind = "fifo", limit = "20p"'), (RED, OWN_RED), (CODEL, 'kind = "codel", limit = "60p"')],
)
@pytest.mark.parametrize("ecn", ["false", "true"])
def test_it_decides_as_the_element_of_perhop(of: Make, mine: str, own: str, seed: int, ecn: str) -> None:
    """Equal logs of events: every packet is dropped, marked and sent alike, by the same draws."""
    with_mine, with_own = (
        run(of(queue, None, f"run.seed={seed}", f"flow.up.tcp.ecn={ecn}").override("run.duration=20s"))
        for queue in (mine, own + (", ecn = true" if "red" in own else ""))
    )
    assert with_mine.queues["dropped_packets"].sum() + with_mine.queues["marked_packets"].sum() > 100
    assert with_mine.event_digest == with_own.event_digest
    assert with_mine.queues.equals(with_own.queues)
    assert not with_mine.invariants


def test_a_drop_at_departure_and_one_from_the_front_are_told(of: Make) -> None:
    codel = run(of('kind = "python", file = "codel.py", name = "Codel", limit = "100p"'))
    front = run(of('kind = "python", file = "early.py", name = "DropFront", limit = "20p"'))
    for result in (codel, front):
        assert result.queues["dropped_packets"].sum() > 20
        assert result.invariants == []
    at_port = {one["path"]: one for one in codel.queues.to_dicts()}["port.router-sink.class.all"]
    assert at_port["dropped_overflow"] == 0
    assert at_port["wait_mean_s"] < 0.03


def test_a_seed_gives_the_same_and_another_does_not(of: Make) -> None:
    digests = [run(of(RED, None, f"run.seed={seed}")).event_digest for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_the_folder_of_a_run_is_enough(of: Make, cli: Cli, tmp_path: Path) -> None:
    of(RED)
    assert cli("run", "scenario.toml", "-o", "out").code == ExitCode.DONE
    text = (tmp_path / "early.py").read_bytes()
    (tmp_path / "early.py").write_text("class Other: pass\n")
    assert (tmp_path / "out/files/early.py").read_bytes() == text
    record = json.loads((tmp_path / "out" / "record.json").read_text())
    assert record["file_hashes"]["files/early.py"] == hashlib.sha256(text).hexdigest()
    assert cli("replay", "out").code == ExitCode.DONE
    assert cli("run", "out/scenario.toml", "-o", "again").code == ExitCode.DONE
    assert StoredRun.load("again").record.event_digest == record["event_digest"]


def test_the_key_of_a_run_has_the_program_in_it(of: Make) -> None:
    program = (ELEMENTS / "early.py").read_text()
    queue = FIFO.replace("early.py", "mine.py")
    keys = [of(queue, text).key() for text in (program, program, program + "# another\n")]
    assert keys[0] == keys[1] != keys[2]


def test_a_scenario_of_text_is_given_its_programs(of: Make) -> None:
    plain = of(RED)
    held = Files(held={"early.py": (ELEMENTS / "early.py").read_bytes()})
    given = Scenario(plain.source, "text", (), held)
    assert given.key() == plain.key()
    assert run(given).event_digest == run(plain).event_digest
    (found,) = Scenario(plain.source, "text").check()
    assert "cannot be read: this scenario came as text" in found["rule"]


CAMPAIGN = """
scenario = "scenario.toml"
replications = 2
[[factor]]
name = "queue"
[factor.levels]
red = []
late = ["port.router-sink.class.all.queue.settings.min_th=10"]
codel = ['port.router-sink.class.all.queue={ CODEL }']
[[response]]
name = "delay"
measure = "mean(flows.delay_mean_s)"
""".replace("CODEL", CODEL)


def test_a_campaign_runs_it_in_processes_of_its_own(of: Make, cli: Cli, tmp_path: Path) -> None:
    of(RED)
    (tmp_path / "campaign.toml").write_text(CAMPAIGN)
    assert cli("campaign", "run", "campaign.toml", "-o", "store", "-j", "1").code == ExitCode.DONE
    for file in ("early.py", "codel.py"):
        (tmp_path / file).unlink()
    done = cli("campaign", "run", "store", "-j", "1")
    assert done.code == ExitCode.DONE
    assert {file.name for file in (tmp_path / "store" / "files").iterdir()} == {"early.py", "codel.py"}
    shown = cli("analyze", "store", "--json")
    assert shown.code == ExitCode.DONE
    assert cli("campaign", "run", "campaign.toml", "-o", "other").code == ExitCode.INVALID


def test_a_program_of_a_level_that_fails_is_told_before_anything_runs(
    of: Make, cli: Cli, tmp_path: Path
) -> None:
    of(RED)
    (tmp_path / "campaign.toml").write_text(CAMPAIGN.replace("min_th=10", "min_tx=10"))
    done = cli("campaign", "run", "campaign.toml", "-o", "store", "-j", "1")
    assert done.code == ExitCode.INVALID
    assert "`Red` has no setting `min_tx`" in done.err
    assert not (tmp_path / "store").exists()


MINE = 'kind = "python", file = "mine.py", name = "Mine", limit = "9p"'
FRAME = """from collections import deque
class Mine:
    def __init__(self, place, boom=50):
        self.place, self.packets, self.boom = place, deque(), boom
    def enqueue(self, now, packet):
        {enqueue}
    def dequeue(self, now):
        {dequeue}
"""
ENQUEUE = "return 'overflow' if not self.place.has_room(packet) else self.packets.append(packet)"
DEQUEUE = "return self.packets.popleft() if self.packets else None"


@pytest.mark.parametrize(
    ("enqueue", "dequeue", "said"),
    [
        ("return 1 / 0", DEQUEUE, "mine.py:6, in enqueue: ZeroDivisionError: division by zero"),
        (ENQUEUE, "raise RuntimeError", "mine.py:8, in dequeue: RuntimeError at"),
        (
            "return 'tired'",
            DEQUEUE,
            'mine.py: Mine: enqueue returned the reason "tired", which is not one of',
        ),
        (
            "return 7",
            DEQUEUE,
            "mine.py: Mine: enqueue returned <class 'int'>: None, or a reason to drop, is asked",
        ),
        ("self.packets.append(packet)", DEQUEUE, "mine.py: Mine: enqueue took more than the limit of 9p"),
        (ENQUEUE, "return None", "mine.py: Mine: dequeue returned nothing although 1 packets wait"),
        (ENQUEUE, "return 3", "mine.py: Mine: dequeue returned <class 'int'>: a packet or None is asked for"),
        (
            ENQUEUE,
            "return self.packets[0]",
            "mine.py: Mine: dequeue returned a packet that does not wait here",
        ),
        (
            "self.place.drop(packet, 'early')",
            DEQUEUE,
            "mine.py:6, in enqueue: ValueError: drop: this packet does not",
        ),
        (
            ENQUEUE,
            "p = self.packets.popleft(); self.place.drop(p, 'bored'); return p",
            'ValueError: drop: the reason "bored" is not one of',
        ),
    ],
)
def test_what_breaks_the_rules_ends_the_run(
    of: Make, cli: Cli, enqueue: str, dequeue: str, said: str
) -> None:
    of(MINE, FRAME.format(enqueue=enqueue, dequeue=dequeue))
    done = cli("run", "scenario.toml", "-o", "out")
    assert done.code == ExitCode.FAILED_RUNS
    assert said in done.err
    assert "Traceback" not in done.err
    assert not Path("out").exists()


def test_a_deadline_that_would_never_end_is_caught(of: Make, cli: Cli) -> None:
    more = "\n    def next_timeout(self):\n        return {}\n    def on_timeout(self, now):\n        pass\n"
    for returned, said in (("5", "it would be called for ever"), ("-1", "a time in ns from 0 on, or None")):
        of(MINE, FRAME.format(enqueue=ENQUEUE, dequeue=DEQUEUE) + more.format(returned))
        done = cli("run", "scenario.toml", "-o", "out")
        assert (done.code, said in done.err) == (ExitCode.FAILED_RUNS, True)


def test_an_api_error_has_the_traceback_as_its_cause(of: Make) -> None:
    with pytest.raises(_core.ElementError, match=r"mine\.py:6, in enqueue") as caught:
        run(of(MINE, FRAME.format(enqueue="return [][1]", dequeue=DEQUEUE)))
    assert isinstance(caught.value.__cause__, IndexError)


def test_ctrl_c_in_an_element_is_ctrl_c(of: Make) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(of(MINE, FRAME.format(enqueue="raise KeyboardInterrupt", dequeue=DEQUEUE)))


@pytest.mark.parametrize(
    ("queue", "program", "path", "rule"),
    [
        (MINE, None, "file", "`mine.py` cannot be read in"),
        (MINE, "class Mine(:\n", "file", "mine.py:1: SyntaxError: invalid syntax"),
        (MINE, "class Main:\n    pass\n", "name", "mine.py has no class `Mine`"),
        (
            MINE,
            "class Mine:\n    def enqueue(self, now, packet): ...\n",
            "name",
            "`Mine` has no method `dequeue`",
        ),
    ],
)
def test_mistakes_are_found_without_running_anything(
    of: Make, queue: str, program: str | None, path: str, rule: str
) -> None:
    text = None if program is None else program + "\nraise SystemExit('it ran')\n"
    (found,) = of(queue, text).check()
    assert (found["path"], found["line"]) == (f"{PORT}.{path}", 27)
    assert found["rule"].startswith(rule)


@pytest.mark.parametrize(
    ("settings", "program", "path", "rule"),
    [
        ("bom = 1", "", "settings.bom", "`Mine` has no setting `bom`"),
        ("boom = 1", "    def __init__(self, place, boom, bang): ...\n", "settings.bang", "bang is missing"),
        (
            "boom = 1",
            "    def __init__(self): ...\n",
            "name",
            "`Mine` takes nothing: it is given its place first",
        ),
        (
            "boom = -1",
            "    def __init__(self, place, boom):\n        raise ValueError('boom must exceed 0')\n",
            "settings.boom",
            "boom must exceed 0",
        ),
        (
            "boom = 1",
            "    def __init__(self, place, boom):\n        boom[1]\n",
            "name",
            "mine.py:10: in __init__: TypeError",
        ),
        ("boom = 1", "1 / 0\n", "file", "mine.py:9: ZeroDivisionError: division by zero"),
    ],
)
def test_mistakes_in_settings_have_their_place(
    of: Make, settings: str, program: str, path: str, rule: str
) -> None:
    text = FRAME.format(enqueue=ENQUEUE, dequeue=DEQUEUE) + program
    scenario = of(f"{MINE}, settings = {{ {settings} }}", text)
    assert scenario.check() == []
    with pytest.raises(ScenarioError) as caught:
        run(scenario)
    (found,) = caught.value.diagnostics
    assert (found["path"], found["line"]) == (f"{PORT}.{path}", 27)
    assert found["rule"].replace(", in", ": in").startswith(rule)


def test_check_builds_it_and_looking_at_a_folder_does_not(of: Make, cli: Cli, tmp_path: Path) -> None:
    of(MINE, FRAME.format(enqueue=ENQUEUE, dequeue=DEQUEUE) + "open('ran', 'w').close()\n")
    assert cli("describe", "scenario.toml").code == ExitCode.DONE
    assert not (tmp_path / "ran").exists()
    assert cli("check", "scenario.toml").code == ExitCode.DONE
    assert (tmp_path / "ran").exists()
    assert cli("run", "scenario.toml", "-o", "out").code == ExitCode.DONE
    (tmp_path / "ran").unlink()
    assert cli("report", "out").code == ExitCode.DONE
    assert not (tmp_path / "ran").exists()


def test_who_is_not_trusted_is_not_run(of: Make, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    of(RED)
    monkeypatch.setenv(TRUST, "no")
    done = cli("run", "scenario.toml", "-o", "out")
    assert done.code == ExitCode.INVALID
    assert "early.py is a program, and programs of scenarios are not run here" in done.err
    assert "--trust" in done.err
    assert cli("describe", "scenario.toml").code == ExitCode.DONE


def test_real_packets_do_not_wait_for_it(of: Make) -> None:
    (found,) = of(RED, None, "run.clock=live").check()
    assert found["path"] == f"{PORT}.kind"
    assert "runs in virtual time alone" in found["rule"]


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


def test_a_meter_colours_by_its_own_draws(of: Make, tmp_path: Path) -> None:
    of(OWN_RED, METER.replace("{verdict}", "green"))
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
        ("return heads[7]", "turns.py:5, in select: IndexError"),
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
        ("return ack.length", "reno.py:6, in on_ack: AttributeError"),
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


def test_laws_hold_for_what_keeps_them(cli: Cli) -> None:
    done = cli(
        "test-element",
        ELEMENTS / "early.py",
        "-s",
        "min_th=2",
        "-s",
        "max_th=6",
        "-s",
        "max_p=0.3",
        "--name",
        "Red",
    )
    assert done.code == ExitCode.DONE, done.out
    assert done.out.count("  holds ") == 4
    for name in ("Fifo", "DropFront"):
        assert (
            cli(
                "test-element", ELEMENTS / "early.py", "--name", name, "--limit", "4000B", "--cases", "64"
            ).code
            == 0
        )
    assert cli("test-element", ELEMENTS / "codel.py").code == ExitCode.DONE
    assert cli("test-element", ELEMENTS / "turns.py").code == ExitCode.DONE


@pytest.mark.parametrize(
    ("enqueue", "dequeue", "law", "why"),
    [
        (
            ENQUEUE,
            "return self.packets.pop() if self.packets else None",
            "books_balance",
            "dequeue and peek disagree",
        ),
        ("self.packets.append(packet)", DEQUEUE, "books_balance", "enqueue took more than the limit of 8p"),
        (
            "import random; return 'early' if random.random() < 0.5 else " + ENQUEUE[7:],
            DEQUEUE,
            "repeats",
            "left == right",
        ),
    ],
)
def test_laws_are_broken_by_what_breaks_them(
    cli: Cli, tmp_path: Path, enqueue: str, dequeue: str, law: str, why: str
) -> None:
    (tmp_path / "mine.py").write_text(FRAME.format(enqueue=enqueue, dequeue=dequeue))
    done = cli("test-element", "mine.py", "--json")
    assert done.code == ExitCode.INVALID
    (element,) = done.json()["elements"]
    broken = {one["law"]: one["broken"] for one in element["laws"] if not one["holds"]}
    assert why in broken[law]
    assert "minimal failing input" in broken[law]


@pytest.mark.parametrize("kind", ["queue", "meter", "scheduler", "control", "ack"])
def test_what_init_writes_works(cli: Cli, kind: str, tmp_path: Path) -> None:
    done = cli("init", "--element", kind)
    assert done.code == ExitCode.DONE
    (program,) = tmp_path.glob("*.py")
    assert len(program.read_text().splitlines()) <= 50
    settings = {
        "meter": ("-s", "ctr=1Mbit/s", "-s", "ptr=2Mbit/s"),
        "scheduler": ("-s", "gold=3", "--classes", "gold,rest,other"),
    }
    tested = cli("test-element", program.name, *settings.get(kind, ()))
    assert tested.code == ExitCode.DONE, tested.out
    for file in ("scenario.toml", "campaign.toml"):
        assert cli("check", file).code == ExitCode.DONE
    assert cli("run", "scenario.toml", "-o", "out", "-s", "run.duration=12s").code == ExitCode.DONE
    campaign = tmp_path / "campaign.toml"
    campaign.write_text(campaign.read_text().replace("set = [", 'set = ["run.duration=12s", '))
    assert cli("campaign", "run", "campaign.toml", "-o", "store", "-j", "1").code == ExitCode.DONE
