"""Tables of the studies' full results, `papers/KEY/recorded/results.json`, for docs/generate.py."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from perhop.papers import kernel
from perhop.papers.folder import own_study
from perhop.papers.readings import judged_under
from perhop.report.answer_study import size

PAPERS = Path(__file__).resolve().parents[1] / "papers"
Rows = list[tuple[str, ...]]


@lru_cache
def _document(key: str) -> dict[str, Any]:
    path = PAPERS / key / "recorded" / "results.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SystemExit(f"papers/{key}/recorded/results.json: {error}\nhint: git checkout it") from None
    return found


def record(key: str) -> str:
    """Say what the tables of a study are made of."""
    found = _document(key)
    made = found["made"]
    days = " to ".join(_unique((made["began"], made["ended"])))
    minutes = made["run_seconds"] / 60
    unit = "minute" if round(minutes) == 1 else "minutes"
    return (
        f"Generated from `papers/{key}/recorded/results.json`: `{found['command']} --record`, "
        f"{made['runs']:,} runs of {days}, {minutes:.0f} {unit} of computing; "
        f"recorded under results "
        f"version {found['results_version']} at commit `{made['commit'][:12]}`."
    )


def verdicts(key: str) -> Rows:
    """Give the claims of a study: verdict, its margin as fitted, the readings that decide it."""
    head = ("Claim", "Statement", "Verdict", "As fitted, margin", "Decided by")
    return [
        (*head, "Power as fitted, with readings"),
        *(
            (
                claim["id"],
                claim["statement"],
                f"**{claim['verdict']}**" + (", in sample" if claim["in_sample"] else ""),
                _fitted(claim),
                _decided(claim),
                _power(claim["power"]),
            )
            for claim in _claims(key)
        ),
    ]


def matrix(key: str) -> Rows:
    """Give verdict and margin of each claim under each reading; what there is more of goes down."""
    cells, claims = dict[tuple[str, str], str](), _claims(key)
    for claim in claims:
        cells[claim["id"], "as fitted"] = _cell(claim["parts"], claim["parts"], "at_fit")
        for one in claim["readings"]:
            cells[claim["id"], one["id"]] = _cell(claim["parts"], one["parts"], "verdict")
    readings = _unique(reading for _, reading in cells)
    whole = {claim["id"]: _LETTER[claim["verdict"]] for claim in claims}
    if len(whole) >= len(readings):
        rows = [(id_, own, *(cells.get((id_, one), "") for one in readings)) for id_, own in whole.items()]
        return [("Claim", "Verdict", *readings), *rows]
    rows = [(one, *(cells.get((id_, one), "") for id_ in whole)) for one in readings]
    return [("Reading", *whole), ("**verdict**", *whole.values()), *rows]


def readings(key: str) -> Rows:
    """Count the readings of a study that each of its claims is judged under, as its pack has them."""
    study, rows = own_study(key), dict[tuple[str, str], list[str]]()
    for claim in study.claims:
        found = judged_under(study.readings, [one.id for one in study.readings if claim.id in one.claims])
        if found:
            told = f"{found['readings']} of {found['of']}", ", ".join(found["without"]) or "–"
            rows.setdefault(told, []).append(claim.id)
    return [("Claims", "Under", "Without"), *((", ".join(ids), *told) for told, ids in rows.items())]


def numbers(what: str) -> Rows:
    """Give the printed numbers of some tables, `KEY/TABLE,TABLE`, beside ours with half the 95 % interval."""
    key, _, tables = what.partition("/")
    found = [
        row
        for row in _document(key)["rows"]
        if row["table"] in tables.split(",") and (row["published"] is not None)
    ]
    ids, quantities = _unique(row["id"] for row in found), _unique(_quantity(row) for row in found)
    cells = {(row["id"], _quantity(row)): (_text(row["published"]), _ours(row["simulated"])) for row in found}
    down, across = (quantities, ids) if len(ids) < len(quantities) else (ids, quantities)
    empty = ("", "")
    head = ("", *(f"{one}: {whose}" for one in across for whose in ("paper", "here")))
    rows = [
        (
            one,
            *(text for other in across for text in cells.get((one, other)) or cells.get((other, one), empty)),
        )
        for one in down
    ]
    return [head, *rows]


def means(what: str) -> Rows:
    """Give the means of a table, `KEY/TABLE`, whose ids are `DOWN; ACROSS`, with half the 95 % interval."""
    key, _, table = what.partition("/")
    found = _placed(_document(key)["rows"], table)
    across = _unique(place[1] for place in found)
    rows = [
        (down, *(_ours(found[down, one]["simulated"]) if (down, one) in found else "" for one in across))
        for down in _unique(place[0] for place in found)
    ]
    return [("", *across), *rows]


def _placed(rows: list[dict[str, Any]], table: str) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return the rows of a table by the two parts of their ids."""
    return {tuple(row["id"].split("; ")): row for row in rows if row["table"] == table}


