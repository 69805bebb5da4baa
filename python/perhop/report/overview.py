"""The picture that a run's page begins with: throughput of the busiest link, its queues, round-trip times."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import TYPE_CHECKING

import polars as pl

from perhop.models.network import Flow, Network
from perhop.plot import panels, series
from perhop.report.figure import Figure
from perhop.run import summary
from perhop.say.run import FEW_FLOWS
from perhop.units import Scale, bit_rate

if TYPE_CHECKING:
    from perhop.run.record import StoredRun
    from perhop.scenario.scenario import Description, LinkView, Scenario

_TITLE = "Throughput, queue and round-trip time"
CAPTION = (
    "Above, the link that was busiest, and the way back over it if data go that way too. The line named rate "
    "is what the link can carry, total is what it transmitted. Lines of classes and flows are goodput: "
    "payload delivered in order, which a repaired loss delivers at once. Below, packets waiting before the "
    "link, and TCP's smoothed round-trip time, the mean over flows that got something in the interval. The "
    "warm-up is shaded."
)
"""The words below the panels."""
_GOODPUT = ("goodput_bit_s", "throughput_bit_s")
_MOST_LINES = 6
_FAR = 8.0
"""A link's rate is drawn unless it is more than that many times what the link transmitted."""


@dataclass(frozen=True)
class _Group:
    """Flows that are one line, by the paths of their series; without a colour where all flows are one."""

    name: str
    paths: frozenset[str]
    color: int | None


def figure(run: StoredRun, meaning: Description, table: pl.DataFrame, warmup_s: float) -> Figure:
    """Return the figure of a part of the run's series, made when it is drawn first."""
    classes = {*summary.class_of(meaning).values()}
    most = max(len(classes), *(len(one.port.classes) for one in meaning.links), 0)
    cut = f" Of more than {_MOST_LINES} classes or queues the largest are drawn."
    left_out = cut if most > _MOST_LINES else ""

    @cache
    def made() -> panels.Panels:
        return _Overview(run.scenario(), meaning, run.table("links"), table).drawn(warmup_s)

    return Figure(
        "overview",
        _TITLE,
        CAPTION + left_out + series.thinned_in_words(table),
        lambda: panels.draw(made(), _TITLE) if made().panels else None,
        lambda: panels.table(made()),
        "series",
        lambda: panels.data(made()),
    )


def whole(scenario: Scenario, links: pl.DataFrame, table: pl.DataFrame) -> panels.Panels:
    """Return what `figure` draws of a run by its tables, and the congestion windows."""
    meaning = scenario.describe()
    return _Overview(scenario, meaning, links, table).drawn(meaning.run.warmup_s, has_windows=True)


