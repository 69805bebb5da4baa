"""How many replications are needed, in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perhop.experiment.replications import FOUND
from perhop.say.document import MOST_ROWS, Cell, Heading, Part, Table
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
    width = Scale.of(worst.unit, worst.width).value(worst.width)
    width = f"{wanted} of the mean" if wanted.relative else width
    many = f"{_NONE} to" if worst.replications is None else counted(worst.replications, "replication")
    where = " ".join([worst.treatment, *(f"{name}={value}" for name, value in worst.of.items())])
    known = f"known from {counted(worst.runs, 'run')}"
    if worst.second is not None:
        often = f"in {100 * FOUND:.0f} % of campaigns"
        return (
            f"{many} find a difference of {width} {often}, between any two treatments. "
            f"The worst pair, {known}, is {where} and {worst.second}."
        )
    until = "Intervals that hold at every look (`--until-ci`) take about {}."
    if worst.until is None:
        until = f"{_NONE} for intervals that hold at every look (`--until-ci`)."
    return (
        f"{many} make every {100 * level:.3g} % interval at most {width} to either side. "
        f"The worst, {known}, is {where}. {until.format(worst.until)}"
    )


def _table(own: Sequence[Needed]) -> Table:
    paired = own[0].second is not None
    scale = Scale.spanning(own[0].unit, [one.mean for one in own])
    rows: list[list[Cell]] = []
    for one in own:
        names: list[Cell] = [one.treatment, *([one.second] if paired else []), *one.of.values()]
        mean, deviation = digits(one.mean / scale.factor, 4), digits(one.deviation / scale.factor, 2)
        counts = [one.replications, one.up_to, *([] if paired else [one.until])]
        known = (_PLENTY if each is None else each for each in counts)
        rows.append([*names, mean, deviation, one.runs, *known])
    columns = ["first", "second"] if paired else ["treatment"]
    columns += [*own[0].of, "mean", "deviation of the difference" if paired else "deviation", "runs"]
    columns += ["replications", "up to", *([] if paired else ["--until-ci"])]
    title = f"Needed{scale.in_unit}"
    return Table(title, columns, rows, whole="with --all", picked="the worst", most=MOST_ROWS)
