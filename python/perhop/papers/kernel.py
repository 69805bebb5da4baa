"""A study on real packets: simulator and kernel with equal settings, beside the paper.

What a study does on a kernel is in its `kernel.toml`: how long, how often, which of its campaigns, and
variants of the kernel's settings. Claims are judged by the study's own predicates, once for each arm;
replications of real packets have nothing in common, so a pair of them is as good as any other.
"""

from __future__ import annotations

import gzip
import platform
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from perhop.experiment import shape
from perhop.experiment.fault import Fault
from perhop.experiment.rules import MIN_REPLICATIONS
from perhop.experiment.shape import Text
from perhop.papers import form
from perhop.papers.campaigns import differing, less
from perhop.papers.error import PackError
from perhop.papers.folder_faults import unknown_levels
from perhop.papers.form import RunChanges, StudyError
from perhop.papers.plan import Plan, Results
from perhop.papers.recorded import machine, run_lines
from perhop.papers.reduce import reduce
from perhop.papers.study import Study
from perhop.report import page
from perhop.run.live import Live

LIVE = "run.clock=live"
FILE, RECORD = "kernel.toml", "kernel.json"
HOSTS = ("Arm", "Hosts", "Treatments", "Settings", "Route", "MTU")
"""Columns of the table of hosts' settings."""


class Kernel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a study is run on real packets: so many of its `campaigns`, the first, of so many replications.

    `set` are settings of all runs, `simulator` more for those in virtual time. Treatments with a level that a
    kernel cannot have (`without`) are run in virtual time alone. `left_out` says what is not done.
    """

    replications: int
    campaigns: int
    set: list[str]
    simulator: list[str] = []
    without: list[str] = []
    left_out: list[str]


class Variant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """More settings for an arm of its own on the kernel."""

    id: Text
    meaning: Text
    set: list[str]


class Unjudged(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Claims, by their ids, that runs on real packets do not judge, and why."""

    claims: list[str]
    why: Text


class KernelFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`kernel.toml` of a study."""

    kernel: Kernel
    variant: list[Variant] = []
    unjudged: list[Unjudged] = []


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
msgspec.json.Decoder(KernelFile)
_LIVE = msgspec.json.Decoder(Live)


@dataclass(frozen=True)
class Arm:
    """Campaigns of a study under one clock and one set of settings, as fitted alone.

    `id` is ``simulator``, ``kernel``, or the name of a variant on the kernel.
    """

    id: str
    meaning: str
    plan: Plan

    @property
    def is_live(self) -> bool:
        """Whether it is on real packets."""
        return self.id != "simulator"


def arms(study: Study) -> tuple[Arm, ...]:
    """Return the arms of a study: the simulator, the kernel, and its variants on the kernel."""
    path = study.folder / FILE
    if not path.is_file():
        prepared = sorted(one.parent.name for one in study.folder.parent.glob(f"*/{FILE}"))
        rule = f"is not there: {study.key} is not prepared for real packets"
        raise PackError(f"{path}: {rule}", f"prepared are {', '.join(prepared)}")
    source = path.read_bytes()
    file = shape.read(path, source, KernelFile, StudyError)
    given, known = file.kernel, [claim.id for claim in study.claims]
    some = study.fitted[: given.campaigns]
    lacking = {level: k for k, level in enumerate(given.without)}
    faults = [*unknown_levels(study, ("kernel", "without"), lacking)]
    if not all(less(one, given.without).design.treatments for one in some):
        faults.append(Fault(("kernel", "without"), "no treatment is left"))
    if given.replications < MIN_REPLICATIONS:
        rule = f"nothing can be judged below {MIN_REPLICATIONS} replications"
        faults.append(Fault(("kernel", "replications"), rule))
    for k, one in enumerate(file.unjudged):
        faults += form.unknown(("unjudged", k, "claims"), one.claims, known)
    if faults:
        raise StudyError(shape.diagnostics(path, source, faults))
    why = {claim: f"real packets do not judge it: {one.why}" for one in file.unjudged for claim in one.claims}

    def under(settings: Sequence[str], without: list[str]) -> Plan:
        own = RunChanges(set=[*given.set, *settings], without=without, replications=given.replications)
        return Plan(
            study,
            tuple(differing(one, own) for one in some),
            unjudged=why,
            left_out=tuple(given.left_out),
            without=tuple(without),
            replications=given.replications,
        )

    kernel = Variant(id="kernel", meaning="this kernel's TCP on real packets", set=[])
    variants = (kernel, *file.variant)
    return (
        Arm("simulator", "perhop's TCP in virtual time", under(given.simulator, [])),
        *(Arm(one.id, one.meaning, under((LIVE, *one.set), given.without)) for one in variants),
    )


def document(
    study: Study,
    measured: Sequence[tuple[Arm, Results]],
    made: Mapping[str, tuple[str, str | None]],
    command: str,
    results_version: int,
) -> dict[str, Any]:
    """Return the document that has the arms of a study beside each other.

    `made` has by key of a run its event digest and, of one on real packets, how it went, as
    `perhop.experiment.work.LIVE` has it.
    """
    outcomes = {arm.id: reduce(arm.plan, own, command, results_version) for arm, own in measured}
    found = {arm: outcome.document for arm, outcome in outcomes.items()}
    first = found["simulator"]
    runs, hosts = _runs(measured, made)
    values = {arm: {_name(row): row["simulated"] for row in one["rows"]} for arm, one in found.items()}
    verdicts = {arm: {claim["id"]: claim for claim in one["claims"]} for arm, one in found.items()}
    return {
        "paper": study.key,
        "on": "kernel",
        "results_version": results_version,
        "command": command,
        "arms": {arm.id: arm.meaning for arm, _ in measured},
        "settings": {arm.id: list(arm.plan.fitted[0].scenario.overrides) for arm, _ in measured},
        "left_out": list(measured[0][0].plan.left_out),
        "rows": [
            {key: row[key] for key in ("table", "id", "quantity", "unit", "published")}
            | {arm: own.get(_name(row)) for arm, own in values.items()}
            for row in first["rows"]
        ],
        "claims": [
            {key: claim[key] for key in ("id", "statement")}
            | {arm: _judged(own[claim["id"]]) for arm, own in verdicts.items()}
            for claim in first["claims"]
            if "/" not in claim["id"]
        ],
        "made": {**machine(), "hz": _hz()},
        "hosts": hosts,
        "runs": runs,
    }


_LATE = ("lateness_s", "reads_late_s", "applications_late_s", "sources_late_s", "stalls_s", "longest_stall_s")
_OF_HOSTS = ("hosts", "differences", "options_lacking", "priority")


def _runs(
    measured: Sequence[tuple[Arm, Results]], made: Mapping[str, tuple[str, str | None]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return every run with lateness and values, and the settings of hosts, each once."""
    runs, hosts = list[dict[str, Any]](), list[dict[str, Any]]()
    for arm, results in measured:
        for campaign, own in zip(arm.plan.fitted, results.campaigns, strict=True):
            for values, key in run_lines(campaign, own):
                name = campaign.design.treatments[values.pop("treatment")].name
                one = {"arm": arm.id, "treatment": name}
                one |= {each: values.pop(each) for each in ("replication", "seed")}
                one["event_digest"], live = made[key]
                if live is not None:
                    how = msgspec.to_builtins(_LIVE.decode(live))
                    one |= {each: how[each] for each in _LATE}
                    host = {"arm": arm.id, **{each: how[each] for each in _OF_HOSTS}}
                    same = next((each for each in hosts if host.items() <= each.items()), None)
                    if same is None:
                        hosts.append(same := {**host, "treatments": []})
                    if name not in same["treatments"]:
                        same["treatments"].append(name)
                runs.append({**one, "values": values})
    return runs, hosts


