"""Campaigns past the papers: their tables for the record, and claims of our own judged on a store.

``perhop analyze STORE --csv`` prints the means of a campaign, a row for each treatment, response and group.
``perhop analyze STORE --claims FILE`` judges claims of ours by the rule of `docs/verdicts.md`, with a row
for each part.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import msgspec
import polars as pl

from perhop.experiment.definition import Campaign
from perhop.experiment.store import Store
from perhop.judge.measured import Measurements
from perhop.judge.verdict import HIGHER, LOWER, ClaimPart, Hypothesis, Kind, compound
from perhop.papers.error import PackError
from perhop.stats.intervals import mean_interval


class PartOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One quantity of a claim: a response somewhere, or its difference from or ratio to somewhere else.

    Attributes
    ----------
    response
        Of the campaign.
    at
        Levels of factors and values of groups, by name.
    less
        Where it is subtracted from the first, replication by replication.
    over
        Where the sum of the first is divided by.
    low, high
        The claimed range; infinite where there is none. ``above_zero`` and ``below_zero`` leave 0 itself out.
    above_zero, below_zero
        The quantity, a difference, is claimed to be above or below zero.
    """

    response: str
    at: dict[str, str]
    less: dict[str, str] | None = None
    over: dict[str, str] | None = None
    low: float = -math.inf
    high: float = math.inf
    above_zero: bool = False
    below_zero: bool = False


class OwnClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim of ours.

    Attributes
    ----------
    id, statement
        Its name, and what is claimed.
    part
        What must hold for it.
    """

    id: str
    statement: str
    part: list[PartOf]


class OwnClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of claims.

    Attributes
    ----------
    campaign
        The campaign file that they are judged on, from the folder of this file.
    claim
        In order.
    """

    campaign: str
    claim: list[OwnClaim]


def read_claims(path: Path) -> OwnClaims:
    """Read a file of claims.

    Raises
    ------
    PackError
        It is not one.
    """
    try:
        return msgspec.toml.decode(path.read_bytes(), type=OwnClaims)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PackError(f"{path}: {error}") from error


def judged(part: PartOf, measured: Measurements) -> ClaimPart:
    """Judge a part.

    Raises
    ------
    PackError
        It names what was not measured, asks for a difference and a ratio, or has no range or two.
    """
    if part.less is not None and part.over is not None:
        raise PackError(f"{part.response}: `less` or `over`, not both")
    ranged = not (math.isinf(part.low) and math.isinf(part.high))
    if part.above_zero + part.below_zero + ranged != 1:
        rule = "one of `above_zero`, `below_zero` and a range (`low`, `high` or both)"
        raise PackError(f"{_quantity(part)}: {rule} is claimed")
    try:
        first = measured.values(part.response, **part.at)
        other = part.over if part.less is None else part.less
        second = None if other is None else measured.values(part.response, **other)
    except (KeyError, ValueError, pl.exceptions.PolarsError) as error:
        raise PackError(f"{part.response}: {error}") from error
    low = HIGHER if part.above_zero else part.low
    high = LOWER if part.below_zero else part.high
    kind: Kind = "direction" if part.above_zero or part.below_zero else "size"
    asked = Hypothesis(_quantity(part), kind, low, high)
    if second is None:
        return asked.mean(first)
    return asked.mean(first - second) if part.over is None else asked.ratio(first, second)


def _quantity(part: PartOf) -> str:
    def place(levels: dict[str, str]) -> str:
        return ", ".join(levels.values())

    text = f"{part.response} at {place(part.at)}"
    if part.less is not None:
        return f"{text}, less that at {place(part.less)}"
    return text if part.over is None else f"{text}, over that at {place(part.over)}"


CLAIMS = ("claim", "verdict", "quantity", "low", "high", "mean", "from", "to", "n", "part")
"""Columns of judged claims."""


def judged_rows(claims: OwnClaims, scalars: pl.DataFrame) -> list[tuple[str | int, ...]]:
    """Judge claims: a row for each part, with the columns `CLAIMS`."""
    measured, rows = Measurements(scalars), list[tuple[str | int, ...]]()
    for claim in claims.claim:
        parts = [judged(one, measured) for one in claim.part]
        whole = compound(one.verdict for one in parts)
        rows += [(claim.id, whole, one.quantity, *_numbers(one), one.verdict) for one in parts]
    return rows


def write_rows(rows: Sequence[Sequence[str | int]], out: TextIO) -> None:
    """Write judged claims as CSV."""
    csv.writer(out, lineterminator="\n").writerows([CLAIMS, *rows])


def _numbers(part: ClaimPart) -> list[str | int]:
    found = part.measured
    ends = ["" if not math.isfinite(end) else f"{round(end, 6) + 0.0:g}" for end in (part.low, part.high)]
    if found is None:
        return [*ends, "", "", "", 0]
    return [*ends, *(f"{value:.4g}" for value in (found.mean, found.low, found.high)), found.n]


def write_table(scalars: pl.DataFrame, out: TextIO) -> None:
    """Write mean, 95 % interval and number of the values of each treatment, response and group."""
    fixed = ("key", "treatment", "replication", "value")
    names = [name for name in scalars.columns if name not in fixed]
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow([*names, "mean", "from", "to", "n"])
    for key, group in scalars.group_by(names, maintain_order=True):
        values = group["value"].drop_nulls().to_numpy()
        found = mean_interval(values) if values.size else None
        told = ["", "", ""] if found is None else [f"{x:.5g}" for x in (found.mean, found.low, found.high)]
        rows.writerow(["" if one is None else one for one in key] + [*told, values.size])


def claims_of(path: Path, store: Store) -> OwnClaims:
    """Read a file of claims that is to be judged on a store.

    Raises
    ------
    PackError
        It is none, or the store is of another campaign than it names.
    OSError, CampaignError
        Its campaign cannot be read.
    """
    claims = read_claims(path)
    asked, kept = Campaign.load(path.parent / claims.campaign), store.campaign
    if (asked.design.treatments, asked.responses) != (kept.design.treatments, kept.responses):
        raise PackError(
            f"{path}: claims of {claims.campaign}, but {store.folder} has other treatments or responses",
            f"run {path.parent / claims.campaign} into a store of its own",
        )
    return claims
