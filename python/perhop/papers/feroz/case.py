"""A set-up of the study, and how what the paper leaves open changes its scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from perhop.papers.feroz import cases
from perhop.papers.feroz.calibration import Calibration, Values

Marker = Literal["tcp-friendly", "token-bucket", "none"]
MARKERS: tuple[Marker, ...] = get_args(Marker)
FRIENDLY, BUCKET, _ = MARKERS

PACKET = 1024
"""Bytes of a packet, headers included."""
INTERVAL_S = 0.25
"""The marking interval T."""

_METER = "conditioner.marker.meter"


@dataclass(frozen=True)
class Case(cases.Case):
    """One set-up: its treatment is a marker, its level the tokens of the assured flow per interval.

    `scale` is as in `figures.toml`.
    """

    scale: int = 1

    @property
    def is_drawn(self) -> bool:
        """Whether its runs are needed whole: for a trace, or for the time that each transfer took."""
        return bool(self.trace) or self.figure == "short"

    @property
    def assured_bit_s(self) -> float:
        """Rate that the assured flow is promised."""
        return rate(self.level or 0)

    def overrides(self, values: Values, calibration: Calibration) -> list[str]:
        """List what turns the scenario file into this case with these values."""
        window = int(values["window"])
        windows = [f"flow.{'web' if self.figure == 'short' else 'bulk'}.tcp.window={window}KiB"]
        if self.level is not None:
            # what the promised rate needs over a quarter of a second, or as much as any flow
            windows.append(f"flow.assured.tcp.window={max(window, self.level)}KiB")
        found = calibration.settings(values, self.treatment)
        length = f"run.duration={self.duration_s:g}s"
        return [*found, *self._marking(values), *self.set, *windows, length]

    def _marking(self, values: Values) -> list[str]:
        """List the settings of the marker; its tokens are the case's own, or a scale of the reading's."""
        tokens = self.level or self.scale * int(values["tokens"])
        if self.treatment == FRIENDLY:
            carried = round(float(values["carry"]) * tokens)
            return [f"{_METER}.tokens={tokens}", f"{_METER}.carry_tokens={carried}"]
        if self.treatment == BUCKET:
            depth = max(PACKET, round(float(values["depth"]) * tokens * PACKET))
            return [
                f'{_METER}={{ kind = "token-bucket", cir = "{rate(tokens):.0f}bit/s", cbs = "{depth}B" }}'
            ]
        color = "green" if values["unmarked"] == "in" else "red"
        all_be = 'conditioner.marker.marker={ green = "BE", red = "BE" }'
        return [all_be, f"port.r2-r3.class.all.queue.colors.BE={color}"]


def rate(tokens: float) -> float:
    """Give the rate of so many tokens per interval, bit/s.

    >>> rate(15)
    491520.0
    """
    return tokens * PACKET * 8 / INTERVAL_S
