"""How many replications are needed, in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perhop.experiment.replications import FOUND
from perhop.say.document import MOST_ROWS, Heading, Part, Table
from perhop.units import Scale, counted, digits

if TYPE_CHECKING:
    from perhop.experiment.comparisons import Margin
    from perhop.experiment.replications import Needed

_NONE = "No number up to 100,000 is enough"
_PLENTY = "more than 100,000"


def of_needed(found: Sequence[Needed], wanted: Margin, level: float) -> Iterator[Part]:
    """Go through the responses: what is enough everywhere, then each treatment, the worst first."""
    for response in dict.fromkeys(one.response for one in found):
        own = sorted((one for one in found if one.response == response), key=_many, reverse=True)
        yield from ("", Heading(response), f"  {_sentence(own[0], wanted, level)}", "")
        yield _table(own)


def _many(one: Needed) -> float:
    return math.inf if one.replications is None else one.replications


def _sentence(worst: Needed, wanted: Margin, level: float) -> str:
    """Describe what is enough in every treatment, or pair of them."""
    width = (
        f"{wanted} of the mean" if wanted.relative else Scale.of(worst.unit, worst.width).value(worst.width)
    )
    many = f"{_NONE} to" if worst.replications is None else counted(worst.replications, "replication")
    where = " ".join([worst.treatment, *(f"{name}={value}" for name, value in worst.of.items())])
    known = f"known from {counted(worst.runs, 'run')}"
    if worst.second is not None:
        often = f"in {100 * FOUND:.0f} % of campaigns"
        return (
            f"{many} find a difference of {width} {often}, between any two treatments. "
            f"The worst pair, {known}, is {where} and {worst.second}."
        )
    every_look = "intervals that hold at every look (`--until-ci`)"
    until = (
        f"{_NONE} for {every_look}."
        if worst.until is None
        else f"{every_look.capitalize()} take about {worst.until}."
    )
    return (
        f"{many} make every {100 * level:.3g} % interval at most {width} to either side. "
        f"The worst, {known}, is {where}. {until}"
    )


def _table(own: Sequence[Needed]) -> Table:
    paired = own[0].second is not None
    scale = Scale.spanning(own[0].unit, [one.mean for one in own])
    groups = list(own[0].of)
    rows = [
        (
            *(one.treatment, *([one.second] if one.second is not None else []), *one.of.values()),
            *(digits(one.mean / scale.factor, 4), digits(one.deviation / scale.factor, 2), one.runs),
            *(_PLENTY if each is None else each for each in (one.replications, one.up_to)),
            *([] if paired else [_PLENTY if one.until is None else one.until]),
        )
        for one in own
    ]
    names = ("first", "second") if paired else ("treatment",)
    spread = "deviation of the difference" if paired else "deviation"
    counts = ("replications", "up to", *([] if paired else ["--until-ci"]))
    columns = (*names, *groups, "mean", spread, "runs", *counts)
    return Table(
        f"Needed{scale.in_unit}", columns, rows, whole="with --all", picked="the worst", most=MOST_ROWS
    )
