"""Readings of what a paper leaves open, to judge every claim under: `readings.toml`.

A reading changes the fitted point in one thing; a pair changes two. Each has settings of the scenario, as
`perhop run FILE -s path=value` takes them, and changes of the study's own parameters, where a setting depends
on the run (a bucket depth in intervals of tokens) or another scenario file is needed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perhop.experiment import shape
from perhop.experiment.fault import At, Fault
from perhop.papers import form
from perhop.papers.form import ReadingsFile, StudyError


@dataclass(frozen=True)
class Reading:
    """One reading of what the paper leaves open, as `form.WrittenReading` has it; or a pair, `of` two others.

    `settings` are overrides of every scenario, `change` has levels and parameters of the study.
    """

    id: str
    meaning: str
    settings: tuple[str, ...] = ()
    change: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    against: str | None = None

    @property
    def of_runs(self) -> bool:
        """Whether it changes how runs are made, and nothing of what they are of."""
        return not self.change and all(setting.startswith("run.") for setting in self.settings)

    def settings_of(self, source: bytes) -> list[str]:
        """Return the settings for a scenario: `flow.*.` becomes one for each of its TCP flows.

        These are those of the file, or of a setting before that writes them anew, `flow=[...]`.
        """
        every, found = "flow.*.", list[str]()
        flows = tomllib.loads(source.decode()).get("flow", [])
        for setting in self.settings:
            if setting.startswith(every):
                found += [f"flow.{flow['name']}.{setting.removeprefix(every)}" for flow in flows]
            else:
                found.append(setting)
                if setting.startswith("flow="):
                    flows = tomllib.loads(setting)["flow"]
        return found


FILE = "readings.toml"


def read(path: Path, source: bytes, known: Sequence[str]) -> tuple[Reading, ...]:
    """Read a file of readings of these claims: every reading, then every pair."""
    written = shape.read(path, source, ReadingsFile, StudyError)
    faults, found = list[Fault](), dict[str, Reading]()
    for k, one in enumerate(written.reading):
        at: At = ("reading", k)
        claims = tuple(known if one.claims is None else one.claims)
        faults += form.unknown((*at, "claims"), claims, known)
        if one.id in found:
            faults.append(Fault((*at, "id"), f"a second reading is called `{one.id}`"))
        if not claims:
            faults.append(Fault((*at, "claims"), "it is about no claim", "without it, of all"))
        if not (one.set or one.change):
            faults.append(Fault(at, "it changes nothing", 'add `set = ["path=value"]`'))
        found[one.id] = Reading(one.id, one.meaning, tuple(one.set), one.change, claims, against=one.against)
    for k, pair in enumerate(written.pair):
        try:
            both = _paired(pair.of, found, pair.claims)
        except ValueError as error:
            faults.append(Fault(("pair", k, "of"), str(error)))
            continue
        if both.id in found:
            faults.append(Fault(("pair", k, "of"), "a second pair of these"))
        found[both.id] = both
    if faults:
        raise StudyError(shape.diagnostics(path, source, faults))
    return tuple(found.values())


def judged_under(listed: Sequence[Reading], own: Collection[str]) -> dict[str, Any] | None:
    """Count the readings of a claim among all that a study lists, None where it lists none.

    `readings` of how many (`of`), and `without` which; a pair is none of its own.
    """
    names = [one.id for one in listed if not one.of]
    without = [name for name in names if name not in own]
    return {"readings": len(names) - len(without), "of": len(names), "without": without} if names else None


def _paired(of: Sequence[str], singles: Mapping[str, Reading], wanted: Sequence[str] | None) -> Reading:
    """Return two readings together; without `wanted` about the claims that both are about."""
    if len(of) != 2 or not all(one in singles and not singles[one].of for one in of):
        raise ValueError(f"two readings of {', '.join(singles)} make a pair")
    first, second = (singles[one] for one in of)
    if both := _changed(first) & _changed(second):
        raise ValueError(f"both change {', '.join(sorted(both))}")
    both_about = tuple(claim for claim in first.claims if claim in second.claims)
    claims = both_about if wanted is None else tuple(wanted)
    if not claims or not set(claims) <= set(both_about):
        raise ValueError(f"both are about {', '.join(both_about) or 'no claim'}")
    return Reading(
        f"{first.id} + {second.id}",
        f"{first.meaning}; {second.meaning}",
        (*first.settings, *second.settings),
        {**first.change, **second.change},
        claims,
        (first.id, second.id),
    )


def _changed(reading: Reading) -> set[str]:
    """Return the places of the settings and the parameters that a reading changes."""
    return {setting.partition("=")[0] for setting in reading.settings} | set(reading.change)
