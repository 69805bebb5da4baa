"""Levels of factors as numbers in responses: ``level.target``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from perhop import _core
from perhop.experiment.expression import (
    Expression,
    Function,
    LevelOf,
    Negative,
    Number,
    Operation,
    Statistic,
    SyntaxFault,
    leaves,
)
from perhop.experiment.factors import Factor, Level
from perhop.units import quantity

_UNITS = {"": "1", "B": "byte", "p": "packets"}
"""Units of tables for those of settings, where they are called otherwise."""


def number(level: Level) -> tuple[float, str] | None:
    """Return the number that a level stands for, in a unit of tables.

    It is the value that its overrides set, if that is one and a number; else its name, if that is one.
    """
    values = {each.partition("=")[2].strip().strip("\"'") for each in level.set}
    set_to = _number(*values) if len(values) == 1 else None
    return set_to or _number(level.name)


def _number(text: str) -> tuple[float, str] | None:
    with suppress(ValueError):
        value, unit = quantity(text)
        return value, _UNITS.get(unit, unit)
    return None


def named(of: Expression | Function) -> tuple[LevelOf, ...]:
    """Return the levels in an expression, those in statistics too."""
    found: list[LevelOf] = []
    for leaf in leaves(of):
        if isinstance(leaf, LevelOf):
            found.append(leaf)
        elif isinstance(leaf, Statistic) and leaf.of is not None:
            found += named(leaf.of)
    return tuple(found)


def faults(of: Expression | Function, factors: Sequence[Factor]) -> Iterator[SyntaxFault]:
    """Yield mistakes in the levels of an expression: no such factor, or one with levels without numbers."""
    known = {factor.name: factor for factor in factors}
    for one in named(of):
        if one.factor not in known:
            hint = _core.suggest(one.factor, list(known))
            yield SyntaxFault(one.span, f"there is no factor `{one.factor}`", hint)
            continue
        numbers = {level.name: number(level) for level in known[one.factor].levels}
        without = [name for name, found in numbers.items() if found is None]
        units = {found[1]: name for name, found in numbers.items() if found is not None}
        if without:
            rule = f"level `{without[0]}` of `{one.factor}` has no number"
            hint = "a level's number is the one value that it sets, else its name: call it `3Mbit/s`, or so"
            yield SyntaxFault(one.span, rule, hint)
        elif len(units) > 1:
            rule = f"levels of `{one.factor}` have different units: {' and '.join(map(repr, units.values()))}"
            yield SyntaxFault(one.span, rule, "write them all in one unit, or all without")


def doubts(of: Expression | Function, factors: Sequence[Factor]) -> Iterator[SyntaxFault]:
    """Yield a warning for a factor with a level whose name is another number than the one it counts as."""
    asked = {one.factor: one.span for one in named(of)}
    for factor in (one for one in factors if one.name in asked):
        for level in factor.levels:
            counts, called = number(level), _number(level.name)
            if counts and called and counts[1] == called[1] and not math.isclose(counts[0], called[0]):
                rule = f"level `{level.name}` of `{factor.name}` counts as what it sets: {level.set[0]}"
                yield SyntaxFault(asked[factor.name], rule, "name it by that value, or by a word")
                break


def units(of: Expression | Function, factors: Sequence[Factor]) -> dict[str, str]:
    """Return the units of the levels in an expression, by factor."""
    asked = {one.factor for one in named(of)}
    found = {one.name: number(one.levels[0]) for one in factors if one.name in asked}
    return {name: one[1] for name, one in found.items() if one is not None}


def put(of: Expression, values: Mapping[str, float]) -> Expression:
    """Return an expression with numbers in the place of levels."""
    match of:
        case LevelOf():
            value = values[of.factor]
            return Negative(Number(-value)) if value < 0 else Number(value)
        case Negative():
            return Negative(put(of.of, values))
        case Operation():
            return Operation(put(of.left, values), of.operator, put(of.right, values))
        case Statistic():
            return of if of.of is None else replace(of, of=put(of.of, values))
    return of
