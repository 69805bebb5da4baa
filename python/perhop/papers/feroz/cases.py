"""The set-ups of `figures.toml`: a marker and a level each, with their settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from perhop.judge.verdict import MIN_REPLICATIONS
from perhop.papers.error import PackError
from perhop.papers.feroz.calibration import Calibration, Values
from perhop.papers.pack import ANY_TEXT, TEXT, TEXTS, WHOLE, WHOLES, Keys, Pack
from perhop.scenario.scenario import Scenario

Marker = Literal["tcp-friendly", "token-bucket", "none"]
MARKERS: tuple[Marker, ...] = get_args(Marker)
FRIENDLY, BUCKET, _ = MARKERS

FIGURE: Keys = {
    **dict.fromkeys(("id", "table", "title", "scenario", "read"), TEXT),
    **dict.fromkeys(("set", "trace", "markers"), TEXTS),
    **dict.fromkeys(("replications", "scale"), WHOLE),
    "tokens": WHOLES,
    "quick": ANY_TEXT,
}
"""Keys of `figures.toml`."""

FACTORS = ("at", "figure", "marker")
"""Factors of every campaign; `at` names the values of the parameters."""

FITTED = "as fitted"

PACKET = 1024
"""Bytes of a packet, headers included."""
INTERVAL_S = 0.25
"""The marking interval T."""
DURATION_S = 100.0
"""Duration of a run, where `set` has none."""
EXTRA = "extra"
"""The table of runs of ours."""

_METER = "conditioner.marker.meter"


@dataclass(frozen=True)
class Case:
    """One set-up: a figure with one marker and one level.

    Attributes
    ----------
    figure, table, title, scenario, set, trace, scale
        As in `figures.toml`.
    marker
        What is compared within a row.
    tokens
        Of the assured flow per interval, the level; None where there is no such flow.
    duration_s, replications
        Of its runs.
    read_s
        Simulated time of its runs under readings; where that is less than `duration_s`, the fitted point is
        judged by such runs as well, as if that were a reading.
    shortened
        Whether it runs shorter than the study says, so that no claim can be judged by it.
    published
        Printed value per quantity.
    """

    figure: str
    table: str
    title: str
    scenario: str
    set: tuple[str, ...]
    trace: tuple[str, ...]
    marker: str
    tokens: int | None
    duration_s: float
    replications: int
    read_s: float
    shortened: bool
    published: Mapping[str, float]
    scale: int = 1

    @property
    def row(self) -> str:
        """The figure with its level, which all markers share."""
        return self.figure if self.tokens is None else f"{self.figure}-{self.tokens}"

    @property
    def id(self) -> str:
        """Name that no other case has."""
        return f"{self.row} {self.marker}"

    @property
    def place(self) -> dict[str, str]:
        """Levels by which claims find it."""
        tokens = {} if self.tokens is None else {"tokens": str(self.tokens)}
        return {"figure": self.figure, "marker": self.marker, **tokens}

    @property
    def is_drawn(self) -> bool:
        """Whether its runs are needed whole: for a trace, or for the time that each transfer took."""
        return bool(self.trace) or self.figure == "short"

    @property
    def assured_bit_s(self) -> float:
        """Rate that the assured flow is promised."""
        return rate(self.tokens or 0)

    def overrides(self, values: Values, fit: Calibration) -> list[str]:
        """Return the settings that make the scenario file this case, with these values."""
        window = int(values["window"])
        windows = [f"flow.{'web' if self.figure == 'short' else 'bulk'}.tcp.window={window}KiB"]
        if self.tokens is not None:
            # what the promised rate needs over a quarter of a second, or as much as any flow
            windows.append(f"flow.assured.tcp.window={max(window, self.tokens)}KiB")
        stated, length = fit.settings(values, self.marker), f"run.duration={self.duration_s:g}s"
        return [*stated, *self._marking(values), *self.set, *windows, length]

    def _marking(self, values: Values) -> list[str]:
        """Return the settings of the marker; tokens are the case's, or a scale of the reading's."""
        tokens = self.tokens or self.scale * int(values["tokens"])
        if self.marker == FRIENDLY:
            carried = round(float(values["carry"]) * tokens)
            return [f"{_METER}.tokens={tokens}", f"{_METER}.carry_tokens={carried}"]
        if self.marker == BUCKET:
            depth = max(PACKET, round(float(values["depth"]) * tokens * PACKET))
            return [
                f'{_METER}={{ kind = "token-bucket", cir = "{rate(tokens):.0f}bit/s", cbs = "{depth}B" }}'
            ]
        color = "green" if values["unmarked"] == "in" else "red"
        all_be = 'conditioner.marker.marker={ green = "BE", red = "BE" }'
        return [all_be, f"port.r2-r3.class.all.queue.colors.BE={color}"]

    def command(self, pack: Pack, fit: Calibration) -> str:
        """Return the command that runs it alone as fitted, without settings that change nothing."""
        file = Scenario(pack.scenario(self.scenario), self.scenario)
        changes = "".join(
            f" -s '{one}'"
            for one in self.overrides(fit.chosen, fit)
            if file.override(one).resolve() != file.resolve()
        )
        trace = f" --trace {','.join(self.trace)}" if self.trace else ""
        folder = f"out/{pack.key}-{self.id.replace(' ', '-')}"
        return f"perhop run papers/{pack.key}/{self.scenario}{changes}{trace} -o {folder}"


def rate(tokens: float) -> float:
    """Return the rate of so many tokens per interval, bit/s.

    >>> rate(15)
    491520.0
    """
    return tokens * PACKET * 8 / INTERVAL_S


def cases_of(pack: Pack, quick: bool) -> tuple[Case, ...]:
    """Return the cases of `figures.toml`.

    In a quick reproduction a figure without the key `quick` has none, one with a time there runs so long.

    Raises
    ------
    PackError
        A time is none.
    """
    printed = published_rows(pack)
    return tuple(
        replace(case, published=printed.get(case.id, {}))
        for figure in pack.figures
        if not quick or "quick" in figure
        for case in _of_figure(figure, seconds(figure["quick"]) if quick and figure["quick"] else None)
    )


def _of_figure(figure: Mapping[str, Any], shorter: float | None) -> Iterable[Case]:
    lengths = [text for text in figure["set"] if text.startswith("run.duration=")]
    duration = seconds(lengths[0].partition("=")[2]) if lengths else DURATION_S
    duration = duration if shorter is None else shorter
    return (
        Case(
            figure=figure["id"],
            table=figure["table"],
            title=figure["title"],
            scenario=figure["scenario"],
            set=tuple(text for text in figure["set"] if text not in lengths),
            trace=tuple(figure.get("trace", ())),
            marker=marker,
            tokens=tokens,
            duration_s=duration,
            replications=figure.get("replications", MIN_REPLICATIONS),
            read_s=min(duration, seconds(figure["read"])) if "read" in figure else duration,
            shortened=shorter is not None,
            published={},
            scale=figure.get("scale", 1),
        )
        for tokens in figure.get("tokens", [None])
        for marker in figure["markers"]
    )


def published_rows(pack: Pack) -> dict[str, dict[str, float]]:
    """Return the printed values by case id.

    Goodput is in bytes per second whatever the paper calls it.
    """
    found: dict[str, dict[str, float]] = {}
    columns = {name: name for name in ("timeouts", "losses_per_s", "cov")} | {"goodput": "avg_goodput_bps"}
    for row in pack.table("tables1-5"):
        found[f"{row['table']} {row['marker']}"] = {name: row.number(one) for name, one in columns.items()}
    for row in pack.table("tables6-7"):
        for marker, column in ((FRIENDLY, "friendly_mbps"), (BUCKET, "token_bucket_mbps")):
            id_ = f"{row['table']}-{row['tokens_per_interval']} {marker}"
            found[id_] = {"obtained": row.number(column)}
    return found


def cases_at(cases: Iterable[Case], at: Mapping[str, str]) -> list[Case]:
    """Return the cases at a place of a claim."""
    return [case for case in cases if at.items() <= case.place.items()]


def at_most(cases: Iterable[Case], most: int) -> list[Case]:
    """Return cases with at most so many replications."""
    return [replace(case, replications=min(case.replications, most)) for case in cases]


def under_readings(cases: Iterable[Case]) -> list[Case]:
    """Return cases with runs as long as under readings."""
    return [replace(case, duration_s=case.read_s) for case in cases]


def seconds(text: str) -> float:
    """Read a time of `figures.toml`.

    Raises
    ------
    PackError
        It is none.
    """
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        raise PackError(f"figures.toml: {text!r} is no time in seconds, such as '20s'") from None
