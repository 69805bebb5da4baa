"""A tree of `htb` as classes of one level: the rates and ceilings that its leaves have in the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from perhop.import_ns2.remarks import Refused, Remarks
from perhop.import_tc.quantities import rate
from perhop.import_tc.reading import Id, Part
from perhop.units import written_rate

MOST_LEVELS = 8
"""Levels of a tree: `TC_HTB_MAXDEPTH` of Linux."""


@dataclass
class Leaf:
    """A class that has a queue, with its rate and its ceiling in bit/s."""

    part: Part
    rate: Fraction
    ceil: int


class Tree:
    """The classes of a qdisc `htb`: `leaves` have a queue, `inner` have classes, all others are below `top`.

    There is no `top` where there are several, which lend each other nothing. `rate` is what the leaves have
    together, in bit/s. Each class that is looked at is told to `at`.
    """

    def __init__(self, root: Id, parts: list[Part], left_out: Remarks, at: Callable[[Part], None]) -> None:
        self._left_out, self._at = left_out, at
        self._below: dict[Id, list[Part]] = {}
        for part in parts:
            self._below.setdefault(part.parent, []).append(part)
        self.inner: list[Part] = []
        first = self._below.get(root, [])
        self.top = first[0] if len(first) == 1 and first[0].handle in self._below else None
        self.leaves = [leaf for part in first for leaf in self._leaves(part, 0)]
        if not self.leaves:
            raise Refused("it has no classes")
        self.rate = promised = int(sum(leaf.rate for leaf in self.leaves))
        if self.top:
            self.rate = max(promised, rates(self.top)[0])
            if self.rate == promised > rates(self.top)[0]:
                why = f"its classes have {written_rate(promised)} of their own, here as in Linux"
                left_out.add(*self.top.remark(f"{why}: it does not hold them"))

    def _leaves(self, part: Part, limit: int, level: int = 1) -> list[Leaf]:
        """Return the leaves below a class, or the class itself; ``limit`` is the least ceiling above it."""
        if level > MOST_LEVELS:
            raise Refused(f"htb has {MOST_LEVELS} levels at most")
        self._at(part)
        own, ceil = rates(part)
        # nothing is lent without a parent
        most = min(limit or own, ceil)
        below = self._below.get(part.handle)
        if not below:
            return [Leaf(part, Fraction(own), max(own, most))]
        self.inner.append(part)
        leaves = [leaf for one in below for leaf in self._leaves(one, most, level + 1)]
        promised = sum(leaf.rate for leaf in leaves)
        if part is self.top:
            return leaves
        why = ["perhop's htb has one level: what its classes leave goes to all, not to each other first"]
        if most < min(limit or most + 1, sum(leaf.ceil for leaf in leaves)):
            why += [f"each may have its {written_rate(most)}, and all together more"]
        if own > promised:
            why += [f"its {written_rate(own)} are shared out in the ratio of their rates"]
            for leaf in leaves:
                leaf.rate = min(leaf.rate * own / promised, Fraction(leaf.ceil))
        if len(leaves) > 1:
            self._left_out.add(*part.remark("; ".join(why)))
        return leaves


def rates(part: Part) -> tuple[int, int]:
    """Return the rate of a class or of tbf, which a ceiling holds as well, and its ceiling."""
    if "rate" not in part.options:
        raise Refused(f"a {part.what} of {part.kind} has a `rate`")
    own = part.options["rate"]
    ceil = rate(part.options.get("ceil", own))
    return min(rate(own), ceil), ceil