def levels(what: str) -> Rows:
    """Give the verdict at each level, `KEY/LETTERS`, of claims that have one there and whose ids begin so."""
    key, _, letters = what.partition("/")
    claims, verdicts = _claims(key), {one["id"]: one["verdict"] for one in _document(key)["claims"]}
    own = [one for one in claims if one["id"][0] in letters]
    names = _unique(name.partition("/")[2] for name in verdicts if "/" in name and name[0] in letters)
    rows = [
        (one["id"], one["statement"], *(verdicts.get(f"{one['id']}/{name}", "") for name in names))
        for one in own
        if any(f"{one['id']}/{name}" in verdicts for name in names)
    ]
    return [("Claim", "Statement", *names), *rows]


@lru_cache
def _kernel(key: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (PAPERS / key / "recorded" / "kernel.json").read_text(encoding="utf-8")
    )
    return found


def arms(what: str) -> Rows:
    """Give quantities, `KEY/QUANTITY,QUANTITY`, and all claims of a study by arm, also on real packets."""
    key, _, quantities = what.partition("/")
    found, over = _kernel(key), {one["id"]: one["verdict"] for one in _claims(key)}
    names = list(found["arms"])
    head = ("", "paper", "simulator, over readings", "simulator, as fitted")
    rows = [
        (
            f"{row['id']}: {_quantity(row)}",
            _text(row["published"]),
            "",
            *(_text(row[arm]["mean"]) if row[arm] else "–" for arm in names),
        )
        for row in found["rows"]
        if row["quantity"] in quantities.split(",") and row["published"] is not None
    ]
    verdicts = [
        (claim["id"], "", over[claim["id"]], *(claim[arm]["verdict"] for arm in names))
        for claim in found["claims"]
    ]
    return [(*head, *names[1:]), *rows, *verdicts]


def clocks(what: str) -> Rows:
    """Give the means of a table as in `means`, in virtual time and on real packets."""
    key, _, table = what.partition("/")
    found = _placed([row for row in _kernel(key)["rows"] if row["kernel"]], table)
    across, arms = _unique(place[1] for place in found), ("simulator", "kernel")
    head = ("", *(f"{one}: {arm}" for one in across for arm in arms))
    rows = [
        (down, *(_ours(found[down, one][arm]) for one in across for arm in arms))
        for down in _unique(place[0] for place in found)
    ]
    return [head, *rows]


def host(key: str) -> str:
    """Say what the hosts of a study's runs on real packets were told, and how late packets were."""
    found = _kernel(key)
    if not found.get("hosts"):
        return (
            f"`recorded/kernel.json` ({found['kernel']}, results version {found['results_version']}) was "
            "recorded before hosts were kept: commit, date, lateness, values of single runs, and what hosts "
            "were told and do otherwise are not in it."
        )
    live = kernel.lateness(found["runs"]).values()
    p99, latest = (1e3 * max(times) for times in zip(*live, strict=True))
    number = sum("lateness_s" in one for one in found["runs"])
    text = (
        f"`recorded/kernel.json`: {kernel.made_by(found)}; {number} runs on real packets, 99 % of the "
        f"packets of each at most {p99:.2f} ms late, the latest of all {latest:.1f} ms."
    )
    table = as_table([kernel.HOSTS, *kernel.host_settings(found)])
    differences = "\n".join(f"- {what}" for what in kernel.differences(found))
    return f"{text}\n\n{table}\n\nWhat the kernel does otherwise than the scenario says:\n\n{differences}"


