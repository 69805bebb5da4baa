"""A set-up of the study: its scenario, its marker, its tokens, and its runs."""

from __future__ import annotations

from dataclasses import dataclass

from perhop.papers.feroz.readings import Marker, Meter, Readings, assured_bit_s, overrides
from perhop.papers.pack import Pack
from perhop.papers.readings import Reading
from perhop.run import AnyJob, TracedJob

DURATION_S = 100.0

Published = dict[str, float]


@dataclass(frozen=True)
class Case:
    """One set-up: a figure with one marker and, in Tables 6 and 7, one number of tokens.

    Attributes
    ----------
    figure
        Id of the figure it belongs to.
    table
        Table of the paper, or `extra`.
    title
        What is shown.
    scenario
        Scenario file of the pack.
    meter
        The marker and its tokens.
    settings
        Changes of the figure to the file, `path=value`; they come after those of readings and marker.
    flows
        Whose windows are set; with tokens of its own, the last is the assured one.
    duration_s
        Of a run.
    trace
        What is traced.
    replications
        Runs of it.
    published
        Printed value per quantity.
    shortened
        Whether it runs shorter than the study says, so that no claim can be judged by it.
    """

    figure: str
    table: str
    title: str
    scenario: str
    meter: Meter
    settings: tuple[str, ...]
    flows: tuple[str, ...]
    duration_s: float
    trace: tuple[str, ...]
    replications: int
    published: Published
    shortened: bool = False

    @property
    def marker(self) -> Marker:
        """The marker's name."""
        return self.meter.marker

    @property
    def row(self) -> str:
        """The figure with its tokens, which all markers share."""
        return self.figure if self.meter.tokens is None else f"{self.figure}-{self.meter.tokens}"

    @property
    def id(self) -> str:
        """Unique among the cases."""
        return f"{self.row} {self.marker}"

    @property
    def assured_bit_s(self) -> float | None:
        """Rate that the assured flow is promised."""
        return None if self.meter.tokens is None else assured_bit_s(self.meter.tokens)

    def overrides(self, readings: Readings, held: Readings) -> list[str]:
        """List the changes to the scenario file.

        An assured flow has at least the window that its promised rate needs over a quarter of a second.
        """
        window = None
        if self.meter.tokens is not None:
            window = max(int(readings["window"]), self.meter.tokens)
            window = None if window == held["window"] else window
        return [*overrides(self.meter, self.flows, readings, held, window), *self.settings]

    def jobs(
        self, readings: Readings, held: Readings, pack: Pack, seed: int, under: Reading | None = None
    ) -> list[AnyJob]:
        """Give every replication. The seed is the same for all markers, so that they can be paired."""
        text, found = pack.scenario(self.scenario), []
        changes = [*self.overrides(readings, held), *(under.settings_of(text) if under else ())]
        # no series is drawn of these runs: one sample at the end
        changes += [*self._duration(), f"run.interval={self.duration_s:g}s", f"run.seed={seed}"]
        for k in range(self.replications):
            own = [*changes, f"run.replication={k}"]
            name = f"{self.scenario} for {self.id}"
            job: AnyJob = TracedJob(text, name, own, self.trace) if self.trace else (text, name, own)
            found.append(job)
        return found

    def command(self, readings: Readings, held: Readings) -> str:
        """Give the command that runs it alone, into a folder of its own."""
        changes = "".join(f" -s '{one}'" for one in [*self.overrides(readings, held), *self._duration()])
        trace = f" --trace {','.join(self.trace)}" if self.trace else ""
        folder = f"out/feroz-{self.id.replace(' ', '-')}"
        return f"perhop run papers/feroz/{self.scenario}{changes}{trace} -o {folder}"

    def _duration(self) -> list[str]:
        return [] if self.duration_s == DURATION_S else [f"run.duration={self.duration_s:g}s"]
