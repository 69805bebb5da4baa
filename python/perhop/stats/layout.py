"""Observations of a balanced factorial design as an array with an axis for each factor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]

Term = tuple[str, ...]
"""An effect: the factors it is of, in the order of the design; one is a main effect, more an interaction."""


class UnbalancedError(ValueError):
    """Treatments with unequal numbers of observations; see `perhop.stats.unbalanced`."""


@dataclass(frozen=True)
class Cube:
    """Every observation of a balanced factorial design."""

    factors: tuple[str, ...]
    """Names, one for each axis but the last."""
    levels: tuple[tuple[str, ...], ...]
    values: Floats
    """Shape (levels of the first factor, ..., replications), in the unit of the response."""
    rows: npt.NDArray[np.int64]
    """Of the same shape: the row of the frame that each value came from."""

    @property
    def replications(self) -> int:
        """Observations of each treatment."""
        return int(self.values.shape[-1])

    @property
    def cells(self) -> Floats:
        """Mean of each treatment; an axis for each factor."""
        means: Floats = self.values.mean(axis=-1)
        return means

    def axes(self, term: Term) -> tuple[int, ...]:
        """Return the axes of the factors of a term."""
        return tuple(self.factors.index(name) for name in term)

    def place(self, levels: Mapping[str, str]) -> tuple[slice, ...]:
        """Return the index of the treatments with these levels, one for each axis but the last."""
        places = [
            own.index(levels[name]) if name in levels else None
            for name, own in zip(self.factors, self.levels, strict=True)
        ]
        return tuple(slice(None) if place is None else slice(place, place + 1) for place in places)

    def terms(self) -> list[Term]:
        """Return every effect, main effects first, in the order of the factors."""
        return [term for size in range(1, len(self.factors) + 1) for term in combinations(self.factors, size)]

    def term(self, name: str | Iterable[str]) -> Term:
        """Put an effect, as in ``"C:P"``, into the order of the factors.

        Raises
        ------
        ValueError
            It names what is no factor, or one twice.
        """
        parts = name.split(":") if isinstance(name, str) else list(name)
        if not parts or len(set(parts)) < len(parts) or not set(parts) <= set(self.factors):
            raise ValueError(f"{name!r} is no effect of the factors {', '.join(self.factors)}")
        return tuple(factor for factor in self.factors if factor in parts)

    def effect(self, term: Term) -> Floats:
        """Return the effects of a term: an array with an axis of one level for every other factor.

        Each is the mean of its combination of levels less the grand mean and every effect of lower order in
        it, so that they sum to zero over the levels of any factor.
        """
        return project(self.cells, self.axes(term))

    def effect_of(self, levels: Mapping[str, str]) -> float:
        """Return one effect by its levels."""
        return float(self.effect(self.term(levels))[self.place(levels)].item())

    def level_means(self, factor: str, at: Mapping[str, str] | None = None) -> dict[str, float]:
        """Return the mean over all cells by level of a factor, at levels of others where they are given."""
        axis = self.factors.index(factor)
        levels = self.levels[axis]
        own = np.moveaxis(self.cells[self.place(at or {})], axis, 0)
        return dict(zip(levels, own.reshape(len(levels), -1).mean(axis=1).tolist(), strict=True))


def project(values: Floats, axes: tuple[int, ...]) -> Floats:
    """Return the part of an array that varies along these axes and sums to zero along each."""
    for axis in range(values.ndim):
        mean = values.mean(axis=axis, keepdims=True)
        values = values - mean if axis in axes else mean
    return values


def cube(
    frame: pl.DataFrame, factors: Sequence[str], response: str = "value", replication: str | None = None
) -> Cube:
    """Arrange the rows of a frame by treatment and replication.

    Parameters
    ----------
    frame
        One row an observation. The levels of a factor are in the order in which they first appear, those of
        an `Enum` in its own order.
    factors
        Columns of the factors, each with two levels or more.
    replication
        Column that tells which observations of different treatments belong together (a block). Without it
        the observations of a treatment are in the order of the rows.

    Raises
    ------
    UnbalancedError
        A treatment has no observation, or not as many as the others; a value is missing or not finite; the
        treatments have not each replication once.
    ValueError
        There is no such column, no factor, or a factor with a single level.
    """
    wanted = [*factors, response, *([replication] if replication else [])]
    lacking = [name for name in wanted if name not in frame.columns]
    if lacking or not factors or len(set(wanted)) < len(wanted):
        raise ValueError(f"columns {', '.join(wanted)} are asked of a frame with {', '.join(frame.columns)}")
    values = frame[response].cast(pl.Float64).to_numpy()
    bad = int(np.count_nonzero(~np.isfinite(values)))
    if bad:
        raise UnbalancedError(f"{response}: {bad} of {len(values)} values are missing or not finite")
    levels = tuple(_levels(frame[name]) for name in factors)
    for name, own in zip(factors, levels, strict=True):
        if len(own) < 2:
            raise ValueError(f"factor {name!r} has a single level; leave it out")
    shape = tuple(len(own) for own in levels)
    places = [
        frame[name].cast(pl.String).replace_strict(own, list(range(len(own))), return_dtype=pl.Int64)
        for name, own in zip(factors, levels, strict=True)
    ]
    cell = np.ravel_multi_index([place.to_numpy() for place in places], shape)
    counts = np.bincount(cell, minlength=int(np.prod(shape)))
    if counts.min() != counts.max():
        empty = int(np.count_nonzero(counts == 0))
        raise UnbalancedError(
            f"treatments have {counts.min()} to {counts.max()} observations"
            + (f", {empty} of {counts.size} have none" if empty else "")
        )
    inner = np.arange(len(values)) if replication is None else frame[replication].rank("dense").to_numpy()
    order = np.lexsort((inner, cell)).astype(np.int64)
    blocks = inner[order].reshape(counts.size, -1)
    if replication is not None and (np.ptp(blocks, axis=0).any() or (np.diff(blocks, axis=1) == 0).any()):
        raise UnbalancedError(f"the treatments have not each of {replication!r} once")
    shaped = (*shape, int(counts[0]))
    return Cube(tuple(factors), levels, values[order].reshape(shaped), order.reshape(shaped))


def _levels(column: pl.Series) -> tuple[str, ...]:
    """Return the names of the levels, in order."""
    present = column.cast(pl.String).unique(maintain_order=True).to_list()
    if isinstance(column.dtype, pl.Enum):
        return tuple(name for name in column.dtype.categories if name in present)
    return tuple(str(name) for name in present)
