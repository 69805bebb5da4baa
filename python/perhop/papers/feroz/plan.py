"""The runs of the study: which scenario, which marker, which tokens, how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from perhop.papers.error import PackError
from perhop.papers.feroz.readings import (
    INTERVAL_S,
    Marker,
    Meter,
    Parameter,
    Readings,
    Search,
    assured_bit_s,
    chosen,
    load_parameters,
    overrides,
)
from perhop.papers.pack import Pack, load_pack
from perhop.papers.study import AnyJob, TracedJob
from perhop.papers.verdict import MIN_REPLICATIONS
from perhop.scenario import Scenario

DURATION_S = 100.0
SWEEP_REPLICATIONS = 4
SWEPT_TOKENS = (15, 30, 45)
SWEPT_IN_TABLE_6 = ("averaging", "depth", "beyond_tokens", "carry")

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
    fit
        Readings of its own, whatever a sweep or a search wants.
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
    fit: Readings = field(default_factory=dict)

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
        readings = {**readings, **self.fit}
        window = None
        if self.meter.tokens is not None:
            window = max(int(readings["window"]), self.meter.tokens)
            window = None if window == held["window"] else window
        return [*overrides(self.meter, self.flows, readings, held, window), *self.settings]

    def jobs(self, readings: Readings, held: Readings, pack: Pack, seed: int) -> list[AnyJob]:
        """Give every replication. The seed is the same for all markers, so that they can be paired."""
        text, found = pack.scenario(self.scenario), []
        changes = [*self.overrides(readings, held), *self._duration()]
        # no series is drawn of these runs: one sample at the end
        changes = [*changes, f"run.interval={self.duration_s:g}s", f"run.seed={seed}"]
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


@dataclass(frozen=True)
class Sweep:
    """A table again under each value of one parameter, everything else as chosen."""

    table: str
    parameter: Parameter
    cases: tuple[Case, ...]

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, as they are drawn."""
        return self.parameter.values


@dataclass(frozen=True)
class Plan:
    """All runs, in order: each case's replications, then the sweeps.

    Attributes
    ----------
    pack
        The pack they come from.
    search, parameters
        The calibration.
    cases
        What is run.
    sweeps
        What is run beyond the paper; none in a quick plan.
    jobs
        One per run.
    left_out
        What a quick plan does not do.
    """

    pack: Pack
    search: Search
    parameters: tuple[Parameter, ...]
    cases: tuple[Case, ...]
    sweeps: tuple[Sweep, ...]
    jobs: tuple[AnyJob, ...]
    left_out: tuple[str, ...]

    @property
    def readings(self) -> dict[str, Any]:
        """What the calibration chose."""
        return chosen(self.parameters)


def make_plan(quick: bool = False, seed: int = 1, replications: int = MIN_REPLICATIONS) -> Plan:
    """List the runs of the reproduction.

    Parameters
    ----------
    quick
        Shorten runs with many packets, leave out what no claim needs.
    seed
        Of every run.
    replications
        Runs per case, where the figure does not say otherwise.

    Raises
    ------
    PackError
        A published row is not run, or a scenario file does not hold what the calibration chose.
    """
    pack = load_pack("feroz")
    search, parameters = load_parameters(pack)
    printed = published_rows(pack)
    cases = tuple(
        replace(case, fit=search.other) if table.get("fit") == "other" else case
        for table in pack.figures
        for case in _cases(printed, table, quick, replications)
    )
    whole = (case for table in pack.figures for case in _cases(printed, table, False, 1))
    pack.check_coverage({case.id for case in whole if case.table != "extra"}, printed)
    _check_readings(pack, cases, parameters)
    held = chosen(parameters)
    sweeps = () if quick else make_sweeps(parameters, cases)
    jobs = [job for case in cases for job in case.jobs(held, held, pack, seed)]
    for sweep in sweeps:
        for value in sweep.values:
            readings = {**held, sweep.parameter.name: value}
            jobs += [job for case in sweep.cases for job in case.jobs(readings, held, pack, seed)]
    left_out = _left_out(pack) if quick else []
    if replications < MIN_REPLICATIONS:
        left_out.append(f"verdicts: they need {MIN_REPLICATIONS} replications")
    return Plan(pack, search, parameters, cases, sweeps, tuple(jobs), tuple(left_out))


def make_sweeps(parameters: Sequence[Parameter], cases: Sequence[Case]) -> tuple[Sweep, ...]:
    """Give a sweep of Table 1 for each parameter, and of three rows of Table 6 for those that move it most.

    A marker that a parameter does not touch is run all the same.
    """
    shorter = [replace(case, replications=SWEEP_REPLICATIONS) for case in cases]
    first = tuple(case for case in shorter if case.figure == "1")
    sixth = tuple(case for case in shorter if case.figure == "6" and case.meter.tokens in SWEPT_TOKENS)
    found = [Sweep("1", parameter, first) for parameter in parameters]
    found += [Sweep("6", parameter, sixth) for parameter in parameters if parameter.name in SWEPT_IN_TABLE_6]
    return tuple(found)