def as_table(rows: Rows) -> str:
    """Write a table."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def _claims(key: str) -> list[dict[str, Any]]:
    return [claim for claim in _document(key)["claims"] if "/" not in claim["id"]]


_LETTER = {"supported": "S", "contradicted": "C", "inconclusive": "I", "not judged": "–"}


def _decided(claim: dict[str, Any]) -> str:
    """Name the readings that decide, and say of how many that were tried."""
    under = claim.get("judged_under")
    tried = f" (under {under['readings']} of {under['of']} readings)" if under else ""
    return (", ".join(claim["decided_by"]) or claim["evidence"]["decided"] or "–") + tried


def _fitted(claim: dict[str, Any]) -> str:
    """Say the verdict at the fitted point and the part that settles it."""
    whole = [one for one in claim["parts"] if one["verdict"] == claim["verdict"] == one["at_fit"]]
    parts = whole if claim["verdict"] == "contradicted" and whole else claim["parts"]
    settled = settling(parts, parts, "at_fit")
    if settled is None:
        return claim["reason"] or "not judged"
    verdict, distance, part, claimed = settled
    low, high = claimed["claimed"]
    ends = [f"{sign} {end:.4g}" for sign, end in (("≥", low), ("≤", high)) if end is not None]
    more = f" (of {len(claim['parts'])} parts this one)" if len(claim["parts"]) > 1 else ""
    words = {"supported": "by", "contradicted": "by", "inconclusive": "beyond by"}[verdict]
    asked = " and ".join(ends)
    return f"{verdict} {words} {_short(distance)}: {claimed['quantity']} {_ours(part)}, {asked}{more}"


def _cell(fitted: list[dict[str, Any]], parts: list[dict[str, Any]], verdict: str) -> str:
    settled = settling(fitted, parts, verdict)
    return "–" if settled is None else f"{_LETTER[settled[0]]} {_short(settled[1])}"


def settling(
    fitted: list[dict[str, Any]], parts: list[dict[str, Any]], key: str
) -> tuple[str, float, dict[str, Any], dict[str, Any]] | None:
    """Give verdict, margin and part that settle a claim: the least supported, the most contradicted.

    None where nothing does: a claim is supported only if all its parts are.
    """
    for verdict in ("contradicted", "inconclusive", "supported"):
        found = [
            (verdict, margin(verdict, one["ci95"], whole["claimed"]), one, whole)
            for one, whole in zip(parts, fitted, strict=True)
            if one[key] == verdict and one["ci95"]
        ]
        if found and (verdict != "supported" or len(found) == len(parts)):
            chosen = min if verdict == "supported" else max
            return chosen(found, key=lambda one: one[1] / size(*one[2]["ci95"], *one[3]["claimed"]))
    return None


def margin(verdict: str, ci95: list[float], claimed: list[float | None]) -> float:
    """Give how far the interval's end is from the bound.

    Inside of it where supported, outside where contradicted, how far beyond it reaches where inconclusive.
    """
    low = -math.inf if claimed[0] is None else claimed[0]
    high = math.inf if claimed[1] is None else claimed[1]
    if verdict == "contradicted":
        return max(low - ci95[1], ci95[0] - high)
    return abs(min(ci95[0] - low, high - ci95[1]))


def _half(ci95: list[float]) -> float:
    return (ci95[1] - ci95[0]) / 2


def _ours(measured: dict[str, Any]) -> str:
    if measured["mean"] is None:
        return "–"
    half = f" ± {_short(_half(measured['ci95']))}" if measured["ci95"] else ""
    return f"{_text(measured['mean'])}{half}"


def _text(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _power(power: dict[str, Any]) -> str:
    found = [one for one in (power["as_fitted"], power["with_readings"]) if one is not None]
    return ", ".join(f"{one:.2f}" for one in found) or "–"


def _quantity(row: dict[str, Any]) -> str:
    unit = "" if row["unit"] == "1" else f", {row['unit']}"
    return f"{row['quantity'].replace('_', ' ')}{unit}"


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
