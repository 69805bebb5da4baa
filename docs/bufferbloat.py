"""Draw the README's first picture from three runs: `.venv/bin/python docs/bufferbloat.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

import perhop
from perhop.plot import style

PICTURE = Path(__file__).resolve().parent / "img" / "bufferbloat.svg"
LINE = "--down 40Mbit/s --up 5Mbit/s --round-trip 30ms --buffer 500ms --use pages,call,upload line"
"""The line of README and tutorial."""
QUEUES = {"FIFO": None, "CoDel": "codel", "FQ-CoDel": "fq"}
PLACE = "home-isp.class.all"


def main() -> None:
    """Run the line with each queue and write `docs/img/bufferbloat.svg`."""
    with TemporaryDirectory() as folder, style.figure(8.4, 2.9) as (made, axes):
        subprocess.run(
            [sys.executable, "-m", "perhop.cli", "init", "--pack", "line", *LINE.split()],
            cwd=folder,
            check=True,
        )
        scenario = perhop.Scenario.load(Path(folder) / "line" / "line.toml").override("run.interval=200ms")
        for color, (name, kind) in zip(style.COLORS, QUEUES.items(), strict=False):
            queue = () if kind is None else (f'port.{PLACE}.queue={{ kind = "{kind}" }}',)
            tables = scenario.override(*queue).run()
            waiting = tables.series.filter(
                (pl.col("quantity") == "backlog_packets") & pl.col("path").str.contains(PLACE)
            )
            load, score = tables.applications["load_p50_s"].max(), tables.calls["mos"].min()
            assert isinstance(load, float)
            assert isinstance(score, float)
            label = f"{name}: a page {load:.1f} s, the call {score:.1f}"
            axes.plot(waiting["time_s"], waiting["value"], color=color, label=label)
        axes.set(xlabel="time in s", ylabel="packets in the modem", xlim=(0, 60), ylim=(0, None))
        axes.legend(loc="center", bbox_to_anchor=(0.5, 0.4), frameon=False)
        made.savefig(PICTURE, facecolor="white", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
