"""The live runs that a machine carries side by side: measured once, read by campaigns.

A short scenario is run alone a few times, then 2, 4, 8, 16 of it at once. A number is undistorted where every
run is within its error budget and the mean goodput is within `TOLERANCE` of that of one alone: lateness by
itself does not tell that the applications starve.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec

# loaded here, by the main thread: its allocator does not outlive a thread that loads it and ends
from perhop import _core as _core
from perhop.run.folder import always, write_file
from perhop.run.run import Result, run
from perhop.run.seal import indented
from perhop.scenario.scenario import Scenario

TOLERANCE = 0.02
"""How far the mean goodput may be from that of one alone."""
ALONE = 4
"""Runs that tell what one alone does."""
STEPS = (2, 4, 8, 16)
RUN_S = 5
ABOUT_S = (ALONE + len(STEPS)) * (RUN_S + 1)
"""How long `measure` takes at most, about."""

_SCENARIO = f"""
[run]
duration = "{RUN_S}s"
warmup = "1s"
clock = "live"
[[node]]
name = "host"
count = 3
[[node]]
name = "edge"
kind = "router"
[[node]]
name = "sink"
[[link]]
ends = ["host[*]", "edge"]
rate = "100Mbit/s"
[[link]]
ends = ["edge", "sink"]
rate = "10Mbit/s"
delay = "10ms"
[[port]]
at = "edge"
to = "sink"
class = [{{ name = "all", queue = {{ kind = "fifo", limit = "33p" }} }}]
[[flow]]
name = "bulk"
from = "host[*]"
to = "sink"
count = 5
tcp = {{ profile = "linux" }}
"""
MEANING = f"15 flows through 10 Mbit/s for {RUN_S} s"


class Step(msgspec.Struct, frozen=True):
    """The measurements of runs side by side: lateness is the worst of them, None where nothing was due."""

    runs: int
    goodput_bit_s: tuple[float, ...]
    late_p99_s: float | None
    applications_late_p99_s: float | None
    over_budget: tuple[str, ...]

    @property
    def mean(self) -> float:
        """Mean goodput of a run, bit/s."""
        return sum(self.goodput_bit_s) / len(self.goodput_bit_s)


class CostOfRuns(msgspec.Struct, frozen=True):
    """The live runs that a machine can carry."""

    kernel: str
    cores: int
    most: int
    steps: tuple[Step, ...]


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
_COST = msgspec.json.Decoder(CostOfRuns)


def measure(report: Callable[[Step, bool], None]) -> CostOfRuns:
    """Run the short scenario side by side until it is distorted; calls `report` after each step."""
    steps: list[Step] = []
    most = 0
    for step in _steps():
        steps.append(step)
        fits = not step.over_budget and abs(step.mean / steps[0].mean - 1) <= TOLERANCE
        report(step, fits)
        if not fits:
            break
        most = step.runs
    return CostOfRuns(platform.release(), count(), most, tuple(steps))


def _steps() -> Iterator[Step]:
    yield _together(1, [run(_scenario(seed)) for seed in range(1, ALONE + 1)])
    for runs in STEPS:
        with ThreadPoolExecutor(runs) as pool:
            # read before, so that they begin together
            scenarios = [_scenario(seed) for seed in range(1, runs + 1)]
            yield _together(runs, list(pool.map(run, scenarios)))


def _scenario(seed: int) -> Scenario:
    return Scenario.from_text(_SCENARIO, "beside").override(f"run.seed={seed}")


def _together(runs: int, results: list[Result]) -> Step:
    lives = [result.live for result in results if result.live is not None]

    def worst(values: Iterable[float | None]) -> float | None:
        return max((value for value in values if value is not None), default=None)

    return Step(
        runs,
        tuple(float(result.flows["goodput_bit_s"].sum()) for result in results),
        worst(how.lateness_s.p99 for how in lives),
        worst(how.applications_late_s.p99 for how in lives),
        tuple(dict.fromkeys(why for how in lives for why in how.over_budget)),
    )


def place() -> Path:
    """Return the file of a measurement: ``perhop/beside.json`` of the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "perhop" / "beside.json"


def keep(measured: CostOfRuns) -> Path:
    """Write a measure to its place, and return that."""
    file = place()
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, indented(measured), always)
    return file


def kept() -> CostOfRuns | None:
    """Return the measurement of this machine: with this kernel and as many cores."""
    with suppress(OSError, msgspec.DecodeError):
        found = _COST.decode(place().read_bytes())
        if (found.kernel, found.cores) == (platform.release(), count()):
            return found
    return None


def allowed(asked: int | None) -> tuple[int, str]:
    """Return how many of `asked` live runs may go side by side, and why fewer.

    Without a measure what is asked for is done, or one run a core, and what is over its budget is made again.
    """
    found = kept()
    if found is None:
        some = asked or count()
        return some, (
            f"{some} live runs side by side: how many are undistorted here is not measured; "
            "`perhop doctor --parallel` does"
        )
    most = max(1, found.most)
    if asked is not None and asked > most:
        why = f"{most} live runs side by side instead of {asked}: `perhop doctor --parallel` found no more"
        return most, why
    return asked or most, "" if found.most else "even one live run is over its budget here (perhop doctor)"


def count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))