class _Overview:
    """Links, groups of flows and values over time, as drawn of a run."""

    def __init__(
        self, scenario: Scenario, meaning: Description, busy: pl.DataFrame, table: pl.DataFrame
    ) -> None:
        self._meaning, self._series, self._network = meaning, table, Network(scenario)
        self._time = table.select(pl.col("time_s").unique().sort())
        self._links = self._busiest(busy)
        self._groups = self._grouped()

    def drawn(self, warmup_s: float, *, has_windows: bool = False) -> panels.Panels:
        """Return a panel for each link, one of queues, one of round-trip times, none of zeros alone."""
        time = self._thinned(self._time.with_columns(value=0.0))["time_s"].to_list()
        found = [*map(self._throughput, self._links), self._queues(), self._round_trips()]
        found += [self._windows()] if has_windows else []
        shown = [one for one in found if len(time) > 1 and any(any(line.values) for line in one.lines)]
        return panels.Panels(time, shown, warmup_s)

    def _busiest(self, links: pl.DataFrame) -> list[LinkView]:
        """Return the link that was busy most, and the way back over it if data go that way too."""
        busy = links.sort("utilization", descending=True, maintain_order=True)
        named = {link.name: link for link in self._meaning.links}
        if busy.is_empty() or not busy["utilization"][0]:
            return []
        first = named[busy["name"][0]]
        back = [one for one in named.values() if (one.source, one.target) == (first.target, first.source)]
        return [first, *(one for one in back[:1] if self._passing(one))]

    def _passing(self, link: LinkView) -> frozenset[str]:
        """Return the paths of the flows whose data pass a link."""
        users = [one for one in self._network.users(link) if link in one.there]
        return frozenset(f"{'flow' if isinstance(one, Flow) else 'udp'}.{one.view.name}" for one in users)

    def _grouped(self) -> list[_Group]:
        """Return classes as groups, or the few flows of one class, or all as one without a colour."""
        passing = frozenset[str]().union(*map(self._passing, self._links))
        of: dict[str, list[str]] = {}
        for path, class_ in summary.class_of(self._meaning).items():
            if path in passing:
                of.setdefault(class_, []).append(path)
        if len(of) == 1:
            (all_flows,) = of.values()
            few = {path.partition(".")[2]: [path] for path in all_flows}
            of = few if len(few) <= FEW_FLOWS else {"all flows": all_flows}
        names = sorted(of, key=lambda name: -self._rows(_GOODPUT, of[name])["value"].sum())[:_MOST_LINES]
        return [
            _Group(name, frozenset(own), None if len(of) == 1 else place)
            for place, (name, own) in enumerate(one for one in of.items() if one[0] in names)
        ]

    def _throughput(self, link: LinkView) -> panels.Panel:
        passing = self._passing(link)
        rate = min(link.rate_bit_s, link.port.shaper.rate_bit_s if link.port.shaper else link.rate_bit_s)
        scale = Scale.of("bit/s", rate)
        own = [(group, group.paths & passing) for group in self._groups]
        lines = [
            panels.Line(group.name, self._goodput(paths, scale), group.color, index)
            for index, (group, paths) in enumerate(own)
            if paths
        ]
        if link.trace is not None:
            # the share of the time in which it was busy does not tell how much it carried
            whole = panels.Line("goodput", self._goodput(passing, scale))
        else:
            busy = self._rows(("utilization",), [f"link.{link.name}"])
            carried = pl.sum("value") * link.rate_bit_s / scale.factor
            whole = panels.Line("total", self._values(busy, carried))
        lines = [whole, *(lines if len(self._groups) > 1 else [])]
        if max((one or 0.0 for one in whole.values), default=0.0) * _FAR > rate / scale.factor:
            name = f"{'mean rate' if link.trace is not None else 'rate'} {bit_rate(rate)}"
            lines.append(panels.Line(name, [rate / scale.factor] * len(whole.values), None, 1))
        label = f"throughput of {link.name}, {scale.unit}"
        return panels.Panel(label, lines, is_of_intervals=True)

    def _goodput(self, paths: frozenset[str], scale: Scale) -> list[float | None]:
        return self._values(self._rows(_GOODPUT, paths), pl.sum("value") / scale.factor)

    def _queues(self) -> panels.Panel:
        """Return the queues before the links; each is called by its class where its port has several."""
        found = []
        for link in self._links:
            for one in link.port.classes:
                parts = [link.name] if len(self._links) > 1 else []
                parts += [one.name] if len(link.port.classes) > 1 else []
                rows = self._rows(("backlog_packets",), [f"{link.port.path}.class.{one.name}"])
                found.append((" ".join(parts) or "queue", self._values(rows, pl.sum("value"))))
        longest = sorted(found, key=lambda one: -max((value or 0.0 for value in one[1]), default=0.0))
        shown = [one for one in found if one in longest[:_MOST_LINES]]
        # a queue has the colour of the class that is called as it is, else one that no class has
        colors = {group.name: group.color for group in self._groups}
        unused, lines = count(len(self._groups)), []
        for place, (name, values) in enumerate(shown):
            color = None if len(shown) == 1 else colors[name] if name in colors else next(unused)
            lines.append(panels.Line(name, values, color, place))
        return panels.Panel("packets waiting", lines)

    def _round_trips(self) -> panels.Panel:
        """Return the mean round-trip time of each group, over flows that got something."""
        got = self._series.filter(pl.col("quantity").is_in(_GOODPUT), pl.col("value") > 0)
        rows = self._series.filter(quantity="srtt_s").join(got, ["time_s", "path"], "semi")
        return panels.Panel("round-trip time, ms", self._of_groups(rows, 1e3 * pl.mean("value")))

    def _windows(self) -> panels.Panel:
        """Return the mean congestion window of each group."""
        rows = self._series.filter(quantity="cwnd_bytes")
        return panels.Panel("mean congestion window, kB", self._of_groups(rows, pl.mean("value") / 1e3))

    def _of_groups(self, rows: pl.DataFrame, over_paths: pl.Expr) -> list[panels.Line]:
        """Return a line for each group that has a value other than zero."""
        own = [rows.filter(pl.col("path").is_in(list(one.paths))) for one in self._groups]
        lines = [
            panels.Line(one.name, self._values(each, over_paths), one.color, place)
            for place, (one, each) in enumerate(zip(self._groups, own, strict=True))
        ]
        return [one for one in lines if any(one.values)]

    def _rows(self, quantities: Collection[str], paths: Collection[str]) -> pl.DataFrame:
        return self._series.filter(
            pl.col("quantity").is_in(list(quantities)), pl.col("path").is_in(list(paths))
        )

    def _values(self, rows: pl.DataFrame, over_paths: pl.Expr) -> list[float | None]:
        """Return a value for each time that is drawn, of all paths together."""
        each = rows.group_by("time_s", maintain_order=True).agg(value=over_paths)
        joined = self._time.join(each, "time_s", "left")
        found: list[float | None] = self._thinned(joined)["value"].to_list()
        return found

    def _thinned(self, values: pl.DataFrame) -> pl.DataFrame:
        return series.thinned(values.with_columns(path=pl.lit(""))).sort("time_s")
