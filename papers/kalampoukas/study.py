"""What the study needs of code: closed forms, numbers in notes, drawings of single runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, get_args

import polars as pl

from perhop.experiment.definition import Campaign
from perhop.models import two_way
from perhop.models.two_way_setup import Setup
from perhop.papers.outcome import Outcome
from perhop.plot import curves
from perhop.plot.style import DASHES
from perhop.report import page
from perhop.report.study import Section
from perhop.run.run import Result
from perhop.say.document import Table
from perhop.scenario.scenario import Scenario

CAMPAIGN, SIDES = "campaign.toml", ("slow", "fast")
EFFICIENCIES = ("slow_efficiency", "fast_efficiency")

setup = cache(Setup.of)


def form(name: two_way.Form, scenario: Scenario, response: str) -> float | None:
    """Return an efficiency or a throughput by a closed form, the longest queue by Theorem 2."""
    own, (side, _, measure) = setup(scenario), response.partition("_")
    if response == "slow_queue_data" and name == "printed" and own.scheme == "fifo":
        # it is about data and ACKs in one shared FIFO, traffic both ways
        return theorem_2(own)
    found = own.closed_form(name) if measure in ("efficiency", "throughput") else None
    if found is None:
        return None
    rate = own.slow_rate if side == "slow" else own.fast_rate
    return float(getattr(found, side)) * (rate / 1e3 if measure == "throughput" else 1.0)


FORMS = {name: partial(form, name) for name in get_args(two_way.Form)}


def theorem_2(own: Setup) -> float | None:
    """Return its bound on the slow queue in packets, of any scheme; None without a slow connection."""
    return None if own.alone else float(two_way.max_queue(own.model()).slow)


def window(scenario: Scenario) -> range:
    """Return what window of the fast connection, in bytes, is as many whole packets as are run."""
    own = setup(scenario)
    return range(own.fast_window, own.fast_window + own.fast_packet)


def windows(scenario: Scenario) -> range:
    """Return what window of both connections is as many whole packets of each as are run."""
    own, fast = setup(scenario), window(scenario)
    return range(max(fast.start, own.slow_window), min(fast.stop, own.slow_window + own.slow_packet))


def parameter(name: str, unit: float, scenario: Scenario) -> float | None:
    """Return a parameter of a set-up in a unit."""
    found: float | None = getattr(setup(scenario), name)
    return None if found is None else found / unit


STATED = {
    "fast_mbps": partial(parameter, "fast_rate", 1e6),
    "slow_kbps": partial(parameter, "slow_rate", 1e3),
    "fast_pkt_bytes": partial(parameter, "fast_packet", 1),
    "slow_pkt_bytes": partial(parameter, "slow_packet", 1),
    "ack_bytes": partial(parameter, "ack", 1),
    "window_bytes": windows,
    "backpressure_pkts": partial(parameter, "threshold", 1),
    "f": partial(parameter, "share", 1),
    "connections_each_way": partial(parameter, "connections", 1),
    "fast_socket_buffer_bytes": window,
    "traffic": lambda scenario: "one-way" if setup(scenario).alone else "two-way",
}


def figures(campaign: Campaign) -> dict[str, Scenario]:
    """Return the scenario of each figure."""
    treatments = campaign.design.treatments
    return {one.levels[-1]: campaign.scenario.override(*one.overrides) for one in treatments}


def distance(outcome: Outcome, name: str, figure: str) -> float:
    """Return the larger distance of a figure's efficiencies to a closed form."""
    measured, scenario = outcome.measured[CAMPAIGN], figures(outcome.campaigns[CAMPAIGN])[figure]
    found = [(measured.mean(one, figure=figure), FORMS[name](scenario, one)) for one in EFFICIENCIES]
    return max(abs(ours - value) for ours, value in found if value is not None)


def allocation(outcome: Outcome) -> Mapping[str, Any]:
    """Return how far the two-counter scheduler is from each form of (6.2), and which is nearer."""
    far = {name: distance(outcome, name, "6.2") for name in FORMS}
    return {**far, "nearer": "bounded" if far["bounded"] < far["printed"] else "printed"}


