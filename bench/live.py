"""Real packets: how many a second go through a DiffServ router, and how soon a run with many hosts starts.

Run it as `.venv/bin/python bench/live.py [--seconds 3] [--rates 25 100 250 500] [--hosts 300]`. It writes
nothing but its tables, of runs of `cases/live.toml` and `cases/live-hosts.toml`. Shares are of a processor,
in the busiest second. What else the machine does makes packets late, and shares larger.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from perhop import Scenario
from perhop.run.live import Quantiles

CASES = Path(__file__).parent / "cases"


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
    hop = Scenario.load(CASES / "live.toml")
    star = Scenario.load(CASES / "live-hosts.toml").override(f"node.h.count={asked.hosts}")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for rate in asked.rates:
        run = hop.override(f"run.duration={asked.seconds}s", f"udp.cbr.rate={4 * rate}Mbit/s").run()
        how = run.live
        arrived = run.udp["arrived_packets"].sum() / asked.seconds
        each = 1e6 * how.forwarding_share / max(1, arrived)
        numbers = [f"{arrived / 1e3:.1f}", f"{how.cpu_s:.2f}", f"{how.forwarding_share:.2f}", f"{each:.2f}"]
        numbers += [f"{how.sending_share:.2f}", late(how.reads_late_s), late(how.sources_late_s)]
        print(f"| {rate} | {' | '.join(numbers)} | {how.unread} | {not how.over_budget} |", flush=True)
    began = time.monotonic()
    star.run()
    print(f"\na run of 1 s with {asked.hosts} hosts: {time.monotonic() - began:.1f} s in all")


if __name__ == "__main__":
    main()
