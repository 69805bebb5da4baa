"""What data cannot say of this study: settings that parameters make together, sweeps, a fit, a trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from perhop.experiment.definition import Campaign
from perhop.judge.campaign import checked
from perhop.judge.forms import PrintedValue
from perhop.judge.measured import Measurements
from perhop.papers.campaigns import having, short, varied
from perhop.papers.fit import BASE, Fit, Point, Search, Value, fit_record, fit_section, load_fit, read_record
from perhop.papers.folder import load
from perhop.papers.outcome import Outcome
from perhop.plot import backlog, marks
from perhop.report import page
from perhop.report.study import Section
from perhop.say.document import Table

HERE = Path(__file__).parent
FRIENDLY, BUCKET = "tcp-friendly", "token-bucket"
PACKET, INTERVAL_S = 1024, 0.25  # bytes, headers included; the marking interval T (section 4)
SWEPT = {
    "claims.toml": (("1",), None, ()),
    "claims-assured.toml": (("6",), ("15", "30", "45"), ("averaging", "depth", "beyond_tokens", "carry")),
}
"""Of a file of claims the figures and tokens that are swept, over which parameters; () is over all."""
SECOND = "second fit"  # the search that may take values that are only swept
DRAWN_S, SHOWN = 20.0, range(40, 56)  # of the queue in a trace; intervals whose marks are drawn


FIT = load_fit(HERE, Fit)
SEARCH = FIT.search


def parameters(levels: Mapping[str, str], change: Mapping[str, Value]) -> list[str]:
    """Return the settings of a treatment where parameters are not what the calibration chose."""
    for name, value in change.items():
        if name not in FIT.parameters or value not in FIT.parameters[name].levels:
            raise ValueError(f"{name} = {value!r} is not tried in calibration.toml")
    if change.items() <= FIT.chosen.items():
        raise ValueError("is what calibration.toml chose: leave the reading out")
    return settings(levels, {**FIT.chosen, **change})


def settings(levels: Mapping[str, str], point: Mapping[str, Value]) -> list[str]:
    """Return all settings of a treatment that hang on parameters."""
    marker, window = levels["marker"], int(point["window"])
    edge = int(point["tokens"]) * (10 if levels["figure"] == "3" else 1)
    tokens = int(levels.get("tokens", edge))
    found = [*FIT.settings(point, marker), f"flow.bulk.tcp.window={window}KiB"]
    if "tokens" in levels:
        # what the promised rate needs over a quarter of a second, or as much as any flow
        found.append(f"flow.assured.tcp.window={max(window, tokens)}KiB")
    meter = "conditioner.marker.meter"
    if marker == FRIENDLY:
        carried = round(float(point["carry"]) * tokens)
        return [*found, f"{meter}.tokens={tokens}", f"{meter}.carry_tokens={carried}"]
    if marker == BUCKET:
        cir = f"{tokens * PACKET * 8 / INTERVAL_S:.0f}bit/s"
        cbs = f"{max(PACKET, round(float(point['depth']) * tokens * PACKET))}B"
        return [*found, f'{meter}={{ kind = "token-bucket", cir = "{cir}", cbs = "{cbs}" }}']
    color = "green" if point["unmarked"] == "in" else "red"
    return [*found, f"port.r2-r3.class.all.queue.colors.BE={color}"]


def sweeps() -> dict[str, Campaign]:
    """Return Table 1 over each parameter, Table 6 at three rates over those that move it most."""
    found = {}
    for file, (figures, tokens, names) in SWEPT.items():
        campaign = checked(HERE / file).campaign
        if campaign is not None:
            own = having(campaign, "figure", figures)
            own = short(own if tokens is None else having(own, "tokens", tokens), (), 4)
            for name in names or FIT.parameters:
                points = {str(value): {**FIT.chosen, name: value} for value in FIT.parameters[name].levels}
                found[f"{figures[0]} {name}"] = varied(own, name, points, settings)
    return found


# the page


def of_record(_: Outcome) -> dict[str, Any]:
    """Return what the record of the calibration says of both searches."""
    record = read_record(HERE)
    first, second = (record["fits"][name] for name in (BASE, SECOND))
    differ = [name for name, value in first["chosen"].items() if second["chosen"][name] != value]
    words = ", ".join(f"{name} ({second['chosen'][name]}, not {first['chosen'][name]})" for name in differ)
    return {**record, **first, "other": second["error"], "differences": words}


NUMBERS = {"record": of_record}


def sections(outcome: Outcome) -> Iterator[Section]:
    """Yield the marks of one flow and the queue by colour, from traces, and what was searched."""
    command = outcome.document["runs"][0]["command"]
    told = {one["name"]: one["settings"] for one in outcome.document["treatments"]}
    lines, queues, again = {}, {}, []
    for levels, run in outcome.drawn.items():
        figure, marker = levels.split(", ")
        trace = run.trace["packets"].filter(pl.col("time_s") < DRAWN_S)
        behind = (pl.col("event") == "enqueued") & pl.col("path").str.contains(r"^port\.e.*-r2\.")
        own = trace.filter(behind, flow="bulk[0]")
        is_in, interval = (own["mark"] == "AF11").to_numpy(), np.floor(own["time_s"].to_numpy() / INTERVAL_S)
        lines[marker] = [is_in[interval == k].tolist() for k in SHOWN]
        queues[marker] = backlog.backlog(trace, "port.r2-r3.")
        name = f"marker={marker} figure={figure}"
        again.append(f"{command} {told[name]}".rstrip() + f" --trace packets -o out/feroz-{marker}")
    text = """What Figure 1 of the paper sketches: packets of one flow, a line for each marking interval, from
    a traced run of the baseline. Below, what waits at the bottleneck by colour."""
    drawn = {
        "pattern": (
            *("Packets of one flow", marks.draw(lines, "Marks of bulk[0] by interval")),
            "From 10 s on; filled is IN, hollow is OUT.",
        ),
        "backlog": (
            *("The bottleneck's queue by colour", backlog.draw(queues, "Packets that wait, by colour")),
            "A cross is a dropped OUT packet, a triangle a dropped IN packet.",
        ),
    }
    drawings = [page.drawing(id_, *own, " && ".join(again)) for id_, own in drawn.items()]
    yield Section("marks", "Marks and queue", [text], drawings=drawings)
    record = read_record(HERE)
    columns = [(when, kind) for kind in ("levels", "ratios") for when in ("before", "after")]
    rows = [
        (
            outcome.labels[table],
            "fitted" if table in record["fitted"] else "predicted",
            *(f"{record['errors'][when][table][kind]:.3f}" for when, kind in columns),
        )
        for table in record["errors"]["after"]
    ]
    heads = ("table", "", "levels before", "after", "ratios between markers before", "after")
    caption = "The levels of Tables 2 and 3 exceed their links; only ratios can be compared there."
    errors = Table("Error of each table", heads, rows, 2, caption, record["command"])
    yield fit_section(FIT, record, [], [errors])


# the calibration: one parameter at a time, as calibration.toml says

Compared = list[tuple[PrintedValue, float]]  # printed values with the means of ours


def calibrate(run: Callable[[Sequence[Campaign], str], list[Measurements]]) -> dict[str, Any]:
    """Search the parameters, compare the result with the tables that were not fitted; return the record."""
    about = [one for one in load(HERE, "feroz").about if one.references.listed]

    def compared(points: Sequence[Point], tables: Sequence[str], often: int, label: str) -> list[Compared]:
        made, seed = {str(k): point for k, point in enumerate(points)}, [f"run.seed={SEARCH['seed']}"]
        asked = []
        for one in about:
            kept = [having(each, "figure", tables) for each in one.campaigns]
            own = [varied(each, "point", made, settings) for each in kept if each.design.treatments]
            asked += [(one, [short(each, seed, often) for each in own])] if own else []
        found = iter(run([each for _, own in asked for each in own], label))
        pairs: list[Compared] = [[] for _ in points]
        for one, own in asked:
            measured = one.measured([next(found) for _ in own])
            for value in one.references.listed:
                if value.place["figure"] in tables:
                    for k, pair in zip(made, pairs, strict=True):
                        pair.append((value, measured.mean(value.response, point=k, **value.place)))
        return pairs

    def errors(points: Sequence[Point]) -> list[float]:
        label = f"{len(points)} readings of Tables {', '.join(SEARCH['fit'])}"
        return [levels_error(one) for one in compared(points, SEARCH["fit"], SEARCH["replications"], label)]

    fits, points = dict[str, Any](), list[dict[str, Any]]()
    for name in (BASE, SECOND):
        every = FIT.parameters.items()
        values = {one: own.searched if name == BASE else (*own.levels,) for one, own in every}
        found, passes = Search(FIT.before, errors, SEARCH["least_gain"]), 1
        while found.go_through(values) and passes < SEARCH["most_passes"]:
            passes += 1
        fits[name] = {**found.found(), "passes": passes}
        points += found.points(name)
    # two replications are enough for a prediction, and the tables at 150 Mbit/s take long
    tables = sorted([*SEARCH["fit"], *SEARCH["predict"]])
    ends = compared([FIT.before, fits[BASE]["chosen"]], tables, 2, "before and after")
    return fit_record(
        *(HERE.name, SEARCH["fit"], fits, points),
        before=FIT.before,
        replications=SEARCH["replications"],
        seed=SEARCH["seed"],
        least_gain=SEARCH["least_gain"],
        errors={
            when: {
                table: {"levels": round(levels_error(own), 4), "ratios": round(ratios_error(own), 4)}
                for table in tables
                for own in [[pair for pair in end if pair[0].place["figure"] == table]]
            }
            for when, end in zip(("before", "after"), ends, strict=True)
        },
    )


def log_error(ours: float, published: float) -> float:
    """Return |ln(ours / published)|; infinite where ours is not above 0, nor where there is none."""
    return abs(math.log(ours / published)) if ours > 0 else math.inf


def added(pairs: Compared) -> Iterator[tuple[PrintedValue, float, float]]:
    """Yield printed values, with the means of ours and themselves after what makes zeros count is added."""
    for one, ours in pairs:
        c = SEARCH["offset"].get(one.response, 0.0)
        yield one, ours + c, one.value + c


def levels_error(pairs: Compared) -> float:
    """Return the mean error of means."""
    return sum(log_error(ours, printed) for _, ours, printed in added(pairs)) / len(pairs)


def ratios_error(pairs: Compared) -> float:
    """Return the mean error of ratios between markers: the first of each row over the others.

    For levels that can be compared with nothing, such as printed ones that exceed their links.
    """
    terms, firsts = list[float](), dict[tuple[str, ...], tuple[float, float]]()
    for one, *own in added(pairs):
        row = one.response, *(level for name, level in one.place.items() if name != "marker")
        (ours, printed), (above, first) = own, firsts.setdefault(row, (own[0], own[1]))
        if one.place["marker"] != FRIENDLY:
            terms.append(log_error(above / ours if ours > 0 else math.inf, first / printed))
    return sum(terms) / len(terms)
