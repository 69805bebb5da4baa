"""A set-up of the study, and how what the paper leaves open changes its scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from perhop.papers.error import PackError
from perhop.papers.pack import Pack
from perhop.papers.search import Value
from perhop.scenario import Scenario

Marker = Literal["tcp-friendly", "token-bucket", "none"]
MARKERS: tuple[Marker, ...] = get_args(Marker)
FRIENDLY, BUCKET, _ = MARKERS

Values = Mapping[str, Value]
"""A value for every parameter of `calibration.toml`."""

PACKET = 1024
"""Bytes of a packet, headers included."""
INTERVAL_S = 0.25
"""The marking interval T."""

_METER = "conditioner.marker.meter"


@dataclass(frozen=True)
class Parameter:
    """A table `[[parameter]]` of `calibration.toml`, whose head says what the fields are."""

    name: str
    meaning: str
    values: tuple[Value, ...]
    before: Value
    chosen: Value
    search: bool
    only_swept: tuple[Value, ...] = ()
    set: tuple[str, ...] = ()
    marker: Marker | None = None

    @property
    def searched(self) -> tuple[Value, ...]:
        """What the search may take."""
        return tuple(value for value in self.values if value not in self.only_swept)


@dataclass(frozen=True)
class Calibration:
    """`calibration.toml`: each parameter, and how they were searched."""

    parameters: tuple[Parameter, ...]
    fit: tuple[str, ...]
    predict: tuple[str, ...]
    replications: int
    seed: int
    most_passes: int
    least_gain: float

    @property
    def chosen(self) -> dict[str, Value]:
        """What the search ended with."""
        return {one.name: one.chosen for one in self.parameters}


def load_calibration(pack: Pack) -> Calibration:
    """Read `calibration.toml`.

    Raises
    ------
    PackError
        The search or a parameter lacks a setting, or a value is none of those that are tried.
    """
    path, text = pack.folder / "calibration.toml", pack.toml("calibration.toml")
    where, parameters = "search", []
    try:
        for table in text.get("parameter", []):
            where = f"parameter {table.get('name', '?')}"
            found = Parameter(**_tuples(table))
            if not {found.before, found.chosen} <= set(found.searched):
                raise PackError(f"{path}: {where}: a value that is not tried")
            parameters.append(found)
        where = "search"
        return Calibration(tuple(parameters), **_tuples(text["search"]))
    except (KeyError, TypeError) as error:
        raise PackError(f"{path}: {where}: {error}") from None


def _tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}


@dataclass(frozen=True)
class Case:
    """One set-up: a figure with one marker and, in Tables 6 and 7, one number of tokens.

    Attributes
    ----------
    figure, table, title, scenario, scale, set, trace
        As in `figures.toml`.
    marker
        One of `MARKERS`.
    tokens
        Of the assured flow, per interval; None where there is no such flow.
    duration_s, replications
        Of its runs.
    shortened
        Whether it runs shorter than the study says, so that no claim can be judged by it.
    published
        Printed value per quantity.
    """

    figure: str
    table: str
    title: str
    scenario: str
    scale: int
    set: tuple[str, ...]
    trace: tuple[str, ...]
    marker: Marker
    tokens: int | None
    duration_s: float
    replications: int
    shortened: bool
    published: Mapping[str, float]

    @property
    def row(self) -> str:
        """The figure with its tokens, which all markers share."""
        return self.figure if self.tokens is None else f"{self.figure}-{self.tokens}"

    @property
    def id(self) -> str:
        """Unique among the cases."""
        return f"{self.row} {self.marker}"

    @property
    def is_drawn(self) -> bool:
        """Whether its runs are needed whole: for a trace, or for the time that each transfer took."""
        return bool(self.trace) or self.figure == "short"

    @property
    def assured_bit_s(self) -> float:
        """Rate that the assured flow is promised."""
        return _rate(self.tokens or 0)

    def overrides(self, values: Values, calibration: Calibration) -> list[str]:
        """List what turns the scenario file into this case with these values."""
        found = [
            text.format(values[one.name], on=str(bool(values[one.name])).lower())
            for one in calibration.parameters
            if one.marker in (None, self.marker)
            for text in one.set
        ]
        window = int(values["window"])
        windows = [f"flow.{'web' if self.figure == 'short' else 'bulk'}.tcp.window={window}KiB"]
        if self.tokens is not None:
            # what the promised rate needs over a quarter of a second, or as much as any flow
            windows.append(f"flow.assured.tcp.window={max(window, self.tokens)}KiB")
        length = f"run.duration={self.duration_s:g}s"
        return [*found, *self._marking(values), *self.set, *windows, length]

    def _marking(self, values: Values) -> list[str]:
        """List the settings of the marker; its tokens are the case's own, or a scale of the reading's."""
        tokens = self.tokens or self.scale * int(values["tokens"])
        if self.marker == FRIENDLY:
            carried = round(float(values["carry"]) * tokens)
            return [f"{_METER}.tokens={tokens}", f"{_METER}.carry_tokens={carried}"]
        if self.marker == BUCKET:
            depth = max(PACKET, round(float(values["depth"]) * tokens * PACKET))
            return [
                f'{_METER}={{ kind = "token-bucket", cir = "{_rate(tokens):.0f}bit/s", cbs = "{depth}B" }}'
            ]
        color = "green" if values["unmarked"] == "in" else "red"
        all_be = 'conditioner.marker.marker={ green = "BE", red = "BE" }'
        return [all_be, f"port.r2-r3.class.all.queue.colors.BE={color}"]

    def command(self, pack: Pack, calibration: Calibration) -> str:
        """Give the command that runs it alone as fitted, without what the scenario file holds already."""
        file = Scenario(pack.scenario(self.scenario), self.scenario)
        changes = "".join(
            f" -s '{one}'"
            for one in self.overrides(calibration.chosen, calibration)
            if file.override(one).resolve() != file.resolve()
        )
        trace = f" --trace {','.join(self.trace)}" if self.trace else ""
        folder = f"out/feroz-{self.id.replace(' ', '-')}"
        return f"perhop run papers/feroz/{self.scenario}{changes}{trace} -o {folder}"


def _rate(tokens: float) -> float:
    """Give the rate of so many tokens per interval, bit/s.

    >>> _rate(15)
    491520.0
    """
    return tokens * PACKET * 8 / INTERVAL_S
