"""Run the configurations in ns-2.35 and write results.json.

``python run.py`` makes everything again; ``python run.py NAME ...`` those alone, and keeps the others. Needs
``ns``, of the Debian package ns2, and the packages of perhop.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from configurations import CONFIGURATIONS, PACKET_BYTES
from measures import measures, summary

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
DURATION_S = 100


def once(settings: dict[str, Any], seed: int) -> dict[str, float]:
    """Run ns-2 once and give what is kept of it."""
    words = [f"{key}={value}" for key, value in (settings | {"seed": seed}).items()]
    command = ["ns", str(HERE / "feroz.tcl"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    flows = [row for row in rows if row[0] == "flow"]
    return measures(
        [int(row[2]) * PACKET_BYTES for row in flows],
        sum(int(row[3]) for row in flows),
        sum(float(row[3]) + float(row[4]) for row in rows if row[0] == "color"),
        settings.get("duration", DURATION_S),
    )


def text(results: dict[str, Any]) -> str:
    """Give the file: JSON with a line for each configuration."""
    rows = (f"{json.dumps(name)}: {json.dumps(results[name])}" for name in CONFIGURATIONS if name in results)
    return "{\n" + ",\n".join(rows) + "\n}\n"


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Run the configurations in ns-2.35.")
    parser.add_argument(
        "names", nargs="*", choices=[*CONFIGURATIONS, []], metavar="NAME", help="default: all"
    )
    parser.add_argument("--workers", type=int, default=2, help="runs at once (default 2)")
    given = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with ThreadPoolExecutor(given.workers) as workers:
        for name in given.names or CONFIGURATIONS:
            settings, seeds = CONFIGURATIONS[name]
            runs = list(
                workers.map(lambda seed, settings=settings: once(settings, seed), range(1, seeds + 1))
            )
            results[name] = {"settings": settings, "seeds": seeds} | summary(runs)
            RESULTS.write_text(text(results))
            print(
                name, *(f"{what} {results[name][what]}" for what in ("timeouts", "losses_per_s")), flush=True
            )


if __name__ == "__main__":
    main()
