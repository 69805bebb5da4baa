"""Statistics of replicated runs: pure functions of arrays. Names are imported when first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perhop.stats.intervals import Interval, mean_interval

__all__ = ["Interval", "mean_interval"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'perhop.stats' has no attribute {name!r}")
    return getattr(import_module("perhop.stats.intervals"), name)
