"""What data cannot say of this study: Figures 2 to 5, what its printed tables imply, and the calibration."""

from __future__ import annotations

import csv
import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perhop.experiment.definition import Campaign
from perhop.judge.measured import Floats, Measurements
from perhop.papers.outcome import Outcome
from perhop.plot import bars
from perhop.report import page
from perhop.report.study import Section
from perhop.stats.fairness import least_jain
from perhop.stats.summaries import variance_ratio, welch

HERE = Path(__file__).parent
MARKINGS = ("per-flow", "aggregate")
FLOWS, CIR_KBPS, TEST = 4, 800.0, 5
"""Flows of the customer, its committed rate (section 4.4), runs of a test (section 4.5)."""

Printed = Mapping[str, Mapping[str, float]]


def printed() -> Printed:
    """Return the numbers of Tables 2 to 5 by way of marking and quantity."""
    found: dict[str, dict[str, float]] = {}
    for file, name in (("throughput", "{metric}"), ("fairness", "{component}_fairness")):
        with (HERE / "published" / f"{file}.csv").open(encoding="utf-8") as table:
            for line in csv.DictReader(table):
                own, quantity = found.setdefault(line["case"], {}), name.format_map(line)
                own[quantity] = float(line["mean"])
                columns = ("sdev", "min", "max") if "min" in line else ("sdev",)
                own |= {f"{quantity}_{column}": float(line[column]) for column in columns}
    return found


# the page


def sections(outcome: Outcome) -> list[Section]:
    """Draw Figures 2 to 5: what each flow got in one run."""
    measured, (runs, *_) = outcome.measured["campaign.toml"], outcome.document["runs"]
    settings = {one["name"]: one["settings"] for one in outcome.document["treatments"]}
    drawings = []
    for case, numbers, title in (
        ("per-flow", "2 and 3", "a meter for each flow"),
        ("aggregate", "4 and 5", "one meter for the customer"),
    ):
        title = f"Figures {numbers}: {title}"
        panels = []
        for name in ("throughput", "committed", "excess"):
            rates = measured.rows(name, case=case).filter(replication=0).sort("name")["value"]
            panels.append((f"{name}, kbit/s", [bars.Bar(str(i), None, x, None) for i, x in enumerate(rates)]))
        names = ("total", "committed", "excess")
        fairness = [measured.values(f"{name}_fairness", case=case)[0] for name in names]
        parts = [f"{name} {first:.3f}" for name, first in zip(names, fairness, strict=True)]
        caption = f"An equal share is {CIR_KBPS / FLOWS:g} kbit/s. Fairness here: {', '.join(parts)}."
        command = f"{runs['command']} {settings[f'case={case}']}".rstrip()
        drawings.append(page.drawing(f"figures-{case}", title, bars.draw(panels, title), caption, command))
    text = "One run each, as the paper shows it: here replication 0. It prints no numbers for these figures."
    return [Section("flows", "Each flow in one run", [text], drawings=drawings)]


def by_run(measured: Measurements, case: str) -> Floats:
    """Return the throughput of each flow, a row for each run."""
    rows = measured.rows("throughput", case=case).partition_by("replication")
    return np.array([run["value"].to_numpy() for run in rows])


# numbers in the findings of study.toml; without a value the finding is left out


def of_record(_: Outcome) -> dict[str, Any]:
    """Return what the record of the calibration shows about L2 and L3."""
    record = json.loads((HERE / "calibration.json").read_text(encoding="utf-8"))
    found = record["fits"]["as fitted"]
    points = [[one["simulated"][marking] for marking in MARKINGS] for one in record["points"]]
    used = [a["cir_utilization"] - b["cir_utilization"] for a, b in points]
    return {
        **record,
        **found,
        "names": ", ".join(name.replace("_", " ") for name in found["chosen"]),
        "fitted": len(record["fitted"]),
        "tried": len(points),
        "most": max(used),
        "less": sum(one < 0 for one in used),
        "higher": sum(a["aggregate_throughput"] > b["aggregate_throughput"] for a, b in points),
    }


def of_tables(_: Outcome) -> dict[str, Any]:
    """Return what the tables imply: the least fairness, the range of the excess rate."""
    each, together = (printed()[marking] for marking in MARKINGS)
    smallest = each["aggregate_throughput_min"] / FLOWS
    lows, highs = zip(*map(excess_denominator, (each, together)), strict=True)
    least = least_jain(smallest, each["per_flow_throughput_sdev"], FLOWS, TEST)
    return {"least": least, "low": max(lows), "high": min(highs)}


def excess_denominator(table: Mapping[str, float]) -> tuple[float, float]:
    """Return the range of the excess rate, kbit/s, that a table of two decimals implies."""
    used, excess, every = table["cir_utilization"], table["excess_utilization"], table["aggregate_throughput"]
    low, high = ((every - (used + off) * CIR_KBPS) / (excess + off) for off in (0.005, -0.005))
    return low, high


