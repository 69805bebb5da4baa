"""A small network with an element in Python: its scenario, and the file of the element beside it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from perhop.scenario.scenario import Scenario

Make = Callable[..., Scenario]
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


def laid(folder: Path, queue: str, program: str | None = None, *overrides: str) -> Scenario:
    """Write the scenario with a queue into a folder, elements beside it; `program` is `mine.py`."""
    for file in ELEMENTS.glob("*.py"):
        shutil.copy(file, folder)
    if program is not None:
        (folder / "mine.py").write_text(program)
    (folder / "scenario.toml").write_text(TEXT.replace("QUEUE", queue))
    return Scenario.load(folder / "scenario.toml", overrides)
