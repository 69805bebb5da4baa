"""Cells of a factorial experiment, whose statistics are judged by leaving out one replication at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from perhop.experiment.fault import Fault
from perhop.judge.factorial import Cubes, Layout, Printed
from perhop.judge.grammar import Claims
from perhop.judge.measured import Measurements
from perhop.judge.quantity import Place, Quantity, Subject, absent, among
from perhop.judge.verdict import ClaimPart, Hypothesis, Kind
from perhop.stats.intervals import Interval
from perhop.stats.jackknife import jackknife_interval, ratio_of_sums
from perhop.stats.layout import Cube, cube

Statistic = Callable[[Cubes], float]
"""A number that the cells of some replications together give, or those that are printed."""


@dataclass(frozen=True, kw_only=True)
class Cells(Measurements):
    """The measurements of a campaign with a factorial, beside what a paper prints of its cells.

    `in_sample` says whether a calibration fitted a response at a place.
    """

    layout: Layout
    printed: Printed = field(repr=False)
    in_sample: Callable[[str, Place], bool] = field(repr=False)

    @cached_property
    def cubes(self) -> Cubes:
        """The cells of every replication."""
        levels = dict(zip(self.layout.factors, self.layout.levels, strict=True))

        def make(response: str) -> Cube:
            frame = self.rows(response, **self.layout.at)
            lacking = [name for name in levels if name not in frame.columns]
            if lacking:
                raise KeyError(f"{response} is not by {', '.join(lacking)}")
            ordered = frame.with_columns(pl.col(name).cast(pl.Enum(own)) for name, own in levels.items())
            try:
                return cube(ordered, self.layout.factors, replication="replication")
            except ValueError as error:
                raise KeyError(f"{response}: {error}") from None

        return Cubes(make)

    @cached_property
    def as_printed(self) -> Cubes:
        """The cells that are printed, as one replication."""
        return self.layout.printed(self.printed)

    def model(self, response: str) -> Sequence[str]:
        """Return the terms of the paper's model of a response: all of them, where it names none."""
        every = (":".join(term) for term in self.cubes[response].terms())
        return self.layout.model.get(response) or [*every]

    def at(self, treatment: Sequence[str], over: str) -> Place:
        """Return where a treatment is, levels of all factors but one in their order."""
        others = (name for name in self.layout.factors if name != over)
        return dict(zip(others, treatment, strict=True))

    def part(
        self,
        quantity: str,
        kind: Kind,
        of: Statistic,
        low: float = -math.inf,
        high: float = math.inf,
        *,
        at: Iterable[tuple[str, Place]] = (),
    ) -> ClaimPart:
        """Judge a statistic of the cells, also with its noise about what is printed.

        `at` are responses and places that it is of, where it is of some alone.
        """
        printed, known = _or_none(of, self.as_printed), _or_none(of, self.cubes)
        claimed = Hypothesis(quantity, kind, low, high, printed, any(self.in_sample(*one) for one in at))
        if known is None:
            return claimed.undefined("not measured")
        count = next(iter(self.cubes.values())).replications
        if count < 3:
            return claimed.undefined(f"{count} replications are too few")

        def over(about_printed: bool) -> Interval:
            return jackknife_interval(range(count), lambda some: of(self._some(some, about_printed)))

        return claimed.estimated(over(False), None, None if printed is None else over(True))

    def judged(self, hypothesis: Hypothesis, quantity: Quantity) -> ClaimPart:
        """Judge a quantity; a ratio of two places also with its noise about what is printed."""
        if quantity.way != "over" or quantity.response in self.over_all:
            return super().judged(hypothesis, quantity)
        first, second = self.sample(*quantity.first) / quantity.per, self.sample(*quantity.second)
        if first.size < 3:
            return hypothesis.undefined(f"{first.size} replications are too few")
        under, about = self.printed(quantity.response, quantity.second[1]), None
        ratio = hypothesis.stated if hypothesis.printed is None else hypothesis.printed
        if under is not None and ratio is not None:
            about = ratio_of_sums(first - first.mean() + ratio * under, second - second.mean() + under)
        return hypothesis.estimated(ratio_of_sums(first, second), None, about)

    def _some(self, replications: Sequence[int], about_printed: bool) -> Cubes:
        """Return some replications, with their noise about what is printed or about their own means."""

        def make(response: str) -> Cube:
            own = self.cubes[response]
            values = np.take(own.values, replications, axis=-1)
            if about_printed:
                values = values + (self.as_printed[response].values - own.cells[..., None])
            return Cube(own.factors, own.levels, values, np.zeros(values.shape, dtype=np.int64))

        return Cubes(make)


