"""Draw four treatments of ACKs for kalampoukas: `.venv/bin/python docs/four_treatments.py`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import perhop
from perhop.models import two_way
from perhop.models.two_way_setup import Setup
from perhop.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).resolve().parent
PACK = DOCS.parent / "papers" / "kalampoukas"
# flow, rate of the link that carries its data in bit/s, colour
FLOWS = (("up", 1e5, style.COLORS[0]), ("down", 5e6, style.COLORS[1]))
PANELS = {
    "2.3": "one shared FIFO",
    "4.3": "ACKs first",
    "5.3": "backpressure, b = 1",
    "6.2": "two counters, f = 0.5",
}
"""Figures of the study, one of each scheme."""
# 100 packets of the upload: shorter intervals show the rounding to whole packets
INTERVAL = "run.interval=12s"


def main() -> None:
    """Run the four figures and write `docs/img/four-treatments.svg`."""
    campaign = perhop.Campaign.load(PACK / "campaign.toml")
    with style.figure(9.2, 2.7, ncols=len(PANELS), sharey=True) as (made, panels):
        treatments = {one.levels[-1]: one for one in campaign.design.treatments}
        for axes, (figure, title) in zip(panels, PANELS.items(), strict=True):
            scenario = campaign.scenario.override(*treatments[figure].overrides, INTERVAL)
            closed = Setup.of(scenario).closed_form("bounded")
            assert closed is not None
            draw(axes, scenario.run().series, closed)
            axes.set_title(title)
            axes.set_xticks([0, 300, 600, 900])
            axes.set_xlabel("time in s")
        panels[0].set(ylabel="efficiency", ylim=(-0.02, 1.05))
        panels[0].text(450, 0.5, "simulated;\ndotted: closed form", ha="center", va="center", fontsize=10)
        made.savefig(
            DOCS / "img" / "four-treatments.svg", facecolor="white", metadata={"Date": None, "Creator": None}
        )


def draw(axes: Axes, series: pl.DataFrame, closed: two_way.Efficiencies) -> None:
    """Draw both efficiencies over time, and the closed form for each."""
    goodput = series.filter(pl.col("quantity") == "goodput_bit_s")
    for (flow, rate, color), form in zip(FLOWS, closed, strict=True):
        one = goodput.filter(pl.col("path") == f"flow.{flow}")
        axes.plot(one["time_s"], one["value"] / rate, color=color)
        axes.axhline(float(form), color=style.INK, linestyle=style.DASHES[2], linewidth=1.0)
        above = form < 0.2 or (form < 0.9 and form == max(closed))
        place = float(form) + (0.065 if above else -0.07)
        axes.text(450, place, f"{flow}load", color=color, ha="center", va="center", fontweight="bold")


if __name__ == "__main__":
    main()
