"""Designs as data: factors with levels, the treatments they make, replications, seeds and order of runs."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from perhop.experiment.design_check import (
    Checked,
    check,
    faulty_exclusions,
    faulty_names,
    faulty_rows,
    is_excluded,
)
from perhop.experiment.design_runs import runs
from perhop.experiment.fault import DesignError, Fault

if TYPE_CHECKING:
    import polars as pl

    from perhop.experiment.fractions import Fraction, Range
    from perhop.scenario.scenario import Scenario

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
    name
        What results call it.
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
    """A level of each factor.

    Parameters
    ----------
    levels
        Their names, in the order of the factors.
    overrides
        What they set, in the same order.
    name
        ``P=p A=a``.
    """

    levels: tuple[str, ...]
    overrides: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class Design:
    """Factors, the treatments they make, and how often each is run. Made by `full`, `listed` and the like.

    Parameters
    ----------
    factors
        In the order of columns and names.
    treatments
        In the order of tables.
    replications
        Runs of each treatment.
    seeds
        ``"common"``: the treatments of a replication have the same random numbers, so that their differences
        vary less. ``"independent"``: each run has its own.
    order_seed
        Of the order of runs.
    fraction
        Of a fraction: its defining relation, resolution and aliases.
    """

    factors: tuple[Factor, ...]
    treatments: tuple[Treatment, ...]
    replications: int = 1
    seeds: Seeds = "common"
    order_seed: int = 1
    fraction: Fraction | None = field(default=None, compare=False)

    @classmethod
    def full(
        cls,
        factors: Sequence[Factor],
        *,
        exclude: Sequence[Exclusion] = (),
        **often: Unpack[Often],
    ) -> Design:
        """Cross all levels of all factors; the last factor varies fastest.

        Parameters
        ----------
        factors
            At least one.
        exclude
            Combinations to leave out.
        often
            As of the design.

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
        rows = itertools.product(*([level.name for level in factor.levels] for factor in factors))
        kept = [row for row in rows if not is_excluded(factors, row, exclude)]
        if not kept:
            raise DesignError([Fault(("exclude",), "every combination of levels is excluded")])
        return cls._of(factors, kept, **often)

    @classmethod
    def listed(
        cls,
        factors: Sequence[Factor],
        rows: Sequence[Mapping[str, str]],
        **often: Unpack[Often],
    ) -> Design:
        """Take treatments one by one.

        Parameters
        ----------
        factors
            At least one.
        rows
            For each treatment the name of a level of every factor.
        often
            As of the design.

        Raises
        ------
        DesignError
            Names repeat, are unknown or are missing, or a treatment is listed twice.
        """
        faults = [*faulty_names(factors), *faulty_rows(factors, rows)]
        if faults:
            raise DesignError(faults)
        ordered = [tuple(row[factor.name] for factor in factors) for row in rows]
        return cls._of(factors, ordered, **often)

    @classmethod
    def fractional(
        cls,
        factors: Sequence[Factor],
        generators: Sequence[str],
        **often: Unpack[Often],
    ) -> Design:
        """Take a fraction 2^(k-p) of factors with two levels; see `perhop.experiment.fractions`.

        Parameters
        ----------
        factors
            With two levels each, the low one first.
        generators
            ``D=ABC`` each: a factor that is the product of others; ``D=A*B*C`` where names are longer.
        often
            As of the design.

        Raises
        ------
        DesignError
            A factor has not two levels, or a generator cannot be.
        """
        from perhop.experiment.fractions import Fraction

        fraction = Fraction.of(factors, generators)
        return replace(cls.listed(factors, fraction.rows(factors), **often), fraction=fraction)

    @classmethod
    def latin_hypercube(
        cls,
        ranges: Sequence[Range],
        points: int,
        **often: Unpack[Often],
    ) -> Design:
        """Spread points over ranges, so that each of as many slices of every range holds one.

        Parameters
        ----------
        ranges
            At least one.
        points
            Treatments.
        often
            As of the design; the points depend on `order_seed` too.

        Raises
        ------
        DesignError
            A range has no numbers, or mixes units.
        """
        from perhop.experiment.fractions import hypercube

        factors, rows = hypercube(ranges, points, often.get("order_seed", 1))
        return cls.listed(factors, rows, **often)

    @classmethod
    def _of(
        cls,
        factors: Sequence[Factor],
        rows: Sequence[tuple[str, ...]],
        **often: Unpack[Often],
    ) -> Design:
        sets = [{level.name: level.set for level in factor.levels} for factor in factors]
        treatments = tuple(
            Treatment(
                row,
                tuple(one for known, name in zip(sets, row, strict=True) for one in known[name]),
                " ".join(f"{factor.name}={name}" for factor, name in zip(factors, row, strict=True)),
            )
            for row in rows
        )
        return cls(tuple(factors), treatments, **often)

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
        """Return the seed of a run.

        Parameters
        ----------
        treatment, replication
            Of the run.
        seed
            Of the scenario.
        """
        if self.seeds == "common":
            return seed
        text = f"{seed}/{treatment.name}/{replication}"
        # 53 bits: every reader of JSON keeps them
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 11

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
        return runs(self, scenario, chosen)

    def check(self, scenario: Scenario) -> Checked:
        """Apply every treatment to a scenario, and say what is wrong with which level.

        A mistake that every treatment with a level has, and no other, is the level's; any other is told of
        the first treatment that has it. Two treatments that are the same scenario are told as a warning: with
        common seeds they share their runs.

        Parameters
        ----------
        scenario
            Without mistakes.
        """
        return check(self, scenario)
