"""The best of several systems, from paired replications looked at one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perhop.stats.layout import Floats
from perhop.stats.sequential import half_width_over_s

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Choice:
    """The present choice of a race; each attribute has a value for each race."""

    system: npt.NDArray[np.int64]
    """The one to take, by its place: who leads among those known to be good enough, or else among the proven,
    or else of all.
    """
    decided: Truths
    """Whether it is known to be good enough."""
    behind: Floats
    """By how much it may be behind the best, at most."""


class Race:
    """Finds the best system, or one less than `delta` below it, and drops the others.

    With m the mean and s the standard deviation of the n differences x_i - x_j, h(n) the half-width over s of
    `perhop.stats.sequential` at level ``1 - (1 - level) / (systems - 1)``, and U_ij = m + h(n) s, after each
    replication

    - i is good enough if it is proven, and U_ji <= delta for every j that is still there;
    - i is dropped if U_ij < 0 for a j that is still there and proven, unless i is in use and good enough.

    Let b be the best of those that are ever proven. While the intervals of the ``systems - 1`` differences
    between b and another hold, b is not dropped, and nothing that is good enough is more than delta below it.
    Each of them fails, at whatever number of replications, with at most probability
    (1 - level) / (systems - 1), so that all hold with probability `level` (Bonferroni), whatever the
    correlation of the systems: their differences alone have to be normal and independent from one replication
    to the next. Since the intervals hold at all times, delta may depend on the values, and the race may be
    stopped at any time; `Choice.behind` then is what takes the place of delta.

    Sources: O. Maron, A. Moore, "Hoeffding races", Advances in Neural Information Processing Systems 6, 1994:
    races; A. Moore, M. Lee, 1994: with pairs; S.-H. Kim, B. Nelson, "A fully sequential procedure for
    indifference-zone selection in simulation", ACM Transactions on Modeling and Computer Simulation 11, 2001:
    elimination, and the indifference zone.

    Parameters
    ----------
    delta
        A difference worth having, in the unit of the values.
    relative
        It is a part of the mean of the system that is taken, sign left aside.
    level
        Confidence, inside (0, 1), that the system taken is not worse than the best by more than `delta`.
    baseline
        Place of the system in use: it is taken as soon as it is known to be good enough, and as long as it
        may be, nothing is decided for another.
    shape
        Of an array of races with these settings, each with its own values.
    """

    def __init__(
        self,
        systems: int,
        delta: float,
        *,
        relative: bool = False,
        level: float = 0.95,
        baseline: int | None = None,
        shape: tuple[int, ...] = (),
    ) -> None:
        if systems < 1 or not 0.0 < level < 1.0 or not delta >= 0.0:
            raise ValueError(f"systems {systems}, level {level}, delta {delta}: no race")
        pairs = (*shape, systems, systems)
        self.level = 1.0 - (1.0 - level) / max(1, systems - 1)
        #: those that are not dropped
        self.left: Truths = np.ones((*shape, systems), np.bool_)
        #: those of which a value was minus infinity
        self.hopeless: Truths = np.zeros((*shape, systems), np.bool_)
        #: of the differences first less second: how many, their mean, their squared deviations
        self.n: npt.NDArray[np.int64] = np.zeros(pairs, np.int64)
        self.mean: Floats = np.zeros(pairs)
        self._squares: Floats = np.zeros(pairs)
        self._sum: Floats = np.zeros((*shape, systems))
        self._runs: npt.NDArray[np.int64] = np.zeros((*shape, systems), np.int64)
        self._delta, self._relative, self._baseline = delta, relative, baseline
        self._proven: Truths | bool = True
        self._widths: list[float] = [np.inf]

    def add(self, values: npt.ArrayLike, proven: Truths | bool = True, out: Truths | bool = False) -> None:
        """Take in a replication, and drop systems that are worse.

        Parameters
        ----------
        values
            One for each system; NaN where there is none, of a system that was dropped or whose run failed. A
            value of minus infinity makes the mean of its system minus infinity: it is dropped at once,
            unless those of all that are left are.
        proven
            Those that may be taken, by what else is asked of systems: none is dropped for another.
        out
            Those that may not, and are dropped, unless they are all that are left.
        """
        x = np.where(self.left, np.asarray(values, np.float64), np.nan)
        hopeless = np.isneginf(x)
        self.hopeless |= hopeless
        self._drop(hopeless | out)
        self._proven = proven
        x = np.where(np.isfinite(x), x, np.nan)
        self._sum += np.nan_to_num(x)
        self._runs += np.isfinite(x)
        apart = x[..., :, None] - x[..., None, :]
        known = np.isfinite(apart)
        self.n += known
        step = np.where(known, apart - self.mean, 0.0)
        self.mean += step / np.maximum(self.n, 1)
        self._squares += step * np.where(known, apart - self.mean, 0.0)
        others = (self.left & proven)[..., None, :]
        worse = np.any((self.most() < 0.0) & others, axis=-1)
        if self._baseline is not None:
            worse[..., self._baseline] &= ~self._enough()[0][..., self._baseline]
        self._drop(worse)

    def half_width(self) -> Floats:
        """Return the half-width of the interval of each difference, which holds at every look."""
        while len(self._widths) <= int(self.n.max()):
            self._widths.append(half_width_over_s(len(self._widths), self.level))
        width = np.asarray(self._widths)[self.n]
        spread = np.sqrt(self._squares / np.maximum(self.n - 1, 1))
        return np.where(np.isinf(width), np.inf, np.where(np.isinf(width), 0.0, width) * spread)

    def most(self) -> Floats:
        """Return by how much the first of each pair may be ahead of the second, at most."""
        return self.mean + self.half_width()

    @property
    def sound(self) -> Truths:
        """Those that can be taken: not dropped, with a value, and with none of minus infinity."""
        return self.left & (self._runs > 0) & ~self.hopeless

    def choice(self) -> Choice:
        """Return the choice, and whether it is settled; it means nothing where none is `sound`."""
        enough, behind = self._enough()
        known = self.sound
        for more in (known & self._proven, enough):
            known = np.where(np.any(more, axis=-1, keepdims=True), more, known)
        # ahead of all others by the means: the least lead is not negative; who has no value leads nobody
        met = (self.n > 0) | np.eye(self.left.shape[-1], dtype=bool)
        lead = np.min(np.where(self._both() & met, self.mean, np.inf), axis=-1)
        system = np.argmax(np.where(known, lead, -np.inf), axis=-1)
        decided = np.take_along_axis(enough, system[..., None], -1)[..., 0]
        if self._baseline is not None:
            there, good = self.left[..., self._baseline], enough[..., self._baseline]
            decided = np.where(there, good, decided)
            system = np.where(good, self._baseline, system)
        return Choice(system, decided, np.take_along_axis(behind, system[..., None], -1)[..., 0])

    def _enough(self) -> tuple[Truths, Floats]:
        """Return which are known to be good enough, and by how much each may be behind the best, at most."""
        behind = np.max(np.where(self._both(), self.most(), -np.inf), axis=-2)
        np.maximum(behind, 0.0, out=behind)
        delta = self._delta * np.abs(self._sum / np.maximum(self._runs, 1)) if self._relative else self._delta
        return self.sound & self._proven & (behind <= delta), behind

    def _both(self) -> Truths:
        """Return the pairs of which both are left."""
        return self.left[..., :, None] & self.left[..., None, :]

    def _drop(self, these: Truths) -> None:
        left = self.left & ~these
        self.left = np.where(np.any(left, axis=-1, keepdims=True), left, self.left)
