"""Real packets: how many a second go through a DiffServ router, and how soon a run with many hosts starts.

Run it as `.venv/bin/python bench/live.py [--seconds 3] [--rates 25 100 250 500] [--hosts 300]`. It writes
nothing but its tables. One hop: a classifier, a trTCM, GRED of three colours with coupled averages, DRR; UDP
of 500 bytes. Shares are of a processor, in the busiest second. What else the machine does makes packets late,
and shares larger.
"""

from __future__ import annotations

import argparse
import time

from perhop import Scenario
from perhop.run.live import Quantiles

HOP = """
[run]
duration = "{seconds}s"
interval = "500ms"
clock = "live"
[[node]]
name = "a"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"
[[link]]
ends = ["a", "r"]
rate = "10Gbit/s"
delay = "100us"
[[link]]
ends = ["r", "b"]
rate = "10Gbit/s"
delay = "100us"
[[conditioner]]
name = "edge"
at = "r"
from = "a"
match = {{ mark = ["AF11"] }}
meter = {{ kind = "tr-tcm", cir = "500Mbit/s", cbs = "100kB", pir = "1Gbit/s", pbs = "100kB" }}
marker = {{ green = "AF11", yellow = "AF12", red = "AF13" }}
[[port]]
at = "r"
to = "b"
scheduler = {{ kind = "drr" }}
[[port.class]]
name = "ef"
match = ["EF"]
queue = {{ kind = "fifo", limit = "20p" }}
quantum = "1500B"
[[port.class]]
name = "af"
match = ["any"]
quantum = "6000B"
[port.class.queue]
kind = "gred"
limit = "4000p"
colors = {{ AF11 = "green", AF12 = "yellow", AF13 = "red", BE = "red" }}
averaging = "coupled"
green = {{ min_th = "2000p", max_th = "3000p", max_p = 0.02, w_q = 0.02 }}
yellow = {{ min_th = "1000p", max_th = "2000p", max_p = 0.06, w_q = 0.02 }}
red = {{ min_th = "500p", max_th = "1000p", max_p = 0.1, w_q = 0.02 }}
[[udp]]
name = "cbr"
from = "a"
to = "b"
mark = "AF11"
rate = "{rate}kbit/s"
packet_size = "500B"
"""
STAR = """
[run]
duration = "1s"
clock = "live"
[[node]]
name = "h"
count = {hosts}
[[node]]
name = "r"
kind = "router"
[[link]]
ends = ["h[*]", "r"]
rate = "100Mbit/s"
delay = "100us"
[[flow]]
name = "f"
from = "h[0]"
to = "h[1]"
tcp = {{ profile = "linux" }}
"""


def late(of: Quantiles) -> str:
    """Say quantiles of lateness in us: half of it, 99 %, most."""
    return " / ".join("-" if value is None else f"{1e6 * value:.0f}" for value in (of.p50, of.p99, of.max))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument(
        "--rates", type=int, nargs="+", default=[25, 100, 250, 500], help="thousands a second"
    )
    parser.add_argument("--hosts", type=int, default=300)
    asked = parser.parse_args()
    columns = ["offered, thousands a second", "arrived", "CPU-s", "forwarding, share", "us a packet"]
    columns += ["sending, share", "read late, us", "sent late, us", "lost before they were read", "valid"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for rate in asked.rates:
        run = Scenario.from_text(HOP.format(seconds=asked.seconds, rate=4000 * rate)).run()
        how = run.live
        arrived = run.udp["arrived_packets"].sum() / asked.seconds
        each = 1e6 * how.forwarding_share / max(1, arrived)
        numbers = [f"{arrived / 1e3:.1f}", f"{how.cpu_s:.2f}", f"{how.forwarding_share:.2f}", f"{each:.2f}"]
        numbers += [f"{how.sending_share:.2f}", late(how.reads_late_s), late(how.sources_late_s)]
        print(f"| {rate} | {' | '.join(numbers)} | {how.unread} | {not how.over_budget} |", flush=True)
    began = time.monotonic()
    Scenario.from_text(STAR.format(hosts=asked.hosts)).run()
    print(f"\na run of 1 s with {asked.hosts} hosts: {time.monotonic() - began:.1f} s in all")


if __name__ == "__main__":
    main()
