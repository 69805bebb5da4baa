"""Write the scenario of a trace: the same network, TCP and losses, as a file that perhop runs.

``python scenarios.py`` writes scenarios/NAME.toml for the traces of `WRITTEN`; ``python scenarios.py NAME``
prints the scenario of any trace. The tests hold the files against what this script would write.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCENARIOS = HERE / "scenarios"
#: The traces whose scenarios are files: three ways of recovery with up to four losses in a window.
WRITTEN = tuple(
    f"exact_{variant}_{case}"
    for variant in ("Newreno", "Reno", "Sack1")
    for case in ("burst3", "d1", "d2", "d3", "d4", "nodrop", "small1")
)
RECOVERY = {"Tahoe": "tahoe", "Reno": "reno", "Newreno": "newreno", "Sack1": "sack-1996"}
#: What a profile of the traces is in perhop: a profile, and what differs from it.
TCP: dict[str, dict[str, str | int]] = {
    "exact": {"profile": "ns2", "mss": "960B"},
    "nobugfix": {"profile": "ns2", "mss": "960B", "guard": "off"},
    "fine": {"profile": "ns2", "mss": "960B", "clock_tick": "10ms", "min_rto": "200ms"},
    "classic": {"profile": "ns2", "mss": "960B", "clock_tick": "100ms", "halving": "integer"},
    "ns235": {"profile": "ns235", "mss": "1000B"},
}
WINDOW_PACKETS = 28
HEADER_BYTES = 40

_TEXT = """\
# The losses of {name}.json. Written by scenarios.py.
[run]
duration = "{duration}s"

[[node]]
name = "sender"
[[node]]
name = "router"
kind = "router"
[[node]]
name = "receiver"

[[link]]
ends = ["sender", "router"]
rate = "8Mbit/s"
delay = "0.1ms"
[[link]]
ends = ["router", "receiver"]
rate = "0.8Mbit/s"
delay = "100ms"
{drop}
[[port]]
at = "router"
to = "receiver"
[[port.class]]
name = "all"
queue = {{ kind = "fifo", limit = "{limit}p" }}

[[flow]]
name = "f"
from = "sender"
to = "receiver"
{ack}[flow.tcp]
{tcp}
"""


def read(name: str) -> dict[str, Any]:
    """Read a trace of this folder."""
    trace: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text())
    return trace


def scenario(name: str, trace: dict[str, Any]) -> str:
    """Give the scenario of a trace; it runs for a second more than the trace."""
    tcp = dict(TCP[trace["profile"]])
    mss = int(str(tcp["mss"]).removesuffix("B"))
    tcp |= {
        "recovery": RECOVERY[trace["variant"]],
        "header": f"{HEADER_BYTES}B",
        "window": f"{WINDOW_PACKETS * mss}B",
        "size": f"{trace['npkts']}p",
    }
    if "phase_s" in trace:
        tcp["clock_phase"] = f"{round(trace['phase_s'] * 1e9)}ns"
    drop = f'drop = {{ flow = "f", packets = {json.dumps(trace["drops"])} }}\n' if trace["drops"] else ""
    # ns-2's limit has room for one fewer; the first scenarios have a limit that nothing reaches
    limit = trace["limit"] - 1 if "limit" in trace else 100
    ack = (
        f'ack = {{ policy = "delayed", timeout = "{trace["delack_s"] * 1000:g}ms" }}\n'
        if "delack_s" in trace
        else ""
    )
    return _TEXT.format(
        name=name,
        limit=limit,
        ack=ack,
        duration=math.ceil(trace["events"][-1][0]) + 1,
        drop=drop,
        tcp="\n".join(f"{key} = {json.dumps(value)}" for key, value in tcp.items()),
    )


def main() -> int:
    """Do what the command line says."""
    if names := sys.argv[1:]:
        print("\n".join(scenario(name, read(name)) for name in names), end="")
        return 0
    for name in WRITTEN:
        (SCENARIOS / f"{name}.toml").write_text(scenario(name, read(name)))
    print(f"{len(WRITTEN)} scenarios in {SCENARIOS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
