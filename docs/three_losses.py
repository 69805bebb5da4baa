"""Draw how three recoveries repair the same losses: `.venv/bin/python docs/three_losses.py`."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import perhop
from perhop.plot import time_sequence

DOCS = Path(__file__).resolve().parent
# from the window that has the losses until Reno has repaired the last
SPAN_S = (0.7, 2.9)


def main() -> None:
    """Run `examples/three-losses.toml` and write `docs/img/three-losses.svg`."""
    scenario = perhop.Scenario.load(DOCS.parent / "examples" / "three-losses.toml")
    result = scenario.run(trace=["tcp"])
    trace = result.trace["tcp"]
    connections = [
        time_sequence.Connection(name, trace.filter(pl.col("flow") == name)) for name in result.flows["name"]
    ]
    with time_sequence.composed(connections, SPAN_S) as made:
        made.savefig(
            DOCS / "img" / "three-losses.svg", facecolor="white", metadata={"Date": None, "Creator": None}
        )


if __name__ == "__main__":
    main()
