"""Write the scenario of a configuration: the same network, marker, queue and TCP, as a file that perhop runs.

``python scenario.py NAME [SEED]`` prints it.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

from configurations import CONFIGURATIONS, PACKET_BYTES

#: What feroz.tcl has where a configuration says nothing.
_DEFAULTS: dict[str, Any] = {
    "duration": 100,
    "flows": 10,
    "host": "1.5Mb",
    "edge": "10Mb",
    "core": "1.5Mb",
    "delay_ms": 5,
    "spread_ms": 0.173,
    "tcp": "Reno",
    "window": 64,
    "initial": 1,
    "syn": 0,
    "limited": 0,
    "tick": 0.01,
    "minrto": 1.0,
    "marker": "bucket",
    "averaging": "RIO-D",
    "limit": 250,
}
#: What makes the queue more like ns-2's than like the papers that its page names: keys of a queue with their
#: values, as TOML. Empty: the queue has no such settings. The README says which rows differ for that.
QUEUE_CONVENTIONS: dict[str, str] = {}
PER_EDGE = 5
HEADER_BYTES = 40
RECOVERY = {"Reno": "reno", "Newreno": "newreno", "Sack1": "sack-1996"}
AVERAGING = {"RIO-C": "coupled", "RIO-D": "decoupled", "WRED": "shared"}

_NETWORK = """\
[run]
seed = {seed}
duration = "{duration}s"
packet_size = "{packet}B"

[[node]]
name = "s"
count = {flows}
[[node]]
name = "e"
count = {edges}
kind = "router"
[[node]]
name = "r2"
kind = "router"
[[node]]
name = "r3"
kind = "router"
[[node]]
name = "d"
count = {flows}

[[link]]
ends = ["s[*]", "e[*]"]
rate = "{host}it/s"
delay = {delays}
[[link]]
ends = ["e[*]", "r2"]
rate = "{edge}it/s"
delay = "{delay_ms}ms"
[[link]]
ends = ["r2", "r3"]
rate = "{core}it/s"
delay = "{delay_ms}ms"
[[link]]
ends = ["r3", "d[*]"]
rate = "{host}it/s"
delay = "{delay_ms}ms"

[[port]]
at = "r2"
to = "r3"
[[port.class]]
name = "all"
[port.class.queue]
kind = "rio"
limit = "{limit}p"
colors = {{ AF11 = "green", BE = "red" }}
averaging = "{averaging}"
w_q = 0.002
green = {{ min_th = "150p", max_th = "200p", max_p = 0.005 }}
red = {{ min_th = "1p", max_th = "20p", max_p = 0.2 }}
mean_packet = "{packet}B"
{conventions}"""
_BUCKET = """
[[conditioner]]
name = "marker"
at = "e[*]"
from = "s[*]"
meter = {{ kind = "token-bucket", cir = "{cir}bit/s", cbs = "{cbs}B" }}
marker = {{ green = "AF11", red = "BE" }}
"""
_FLOW = """
[[flow]]
name = "f{i}"
from = "s[{i}]"
to = "d[{i}]"
mark = "{mark}"
start_jitter = "500ms"
ack = {{ policy = "every-segment" }}
tcp = {{ {tcp} }}
"""


def _tcp(given: dict[str, Any], phase: float) -> dict[str, Any]:
    return {
        "profile": "ns235" if given["syn"] else "ns2",
        "recovery": RECOVERY[given["tcp"]],
        "mss": f"{PACKET_BYTES - HEADER_BYTES}B",
        "header": f"{HEADER_BYTES}B",
        "window": f"{given['window'] * (PACKET_BYTES - HEADER_BYTES)}B",
        "initial_window": given["initial"],
        "limited_transmit": bool(given["limited"]),
        "min_rto": f"{given['minrto'] * 1000:.0f}ms",
        "clock_tick": f"{given['tick'] * 1000:.0f}ms",
        "clock_phase": f"{int(phase * given['tick'] * 1e9)}ns",
    }


def scenario(settings: dict[str, Any], seed: int) -> str:
    """Give the scenario of a configuration.

    The phase of every sender's clock is drawn, from the seed, as ns-2 draws it.
    """
    given = _DEFAULTS | settings
    draw = random.Random(seed)
    text = _NETWORK.format(
        **(given | {"averaging": AVERAGING[given["averaging"]]}),
        seed=seed,
        edges=given["flows"] // PER_EDGE,
        delays=json.dumps(
            [f"{given['delay_ms'] + i * given['spread_ms']:g}ms" for i in range(given["flows"])]
        ),
        packet=PACKET_BYTES,
        conventions="".join(f"{key} = {value}\n" for key, value in QUEUE_CONVENTIONS.items()),
    )
    if given["marker"] == "bucket":
        text += _BUCKET.format(**given)
    for i in range(given["flows"]):
        tcp = ", ".join(f"{key} = {json.dumps(value)}" for key, value in _tcp(given, draw.random()).items())
        text += _FLOW.format(i=i, mark="AF11" if given["marker"] == "in" else "BE", tcp=tcp)
    return text


def main() -> None:
    """Do what the command line says."""
    name, *rest = sys.argv[1:]
    print(scenario(CONFIGURATIONS[name].settings, int(rest[0]) if rest else 1), end="")


if __name__ == "__main__":
    main()
