"""What is kept of a run of either simulator, and its mean and interval over seeds."""

from __future__ import annotations

from statistics import mean, stdev

from perhop.stats.intervals import mean_interval

#: Time-outs and losses of all flows in a run, goodput of a flow, its coefficient of variation over the flows.
QUANTITIES = ("timeouts", "losses_per_s", "goodput_kbit", "cov")
LEVEL = 0.95


def measures(acked_bytes: list[float], timeouts: float, losses: float, duration_s: float) -> dict[str, float]:
    """Give the quantities of a run from what each flow got through and what was lost."""
    goodput = [amount * 8 / 1000 / duration_s for amount in acked_bytes]
    return {
        "timeouts": timeouts,
        "losses_per_s": losses / duration_s,
        "goodput_kbit": mean(goodput),
        "cov": stdev(goodput) / mean(goodput),
    }


def summary(runs: list[dict[str, float]]) -> dict[str, list[float]]:
    """Give the mean of each quantity and half of its 95 % interval."""
    found = {name: mean_interval([run[name] for run in runs], LEVEL) for name in QUANTITIES}
    return {name: [round(one.mean, 4), round(one.half_width, 4)] for name, one in found.items()}
