"""Elements in Python decide as perhop's own do, and travel with their scenario."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from elements_made import CODEL, DEQUEUE, ELEMENTS, ENQUEUE, FIFO, FRAME, MINE, OWN_RED, PORT, RED, Make, laid
from perhop import StoredRun
from perhop.cli.exit import ExitCode
from perhop.run.run import run
from perhop.scenario.files import Files
from perhop.scenario.scenario import Scenario
from perhop.scenario.trust import TRUST


@pytest.fixture
def of(tmp_path: Path) -> Make:
    return partial(laid, tmp_path)


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


IMPATIENT = """
from collections import deque


class Impatient:
    \"\"\"Drops a packet that was first for 5 ms; it becomes first as another leaves.\"\"\"

    def __init__(self, place):
        self.place, self.packets, self.due = place, deque(), None

    def enqueue(self, now, packet):
        if not self.place.has_room(packet):
            return "overflow"
        self.packets.append(packet)

    def dequeue(self, now):
        first = self.packets.popleft() if self.packets else None
        self.due = now + 5_000_000 if self.packets else None
        return first

    def next_timeout(self):
        return self.due

    def on_timeout(self, now):
        if self.due is not None and self.due <= now:
            self.place.drop(self.packets.popleft(), "sojourn")
            self.due = now + 5_000_000 if self.packets else None
"""
BESIDE_ANOTHER = """
run = { seed = 1, duration = "4s" }
node = [{ name = "a" }, { name = "b" }, { name = "r", kind = "router" }, { name = "slow" }, { name = "fast" }]
link = [
    { ends = ["a", "r"], rate = "100Mbit/s", delay = "1ms" },
    { ends = ["b", "r"], rate = "100Mbit/s", delay = "1ms" },
    { ends = ["r", "slow"], rate = "1Mbit/s", delay = "5ms" },
    { ends = ["r", "fast"], rate = "100Mbit/s", delay = "1ms" },
]
flow = [{ name = "s", from = "a", to = "slow" }]
udp = [{ name = "u", from = "b", to = "fast", rate = "3Mbit/s", packet_size = "500B" }]
[[port]]
at = "r"
to = "slow"
class = [{ name = "all", queue = { kind = "python", file = "own.py", name = "Impatient", limit = "50p" } }]
"""


def test_a_deadline_set_as_a_packet_leaves_is_kept_with_and_without_a_trace(tmp_path: Path) -> None:
    """Also where what comes for another port makes no call of this one, as without a trace."""
    (tmp_path / "own.py").write_text(IMPATIENT)
    (tmp_path / "beside.toml").write_text(BESIDE_ANOTHER)
    scenario = Scenario.load(tmp_path / "beside.toml")
    plain, traced = run(scenario), run(scenario, trace=["packets"])
    assert plain == traced
    told = traced.trace["packets"].filter(
        pl.col("event").is_in(["sent", "dropped"]), path="port.r-slow.class.all"
    )
    waited = told.select("event", pl.col("time_s").diff()).filter(event="dropped")["time_s"]
    assert len(waited) > 20
    assert waited.to_list() == pytest.approx([0.005] * len(waited), abs=1e-9)
