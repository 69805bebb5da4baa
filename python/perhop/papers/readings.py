"""Readings of what a paper leaves open, to judge every claim under: `readings.toml`.

A reading changes the fitted point in one thing; a pair changes two. Each has settings of the scenario, as
`perhop run FILE -s path=value` takes them, and changes of the study's own parameters, where a setting depends
on the run (a bucket depth in intervals of tokens) or another scenario file is needed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perhop.papers.error import PackError
from perhop.papers.pack import TABLE, TEXT, TEXTS, Keys, Pack

_READING: Keys = {
    "id": TEXT,
    "meaning": TEXT,
    "against": TEXT,
    "set": TEXTS,
    "change": TABLE,
    "claims": TEXTS,
}
_PAIR: Keys = {"of": TEXTS, "claims": TEXTS}


@dataclass(frozen=True)
class Reading:
    """One reading of what the paper leaves open.

    Attributes
    ----------
    id
        Short name, `sack`; of a pair, both: `sack + near`.
    meaning
        In words.
    settings
        Overrides of every scenario it is judged by, `path=value`.
    change
        Parameters of the study, by name.
    claims
        Ids of the claims that it is about.
    of
        The two readings of a pair.
    against
        What the paper's text says against it; None where it says nothing.
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


def unjudged_claims(pack: Pack, quick: bool) -> frozenset[str]:
    """Return the claims that a quick reproduction does not judge; none of a full one.

    It judges those of the list `quick` in `readings.toml`.

    Raises
    ------
    PackError
        The file names none, not even an empty list, or a claim that is not there.
    """
    path = pack.folder / "readings.toml"
    whole = pack.toml("readings.toml")
    if "quick" not in whole:
        raise PackError(f"{path}: has no 'quick', the list of claims that a quick reproduction judges")
    found = whole["quick"]
    known = [claim.id for claim in pack.claims]
    if not isinstance(found, list):
        raise PackError(f"{path}: 'quick' is {found!r}, not a list of claims")
    _check_claims(f"{path}: 'quick'", found, known)
    return frozenset(known) - frozenset(found) if quick else frozenset()


def load_readings(pack: Pack) -> tuple[Reading, ...]:
    """Read `readings.toml` of a pack: every reading, then every pair.

    Raises
    ------
    PackError
        The file is missing or malformed, a name is used twice, a claim or the reading of a pair is not
        there, a reading changes nothing or is about no claim, or two of a pair change the same thing.
    """
    path = pack.folder / "readings.toml"
    known = tuple(claim.id for claim in pack.claims)
    found: dict[str, Reading] = {}
    for table in pack.tables("readings.toml", "reading", _READING):
        claims = tuple(table.get("claims", known))
        where = f"{path}: reading {table['id']}"
        if not claims:
            raise PackError(f"{where}: 'claims' is [], not one claim or more", "without 'claims' it is all")
        _check_claims(where, claims, known)
        if table["id"] in found:
            raise PackError(f"{where}: is there already")
        settings, change = tuple(table.get("set", ())), dict(table.get("change", {}))
        if not (settings or change):
            raise PackError(f"{where}: changes nothing")
        against = table.get("against")
        found[table["id"]] = Reading(table["id"], table["meaning"], settings, change, claims, against=against)
    for table in pack.tables("readings.toml", "pair", _PAIR, least=0):
        try:
            pair = paired(table["of"], found, table.get("claims"))
        except ValueError as error:
            raise PackError(f"{path}: pair {table['of']}: {error}") from None
        if pair.id in found:
            raise PackError(f"{path}: pair {table['of']}: is there already")
        found[pair.id] = pair
    return tuple(found.values())


def judged_under(listed: Sequence[Reading], own: Collection[str]) -> dict[str, Any] | None:
    """Count the readings of a claim among all that a study lists; a pair is none of its own.

    Parameters
    ----------
    listed
        Of the study.
    own
        Ids of those that the claim is judged under.

    Returns
    -------
    dict or None
        How many `readings` of how many (`of`), and `without` which; None where the study lists none.
    """
    names = [one.id for one in listed if not one.of]
    without = [name for name in names if name not in own]
    return {"readings": len(names) - len(without), "of": len(names), "without": without} if names else None


def load_settings(pack: Pack) -> tuple[Reading, ...]:
    """Read `readings.toml` of a study that has no parameters of its own.

    Raises
    ------
    PackError
        As of `load_readings`, and where a reading has `change`.
    """
    found = load_readings(pack)
    for reading in found:
        if reading.change:
            raise PackError(
                f"{pack.folder / 'readings.toml'}: reading {reading.id}: 'change' has "
                f"{', '.join(reading.change)}; this study has no parameters to change",
                "use 'set', which takes settings of the scenario",
            )
    return found


def _check_claims(where: str, claims: Sequence[Any], known: Sequence[str]) -> None:
    for claim in claims:
        if claim not in known:
            raise PackError(f"{where}: no claim {claim!r}; there is {', '.join(known)}")


def paired(of: Sequence[str], singles: Mapping[str, Reading], wanted: Sequence[str] | None) -> Reading:
    """Return two readings together; without `wanted` about the claims that both are about.

    Raises
    ------
    ValueError
        They are not two, both change the same, or neither is about what is wanted.
    """
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
