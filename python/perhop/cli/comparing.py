"""`perhop analyze --pairs` and `--compare`: treatments against each other."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING

from perhop.cli.exit import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perhop.experiment.comparisons import Comparison, Margin, Pairs
    from perhop.experiment.store import Store


def pairs_of(store: Store, level: float, responses: Sequence[str]) -> list[Pairs]:
    """Compare all pairs of treatments in each response and group."""
    from perhop.experiment.analyze import asked_of
    from perhop.experiment.comparisons import MOST, all_pairs, values

    count = len(store.campaign.design.treatments)
    if count > MOST:
        raise UsageError(
            f"--pairs: {count} treatments make {count * (count - 1) // 2} pairs; it compares at most {MOST}",
            "compare two with --compare A B",
        )
    asked = asked_of(store.campaign, level=level)
    return [all_pairs(own, asked) for own in values(store.scalars(), asked, responses)]


def comparisons_of(
    store: Store, arms: tuple[str, str], margin: str | None, level: float, responses: Sequence[str]
) -> list[Comparison]:
    """Compare two treatments in each response and group."""
    from perhop.experiment.analyze import asked_of
    from perhop.experiment.comparisons import compare, values

    first, second = (_treatment(store, name) for name in arms)
    if first == second:
        raise UsageError(f"{first} is named twice", "name two treatments")
    within = None if margin is None else width("--margin", margin, store, responses)
    asked = asked_of(store.campaign, level=level)
    found = (compare(own, asked, first, second, within) for own in values(store.scalars(), asked, responses))
    return [one for one in found if one is not None]


def _treatment(store: Store, text: str) -> str:
    """Return the name of a treatment, also where it is written by what is varied, or by its only level."""
    from perhop import _core

    design = store.campaign.design
    varied = [place for place, factor in enumerate(design.factors) if len(factor.levels) > 1] or [0]
    for one in design.treatments:
        short = " ".join(f"{design.names[place]}={one.levels[place]}" for place in varied)
        if text in (one.name, short) or (len(varied) == 1 and text == one.levels[varied[0]]):
            return one.name
    names = [one.name for one in design.treatments]
    hint = _core.suggest(text, names) or f"such as {shlex.quote(names[0])}"
    raise UsageError(f"no treatment {text!r}", hint)


def known(store: Store, names: list[str]) -> list[str]:
    """Return responses; refuse those that the store does not have."""
    from perhop import _core

    there = [one.name for one in store.campaign.responses]
    for name in names:
        if name not in there:
            raise UsageError(f"--response {name}: no such response", _core.suggest(name, there) or "")
    return names


def width(option: str, text: str, store: Store, responses: Sequence[str]) -> Margin:
    """Return what an option says of responses: a part of the mean, or a number in their unit."""
    from perhop.experiment.comparisons import Margin
    from perhop.units import quantity

    relative = text.strip().endswith("%")
    try:
        value, unit = (float(text.strip()[:-1]) / 100, "") if relative else quantity(text)
    except ValueError:
        value, unit = math.nan, ""
    if not 0.0 < value < math.inf:
        message = f"{option} {text}: not above zero, or no number"
        raise UsageError(message, f"write {option} 2%, or a number above zero: {option} 50kbit/s")
    for one in store.campaign.responses:
        if unit not in ("", one.unit) and (not responses or one.name in responses):
            hint = f"choose a response with --response, or give a part of the mean, such as {option} 2%"
            raise UsageError(f"{option} {text}: {one.name} is in {one.unit or 'no unit'}", hint)
    return Margin(value, relative)
