"""Factors with levels, treatments made of them, and how often each is run with which seeds."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypedDict

Seeds = Literal["common", "independent"]

Exclusion = Mapping[str, str | Sequence[str]]
"""Levels by factor; a treatment that has one of them of each is left out."""

MOST_TREATMENTS = 100_000


class Often(TypedDict, total=False):
    """How often treatments are run, with which random numbers and in which order; see `Design`."""

    replications: int
    seeds: Seeds
    order_seed: int


@dataclass(frozen=True)
class Level:
    """A level of a factor.

    Parameters
    ----------
    set
        Overrides ``path=value`` as for ``-s``, applied in order; none leaves the scenario as it is.
    """

    name: str
    set: tuple[str, ...] = ()


@dataclass(frozen=True)
class Factor:
    """Something that is varied; levels that set several paths change them in lock-step.

    Parameters
    ----------
    name
        A column of the results.
    levels
        At least one, each with a name of its own.
    """

    name: str
    levels: tuple[Level, ...]

    @classmethod
    def vary(cls, path: str, values: Sequence[object], name: str | None = None) -> Factor:
        """Vary one setting; each level is named by its value.

        Parameters
        ----------
        path
            The setting, as in ``-s``.
        values
            As text or as numbers.
        name
            Without one the path names the factor.

        Examples
        --------
        >>> Factor.vary("link.a-b.rate", ["1Mbit/s", "2Mbit/s"], "rate").levels[1]
        Level(name='2Mbit/s', set=('link.a-b.rate=2Mbit/s',))
        """
        texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
        return cls(name or path, tuple(Level(text, (f"{path}={text}",)) for text in texts))

    def level(self, name: str) -> Level | None:
        """Return a level by its name."""
        return next((level for level in self.levels if level.name == name), None)


@dataclass(frozen=True)
class Treatment:
    """A level of each factor."""

    levels: tuple[str, ...]
    """Their names, in the order of the factors."""
    overrides: tuple[str, ...]
    """What they set, in the same order."""
    name: str
    """``P=p A=a``."""


@dataclass(frozen=True)
class Treatments:
    """Factors, the treatments they make, and how often each is run."""

    factors: tuple[Factor, ...]
    """In the order of columns and names."""
    treatments: tuple[Treatment, ...]
    """In the order of tables."""
    replications: int = 1
    seeds: Seeds = "common"
    """``"common"``: the treatments of a replication have the same random numbers, so that their differences
    vary less. ``"independent"``: each run has its own.
    """
    order_seed: int = 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the factors."""
        return tuple(factor.name for factor in self.factors)

    def having(self, factor: int, level: str) -> frozenset[int]:
        """Return the places of the treatments that have a level of the factor at a place."""
        return self._having[factor].get(level, frozenset())

    @cached_property
    def _having(self) -> list[dict[str, frozenset[int]]]:
        found = []
        for i in range(len(self.factors)):
            places = defaultdict[str, list[int]](list)
            for index, one in enumerate(self.treatments):
                places[one.levels[i]].append(index)
            found.append({level: frozenset(indices) for level, indices in places.items()})
        return found

    def seed(self, treatment: Treatment, replication: int, seed: int) -> int:
        """Return the seed of a run."""
        if self.seeds == "common":
            return seed
        text = f"{seed}/{treatment.name}/{replication}"
        # 53 bits: every reader of JSON keeps them
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 11
