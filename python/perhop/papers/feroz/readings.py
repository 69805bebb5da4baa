"""What the paper leaves open, and how each reading of it changes a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from perhop.papers.error import PackError
from perhop.papers.pack import Pack
from perhop.papers.readings import Reading

Marker = Literal["tcp-friendly", "token-bucket", "none"]
MARKERS: tuple[Marker, ...] = get_args(Marker)

Value = str | int | float
Readings = Mapping[str, Value]
"""A value for every parameter of `calibration.toml`."""

PACKET = 1024
"""Bytes of a packet, headers included."""
INTERVAL_S = 0.25
"""The marking interval T."""

_QUEUE = "port.r2-r3.class.all.queue"
_METER = "conditioner.marker.meter"


@dataclass(frozen=True)
class Parameter:
    """One thing that the paper leaves open.

    Attributes
    ----------
    name
        What `overrides` calls it.
    meaning
        In words.
    values
        What is tried.
    before, chosen
        Where the search begins, and where it ended.
    search
        Whether it is searched.
    only_swept
        Values that the search may not take.
    """

    name: str
    meaning: str
    values: tuple[Value, ...]
    before: Value
    chosen: Value
    search: bool
    only_swept: tuple[Value, ...] = ()

    @property
    def searched(self) -> tuple[Value, ...]:
        """What the search may take."""
        return tuple(value for value in self.values if value not in self.only_swept)


@dataclass(frozen=True)
class Search:
    """How the calibration goes about it.

    Attributes
    ----------
    fit, predict
        Tables that are fitted, and tables that the fit is held against.
    replications, seed
        Of every run.
    most_passes
        Ends it if no pass is without a change.
    least_gain
        By this part the error must fall for another value to be taken.
    """

    fit: tuple[str, ...]
    predict: tuple[str, ...]
    replications: int
    seed: int
    most_passes: int
    least_gain: float


def load_parameters(pack: Pack) -> tuple[Search, tuple[Parameter, ...]]:
    """Read `calibration.toml`.

    Raises
    ------
    PackError
        The file is not TOML, the search or a parameter lacks a setting, or a value is none of those
        that are tried.
    """
    path, text = pack.folder / "calibration.toml", pack.toml("calibration.toml")
    parameters = []
    for table in text.get("parameter", []):
        try:
            lists = {name: tuple(table[name]) for name in ("values", "only_swept") if name in table}
            found = Parameter(**{**table, **lists})
        except (KeyError, TypeError) as error:
            raise PackError(f"{path}: parameter {table.get('name', '?')}: {error}") from None
        if not {found.before, found.chosen} <= set(found.searched):
            raise PackError(f"{path}: parameter {found.name}: a value that is not tried")
        if len(found.values) < 2:
            raise PackError(f"{path}: parameter {found.name}: one value is no choice")
        parameters.append(found)
    try:
        table = text["search"]
        search = Search(**{**table, "fit": tuple(table["fit"]), "predict": tuple(table["predict"])})
    except (KeyError, TypeError) as error:
        raise PackError(f"{path}: search: {error}") from None
    return search, tuple(parameters)


def check_changes(pack: Pack, readings: Sequence[Reading], parameters: Sequence[Parameter]) -> None:
    """Refuse a reading that changes what is no parameter, or to a value that is not tried or is chosen."""
    known = {parameter.name: parameter for parameter in parameters}
    for reading in readings:
        for name, value in reading.change.items():
            if name not in known or value not in known[name].values:
                told = f"reading {reading.id}: {name} = {value!r} is not tried in calibration.toml"
                raise PackError(f"{pack.folder / 'readings.toml'}: {told}")
        if reading.change and all(known[name].chosen == value for name, value in reading.change.items()):
            told = f"reading {reading.id}: is what calibration.toml chose"
            raise PackError(f"{pack.folder / 'readings.toml'}: {told}", "leave the reading out")


def chosen(parameters: Sequence[Parameter]) -> dict[str, Value]:
    """Give the readings that the scenario files hold."""
    return {parameter.name: parameter.chosen for parameter in parameters}


def assured_bit_s(tokens: float) -> float:
    """Give the rate of so many tokens per interval.

    >>> assured_bit_s(15)
    491520.0
    """
    return tokens * PACKET * 8 / INTERVAL_S


@dataclass(frozen=True)
class Meter:
    """Where the marker's tokens come from: so many per interval, or a scale of the reading's."""

    marker: Marker
    scale: float = 1.0
    tokens: int | None = None

    def of(self, readings: Readings) -> float:
        """Tokens per interval."""
        return self.tokens if self.tokens is not None else self.scale * float(readings["tokens"])


def overrides(
    meter: Meter, flows: Sequence[str], readings: Readings, held: Readings, window_packets: int | None = None
) -> list[str]:
    """List what turns a scenario file into one with these readings and this marker.

    Parameters
    ----------
    meter
        The marker and its tokens.
    flows
        Whose windows are set.
    readings
        What is wanted.
    held
        What the file holds already; such a setting is not changed again.
    window_packets
        Window of the last flow, where it needs more than the others.
    """
    different = {name for name in readings if readings[name] != held[name]}
    found = _network(flows, readings, different, window_packets)
    if meter.marker == "none":
        found.append('conditioner.marker.marker={ green = "BE", red = "BE" }')
        if readings["unmarked"] == "in":
            found.append(f"{_QUEUE}.colors.BE=green")
        return found
    tokens = meter.of(readings)
    if meter.marker == "token-bucket":
        depth = max(PACKET, round(float(readings["depth"]) * tokens * PACKET))
        rate = f"{assured_bit_s(tokens):.0f}bit/s"
        return [*found, f'{_METER}={{ kind = "token-bucket", cir = "{rate}", cbs = "{depth}B" }}']
    if meter.tokens is not None or meter.scale != 1.0 or "tokens" in different:
        found.append(f"{_METER}.tokens={tokens:.0f}")
    for name in _OF_THE_MARKER:
        if name in different:
            found.append(f"{_METER}.{name}={readings[name]}")
    carried = round(float(readings["carry"]) * tokens)
    if carried != round(float(held["carry"]) * float(held["tokens"])):
        found.append(f"{_METER}.carry_tokens={carried}")
    return found


_OF_THE_MARKER = (
    "gain_window",
    "gain_packets",
    "shortage",
    "fraction",
    "new_flow",
    "beyond_tokens",
    "carry_spacing",
)


def _network(
    flows: Sequence[str], readings: Readings, different: set[str], window_packets: int | None
) -> list[str]:
    """List the settings that do not depend on the marker."""
    found = []
    if "averaging" in different:
        found.append(f"{_QUEUE}.averaging={readings['averaging']}")
    if "buffer" in different:
        found.append(f"{_QUEUE}.limit={readings['buffer']}p")
    if "window" in different:
        found += [f"flow.{flow}.tcp.window={int(readings['window']) * PACKET}B" for flow in flows]
    if window_packets is not None:
        found.append(f"flow.{flows[-1]}.tcp.window={window_packets * PACKET}B")
    if "clock_tick" in different:
        ticks = "true" if readings["clock_tick"] else "false"
        found += [
            f"profile.host.clock_tick={readings['clock_tick']}ms",
            f"profile.host.timer_on_tick={ticks}",
        ]
    if "min_rto" in different:
        found.append(f"profile.host.min_rto={readings['min_rto']}ms")
    if "stack" in different:
        found.append(f"profile.host.base={readings['stack']}")
    return found
