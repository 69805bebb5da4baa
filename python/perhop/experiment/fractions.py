"""Fractions 2^(k-p) with their aliases, and Latin hypercubes.

References: Box, Hunter and Hunter, Statistics for Experimenters, 2nd edition, chapter 6; McKay, Beckman and
Conover, A comparison of three methods for selecting values of input variables, Technometrics 21 (1979).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from perhop import _core
from perhop.experiment.factors import MOST_TREATMENTS, Factor
from perhop.experiment.fault import At, DesignError, Fault
from perhop.units import counted, quantity, split

Word = frozenset[str]
"""Factors whose columns are multiplied; the empty one is the mean, I."""


class Generator(NamedTuple):
    """A factor as the product of others, with its sign."""

    factor: str
    of: Word
    sign: int


@dataclass(frozen=True)
class Fraction:
    """A fraction of a two-level design, and the effects that it confounds."""

    factors: tuple[str, ...]
    generators: tuple[Generator, ...]
    """One for each factor that is not free."""

    @classmethod
    def of(cls, factors: Sequence[Factor], generators: Sequence[str]) -> Fraction:
        """Read generators like ``D=ABC``, ``D=-AB`` or ``rate=delay*window``.

        Raises
        ------
        DesignError
            A factor has not two levels, a generator is none, or there are too many of them.
        """
        names = [factor.name for factor in factors]
        faults = []
        for i, factor in enumerate(factors):
            if len(factor.levels) != 2:
                rule = f"`{factor.name}` has {counted(len(factor.levels), 'level')}, not two"
                faults.append(Fault(("factor", i, "levels"), rule))
        read = [_generator(text, names, ("fraction", i)) for i, text in enumerate(generators)]
        sound = [one for one in read if isinstance(one, Generator)]
        made = {one.factor for one in sound}
        for i, one in enumerate(read):
            at = ("fraction", i)
            if isinstance(one, Fault):
                faults.append(one)
            elif one.of & made:
                rule = f"{', '.join(sorted(one.of & made))} in `{generators[i]}` has a generator itself"
                faults.append(Fault(at, rule, "make it of factors that have no generator"))
            elif any(isinstance(other, Generator) and other.factor == one.factor for other in read[:i]):
                faults.append(Fault(at, f"`{one.factor}` has two generators"))
        if faults:
            raise DesignError(faults)
        return cls(tuple(names), tuple(sound))

    def rows(self, factors: Sequence[Factor]) -> list[dict[str, str]]:
        """Return the treatments: all combinations of the free factors, the last varying fastest."""
        made = {one.factor: one for one in self.generators}
        free = [name for name in self.factors if name not in made]
        if 2 ** len(free) > MOST_TREATMENTS:
            rule = f"2^{len(free)} treatments: a design has at most {MOST_TREATMENTS}"
            raise DesignError([Fault(("fraction",), rule, "add generators")])
        rows = []
        for signs in itertools.product((-1, 1), repeat=len(free)):
            sign = dict(zip(free, signs, strict=True))
            for one in made.values():
                sign[one.factor] = one.sign * math.prod(sign[name] for name in one.of)
            rows.append({factor.name: factor.levels[sign[factor.name] > 0].name for factor in factors})
        return rows

    def relation(self) -> dict[Word, int]:
        """Return the defining relation: each word that equals I, and its sign."""
        words: dict[Word, int] = {}
        for one in self.generators:
            own, sign = one.of | {one.factor}, one.sign
            words |= {own ^ word: sign * other for word, other in words.items()} | {own: sign}
        return words

    @property
    def resolution(self) -> int:
        """Length of the shortest word of the defining relation; factors + 1 without one."""
        return min(map(len, self.relation()), default=len(self.factors) + 1)

    def aliases(self, order: int = 2) -> dict[Word, dict[Word, int]]:
        """Return, for every effect up to an order, its aliases up to that order.

        Parameters
        ----------
        order
            Most factors of an effect.

        Returns
        -------
        dict
            By effect, in the order of factors: its aliases with their signs.
        """
        found: dict[Word, dict[Word, int]] = {}
        relation = self.relation()
        for size in range(1, order + 1):
            for effect in map(frozenset, itertools.combinations(self.factors, size)):
                equal = {effect ^ word: sign for word, sign in relation.items()}
                found[effect] = {word: sign for word, sign in equal.items() if 0 < len(word) <= order}
        return found

    def written(self, word: Word) -> str:
        """Return a word as text, factors in their order: ``ABD``, or ``rate*delay``."""
        names = [name for name in self.factors if name in word]
        return ("" if all(len(name) == 1 for name in self.factors) else "*").join(names) or "I"

    def __str__(self) -> str:
        k, p = len(self.factors), len(self.generators)

        def equal(words: Mapping[Word, int]) -> str:
            return " = ".join(("-" if sign < 0 else "") + self.written(word) for word, sign in words.items())

        words = dict(sorted(self.relation().items(), key=lambda one: (len(one[0]), self.written(one[0]))))
        confused = [f"{self.written(effect)} = {equal(own)}" for effect, own in self.aliases().items() if own]
        text = f"2^({k}-{p}), resolution {_roman(self.resolution)}, I = {equal(words)}"
        return text + (f"; not told apart: {', '.join(confused)}" if confused else "")


def _roman(number: int) -> str:
    text = ""
    for part, value in (("X", 10), ("IX", 9), ("V", 5), ("IV", 4), ("I", 1)):
        text += part * (number // value)
        number %= value
    return text


def _generator(text: str, names: list[str], at: At) -> Generator | Fault:
    """Read one generator."""
    factor, equals, product = (part.strip() for part in text.partition("="))
    sign = -1 if product.startswith("-") else 1
    product = product.lstrip("+-").strip()
    if not equals or not product:
        return Fault(at, f"`{text}` is not a generator", "write one as `D=ABC`, or `D=A*B*C`")
    parts = [product] if product in names else [part.strip() for part in product.split("*")]
    if len(parts) == 1 and parts[0] not in names:
        parts = list(product)
    for name in (factor, *parts):
        if name not in names:
            return Fault(at, f"there is no factor `{name}`", _core.suggest(name, names))
    if len(set(parts)) < len(parts) or factor in parts:
        return Fault(at, f"`{text}` has a factor twice", "its square is one: leave it out")
    return Generator(factor, frozenset(parts), sign)


@dataclass(frozen=True)
class Range:
    """A setting that is varied continuously.

    Parameters
    ----------
    name
        A column of the results.
    path
        The setting, as in ``-s``.
    low, high
        Ends, as numbers or quantities with a unit. Of whole numbers without a unit, or of packets
        (``p``), all points are whole.
    scale
        ``"log"`` spreads the points evenly in the logarithm.
    """

    name: str
    path: str
    low: str
    high: str
    scale: Literal["linear", "log"] = "linear"


def hypercube(
    ranges: Sequence[Range], points: int, seed: int
) -> tuple[tuple[Factor, ...], list[dict[str, str]]]:
    """Return a Latin hypercube: as many slices of each range as points, and one point in each.

    The points of a seed are the same everywhere. The levels of a factor are its values, from the smallest; a
    row is a treatment.
    """
    faults = []
    columns: list[list[str]] = []
    for i, one in enumerate(ranges):
        try:
            ends = _ends(one)
        except ValueError as error:
            faults.append(Fault(("range", i), f"`{one.name}`: {error}"))
            continue
        # the words of PCG64 are promised to stay the same in every version
        words = np.random.PCG64([seed, i]).random_raw(2 * points)
        slices = np.argsort(words[:points], kind="stable")
        within = (words[points:] >> np.uint64(11)).astype(np.float64) * 2.0**-53
        columns.append([ends.at(float(u)) for u in (slices + within) / points])
    if faults:
        raise DesignError(faults)
    factors = []
    for one, column in zip(ranges, columns, strict=True):
        values = sorted(set(column), key=lambda text: quantity(text)[0])
        factors.append(Factor.vary(one.path, values, one.name))
    names = [one.name for one in ranges]
    rows = list(zip(*columns, strict=True))
    if len(set(rows)) < points:
        rule = f"only {len(set(rows))} of {points} points are different"
        raise DesignError([Fault(("points",), rule, "take fewer points, or wider ranges")])
    return tuple(factors), [dict(zip(names, row, strict=True)) for row in rows]


class _Ends(NamedTuple):
    """A range in numbers of one unit."""

    low: float
    high: float
    unit: str
    whole: bool
    log: bool

    def at(self, u: float) -> str:
        """Return the value at a part `u` of the way, in 6 digits."""
        if self.whole and self.log:
            value = math.floor(self.low * ((self.high + 1) / self.low) ** u)
            return f"{min(self.high, value):.0f}{self.unit}"
        if self.whole:
            return f"{self.low + math.floor(u * (self.high - self.low + 1)):.0f}{self.unit}"
        value = self.low * (self.high / self.low) ** u if self.log else self.low + u * (self.high - self.low)
        text = np.format_float_positional(value, precision=6, fractional=False, trim="-") + self.unit
        exact, kind = quantity(text)
        if not kind:
            return text
        # scenarios take whole bits per second, bytes and nanoseconds
        atom, scale = ("ns", 1e9) if kind == "s" else (kind, 1.0)
        count = round(exact * scale)
        return text if math.isclose(exact * scale, count, rel_tol=1e-12) else f"{count}{atom}"


def _ends(one: Range) -> _Ends:
    """Return a range in the unit of its low end, or raise a `ValueError`."""
    (low, kind), (high, other) = quantity(one.low), quantity(one.high)
    if kind != other:
        raise ValueError(f"from {one.low} to {one.high}: units of two kinds")
    if low >= high:
        raise ValueError(f"from {one.low} to {one.high}: the second must be larger")
    if one.scale == "log" and low <= 0:
        raise ValueError(f"from {one.low}: a logarithmic range begins above zero")
    unit = split(one.low)[1]
    whole = kind in ("", "p") and low == int(low) and high == int(high) and "." not in one.low + one.high
    factor = quantity(f"1{unit}")[0]
    return _Ends(low / factor, high / factor, unit, whole, one.scale == "log")