def modem(outcome: Outcome) -> str:
    """Return what losses in the modem do to the jump at 16 KB; a `KeyError` without such readings."""
    lossy = {name: own[CAMPAIGN] for name, own in outcome.read.items() if "modem buffer" in name}
    if not lossy:
        raise KeyError("modem buffer")
    each = []
    for name, own in {"Nothing lost": outcome.measured[CAMPAIGN], **lossy}.items():
        of = (("fast", "3.2-8192"), ("fast", "3.2-16384"), ("slow", "3.2-16384"))
        runs = [own.values(f"{side}_throughput", figure=figure) for side, figure in of]
        ends = [[f"{end:.0f}" for end in (one.min(), one.max())] for one in runs]
        small, large, slow = (" to ".join(dict.fromkeys(one)) for one in ends)
        called = f'"{name}": {small}' if name in lossy else f"{name}: {small}"
        each.append(f"{called} kbit/s with 8 KB, {large} with 16 KB, the slow connection then {slow}.")
    return " ".join(each)


NUMBERS = {
    "allocation": allocation,
    "modem": modem,
    # how near theory comes to the effect of a higher threshold
    "thresholds": lambda outcome: max(
        1e-4, *(distance(outcome, "bounded", one) for one in ("5.3", "5.3-b2", "5.3-b4", "5.3-b8"))
    ),
}


def warnings(outcome: Outcome) -> Iterator[str]:
    """Yield the runs that lose packets or exceed the queue of Theorem 2."""
    for figure, scenario in figures(outcome.campaigns[CAMPAIGN]).items():
        rows = outcome.measured[CAMPAIGN].scalars.filter(pl.col("figure") == figure)
        if rows.filter(pl.col("response") == "dropped")["value"].sum() > 0:
            yield f"figure {figure}: packets were lost; the closed forms assume none"
        longest = rows.filter(pl.col("response") == "slow_queue_data")["value"].max()
        bound = theorem_2(setup(scenario))
        if isinstance(longest, float) and bound is not None and longest > bound:
            about = setup(scenario).scheme == "fifo"
            allows = "allows" if about else "is not about this scheme, but would allow"
            yield f"figure {figure}: {longest:.0f} data packets waited; Theorem 2 {allows} {bound:.1f}"


Rows = Mapping[tuple[str, str], Mapping[str, Any]]  # of the document, by figure and quantity


def sections(outcome: Outcome) -> Iterator[Section]:
    """Yield the longest queues, and the figures as the paper draws them."""
    rows = {(row["id"], row["quantity"]): row for row in outcome.document["rows"]}
    scenarios, again = figures(outcome.campaigns[CAMPAIGN]), outcome.document["command"]
    titles = outcome.labels
    yield queues(titles, rows, scenarios, again)
    over_time = [drawn(name, titles[name], scenarios[name], rows, run) for name, run in outcome.drawn.items()]
    text = ["As the paper draws them, over intervals of 3 s: the first 300 s of the first replication."]
    yield Section("over-buffers", "Figure 3.2", drawings=[buffers(rows, scenarios, again)])
    yield Section("over-time", "Figures over time", text, drawings=over_time, paired=True)


def queues(titles: Mapping[str, str], rows: Rows, scenarios: Mapping[str, Scenario], again: str) -> Section:
    """Return the longest queues beside Theorem 2, of schemes it is not about for comparison alone."""
    found, names = [], ("slow_queue_data", "slow_queue_packets", "slow_link_utilization")
    for name, scenario in scenarios.items():
        data, packets, busy = (rows[name, of]["simulated"]["mean"] for of in names)
        bound, about = theorem_2(setup(scenario)), setup(scenario).scheme == "fifo"
        told = None if bound is None else f"{bound:.1f}" if about else f"{bound:.1f} (outside the theorem)"
        found.append((titles[name], f"{data:.1f}", told, f"{packets:.1f}", f"{100 * busy:.1f} %"))
    text = (
        "At the slow node, without the packet being sent. Theorem 2 bounds the data in a shared FIFO, both "
        "ways in use; for other schemes it proves nothing, and is here for comparison alone."
    )
    columns = ("figure", "longest, data", "Theorem 2", "longest, with ACKs", "slow link busy")
    table = Table("In packets", columns, found, 1, command=again)
    return Section("queues", "Longest queues", [text], [table])


