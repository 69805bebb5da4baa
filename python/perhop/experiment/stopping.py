"""When there are enough replications: decided in their order, whatever finished first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perhop.experiment.rules import Stop
from perhop.stats.intervals import Interval
from perhop.stats.residuals import normal_qq
from perhop.stats.sequential import sequential_interval

LEVEL = 0.95
"""Confidence of intervals, those that are looked at included."""

LEAST = 10
"""Replications before the first look, unless the cap is lower: with fewer a normal plot shows nothing."""

Values = Mapping[tuple[str, ...], float | None]
"""Of a response by group."""

Series = tuple[int, tuple[str, ...]]
"""A treatment and a group of the response."""


@dataclass(frozen=True)
class Stopped:
    """The decision of a stopping rule."""

    replications: int
    """Of every treatment; of that with the most where each ends by itself."""
    met: bool
    """Every treatment has an interval, and each is as narrow as was asked for; else the cap was reached."""
    widest: Interval | None = None
    """The interval that is farthest from its target, None where there are no values."""
    of: Series | None = None
    """Treatment and group that it is of."""
    intervals: int = 0
    odd: int = 0
    """Intervals behind which the values are not normal."""
    fewest: int | None = None
    """Replications of the treatment with the fewest, where each ends by itself."""


def described(stop: Stop, stopped: Stopped) -> str:
    """Describe a decision, and its consequence for intervals that are not made for it."""
    width = f"{100 * stop.half_width:g} % of its mean" if stop.relative else f"{stop.half_width:g}"
    how = "narrow enough" if stopped.met else "not narrow enough at the cap"
    fewest = stopped.replications if stopped.fewest is None else stopped.fewest
    many, of = f"{stopped.replications}", ""
    if fewest < stopped.replications:
        many, of = f"{fewest} to {many}", f" are of the first {fewest}, which every treatment has, and"
    text = (
        f"Replicated until every interval of {stop.response} is at most {width} to either side: {how} after "
        f"{many} replications. Intervals of its means hold at every look; those of effects, "
        f"and p values,{of} take the number of replications as given before. "
        f"They are for normal values; what fewer than one run in {max(1, fewest // 3)} does "
        "need not have been seen."
    )
    if not stopped.odd:
        return text
    return (
        f"{text} Behind {stopped.odd} of {stopped.intervals} intervals the values are not normal: skewed, or "
        "a few runs are far from the rest (Q-Q correlation below that of 1 % of normal samples). Such an "
        "interval may hold less often than it says: look at the runs, and set the number of replications."
    )


class Stopping:
    """Looks at the intervals after each replication of the whole design, and decides once.

    The first look is after `least` replications, no fewer than `LEAST`, or at the cap.
    """

    def __init__(self, stop: Stop, treatments: int, least: int) -> None:
        self._stop = stop
        self._treatments = treatments
        self._least = min(max(least, LEAST), stop.most)
        self._looked = 0
        self._values: dict[Series, list[float]] = {}
        self._waiting: dict[int, dict[int, Values]] = {}
        self.decided: Stopped | None = None

    def add(self, treatment: int, replication: int, values: Mapping[str, Values] | None) -> None:
        """Take in the values of a run by response and group; None of one that failed, which adds none."""
        if self.decided is not None:
            return
        self._waiting.setdefault(replication, {})[treatment] = (values or {}).get(self._stop.response, {})
        while self.decided is None and len(self._waiting.get(self._looked, ())) == self._treatments:
            for each, found in sorted(self._waiting.pop(self._looked).items()):
                for group, value in found.items():
                    if value is not None:
                        self._values.setdefault((each, group), []).append(value)
            self._looked += 1
            self._look()

    def asks_for(self, treatment: int, replication: int) -> bool:
        """Return whether a run is still wanted, of any treatment alike."""
        return self.decided is None or replication < self.decided.replications

    def _look(self) -> None:
        if self._looked < self._least:
            return
        found = {of: sequential_interval(values, LEVEL) for of, values in self._values.items()}
        intervals = [(self.excess(each), of, each) for of, each in found.items()]
        excess, of, widest = max(intervals, key=lambda one: one[0], default=(float("inf"), None, None))
        met = excess <= 1.0 and len({treatment for treatment, _ in self._values}) == self._treatments
        if met or self._looked >= self._stop.most:
            odd = sum(map(_is_odd, self._values.values()))
            self.decided = Stopped(self._looked, met, widest, of, len(self._values), odd)

    def excess(self, interval: Interval) -> float:
        """Return the half-width in units of the one asked for."""
        stop = self._stop
        target = stop.half_width * abs(interval.mean) if stop.relative else stop.half_width
        if target > 0.0:
            return interval.half_width / target
        return 0.0 if interval.half_width == 0.0 else float("inf")


class EachStopping:
    """Looks at the intervals of each treatment after each of its replications, and decides once for each."""

    def __init__(self, stop: Stop, treatments: int, least: int) -> None:
        self._own = [Stopping(stop, 1, least) for _ in range(treatments)]

    def add(self, treatment: int, replication: int, values: Mapping[str, Values] | None) -> None:
        """Take in the values of a run, as `Stopping.add` does."""
        self._own[treatment].add(0, replication, values)

    def asks_for(self, treatment: int, replication: int) -> bool:
        """Return whether a run is still wanted."""
        return self._own[treatment].asks_for(0, replication)

    @property
    def left(self) -> int:
        """How many treatments are still replicated."""
        return sum(one.decided is None for one in self._own)

    @property
    def decided(self) -> Stopped | None:
        """The decision once every treatment has its own; None before."""
        own = [one.decided for one in self._own if one.decided is not None]
        if len(own) < len(self._own):
            return None
        widest = [
            (rule.excess(one.widest), place, one)
            for place, (rule, one) in enumerate(zip(self._own, own, strict=True))
            if one.widest is not None
        ]
        _, place, worst = max(widest, key=lambda each: each[0], default=(0.0, 0, own[0]))
        return Stopped(
            max(one.replications for one in own),
            all(one.met for one in own),
            worst.widest,
            None if worst.of is None else (place, worst.of[1]),
            sum(one.intervals for one in own),
            sum(one.odd for one in own),
            min(one.replications for one in own),
        )


def _is_odd(values: Sequence[float]) -> bool:
    """Return whether values are less straight in a Q-Q plot than 99 % of normal samples."""
    if len(values) < LEAST or min(values) == max(values):
        return False
    found = normal_qq(values)
    return found.correlation < found.critical