def published_rows(pack: Pack) -> dict[str, Published]:
    """Give the printed values by case id. Goodput is in bytes per second whatever the paper calls it."""
    found: dict[str, Published] = {}
    for row in pack.table("tables1-5"):
        found[f"{row['table']} {row['marker']}"] = {
            "timeouts": row.number("timeouts"),
            "losses_per_s": row.number("losses_per_s"),
            "goodput": row.number("avg_goodput_bps"),
            "cov": row.number("cov"),
        }
    for row in pack.table("tables6-7"):
        for marker, column in (("tcp-friendly", "friendly_mbps"), ("token-bucket", "token_bucket_mbps")):
            id_ = f"{row['table']}-{row['tokens_per_interval']} {marker}"
            found[id_] = {"obtained": row.number(column)}
    return found


def _cases(
    printed: dict[str, Published], table: dict[str, Any], quick: bool, replications: int
) -> list[Case]:
    if quick and "quick" not in table:
        return []
    settings = list(table["set"])
    duration = DURATION_S
    for setting in list(settings):
        if setting.startswith("run.duration="):
            duration = _seconds(setting.partition("=")[2])
            settings.remove(setting)
    if quick and table["quick"]:
        duration = _seconds(table["quick"])
    found = []
    for tokens in table.get("tokens", [None]):
        for marker in table["markers"]:
            meter = Meter(marker, float(table.get("scale", 1)), tokens)
            case = Case(
                table["id"],
                table["table"],
                table["title"],
                table["scenario"],
                meter,
                tuple(settings),
                tuple(table["flows"]),
                duration,
                tuple(table.get("trace", ())),
                _replications(table, replications),
                {},
                bool(quick and table["quick"]),
            )
            found.append(replace(case, published=printed.get(case.id, {})))
    return found


def _replications(table: dict[str, Any], wanted: int) -> int:
    """Give what the figure says, or what is wanted; fewer than claims need are never exceeded."""
    own: int = table.get("replications", wanted)
    return own if wanted >= MIN_REPLICATIONS else min(own, wanted)


def _check_readings(pack: Pack, cases: Sequence[Case], parameters: Sequence[Parameter]) -> None:
    """Refuse a pack whose scenario files hold other readings than `calibration.toml` chose.

    `depth` and `unmarked` are in no file: the runs of the marker that has them set them.
    """
    held = chosen(parameters)
    # as if the files held other values, so that every reading becomes a setting
    others = {one.name: next(value for value in one.values if value != one.chosen) for one in parameters}
    for file in dict.fromkeys(case.scenario for case in cases):
        scenario = Scenario(pack.scenario(file), file)
        flows = list(dict.fromkeys(flow for case in cases if case.scenario == file for flow in case.flows))
        resolved = scenario.resolve()
        if _with(scenario, flows, held, others) != resolved:
            one = {name: _with(scenario, flows, held, {**held, name: others[name]}) for name in held}
            wrong = ", ".join(name for name, found in one.items() if found != resolved)
            raise PackError(
                f"{pack.folder / file}: not the {wrong} that calibration.toml chose",
                "write into the scenario what was chosen",
            )


def _with(scenario: Scenario, flows: Sequence[str], readings: Readings, held: Readings) -> str:
    """Resolve `scenario` with those of `readings` that differ from what it is taken to hold."""
    settings = overrides(Meter("tcp-friendly"), flows, readings, held)
    return scenario.override(*settings).resolve()


def _left_out(pack: Pack) -> list[str]:
    shorter: dict[str, list[str]] = {}
    for table in pack.figures:
        if table.get("quick"):
            shorter.setdefault(table["quick"], []).append(table["id"])
    found = [
        f"{', '.join(f'Table {id_}' for id_ in ids)} {'simulates' if len(ids) == 1 else 'simulate'} "
        f"{time} where the study says 100s"
        for time, ids in shorter.items()
    ]
    found.append("verdicts on these tables; their time-outs are those of the shorter time")
    gone = [table["title"] for table in pack.figures if "quick" not in table]
    found.append(f"runs that no claim needs: {'; '.join(gone)}")
    found.append("how each reading moves Tables 1 and 6")
    return found


def _seconds(text: str) -> float:
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        raise PackError(f"figures.toml: {text!r} is no time in seconds, such as '20s'") from None


__all__ = ["DURATION_S", "INTERVAL_S", "Case", "Plan", "Published", "Sweep", "make_plan", "published_rows"]
