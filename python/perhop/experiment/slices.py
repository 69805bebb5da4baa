"""A slice of a campaign: the treatments with some levels, and the groups with some values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from perhop import _core
from perhop.experiment.fault import HintedError

if TYPE_CHECKING:
    from perhop.experiment.design import Design


class SliceError(HintedError, ValueError):
    """A slice that a campaign does not have."""


@dataclass(frozen=True)
class Slice:
    """The levels of factors and the values of groups that are kept, by name; all of the others.

    >>> str(Slice({"net": ("over", "exact"), "class": ("gold",)}))
    'net=over|exact, class=gold'
    """

    kept: Mapping[str, tuple[str, ...]]

    def __str__(self) -> str:
        return ", ".join(self.conditions)

    @property
    def conditions(self) -> list[str]:
        """Levels that are kept, as `--where` takes them."""
        return [f"{name}={'|'.join(levels)}" for name, levels in self.kept.items()]

    def design(self, whole: Design) -> Design:
        """Return the treatments that are in it, with the levels that they have."""
        own = {place: self.kept[name] for place, name in enumerate(whole.names) if name in self.kept}
        if not own:
            return whole
        if whole.fraction is not None:
            message = f"{self}: the campaign is a fraction, and a slice of it confounds other effects"
            hint = "leave --where out, or take rows: perhop table STORE scalars --where ..."
            raise SliceError(message, hint)
        treatments = tuple(
            one
            for one in whole.treatments
            if all(one.levels[place] in levels for place, levels in own.items())
        )
        if not treatments:
            raise SliceError(f"{self}: no treatment has these levels together", "ask for fewer of them")
        there = zip(*(one.levels for one in treatments), strict=True)
        factors = tuple(
            replace(factor, levels=tuple(level for level in factor.levels if level.name in names))
            for factor, names in zip(whole.factors, map(set, there), strict=True)
        )
        return replace(whole, factors=factors, treatments=treatments)

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that are in it; of a response that is not grouped so, all."""
        own = [name for name in self.kept if name in frame.columns]
        return frame.filter(pl.col(name).is_null() | pl.col(name).is_in(self.kept[name]) for name in own)


def read(conditions: Sequence[str], known: Mapping[str, Sequence[str]]) -> Slice:
    """Read conditions: `net=over`, `net=over|exact`; those of one name add up."""
    kept: dict[str, list[str]] = {}
    for text in conditions:
        name, sign, wanted = text.partition("=")
        if not sign:
            raise SliceError(f"{text}: which level?", "write FACTOR=LEVEL, or FACTOR=LEVEL|LEVEL")
        if name not in known:
            near = _core.suggest(name, list(known))
            raise SliceError(f"{text}: no factor and no group is called {name!r}", near or "")
        # a level may have the sign itself
        levels = [wanted] if wanted in known[name] else wanted.split("|")
        for level in levels:
            if level not in known[name]:
                near = _core.suggest(level, list(known[name]))
                raise SliceError(f"{text}: {name!r} has no level {level!r}", near or "")
        kept.setdefault(name, []).extend(levels)
    ordered = (name for name in known if name in kept)
    return Slice({name: tuple(one for one in known[name] if one in kept[name]) for name in ordered})
