"""Contrasts between means of treatments with intervals, and Tukey's comparison of all pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import polars as pl
import scipy

from perhop.stats.intervals import student_quantile
from perhop.stats.layout import Floats, project
from perhop.stats.strata import Strata, Stratum


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of means of treatments, in the unit of the response; the weights add up to zero."""

    value: float
    standard_error: float
    df: float
    """Degrees of freedom of the standard error; not whole where two errors are in it."""
    low: float
    high: float
    p: float
    """Probability of a value so far from zero where the true one is zero."""


def contrast(
    parts: Strata, weights: Sequence[tuple[Mapping[str, str], float]], level: float = 0.95
) -> Contrast:
    """Estimate ``sum(w mean)``.

    Its variance is ``(MS1 sum(b^2) + MS2 sum(d^2)) / r``: b are the weights averaged within runs, d what is
    left of them, MS1 and MS2 the errors between and within runs, r the replications. Degrees of freedom are
    Satterthwaite's.

    Sources: R. Jain, "The Art of Computer Systems Performance Analysis", 1991, section 20.6;
    F. E. Satterthwaite, "An approximate distribution of estimates of variance components", 1946.

    Parameters
    ----------
    parts
        The analysed variation; its model says which treatments lend each other strength, its errors how sure
        a difference is.
    weights
        Levels by factor, with a weight: ``[({"P": "p", "C": "r"}, 1), ({"P": "b", "C": "r"}, -1)]``. Factors
        that are not named are averaged over.
    level
        Confidence, inside (0, 1).

    Raises
    ------
    ValueError
        A factor or level that there is not, or weights that do not add up to zero.
    """
    spread = _weights(parts, weights)
    modelled = sum((project(spread, parts.cube.axes(term)) for term in parts.terms), np.zeros_like(spread))
    value = float(np.sum(modelled * parts.cube.cells))
    inside = parts.cube.axes(tuple(name for name in parts.cube.factors if name in parts.inside))
    run = modelled.mean(axis=inside, keepdims=True) + np.zeros_like(modelled) if inside else modelled
    shares = ((parts.between, float(np.sum(run**2))), (parts.within, float(np.sum((modelled - run) ** 2))))
    used = [(part, share) for part, share in shares if part is not None and share > 1e-20]
    if not used or not all(part.df for part, _ in used):
        return Contrast(value, math.nan, 0, math.nan, math.nan, math.nan)
    pieces = [(part.mean_square * (share / parts.cube.replications), part.df) for part, share in used]
    variance = sum(piece for piece, _ in pieces)
    if variance == 0.0:
        return Contrast(value, 0.0, pieces[0][1], value, value, 1.0 if value == 0.0 else 0.0)
    df = variance**2 / sum(piece**2 / own for piece, own in pieces)
    error = math.sqrt(variance)
    half = student_quantile(level, df) * error
    p = 2.0 * float(scipy.special.stdtr(df, -abs(value) / error))
    return Contrast(value, error, df, value - half, value + half, p)


def _weights(parts: Strata, weights: Sequence[tuple[Mapping[str, str], float]]) -> Floats:
    """Spread the weights over the treatments."""
    cube = parts.cube
    spread = np.zeros([len(names) for names in cube.levels])
    for levels, weight in weights:
        for factor, name in levels.items():
            known = cube.levels[cube.axes(cube.term([factor]))[0]]
            if name not in known:
                raise ValueError(f"{factor} has no level {name!r}; known here: {', '.join(known)}")
        place = cube.place(levels)
        spread[place] += weight / spread[place].size
    if abs(spread.sum()) > 1e-12 * max(1.0, np.abs(spread).sum()):
        raise ValueError(f"the weights of a contrast add up to zero, not to {spread.sum():g}")
    return spread


def tukey(
    means: Mapping[str, float], counts: Sequence[int], error: Stratum, level: float = 0.95
) -> pl.DataFrame:
    """Compare all pairs of means, so that all intervals hold together.

    These are ``difference +- q(level; k, df) sqrt(MS (1/n1 + 1/n2) / 2)``, with the studentized range of k
    means.

    Sources: J. W. Tukey, "The problem of multiple comparisons", 1953; C. Y. Kramer, Biometrics 12, 1956, for
    unequal numbers.

    Parameters
    ----------
    means
        Mean by name, two or more.
    counts
        Observations behind each.
    error
        Error that the means are subject to.
    level
        Probability that all intervals hold, inside (0, 1).

    Returns
    -------
    DataFrame
        A row a pair: `first`, `second`, `difference` (second less first), `low`, `high`, `p` (adjusted).
    """
    reach = _reach(len(means), error.df, level)
    rows = []
    for (one, n), (other, m) in combinations(zip(means, counts, strict=True), 2):
        difference = means[other] - means[one]
        scale = math.sqrt(error.mean_square * (1 / n + 1 / m) / 2)
        p = 0.0
        if scale:
            p = float(scipy.stats.studentized_range.sf(abs(difference) / scale, len(means), error.df))
        rows.append((one, other, difference, difference - reach * scale, difference + reach * scale, p))
    columns = ["first", "second", "difference", "low", "high", "p"]
    return pl.DataFrame(rows, schema=columns, orient="row")


@cache
def _reach(count: int, df: int, level: float) -> float:
    """Return the studentized range quantile of so many means."""
    return float(scipy.stats.studentized_range.ppf(level, count, df))


def tukey_of(parts: Strata, factor: str, level: float = 0.95) -> pl.DataFrame:
    """Compare all pairs of levels of one factor of a balanced design; see `tukey`.

    Raises
    ------
    ValueError
        There is no such factor, or no error.
    """
    means, each, error = _compared(parts, factor)
    return tukey(means, [each] * len(means), error, level)


def tukey_half_width(parts: Strata, factor: str, level: float = 0.95) -> float:
    """Return the half-width of the intervals of `tukey_of`, in the unit of the response; raises as it."""
    means, each, error = _compared(parts, factor)
    return _reach(len(means), error.df, level) * math.sqrt(error.mean_square / each)


def _compared(parts: Strata, factor: str) -> tuple[dict[str, float], int, Stratum]:
    """Return the means of a factor's levels, the observations behind each, and their error."""
    term = parts.cube.term([factor])
    error = parts.error(term)
    if not error.df:
        raise ValueError("one observation of each treatment leaves no error to compare with")
    values = (parts.cube.effect(term) + parts.cube.values.mean()).ravel()
    names = parts.cube.levels[parts.cube.axes(term)[0]]
    return dict(zip(names, values.tolist(), strict=True)), parts.cube.values.size // len(names), error
