"""Designs as data: which treatments, how often, and in which order their runs are done."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
import polars as pl

from perhop.experiment.design_check import (
    Checked,
    check,
    faulty_exclusions,
    faulty_names,
    faulty_rows,
    is_excluded,
)
from perhop.experiment.factors import MOST_TREATMENTS, Exclusion, Factor, Often, Treatment, Treatments
from perhop.experiment.fault import DesignError, Fault
from perhop.experiment.fractions import Fraction, Range, hypercube

if TYPE_CHECKING:
    from perhop.scenario.scenario import Scenario


class Run(NamedTuple):
    """A run of a design; the treatment by its place."""

    key: str
    treatment: int
    replication: int
    seed: int
    order: int
    overrides: tuple[str, ...]


def each(design: Treatments, scenario: Scenario, replications: range) -> Iterator[Run]:
    """Yield the runs of a design in the order in which they are to be done."""
    hashes = [scenario.override(*one.overrides).key() for one in design.treatments]
    for replication in replications:
        of_replication = f"run.replication={replication}"
        for position, index in enumerate(_shuffled(design, replication)):
            one = design.treatments[index]
            seed = design.seed(one, replication, scenario.seed)
            key = hashes[index]._replace(seed=seed, replication=replication).hex()
            order = replication * len(design.treatments) + position
            overrides = (*one.overrides, f"run.seed={seed}", of_replication)
            yield Run(key, index, replication, seed, order, overrides)


def _shuffled(design: Treatments, replication: int) -> Iterator[int]:
    """Yield the treatments of a replication in their order of running."""
    # the words of PCG64 are promised to stay; what Generator makes of them is not
    words = np.random.PCG64([design.order_seed, replication]).random_raw(len(design.treatments))
    return iter(np.argsort(words, kind="stable").tolist())


@dataclass(frozen=True)
class Design(Treatments):
    """A design, made by `full`, `listed` and the like.

    Parameters
    ----------
    fraction
        Of a fraction: its defining relation, resolution and aliases.
    """

    fraction: Fraction | None = field(default=None, compare=False)

    @classmethod
    def full(
        cls, factors: Sequence[Factor], *, exclude: Sequence[Exclusion] = (), **often: Unpack[Often]
    ) -> Design:
        """Cross all levels of all factors; the last factor varies fastest.

        Raises
        ------
        DesignError
            Names repeat or are unknown, or no treatment is left, or there are more than 100,000.
        """
        faults = [*faulty_names(factors), *faulty_exclusions(factors, exclude)]
        count = math.prod(len(factor.levels) for factor in factors)
        if count > MOST_TREATMENTS:
            rule = f"{count} combinations: a design has at most {MOST_TREATMENTS} treatments"
            faults.append(Fault(("factor",), rule, "list the treatments, or take a fraction"))
        if faults:
            raise DesignError(faults)
        rows = product(*([level.name for level in factor.levels] for factor in factors))
        kept = [row for row in rows if not is_excluded(factors, row, exclude)]
        if not kept:
            raise DesignError([Fault(("exclude",), "every combination of levels is excluded")])
        return cls._of(factors, kept, **often)

    @classmethod
    def listed(
        cls, factors: Sequence[Factor], rows: Sequence[Mapping[str, str]], **often: Unpack[Often]
    ) -> Design:
        """Take treatments one by one.

        Parameters
        ----------
        rows
            For each treatment the name of a level of every factor.

        Raises
        ------
        DesignError
            Names repeat, are unknown or are missing, or a treatment is listed twice.
        """
        if faults := [*faulty_names(factors), *faulty_rows(factors, rows)]:
            raise DesignError(faults)
        ordered = [tuple(row[factor.name] for factor in factors) for row in rows]
        return cls._of(factors, ordered, **often)

    @classmethod
    def fractional(
        cls, factors: Sequence[Factor], generators: Sequence[str], **often: Unpack[Often]
    ) -> Design:
        """Take a fraction 2^(k-p) of factors with two levels; see `perhop.experiment.fractions`.

        Parameters
        ----------
        factors
            With two levels each, the low one first.
        generators
            ``D=ABC`` each: a factor that is the product of others; ``D=A*B*C`` where names are longer.

        Raises
        ------
        DesignError
            A factor has not two levels, or a generator cannot be.
        """
        fraction = Fraction.of(factors, generators)
        return replace(cls.listed(factors, fraction.rows(factors), **often), fraction=fraction)

    @classmethod
    def latin_hypercube(cls, ranges: Sequence[Range], points: int, **often: Unpack[Often]) -> Design:
        """Spread points over ranges, so that each of as many slices of every range holds one.

        Parameters
        ----------
        often
            As of the design; the points depend on `order_seed` too.

        Raises
        ------
        DesignError
            A range has no numbers, or mixes units.
        """
        factors, rows = hypercube(ranges, points, often.get("order_seed", 1))
        return cls.listed(factors, rows, **often)

    @classmethod
    def _of(
        cls, factors: Sequence[Factor], rows: Sequence[tuple[str, ...]], **often: Unpack[Often]
    ) -> Design:
        sets = [{level.name: level.set for level in factor.levels} for factor in factors]
        treatments = []
        for row in rows:
            overrides = chain.from_iterable(known[name] for known, name in zip(sets, row, strict=True))
            name = " ".join(f"{factor.name}={name}" for factor, name in zip(factors, row, strict=True))
            treatments.append(Treatment(row, tuple(overrides), name))
        return cls(tuple(factors), tuple(treatments), **often)

    def runs(self, scenario: Scenario, replications: range | None = None) -> pl.DataFrame:
        """Return the runs, one row each, in the order in which they are to be done.

        A replication is done after the other, its treatments shuffled: what is finished is always nearly
        balanced, and the order of a replication does not depend on how many there are.

        Parameters
        ----------
        scenario
            To which the overrides are applied; its seed is that of the design.
        replications
            Other than those of the design, from 0.

        Returns
        -------
        DataFrame
            ``key`` (of the run, in hexadecimal), ``treatment`` (its name), a column of level names for each
            factor, ``replication``, ``seed``, ``overrides`` (all that is laid over the scenario for the run,
            seed and replication included), ``order`` (from 0).

        Raises
        ------
        ScenarioError
            The scenario or a treatment has mistakes; `check` says which level makes them.
        """
        chosen = range(self.replications) if replications is None else replications
        rows = []
        for run in each(self, scenario, chosen):
            one = self.treatments[run.treatment]
            rows.append((run.key, one.name, *one.levels, run.replication, run.seed, run.overrides, run.order))
        schema = {
            **dict.fromkeys(("key", "treatment", *self.names), pl.String()),
            "replication": pl.Int64(),
            "seed": pl.UInt64(),
            "overrides": pl.List(pl.String),
            "order": pl.Int64(),
        }
        return pl.DataFrame(rows, schema=schema, orient="row")

    def check(self, scenario: Scenario) -> Checked:
        """Apply every treatment to a scenario, and return mistakes by level.

        A mistake that every treatment with a level has, and no other, is the level's; any other is told of
        the first treatment that has it. Two treatments that are the same scenario are told as a warning: with
        common seeds they share their runs.
        """
        return check(self, scenario)
