"""Run the configurations in perhop and print its quantities over those of ns-2.35.

``python compare.py`` runs all; ``python compare.py NAME ...`` those alone. A ratio outside 0.9 to 1.1 has a
star if the two means differ at 99 %.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from configurations import CONFIGURATIONS
from measures import QUANTITIES, measures, summary
from scenario import scenario

from perhop import Scenario

HERE = Path(__file__).parent
DURATION_S = 100
#: 99 % of a normal distribution over the 97.5 % that half an interval is.
_WIDER = 2.576 / 1.96


def once(settings: dict[str, Any], seed: int) -> dict[str, float]:
    """Run perhop once and give what is kept of it."""
    result = Scenario(scenario(settings, seed).encode(), "feroz").run()
    queue = result.queues.filter(result.queues["path"] == "port.r2-r3.class.all")
    return measures(
        # of a segment of 984 bytes ns-2 counts all 1024
        [delivered / 984 * 1024 for delivered in result.flows["delivered_bytes"]],
        int(result.flows["timeouts"].sum()),
        int(queue["dropped_packets"].sum()),
        settings.get("duration", DURATION_S),
    )


def differs(ours: list[float], theirs: list[float]) -> bool:
    """Whether two means, each with half of its interval, differ by more than the two intervals at 99 %."""
    return abs(ours[0] - theirs[0]) > _WIDER * (ours[1] ** 2 + theirs[1] ** 2) ** 0.5


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Compare perhop with the recorded results of ns-2.35.")
    parser.add_argument(
        "names", nargs="*", choices=[*CONFIGURATIONS, []], metavar="NAME", help="default: all"
    )
    parser.add_argument("--workers", type=int, default=2, help="runs at once (default 2)")
    given = parser.parse_args()
    recorded = json.loads((HERE / "results.json").read_text())
    ratios: dict[str, list[float]] = {name: [] for name in QUANTITIES}
    print("| configuration | " + " | ".join(f"{name}: perhop, ns-2, ratio" for name in QUANTITIES) + " |")
    print("|---" * (1 + len(QUANTITIES)) + "|")
    with ThreadPoolExecutor(given.workers) as workers:
        for name in given.names or recorded:
            settings, seeds = recorded[name]["settings"], recorded[name]["seeds"]
            runs = list(
                workers.map(lambda seed, settings=settings: once(settings, seed), range(1, seeds + 1))
            )
            ours, cells = summary(runs), [name]
            for what in QUANTITIES:
                mine, theirs = ours[what], recorded[name][what]
                ratio = mine[0] / theirs[0]
                ratios[what].append(ratio)
                star = "*" if not 0.9 <= ratio <= 1.1 and differs(mine, theirs) else ""
                cells.append(
                    f"{mine[0]:.4g} ± {mine[1]:.2g}, {theirs[0]:.4g} ± {theirs[1]:.2g}, {ratio:.2f}{star}"
                )
            print("| " + " | ".join(cells) + " |", flush=True)
    print(
        "median of the ratios: " + ", ".join(f"{what} {median(found):.3f}" for what, found in ratios.items())
    )


if __name__ == "__main__":
    main()