def _or_none(of: Statistic, cubes: Cubes) -> float | None:
    try:
        return of(cubes)
    except KeyError:
        return None


def layout_of(claims: Claims, subject: Subject) -> Layout | None:
    """Return the factorial that claims name, None without one; a `ClaimsError` if it cannot be."""
    asked = claims.file.factorial
    if asked is None:
        return None
    claims.refuse([*_unknown(claims, subject)])
    levels = []
    for k, name in enumerate(asked.factors):
        groups = (groups[name] for groups in subject.responses.values() if name in groups)
        known = subject.levels.get(name) or asked.levels.get(name) or next(groups)
        if known is None or len(known) < 2:
            unknown = f"the values of `{name}` are known only after a run"
            rule = f"`{name}` has one level" if known else unknown
            claims.refuse([Fault(("factorial", "factors", k), rule, "leave it out")])
        there = {one.get(name, "") for one in subject.fitting(asked.at)}
        levels.append(tuple(one for one in known or () if name not in subject.levels or one in there))
    own = [name for name in asked.factors if name in subject.levels]
    cells = [tuple(one.get(name) for name in own) for one in subject.fitting(asked.at)]
    sizes = [len(each) for name, each in zip(asked.factors, levels, strict=True) if name in own]
    if len(cells) != len({*cells}) or len(cells) != math.prod(sizes):
        every = f"every combination of {', '.join(own)} is {math.prod(sizes)} treatments"
        rule = f"{every}, and {len(cells)} are there"
        claims.refuse([Fault(("factorial",), rule, "`at` says at which levels of the other factors")])
    return Layout(tuple(asked.factors), tuple(levels), asked.at, asked.model)


def _unknown(claims: Claims, subject: Subject) -> Iterator[Fault]:
    """Yield what a factorial names and the campaign has not."""
    asked = claims.file.factorial
    assert asked is not None
    known = dict.fromkeys([*subject.levels, *(name for own in subject.responses.values() for name in own)])
    for k, name in enumerate(asked.factors):
        if name not in known or name in asked.factors[:k]:
            found = absent(("factorial", "factors", k), "factor and no group", name, known)
            yield found if name not in known else replace(found, rule=f"`{name}` is there twice")
    for name, level in asked.at.items():
        if name not in subject.levels:
            yield absent(("factorial", "at", name), "factor", name, subject.levels, of_key=True)
        elif level not in subject.levels[name]:
            rule = f"`{name}` has no level `{level}`"
            yield Fault(("factorial", "at", name), rule, among(level, subject.levels[name]))
    for name, own in asked.levels.items():
        groups = [groups[name] or () for groups in subject.responses.values() if name in groups]
        values = groups[0] if groups else ()
        if not groups:
            yield absent(("factorial", "levels", name), "group", name, known, of_key=True)
        for k, value in enumerate(own if values else ()):
            if value not in values:
                rule = f"`{name}` has no value `{value}`"
                yield Fault(("factorial", "levels", name, k), rule, among(value, values))
    for response, terms in asked.model.items():
        at = ("factorial", "model", response)
        if response not in subject.responses:
            yield absent(at, "response", response, subject.responses, of_key=True)
        for k, term in enumerate(terms):
            if not {*term.split(":")} <= {*asked.factors}:
                rule = f"`{term}` is no effect of {', '.join(asked.factors)}"
                yield Fault((*at, k), rule, "such as `P` or `P:C`")