def of_significance(_: Outcome) -> str:
    """Return the significance of each printed difference in fairness, over the five runs of a test."""
    tables, words = [printed()[marking] for marking in MARKINGS], []
    for component in ("committed", "excess", "total"):
        a, b = (one[f"{component}_fairness"] for one in tables)
        first, second = (one[f"{component}_fairness_sdev"] for one in tables)
        t, p = welch((a, b), (first, second), TEST)
        words.append(f"{component} {a:g} against {b:g} (Welch's t = {t:.1f}, p = {p:.2f})")
    return "; ".join(words)


def of_ceiling(outcome: Outcome) -> dict[str, Any]:
    """Return how far the largest flow of a test exceeds the mean, printed and simulated."""
    table, runs = printed()["aggregate"], by_run(outcome.measured["campaign.toml"], "aggregate")
    mean, spread, largest = (table[f"per_flow_throughput{end}"] for end in ("", "_sdev", "_max"))
    tests = runs[: len(runs) // TEST * TEST].reshape(-1, TEST * FLOWS)
    above = [float((one.max() - one.mean()) / np.std(one, ddof=1)) for one in tests if np.ptp(one) > 0]
    if not above:
        raise KeyError("no test has any spread")
    found = {"tests": len(above), "low": min(above), "high": max(above), "ours": tests.max()}
    return {"largest": largest, "off": (largest - mean) / spread, "share": CIR_KBPS / FLOWS, **found}


def of_common_mode(outcome: Outcome) -> dict[str, Any]:
    """Return how much the sums vary from run to run, printed against simulated."""
    each = printed()["per-flow"]
    ours = outcome.measured["campaign.toml"].values("aggregate_throughput", case="per-flow")
    spread, against = each["aggregate_throughput_sdev"], float(np.std(ours, ddof=1)) if len(ours) > 1 else 0.0
    if against == 0.0:
        raise KeyError("runs do not vary")
    ratio, probability = variance_ratio(spread, TEST, against, len(ours))
    alone = math.sqrt(FLOWS) * each["per_flow_throughput_sdev"]
    found = {"against": against, "ours": len(ours), "ratio": ratio, "probability": probability}
    return {"spread": spread, "alone": alone, **found}


NUMBERS = {
    "printed": lambda _: printed(),
    "record": of_record,
    "tables": of_tables,
    "significance": of_significance,
    "ceiling": of_ceiling,
    "common_mode": of_common_mode,
}

# the calibration: every combination of combinations.toml, the nearest to one part of the tables


def calibrate(run: Callable[[Sequence[Campaign], str], list[Measurements]]) -> dict[str, Any]:
    """Run every combination of what the paper leaves open and return the record, as calibration.toml says."""
    tried = Campaign.load(HERE / "combinations.toml")
    (measured,) = run([tried], "calibration")
    return record_of(tried, measured)


def record_of(tried: Campaign, measured: Measurements) -> dict[str, Any]:
    """Return the record of the combinations, whose last factor is the marking."""
    table, tables = tomllib.loads((HERE / "calibration.toml").read_text(encoding="utf-8")), printed()
    (*names, last), fit, predicted = tried.design.names, table["fit"], table["predict"]["quantities"]
    rows = measured.scalars.group_by(*names, last, "response").mean()
    means = {tuple(key): value for *key, value in rows.select(*names, last, "response", "value").iter_rows()}
    points = list[dict[str, Any]]()
    for levels in dict.fromkeys(one.levels[:-1] for one in tried.design.treatments):
        found, errors = {}, {}
        for one in MARKINGS:
            found[one] = {name: means[*levels, one, name] for name in predicted}
            rest = [name for name in predicted if not (one == fit["marking"] and name in fit["quantities"])]
            errors[one] = round(relative_error(found[one], tables[one], rest), 4)
        error = relative_error(found[fit["marking"]], tables[fit["marking"]], fit["quantities"])
        rounded = {one: {name: round(value, 4) for name, value in own.items()} for one, own in found.items()}
        point = [int(level) if level.isdigit() else level for level in levels]
        points.append({"fit": "as fitted", "levels": point, "error": round(error, 4)})
        points[-1] |= {"held out": errors, "simulated": rounded}
    every = [(dict(zip(names, one["levels"], strict=True)), one) for one in points]
    every.sort(key=lambda one: one[1]["error"])
    admitted = [one for one in every if table["stated"].items() <= one[0].items()]
    return {
        "paper": "laatu",
        "command": "perhop reproduce laatu --calibrate",
        "fitted": fit["quantities"],
        "marking": fit["marking"],
        "independent": fit["independent"],
        "free": len(names) - len(table["stated"]),
        "predicted": predicted,
        "replications": tried.design.replications,
        "stated": table["stated"],
        "fits": {
            name: {"chosen": point, "error": one["error"], "held out": one["held out"]}
            for name, (point, one) in (("as fitted", admitted[0]), ("nearest", every[0]))
        },
        "points": points,
    }


def relative_error(simulated: Mapping[str, float], table: Mapping[str, float], names: Sequence[str]) -> float:
    """Return the root mean square of the relative distances from the printed numbers."""
    return math.sqrt(sum((simulated[name] / table[name] - 1.0) ** 2 for name in names) / len(names))
