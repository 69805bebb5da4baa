"""Parameters for what the paper leaves open: `calibration.toml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perhop.papers.fit import Fit, Value, load_fit
from perhop.papers.pack import Pack

Values = Mapping[str, Value]
"""A value for every parameter."""


@dataclass(frozen=True)
class Calibration(Fit):
    """The parameters, and how they are searched.

    Attributes
    ----------
    fit, predict
        Tables that are fitted, and that are held against the fit.
    replications, seed
        Of the search.
    most_passes, least_gain
        When it ends, and which value it takes.
    offset
        By quantity what is added to both sides before logarithms are taken; 0 where it is not named.
    """

    fit: Sequence[str]
    predict: Sequence[str]
    replications: int
    seed: int
    most_passes: int
    least_gain: float
    offset: Mapping[str, float]


def load_calibration(pack: Pack) -> Calibration:
    """Read `calibration.toml`; errors as of `perhop.papers.fit.load_fit`."""
    return load_fit(pack, Calibration)