def _hz() -> int | None:
    """Return how often the kernel's clock ticks, where its configuration can be read."""
    text = ""
    with suppress(OSError):
        text = gzip.decompress(Path("/proc/config.gz").read_bytes()).decode()
    with suppress(OSError):
        text += Path(f"/boot/config-{platform.release()}").read_text()
    found = re.search(r"^CONFIG_HZ=(\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else None


def _name(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["table"], row["id"], row["quantity"]


def _judged(claim: Mapping[str, Any]) -> dict[str, Any]:
    return {key: claim[key] for key in ("verdict", "direction", "size", "reason")}


def render(study: Study, found: Mapping[str, Any]) -> str:
    """Return the page: paper, simulator, kernel and its variants, each number and each claim."""
    arms = found["arms"]
    rows = [row for row in found["rows"] if row["published"] is not None]
    return page.render(
        "kernel.html.j2",
        {
            "title": f"{study.file.title}: on real packets",
            "document": found,
            "arms": arms,
            "rows": rows,
            "more": [row for row in found["rows"] if row["published"] is None],
            "made": made_by(found),
            "columns": HOSTS,
            "hosts": host_settings(found),
            "differences": differences(found),
            "lateness": lateness(found["runs"]),
            "replications": max((row[arm]["n"] for row in rows for arm in arms if row[arm]), default=0),
        },
        "perhop.papers",
    )


def made_by(found: Mapping[str, Any]) -> str:
    """Return the machine, date and commit of the runs of a document, in a line."""
    made = found["made"]
    return (
        f"{made['system']}, {made['cpu']}, {made['cores']} cores, HZ {made['hz']}; {made['date']}, commit "
        f"{(made['commit'] or 'unknown')[:12]}, results version {found['results_version']}"
    )


def host_settings(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a line for all hosts of an arm with equal settings: arm, hosts, treatments, what."""
    hosts: dict[tuple[str, ...], list[tuple[str, list[str]]]] = {}
    run = {arm: {one["treatment"] for one in found["runs"] if one["arm"] == arm} for arm in found["arms"]}
    for one in found["hosts"]:
        for name, own in one["hosts"].items():
            what = _pairs(own["sysctls"]) or "defaults", _pairs(own["route"]), str(own["mtu_bytes"])
            hosts.setdefault((one["arm"], *what), []).append((name, one["treatments"]))
    rows = []
    for (arm, *own), of in hosts.items():
        treatments = dict.fromkeys(one for _, each in of for one in each)
        rows.append((arm, _members(name for name, _ in of), _treatments(treatments, run[arm]), *own))
    return rows


def differences(found: Mapping[str, Any]) -> list[str]:
    """Return what kernels do otherwise than the scenarios say, each once."""
    return list(dict.fromkeys(what for one in found["hosts"] for what in one["differences"]))


def _members(names: Iterable[str]) -> str:
    """Return names, the numbers of those of a group together: `a[0-3, 7], b`."""
    groups: dict[str, list[int]] = {}
    for name in dict.fromkeys(names):
        group, _, number = name.rstrip("]").partition("[")
        groups.setdefault(group, []).extend([int(number)] if number else [])
    return ", ".join(f"{group}[{_ranges(own)}]" if own else group for group, own in groups.items())


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers in rising order, neighbours as a range: `0-3, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(own[0]) if len(own) == 1 else f"{own[0]}-{own[-1]}" for own in runs)


def _treatments(own: Collection[str], run: Collection[str]) -> str:
    return f"all {len(run)}" if len(own) == len(run) > 1 else ", ".join(own)


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def lateness(runs: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Return by arm the largest 99 % quantile of a run's lateness and the largest of all, s."""
    found: dict[str, tuple[float, float]] = {}
    for arm, late in ((one["arm"], one["lateness_s"]) for one in runs if "lateness_s" in one):
        p99, most = found.get(arm, (0.0, 0.0))
        found[arm] = max(p99, late["p99"] or 0.0), max(most, late["max"] or 0.0)
    return found


def lines(found: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the claims as the command prints them: id, a verdict for each arm, statement."""
    for claim in found["claims"]:
        yield (claim["id"], *(claim[arm]["verdict"] for arm in found["arms"]), claim["statement"])
