"""The variation of a balanced design by strata, each effect with its error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from perhop.stats.layout import Cube, Term


@dataclass(frozen=True)
class Stratum:
    """A sum of squares, in the square of the response's unit, with its degrees of freedom."""

    df: int
    squares: float

    @property
    def mean_square(self) -> float:
        """Sum of squares for each degree of freedom; NaN where there are none."""
        return self.squares / self.df if self.df else math.nan

    def __add__(self, other: Stratum) -> Stratum:
        """Pool two sums."""
        return Stratum(self.df + other.df, self.squares + other.squares)


@dataclass(frozen=True)
class Strata:
    """The variation about the grand mean, in parts that are orthogonal and add up."""

    cube: Cube
    terms: Mapping[Term, Stratum]
    blocks: Stratum | None
    """The replications as blocks; `None` where they are not."""
    between: Stratum
    """The error between runs; the only one where nothing was measured inside of a run."""
    within: Stratum | None
    """The error of what was measured inside of one run."""
    inside: frozenset[str]
    """Factors whose levels are all measured in each run."""
    left_out: tuple[Term, ...]
    """Effects that the model does not have; their sums are in the errors."""

    @cached_property
    def total(self) -> Stratum:
        """All of the variation about the grand mean."""
        values = self.cube.values
        return Stratum(values.size - 1, float(np.sum((values - values.mean()) ** 2)))

    @property
    def shares(self) -> dict[str, float]:
        """Percentage of variation by term, `P:C`."""
        total = self.total.squares
        return {":".join(term): 100.0 * part.squares / total for term, part in self.terms.items()}

    @property
    def shares_of_means(self) -> dict[str, float]:
        """Percentage of the variation of the cells' means by term, less what error puts there.

        Omega squared over the cells' means: each sum of squares less its degrees of freedom times the mean
        square of the error, over the sum of these. The length of runs and their number do not bias it; of one
        replication there is no error.
        """
        error = self.between.mean_square if self.between.df else 0.0
        squares = {":".join(term): part.squares - part.df * error for term, part in self.terms.items()}
        return {term: 100.0 * own / sum(squares.values()) for term, own in squares.items()}

    def error(self, term: Term) -> Stratum:
        """Return the error that the effects of a term are subject to."""
        return self.within if self.within is not None and not self.inside.isdisjoint(term) else self.between

    def error_name(self, term: Term) -> str:
        """Name that error as tables do."""
        if self.within is None:
            return "error"
        return "error within runs" if self.error(term) is self.within else "error between runs"

    @property
    def error_of_mean(self) -> Stratum:
        """Return the error of the grand mean: of blocks where there are some, else of the runs."""
        return self.between if self.blocks is None else self.blocks


def strata(
    data: Cube,
    *,
    within: Sequence[str] = (),
    block: bool = False,
    keep: Iterable[str | Iterable[str]] | None = None,
) -> Strata:
    """Share out the variation of a balanced design.

    Each term S of N observations has ``SS = N / (product of the levels of S) * (sum of squared effects of
    S)`` with ``product of (levels - 1)`` degrees of freedom.

    Sources: R. Jain, "The Art of Computer Systems Performance Analysis", 1991, chapters 17, 21 and 22;
    D. C. Montgomery, "Design and Analysis of Experiments", sections 4.1 (blocks), 14.4 (split plots).

    Parameters
    ----------
    within
        Factors whose levels are all measured inside of one run: the run is the whole plot, they are the
        split. Effects without any of them are held against the error between runs.
    block
        Whether replication i of every treatment has something in common (a seed): its mean is taken out.
        Needs a cube made with its column of replications.
    keep
        Effects of the model, such as ``["C", "P", "C:P"]``; what is left out is counted as error of
        its own stratum. Without it, every effect.
    """
    inside = frozenset(data.term(within)) if within else frozenset()
    if inside == frozenset(data.factors):
        raise ValueError("every factor is within a run, so that runs cannot be compared")
    kept = None if keep is None else {data.term(name) for name in keep}
    terms: dict[Term, Stratum] = {}
    dropped: dict[Term, Stratum] = {}
    for term in data.terms():
        effect = data.effect(term)
        df = math.prod(length - 1 for length in effect.shape if length > 1)
        part = Stratum(df, data.values.size / effect.size * float(np.sum(effect**2)))
        (terms if kept is None or term in kept else dropped)[term] = part
    blocks, between, inner = _errors(data, inside, block)
    for term, part in dropped.items():
        if inner is not None and not inside.isdisjoint(term):
            inner += part
        else:
            between += part
    return Strata(data, terms, blocks, between, inner, inside, tuple(dropped))


def _errors(
    data: Cube, inside: frozenset[str], block: bool
) -> tuple[Stratum | None, Stratum, Stratum | None]:
    """Divide the variation of replications of a treatment."""
    residual = data.values - data.values.mean(axis=-1, keepdims=True)
    split = data.axes(tuple(name for name in data.factors if name in inside))
    treated = tuple(axis for axis in range(len(data.factors)) if axis not in split)
    more = data.replications - 1
    runs = math.prod(len(data.levels[axis]) for axis in treated)
    parts = data.values.size // (runs * data.replications)
    run = residual.mean(axis=split, keepdims=True) if split else residual
    blocks, df, between = None, runs * more, run
    if block:
        common = run.mean(axis=treated, keepdims=True)
        blocks = Stratum(more, runs * parts * float(np.sum(common**2)))
        between, df = run - common, (runs - 1) * more
    first = Stratum(df, parts * float(np.sum(between**2)))
    inner = Stratum(runs * (parts - 1) * more, float(np.sum((residual - run) ** 2))) if split else None
    return blocks, first, inner
