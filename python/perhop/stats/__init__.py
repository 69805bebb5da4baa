"""Statistics of replicated runs: pure functions of arrays."""

from perhop.stats.intervals import Interval, mean_interval

__all__ = ["Interval", "mean_interval"]
