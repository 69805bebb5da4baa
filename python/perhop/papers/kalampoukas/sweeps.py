"""Beyond the paper: where each closed form holds and where it fails, by how much.

Maps of both efficiencies over link asymmetry and ACK size, and curves over the threshold, the share, the
propagation delay and the number of connections. One run per point; every point keeps the paper's base case
but for its axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from perhop.models import two_way
from perhop.papers.kalampoukas.measure import connection_efficiencies
from perhop.papers.kalampoukas.setup import SCHEMES, Scheme, Setup, with_connections
from perhop.papers.pack import load_pack
from perhop.papers.study import check_runs
from perhop.run import Job, Result

Floats = npt.NDArray[np.float64]

ASYMMETRIES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
ACKS = (9, 15, 20, 28, 34, 40, 50, 60)
THRESHOLDS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 43)
SHARES = tuple(k / 20 for k in range(1, 20))
DELAYS = tuple(k / 50 for k in range(51))
CONNECTIONS = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Axis:
    """What varies along one dimension, in which unit, through which values."""

    name: str
    unit: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Sweep:
    """A grid of set-ups of one scheme.

    Attributes
    ----------
    id
        Short name, unique among the sweeps.
    title
        What varies.
    axes
        One axis for a curve, two for a map.
    setups
        One per grid point, the last axis fastest.
    jobs
        Their runs, in the same order.
    """

    id: str
    title: str
    axes: tuple[Axis, ...]
    setups: tuple[Setup, ...]
    jobs: tuple[Job, ...]

    @property
    def scheme(self) -> Scheme:
        """How the slow node treats ACKs."""
        return self.setups[0].scheme

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis."""
        return tuple(len(axis.values) for axis in self.axes)


@dataclass(frozen=True)
class SweepResult:
    """Efficiencies over the grid of a sweep.

    Attributes
    ----------
    sweep
        What was varied.
    simulated
        Arrays of the sweep's shape.
    closed_form
        The same per form, `printed` and `bounded`; NaN where there is no such form.
    """

    sweep: Sweep
    simulated: two_way.Efficiencies
    closed_form: dict[two_way.Form, two_way.Efficiencies]

    def error(self, form: two_way.Form) -> Floats:
        """Larger distance of the two efficiencies to a closed form at each point; NaN where there is none."""
        closed = self.closed_form[form]
        return np.asarray(
            np.maximum(np.abs(self.simulated.slow - closed.slow), np.abs(self.simulated.fast - closed.fast))
        )

    def verdict(self, form: two_way.Form, tolerance: float = 0.03) -> str:
        """Say in a sentence where a form fails and by how much."""
        error = self.error(form)
        known = np.isfinite(error)
        if not known.any():
            return f"{form}: there is no such form"
        worst = np.unravel_index(int(np.nanargmax(error)), error.shape)
        at = ", ".join(
            f"{axis.name} {axis.values[i]:g}{axis.unit and ' ' + axis.unit}"
            for axis, i in zip(self.sweep.axes, worst, strict=True)
        )
        off = int((error[known] > tolerance).sum())
        outside = int(sum(two_way.outside_unit(side)[known].sum() for side in self.closed_form[form]))
        text = f"{form}: off by more than {tolerance:g} at {off} of {int(known.sum())} points"
        text += f", at most by {float(error[worst]):.3f} ({at})"
        return text + (f"; {outside} values outside [0, 1]" if outside else "")


def make_sweeps(seed: int = 1) -> tuple[Sweep, ...]:
    """List all maps and curves.

    Parameters
    ----------
    seed
        Seed of every run.

    Returns
    -------
    tuple of Sweep
        The engine runs the `jobs` of each; `reduce_sweep` takes the results.
    """
    asymmetry, ack = Axis("asymmetry", "", ASYMMETRIES), Axis("ACK size", "bytes", ACKS)
    delay, connections = Axis("round-trip delay", "s", DELAYS), Axis("connections each way", "", CONNECTIONS)
    sweeps = [_sweep(f"map-{s}", s, (asymmetry, ack), _at_asymmetry, seed) for s in SCHEMES]
    sweeps.append(
        _sweep("threshold", "backpressure", (Axis("threshold b", "", THRESHOLDS),), _at_threshold, seed)
    )
    sweeps.append(_sweep("share", "bandwidth-allocation", (Axis("share f", "", SHARES),), _at_share, seed))
    sweeps += [_sweep(f"delay-{s}", s, (delay,), _at_delay, seed) for s in SCHEMES]
    sweeps += [_sweep(f"connections-{s}", s, (connections,), _at_connections, seed) for s in SCHEMES]
    return tuple(sweeps)


def reduce_sweep(sweep: Sweep, results: Sequence[Result]) -> SweepResult:
    """Put the results of a sweep's jobs on its grid, beside the closed forms.

    Raises
    ------
    BrokenRun
        If a run reports a broken invariant.
    ValueError
        If there is not one result per job.
    """
    check_runs(sweep.jobs, results)
    runs = [connection_efficiencies(s, r) for s, r in zip(sweep.setups, results, strict=True)]
    forms: tuple[two_way.Form, two_way.Form] = ("printed", "bounded")
    closed = {form: _grid(sweep, [_closed(setup, form) for setup in sweep.setups]) for form in forms}
    return SweepResult(sweep, _grid(sweep, runs), closed)


def _at_asymmetry(base: Setup, asymmetry: float, ack: float) -> Setup:
    return replace(base, fast_rate=base.slow_rate * asymmetry, ack=int(ack))


def _at_threshold(base: Setup, threshold: float) -> Setup:
    return replace(base, threshold=int(threshold))


def _at_share(base: Setup, share: float) -> Setup:
    return replace(base, share=share)


def _at_delay(base: Setup, delay: float) -> Setup:
    return replace(base, delay=delay)


def _at_connections(base: Setup, connections: float) -> Setup:
    return replace(base, connections=int(connections))


def _sweep(id_: str, scheme: Scheme, axes: tuple[Axis, ...], at: Callable[..., Setup], seed: int) -> Sweep:
    setups = tuple(at(Setup(scheme), *point) for point in product(*(axis.values for axis in axes)))
    text = load_pack("kalampoukas").scenario(setups[0].scenario()).decode()
    jobs = tuple(_job(id_, setup, text, seed) for setup in setups)
    title = f"{scheme}: efficiencies over {' and '.join(axis.name for axis in axes)}"
    return Sweep(id_, title, axes, setups, jobs)


def _job(id_: str, setup: Setup, text: str, seed: int) -> Job:
    """Run a set-up; more connections fill their windows later, for a round takes longer."""
    warmup = 300 * setup.connections
    times = [f"run.warmup={warmup}s", f"run.duration={warmup + 120 * setup.connections}s"]
    base = Setup(setup.scheme, connections=setup.connections)
    overrides = [*setup.changes(base), *times, f"run.seed={seed}"]
    return (
        with_connections(text, setup.connections).encode(),
        f"{setup.scenario()} for sweep {id_}",
        overrides,
    )


def _closed(setup: Setup, form: two_way.Form) -> tuple[float, float]:
    found = setup.closed_form(form)
    return (math.nan, math.nan) if found is None else (float(found.slow), float(found.fast))


def _grid(sweep: Sweep, pairs: Sequence[tuple[float, float]]) -> two_way.Efficiencies:
    slow, fast = np.array(pairs, dtype=np.float64).T
    return two_way.Efficiencies(slow.reshape(sweep.shape), fast.reshape(sweep.shape))
