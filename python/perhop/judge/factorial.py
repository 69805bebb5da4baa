"""A factorial within a campaign: its factors, their levels, and the cells that are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from perhop.stats.layout import Cube

Printed = Callable[[str, Mapping[str, str]], float | None]
"""Function that gives what is printed of a response at a place."""


class Cubes(dict[str, Cube]):
    """Cells by response, each made when it is first asked for; a `KeyError` where there are none."""

    def __init__(self, make: Callable[[str], Cube]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, response: str) -> Cube:
        self[response] = found = self._make(response)
        return found


@dataclass(frozen=True)
class Layout:
    """A factorial within a campaign.

    Its `factors` are those of the campaign and groups of its responses, in the order of axes; `at` has the
    levels of those that do not vary in it; `model`, by response, the terms of a paper's model.
    """

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    at: Mapping[str, str]
    model: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def places(self) -> Iterator[dict[str, str]]:
        """Yield the place of each cell, the last factor fastest."""
        yield from (dict(zip(self.factors, own, strict=True)) for own in product(*self.levels))

    def printed(self, of: Printed) -> Cubes:
        """Return the cells that are printed, of each response that is printed whole."""

        def make(response: str) -> Cube:
            values = [of(response, {**self.at, **place}) for place in self.places()]
            if None in values:
                raise KeyError(f"not every cell of {response} is printed")
            shaped = np.array(values, dtype=np.float64).reshape(*map(len, self.levels), 1)
            return Cube(self.factors, self.levels, shaped, np.zeros(shaped.shape, dtype=np.int64))

        return Cubes(make)
