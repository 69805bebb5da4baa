"""The runs of the reproduction: which scenarios, how often, for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from perhop.papers.document import check_claims
from perhop.papers.error import PackError
from perhop.papers.kalampoukas.setup import CABLE_MODEM, Setup, from_row
from perhop.papers.pack import Pack, load_pack
from perhop.papers.published import Row
from perhop.papers.readings import Reading, load_readings, unjudged_claims
from perhop.papers.verdict import MIN_REPLICATIONS
from perhop.run import Job


@dataclass(frozen=True)
class Figure:
    """One run of the study, with what the paper prints about it.

    Attributes
    ----------
    id
        Figure of the paper, with a suffix where it has several runs.
    table
        Published table with its row, or `extra`.
    title
        What is shown.
    scenario
        Scenario file of the pack.
    overrides
        Changes to it, `path=value`.
    setup
        The same in numbers, for the closed forms.
    published
        Printed value per quantity; None where the paper prints none.
    """

    id: str
    table: str
    title: str
    scenario: str
    overrides: tuple[str, ...]
    setup: Setup
    published: dict[str, float | None]

    def command(self) -> str:
        """Give the command that runs it alone."""
        changes = "".join(f" -s '{change}'" for change in self.overrides)
        return f"perhop run papers/kalampoukas/{self.scenario}{changes}"


@dataclass(frozen=True)
class Plan:
    """All runs in order: every replication of each figure in turn, then so under each reading.

    Attributes
    ----------
    pack
        The pack they come from.
    figures
        What is run.
    replications
        Runs per figure.
    readings
        Under which all figures are run again.
    unjudged
        Ids of claims that a quick plan does not judge.
    jobs
        One per figure and replication, first as given and then under each reading.
    left_out
        What a quick plan does not do, in words; empty otherwise.
    """

    pack: Pack
    figures: tuple[Figure, ...]
    replications: int
    readings: tuple[Reading, ...]
    unjudged: frozenset[str]
    jobs: tuple[Job, ...]
    left_out: tuple[str, ...]


def make_plan(replications: int = MIN_REPLICATIONS, seed: int = 1, quick: bool = False) -> Plan:
    """List the runs of the reproduction.

    Parameters
    ----------
    replications
        Runs per figure; claims need at least ten.
    seed
        Seed of every run; runs of a figure differ in their replication number.
    quick
        Leave out the verdicts that `readings.toml` does not name as quick; the runs are the same.

    Returns
    -------
    Plan
        Its `jobs` go to the engine; the results, in the same order, to `reduce`.

    Raises
    ------
    PackError
        A published row is not run, no predicate can judge a claim, or a reading has `change`.
    """
    if replications < 1:
        raise ValueError(f"replications = {replications}: must be at least 1")
    # predicates are about what is planned here
    from perhop.papers.kalampoukas.predicates import PREDICATES

    pack = load_pack("kalampoukas")
    check_claims(PREDICATES, pack.claims)
    _check_coverage(pack)
    figures = tuple(_figure(pack, table) for table in pack.figures)
    readings = load_readings(pack)
    _check_readings(pack, readings)
    unjudged = unjudged_claims(pack, quick)
    under: tuple[Reading | None, ...] = (None, *readings)
    jobs = tuple(
        _job(pack, figure, reading, seed, k)
        for reading in under
        for figure in figures
        for k in range(replications)
    )
    left_out = ["the maps and curves beyond the paper"] if quick else []
    if replications < MIN_REPLICATIONS:
        left_out.append(f"verdicts: they need {MIN_REPLICATIONS} replications")
    return Plan(pack, figures, replications, readings, unjudged, jobs, tuple(left_out))


def _job(pack: Pack, figure: Figure, reading: Reading | None, seed: int, replication: int) -> Job:
    text = pack.scenario(figure.scenario)
    settings = reading.settings_of(text) if reading else []
    name = f"{figure.scenario} for figure {figure.id}"
    return text, name, [*figure.overrides, *settings, f"run.seed={seed}", f"run.replication={replication}"]


def _check_readings(pack: Pack, readings: Sequence[Reading]) -> None:
    """Refuse a reading that changes parameters of the study: it has none."""
    for reading in readings:
        if reading.change:
            raise PackError(
                f"{pack.folder / 'readings.toml'}: reading {reading.id}: 'change' has "
                f"{', '.join(reading.change)}; this study has no parameters to change",
                "use 'set', which takes settings of the scenario",
            )


def _check_coverage(pack: Pack) -> None:
    run = {f"efficiencies {table['id']}" for table in pack.figures if table["table"] == "efficiencies"}
    run |= {
        f"figure3_2 {table['socket']} {table['traffic']}"
        for table in pack.figures
        if table["table"] == "figure3_2"
    }
    published = [f"efficiencies {row['figure']}" for row in pack.table("efficiencies")]
    published += [
        f"figure3_2 {row['fast_socket_buffer_bytes']} {row['traffic']}" for row in pack.table("figure3_2")
    ]
    pack.check_coverage(run, published)


def _figure(pack: Pack, table: dict[str, Any]) -> Figure:
    kind = table["table"]
    published: dict[str, float | None]
    if kind == "figure3_2":
        wanted = {"fast_socket_buffer_bytes": str(table["socket"]), "traffic": table["traffic"]}
        row = _row(pack, "figure3_2", wanted)
        setup = replace(CABLE_MODEM, fast_window=table["socket"], alone=table["traffic"] == "one-way")
        published = {"fast_throughput": row.printed("fast_throughput_kbps")}
    else:
        row = _row(pack, "efficiencies", {"figure": table.get("like", table["id"])})
        setup = from_row(row.changed(table.get("change", {})))
        published = {
            "slow_efficiency": row.printed("slow_eff_published") if kind == "efficiencies" else None,
            "fast_efficiency": row.printed("fast_eff_published") if kind == "efficiencies" else None,
        }
    return Figure(table["id"], kind, table["title"], table["scenario"], tuple(table["set"]), setup, published)


def _row(pack: Pack, name: str, wanted: dict[str, str]) -> Row:
    """Find the row with these cells."""
    for row in pack.table(name):
        if all(row[column] == text for column, text in wanted.items()):
            return row
    raise PackError(f"{pack.folder / 'published' / name}.csv: no row of {' '.join(wanted.values())}")
