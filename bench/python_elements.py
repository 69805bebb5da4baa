"""The cost of an element in Python: whole runs with a queue of perhop and with the same queue in Python.

Run it as `.venv/bin/python bench/python_elements.py`: processor time for each packet that comes to the queue.
"""

from __future__ import annotations

import time
from pathlib import Path

from perhop.run.run import Result, run
from perhop.scenario.files import Files
from perhop.scenario.scenario import Scenario

ELEMENTS = Path(__file__).resolve().parents[1] / "tests" / "elements"
QUEUE = "port.router-sink.class.all.queue"
TEXT = """
[run]
duration = "60s"
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
rate = "50Mbit/s"
delay = "10ms"
[[port]]
at = "router"
to = "sink"
class = [{ name = "all", match = ["any"] }]
[[flow]]
name = "up"
from = "host[*]"
to = "sink"
"""
PAIRS = {
    "FIFO": ('{ kind = "fifo", limit = "100p" }', 'name = "Fifo", limit = "100p"'),
    "RED": (
        '{ kind = "red", limit = "100p", min_th = "20p", max_th = "60p", max_p = 0.1 }',
        'name = "Red", limit = "100p", settings = { min_th = 20, max_th = 60, max_p = 0.1 }',
    ),
}


def fastest(scenario: Scenario) -> tuple[float, Result]:
    """Return the least processor time of five runs, and a result."""
    took = []
    for _ in range(5):
        before = time.process_time()
        result = run(scenario)
        took.append(time.process_time() - before)
    return min(took), result


def main() -> None:
    """Print a line for each queue."""
    base = Scenario(TEXT.encode(), "bench", (), Files(ELEMENTS))
    for name, (own, mine) in PAIRS.items():
        plain, result = fastest(base.override(f"{QUEUE}={own}"))
        in_python = f'{QUEUE}={{ kind = "python", file = "early.py", {mine} }}'
        slower, again = fastest(base.override(in_python))
        assert result.event_digest == again.event_digest
        packets = int(result.queues["in_packets"].max())  # type: ignore[arg-type]
        cost = (slower - plain) / packets * 1e6
        print(f"{name}: {packets} packets, {plain:.3f} s, in Python {slower:.3f} s: {cost:.2f} us a packet")


if __name__ == "__main__":
    main()
