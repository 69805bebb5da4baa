"""The figures of the paper: treatments of `campaign.toml`, printed and measured values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from perhop.experiment.definition import Campaign
from perhop.judge.measured import Floats, Measured, Measurements
from perhop.judge.quantity import PRINTED, Place, Subject
from perhop.models.two_way_setup import Setup
from perhop.papers.error import PackError
from perhop.papers.pack import TEXT, Keys, Pack
from perhop.papers.published import PublishedRow
from perhop.scenario.scenario import Scenario
from perhop.stats.intervals import Interval, mean_interval

FIGURE: Keys = {"id": TEXT, "table": TEXT, "title": TEXT}
_PRINTED = {
    "fast_mbps": ("fast_rate", 1e6),
    "slow_kbps": ("slow_rate", 1e3),
    "fast_pkt_bytes": ("fast_packet", 1),
    "slow_pkt_bytes": ("slow_packet", 1),
    "ack_bytes": ("ack", 1),
    "backpressure_pkts": ("threshold", 1),
    "f": ("share", 1),
    "connections_each_way": ("connections", 1),
}
"""Columns of `published/efficiencies.csv`: the parameter that they give, and its unit."""
_COLUMN = {"efficiency": "_eff_published", "throughput": "_throughput_kbps"}
"""Ends of the columns of `published/` that give the one or the other of a side."""


@dataclass(frozen=True)
class Figure:
    """One treatment of the campaign, with what the paper prints about it.

    The table is a published one, or `extra`; the overrides are those of the base scenario, and the set-up is
    what they make of it; the printed value per quantity is None where the paper prints none. Its quantities
    are efficiencies, over the cable modem throughputs.
    """

    id: str
    table: str
    title: str
    overrides: tuple[str, ...]
    setup: Setup
    published: dict[str, float | None]

    def command(self) -> str:
        """Return the command that runs it alone."""
        changes = "".join(f" -s '{' '.join(change.split())}'" for change in self.overrides)
        return f"perhop run papers/kalampoukas/bandwidth-allocation.toml{changes}"


@dataclass(frozen=True)
class FigureValues(Measured):
    """Quantities of every figure, one value per replication.

    `slow_efficiency`, `fast_efficiency`: delivered payload of all connections of a direction over the rate of
    the link that carries it. `slow_throughput`, `fast_throughput`: kbit/s. `slow_fairness`, `fast_fairness`:
    Jain's index of the connections of a direction. `slow_link_utilization`: share of the time the slow link
    sends. `slow_queue_data`: longest queue at the slow node, data packets. `slow_queue_packets`: the same
    with ACKs; with a class for ACKs, the sum of both classes' longest. `dropped`: packets lost anywhere.
    """

    figures: Mapping[str, Figure]
    campaign: Measurements

    def sample(self, response: str, at: Place, effect: Place | None) -> Floats:
        """Return one quantity of a figure by replication."""
        del effect
        return self.values(at["figure"], response)

    def values(self, figure: str, quantity: str) -> Floats:
        """Return one quantity of a figure by replication; a `KeyError` for what is not measured."""
        setup = self.figures[figure].setup
        response, unit = {
            "slow_efficiency": ("slow", setup.slow_rate),
            "fast_efficiency": ("fast", setup.fast_rate),
            "slow_throughput": ("slow", 1e3),
            "fast_throughput": ("fast", 1e3),
        }.get(quantity, (quantity, 1.0))
        return self.campaign.values(response, figure=figure) / unit

    def interval(self, figure: str, quantity: str) -> Interval:
        """Return mean and 95 % interval of one quantity over the replications."""
        return mean_interval(self.values(figure, quantity))

    def published(self, figure: str, quantity: str) -> float | None:
        """Return the printed value of a quantity; None where there is none."""
        return self.figures[figure].published.get(quantity)


QUANTITIES = (
    *(f"{side}_{what}" for side in ("slow", "fast") for what in ("efficiency", "throughput", "fairness")),
    *("slow_link_utilization", "slow_queue_data", "slow_queue_packets", "dropped"),
)
"""Quantities that claims may be about."""


def subject_of(figures: Iterable[Figure]) -> Subject:
    """Return what claims may be about: figures, with printed values, bounded form, share."""
    known = {one.id: one for one in figures}
    tables: dict[str, list[str]] = {}
    for one in known.values():
        tables.setdefault(one.table, []).append(one.id)

    def reference(name: str, response: str, at: Place, effect: Place | None) -> float | None:
        del effect
        figure, (side, _, measure) = known[at["figure"]], response.partition("_")
        if name == PRINTED:
            return figure.published.get(response)
        if measure != "efficiency":
            return None
        if name == "share":
            return figure.setup.share
        form = figure.setup.closed_form("bounded")
        return None if form is None else float(getattr(form, side))

    return Subject(
        {one: {} for one in QUANTITIES},
        {"figure": [*known]},
        [{"figure": one} for one in known],
        reference,
        also={"figure": tables},
        references=(PRINTED, "bounded", "share"),
    )


def figures_of(pack: Pack, campaign: Campaign, partly: bool = False) -> tuple[Figure, ...]:
    """Return the figures of `figures.toml`; with `partly`, those that the campaign has.

    Raises
    ------
    PackError
        It names no treatment, a published row is not run, or has other parameters than what is run.
    """
    network, place = (campaign.design.names.index(name) for name in ("network", "figure"))
    treatments = {one.levels[place]: one for one in campaign.design.treatments}
    rows = {f"efficiencies {row['figure']}": row for row in pack.table("efficiencies")}
    cable = pack.table("figure3_2")
    rows |= {f"figure3_2 {row['fast_socket_buffer_bytes']} {row['traffic']}": row for row in cable}
    found, run = [], []
    for table in pack.figures:
        if table["id"] not in treatments:
            if partly:
                continue
            raise PackError(f"{pack.folder / 'campaign.toml'}: no treatment has figure {table['id']!r}")
        treatment = treatments[table["id"]]
        scenario = campaign.scenario.override(*treatment.overrides)
        setup = Setup.of(scenario)
        name = f"{table['table']} {table['id']}"
        if table["table"] == "figure3_2":
            name = f"figure3_2 {setup.fast_window} {'one-way' if setup.alone else 'two-way'}"
        if table["table"] != "extra":
            run.append(name)
        modem = treatment.levels[network] == "cable modem"
        found.append(_figure(table, scenario, setup, rows.get(name), "throughput" if modem else "efficiency"))
    if not partly:
        pack.check_coverage(run, list(rows))
    return tuple(found)


def _figure(
    table: dict[str, Any], scenario: Scenario, setup: Setup, row: PublishedRow | None, measure: str
) -> Figure:
    """Return a figure with what is printed of it; `measure` is `efficiency` or `throughput`."""
    columns = {f"{side}_{measure}": f"{side}{_COLUMN[measure]}" for side in ("slow", "fast")}
    if measure == "efficiency":
        columns["slow_link_utilization"] = "slow_link_busy_published"
    elif setup.alone:
        del columns["slow_throughput"]
    if row is not None and table["table"] == "efficiencies":
        _check_row(setup, row)
    published = {quantity: row.printed(column) if row else None for quantity, column in columns.items()}
    return Figure(table["id"], table["table"], table["title"], scenario.overrides, setup, published)


def _check_row(setup: Setup, row: PublishedRow) -> None:
    """Refuse a published row with other parameters than what is run."""
    if row["scheme"] != setup.scheme:
        raise row.error("scheme", f"{setup.scheme}, which is run")
    for column, (name, unit) in _PRINTED.items():
        ours = getattr(setup, name)
        if (row.number(column) * unit if row[column] else None) != ours:
            raise row.error(column, "empty" if ours is None else f"{ours / unit:g}, which is run")
    window = row.whole("window_bytes")
    for packet, ours in ((setup.fast_packet, setup.fast_window), (setup.slow_packet, setup.slow_window)):
        if window // packet * packet != ours:
            raise row.error("window_bytes", f"{ours // packet} packets of {packet}, which are run")
