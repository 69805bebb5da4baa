"""The runs of the reproduction: which scenarios, how often, for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from perhop.papers.error import PackError
from perhop.papers.kalampoukas.setup import CABLE_MODEM, Setup, from_row
from perhop.papers.pack import Pack, load_pack
from perhop.papers.published import Row
from perhop.papers.study import Job
from perhop.papers.verdict import MIN_REPLICATIONS

QUICK_DURATION = "480s"


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

    def command(self, shorter: Sequence[str] = ()) -> str:
        """Give the command that runs it alone, with the changes that a quick plan makes to every run."""
        changes = "".join(f" -s '{change}'" for change in [*self.overrides, *shorter])
        return f"perhop run papers/kalampoukas/{self.scenario}{changes}"


@dataclass(frozen=True)
class Plan:
    """All runs, in order: every replication of the first figure, then of the next.

    Attributes
    ----------
    pack
        The pack they come from.
    figures
        What is run.
    replications
        Runs per figure.
    jobs
        One per figure and replication.
    shorter
        What a quick plan changes in every run; empty otherwise.
    left_out
        What a quick plan does not do, in words; empty otherwise.
    """

    pack: Pack
    figures: tuple[Figure, ...]
    replications: int
    jobs: tuple[Job, ...]
    shorter: tuple[str, ...]
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
        Shorten every run.

    Returns
    -------
    Plan
        Its `jobs` go to the engine; the results, in the same order, to `reduce`.

    Raises
    ------
    PackError
        A published row is not run.
    """
    if replications < 1:
        raise ValueError(f"replications = {replications}: must be at least 1")
    pack = load_pack("kalampoukas")
    _check_coverage(pack)
    figures = tuple(_figure(pack, table) for table in pack.figures)
    shorter = (f"run.duration={QUICK_DURATION}",) if quick else ()
    jobs = tuple(
        (
            pack.scenario(figure.scenario),
            f"{figure.scenario} for figure {figure.id}",
            [*figure.overrides, f"run.seed={seed}", f"run.replication={k}", *shorter],
        )
        for figure in figures
        for k in range(replications)
    )
    left_out = []
    if quick:
        left_out.append(f"each run simulates {QUICK_DURATION} where the scenario files say more")
        left_out.append("the maps and curves beyond the paper")
    if replications < MIN_REPLICATIONS:
        left_out.append(f"verdicts: they need {MIN_REPLICATIONS} replications")
    return Plan(pack, figures, replications, jobs, shorter, tuple(left_out))


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
