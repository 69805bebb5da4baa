"""A factorial experiment, replicated or printed: cells, effects, judged statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import contains

import numpy as np
import numpy.typing as npt

from perhop.judge.measured import Measured
from perhop.judge.quantity import Place, Quantity
from perhop.judge.verdict import ClaimPart, Hypothesis, Kind
from perhop.stats.effects import effects_of
from perhop.stats.jackknife import jackknife_interval
from perhop.stats.layout import Cube
from perhop.stats.strata import strata

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """The factors of an experiment, in the order of axes, and the levels of each."""

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Cells:
    """Cells of one replication or printed table: by response, with an axis for each factor.

    What arms beside the factorial gave is by arm and response.
    """

    layout: Layout
    values: Mapping[str, Floats]
    arms: Mapping[tuple[str, str], Floats] = field(default_factory=dict)


Statistic = Callable[[Sequence[Cells]], float]
"""A number that some replications together give, or a printed table alone."""


@dataclass(frozen=True)
class FactorialCells(Measured):
    """The replications of every treatment, and what the paper prints.

    Attributes
    ----------
    samples
        One for each replication; all share their random numbers.
    published
        The printed tables.
    in_sample
        Response and treatment of what a calibration fitted, or the search before it had seen.
    kept
        Terms of the paper's model of each response, `P:C`, where it leaves out some.
    stated
        What the paper says of cells and arms, the printed tables among it; those alone where it is None.
    """

    samples: Sequence[Cells]
    published: Cells
    in_sample: frozenset[tuple[str, str]] = frozenset()
    kept: Mapping[str, Sequence[str]] = field(default_factory=dict)
    stated: Cells | None = None

    @cached_property
    def as_printed(self) -> Sequence[Cells]:
        """The replications with their noise about what the paper says, in place of their own means."""
        stated = self.stated or self.published
        values = {name: cells - mean(self.samples, name) for name, cells in stated.values.items()}
        arms = {
            key: cells - np.mean([one.arms[key] for one in self.samples], axis=0)
            for key, cells in stated.arms.items()
        }
        return [
            Cells(
                one.layout,
                {name: one.values[name] + by for name, by in values.items()},
                {key: one.arms[key] + by for key, by in arms.items()},
            )
            for one in self.samples
        ]

    def sample(self, response: str, at: Place, effect: Place | None) -> Floats:
        """Return a cell by replication, or an effect."""
        return np.array([value([one], response, at, effect) for one in self.samples])

    def judged(self, hypothesis: Hypothesis, quantity: Quantity) -> ClaimPart:
        """Judge an effect, or the ratio of two cells."""
        if quantity.way == "over":
            return self.jackknifed(
                hypothesis, lambda cells: value(cells, *quantity.first) / value(cells, *quantity.second)
            )
        try:
            return super().judged(hypothesis, quantity)
        except KeyError:
            return hypothesis.undefined("not measured")

    def part(
        self,
        quantity: str,
        kind: Kind,
        of: Statistic,
        low: float = -math.inf,
        high: float = math.inf,
        *,
        cells: Sequence[tuple[str, str]] = (),
    ) -> ClaimPart:
        """Judge a statistic by the jackknife; `cells` are the responses and treatments it is of."""
        printed = value_or_none(of, [self.published])
        in_sample = any(cell in self.in_sample for cell in cells)
        return self.jackknifed(Hypothesis(quantity, kind, low, high, printed, in_sample), of)

    def jackknifed(self, asked: Hypothesis, of: Statistic) -> ClaimPart:
        """Judge a statistic of the cells, also with its noise about what the paper says."""
        if value_or_none(of, self.samples) is None:
            return asked.undefined("not measured")
        if len(self.samples) < 3:
            return asked.undefined(f"{len(self.samples)} replications are too few")
        stated = value_or_none(of, [self.stated or self.published])
        about = None if stated is None else jackknife_interval(self.as_printed, of)
        return asked.estimated(jackknife_interval(self.samples, of), None, about)


def value_or_none(of: Statistic, cells: Sequence[Cells]) -> float | None:
    """Return a statistic; None where something it needs is not there."""
    try:
        return of(cells)
    except KeyError:
        return None


def cube(samples: Sequence[Cells], response: str) -> Cube:
    """Stack replications in a cube; the last axis is theirs."""
    values = np.stack([one.values[response] for one in samples], axis=-1)
    layout = samples[0].layout
    return Cube(layout.factors, layout.levels, values, np.zeros(values.shape, dtype=np.int64))


def mean(samples: Sequence[Cells], response: str) -> Floats:
    """Average the cells over replications."""
    found: Floats = np.mean([one.values[response] for one in samples], axis=0)
    return found


def level_means(cells: Floats, layout: Layout, factor: str) -> dict[str, float]:
    """Average over all factors but one, by its levels."""
    place = layout.factors.index(factor)
    means = np.moveaxis(cells, place, 0).reshape(len(layout.levels[place]), -1).mean(axis=1)
    return dict(zip(layout.levels[place], map(float, means), strict=True))


def at(samples: Sequence[Cells], response: str, treatment: str, c: str) -> float:
    """Average one cell: of a marking, `pab`, or of an arm; the last factor has this level."""
    *marks, last = samples[0].layout.levels
    place = last.index(c)
    if len(treatment) == len(marks) and all(map(contains, marks, treatment)):
        row = tuple(own.index(mark) for own, mark in zip(marks, treatment, strict=True))
        return float(np.mean([one.values[response][(*row, place)] for one in samples]))
    return float(np.mean([one.arms[treatment, response][place] for one in samples]))


def value(samples: Sequence[Cells], response: str, place: Place, levels: Place | None) -> float:
    """Return what a claim asks for: a cell, or the effect of levels."""
    if levels is None:
        return at(samples, response, place["marking"], place["C"])
    return effect(samples, response, levels)


def effect(samples: Sequence[Cells], response: str, wanted: Mapping[str, str]) -> float:
    """Return an effect of levels: the mean there less the mean and the effects of lower order."""
    layout = samples[0].layout
    data = cube(samples, response)
    found = data.effect(data.term(wanted))
    place = [
        own.index(wanted[factor]) if factor in wanted else 0
        for factor, own in zip(layout.factors, layout.levels, strict=True)
    ]
    return float(found[tuple(place)])


def shares(cells: Sequence[Cells], response: str) -> dict[str, float]:
    """Return the percentage of variation by component, `P:C`.

    The cells of a single table have no error.
    """
    parts = strata(cube(cells, response))
    return {":".join(term): 100.0 * part.squares / parts.total.squares for term, part in parts.terms.items()}


def shares_of_means(cells: Sequence[Cells], response: str) -> dict[str, float]:
    """Return the percentage of variation of the cells' means by component, less error.

    Omega squared over the cells' means: each sum of squares less its degrees of freedom times the mean square
    of the error, over the sum of these. The length of runs and their number do not bias it; where there is a
    single table there is no error.
    """
    parts = strata(cube(cells, response))
    error = parts.between.mean_square if parts.between.df else 0.0
    squares = {":".join(term): part.squares - part.df * error for term, part in parts.terms.items()}
    return {term: 100.0 * own / sum(squares.values()) for term, own in squares.items()}


def residuals(samples: Sequence[Cells], response: str, kept: Sequence[str]) -> tuple[Floats, Floats]:
    """Return what a model of some terms leaves, and what it predicts; the last axis is runs.

    Raises
    ------
    KeyError
        There is only one table, and residuals are those of runs.
    """
    if len(samples) < 2:
        raise KeyError("residuals of single runs")
    data = cube(samples, response)
    predicted = data.cells.mean() + sum(data.effect(data.term(term)) for term in kept)
    every = np.broadcast_to(np.asarray(predicted)[..., None], data.values.shape)
    return data.values - every, every


def split_plot_differences(
    samples: Sequence[Cells], responses: Sequence[str], within: Sequence[str]
) -> list[str]:
    """Return main effects and pairs that matter at 90 % in only one of two analyses.

    One takes all values as independent; the other is a split plot in blocks: a replication is a block, a
    treatment a whole plot, and the factors `within` vary inside of it (`perhop.stats.strata`).
    """
    differ = []
    for name in responses:
        data = cube(samples, name)
        plain = effects_of(strata(data), order=2).table
        split = effects_of(strata(data, within=within, block=True), order=2).table
        for one, other in zip(plain.iter_rows(named=True), split.iter_rows(named=True), strict=True):
            sure, also = (not each["low"] <= 0.0 <= each["high"] for each in (one, other))
            if sure != also:
                where = "in the split plot alone" if also else "only as independent"
                differ.append(f"{name} {one['term']} {one['level']} ({one['effect']:+.4f}, {where})")
    return differ