def lines_of(scenario: Scenario, result: Result) -> list[curves.Line]:
    """Return a line for each connection of a run, and for sums of several; the first 300 s.

    Efficiencies; over the cable modem throughputs, kbit/s.
    """
    own = setup(scenario)
    rates = {"slow": own.slow_rate, "fast": own.fast_rate} if is_base(own) else dict.fromkeys(SIDES, 1e3)
    goodput = result.series.filter(pl.col("quantity") == "goodput_bit_s", pl.col("time_s") <= 300.0)
    found = []
    for color, side in enumerate(SIDES):
        flows = result.flows.filter(pl.col("from") == side)["name"].to_list()
        shown = [([name], f"{side} ({name})", DASHES[0]) for name in flows]
        if len(flows) > 1:
            shown = [([name], f"{side}, each", DASHES[1]) for name in flows]
            shown.append((flows, f"{side}, together", DASHES[0]))
        for names, label, dash in shown:
            rows = goodput.filter(pl.col("path").is_in([f"flow.{name}" for name in names]))
            rows = rows.group_by("time_s").agg(pl.sum("value")).sort("time_s")
            x, y = rows["time_s"].to_list(), (rows["value"] / rates[side]).to_list()
            found.append(curves.Line(label, x, y, (), color, marker="", dash=dash, steps=True))
    return found


def is_base(own: Setup) -> bool:
    """Return whether it is not the cable modem, of which the paper prints throughputs."""
    return own.fast_rate == 5e6


def drawn(name: str, title: str, scenario: Scenario, rows: Rows, result: Result) -> page.Drawing:
    """Draw a figure over time, with the means after the warm-up."""
    unit = "efficiency" if is_base(setup(scenario)) else "throughput"
    own = {side: rows[name, f"{side}_{unit}"] for side in SIDES if (name, f"{side}_{unit}") in rows}
    means = []
    for side, row in own.items():
        paper = "" if row["published"] is None else f" (paper {row['published']:.4g})"
        means.append(f"{side} {row['simulated']['mean']:.4g}{paper}")
    in_unit = " in kbit/s" if unit == "throughput" else ""
    panel = curves.Panel(unit + in_unit, lines_of(scenario, result))
    svg = curves.draw([panel], "time in s", title, 2.9, 5.6)
    changes = "".join(f" -s '{' '.join(change.split())}'" for change in scenario.overrides)
    command = f"perhop run papers/kalampoukas/bandwidth-allocation.toml{changes}"
    caption = f"Mean {unit} after the warm-up{in_unit}: {', '.join(means)}."
    return page.drawing(f"figure-{name}", title, svg, caption, command)


def buffers(rows: Rows, scenarios: Mapping[str, Scenario], again: str) -> page.Drawing:
    """Draw throughput against the buffer: two-way points joined, one-way points apart."""
    named = ((name, row) for (name, quantity), row in rows.items() if quantity == "fast_throughput")
    shown = [(setup(scenarios[name]), row) for name, row in named if row["table"] == "figure3_2"]
    lines = []
    for alone, way, dash in ((False, "two-way", ":"), (True, "one-way", "none")):
        own = {of.fast_window / 1024: row for of, row in shown if of.alone == alone}
        for color, name, marker in ((1, "published", "D"), (3, "printed", "s"), (2, "bounded", "o")):
            values = [{**row, **row["closed_form"]}[name] for row in own.values()]
            y = [math.nan if value is None else value for value in values]
            called = name if name == "published" else f"{name} form"
            lines.append(curves.Line(f"{called}, {way}", [*own], y, (), color, True, marker, dash))
        found: Sequence[Any] = [row["simulated"] for row in own.values()]
        mean, ends = [one["mean"] for one in found], [one["ci95"] for one in found]
        lines.append(curves.Line(f"simulated, {way}", [*own], mean, ends, 0, marker="_", dash=dash))
    title = "Throughput of the fast connection against its socket buffer"
    across = "socket buffer of the fast connection in KB (1024 bytes)"
    svg = curves.draw([curves.Panel("throughput in kbit/s", lines)], across, title, 4.6, 7.6, ("x", "y"))
    caption = "Two-way points are joined by lines. For two-way traffic and 16 KB the paper prints no number."
    return page.drawing("figure-3.2", f"3.2 {title}", svg, caption, again)
