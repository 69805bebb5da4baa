"""`perhop analyze --pairs` and `--compare`: treatments against each other."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Any

from perhop.cli.exit import CommandError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perhop.experiment.comparisons import Comparison, Margin, Own, Pairs
    from perhop.experiment.store import Store
    from perhop.say.analysis import Scale


def pairs_of(store: Store, level: float, responses: Sequence[str]) -> list[Pairs]:
    """Compare all pairs of treatments in each response and group."""
    from perhop.experiment.analyze import asked_of
    from perhop.experiment.comparisons import MOST, all_pairs, values

    count = len(store.campaign.design.treatments)
    if count > MOST:
        raise CommandError(
            ExitCode.USAGE,
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
        raise CommandError(ExitCode.USAGE, f"{first} is named twice", "name two treatments")
    within = None if margin is None else _margin(margin)
    asked = asked_of(store.campaign, level=level)
    found = []
    for own in values(store.scalars(), asked, responses):
        if within is not None and within[1] not in ("", own.unit):
            raise CommandError(
                ExitCode.USAGE,
                f"--margin {margin}: {own.response} is in {own.unit or 'no unit'}",
                "choose a response with --response, or give a part of the mean, such as --margin 2%",
            )
        one = compare(own, asked, first, second, within and within[0])
        if one is not None:
            found.append(one)
    return found


def _treatment(store: Store, text: str) -> str:
    """Return the name of a treatment, also where it is written as the level of the only factor."""
    from perhop import _core

    design = store.campaign.design
    for one in design.treatments:
        if text == one.name or (len(design.factors) == 1 and text == one.levels[0]):
            return one.name
    names = [one.name for one in design.treatments]
    hint = _core.suggest(text, names) or f"such as {shlex.quote(names[0])}"
    raise CommandError(ExitCode.USAGE, f"no treatment {text!r}", hint)


def _margin(text: str) -> tuple[Margin, str]:
    """Return a margin, and its unit if it has one."""
    from perhop.experiment.comparisons import Margin
    from perhop.units import quantity

    relative = text.strip().endswith("%")
    try:
        value, unit = (float(text.strip()[:-1]) / 100, "") if relative else quantity(text)
    except ValueError:
        value, unit = math.nan, ""
    if not 0.0 < value < math.inf:
        told = f"--margin {text}: not what two treatments may differ by"
        raise CommandError(ExitCode.USAGE, told, "such as 2%, or a number above zero such as 50kbit/s")
    return Margin(value, relative), unit


def pairs_document(one: Pairs) -> dict[str, Any]:
    """Return pairs as JSON has them, in the response's own unit."""
    return {**_of(one.own), "remarks": one.remarks, "pairs": one.table.to_dicts()}


def comparison_document(one: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON has it, in the response's own unit."""
    found, same = one.found, one.same
    difference = found.difference
    return {
        **_of(one.own),
        "first": one.first,
        "second": one.second,
        "replications": difference.n,
        "difference": {"mean": difference.mean, "low": difference.low, "high": difference.high},
        "p": found.p,
        "correlation": found.correlation,
        "saved": found.saved,
        "margin": one.margin and {"value": one.margin.value, "relative": one.margin.relative},
        "equivalent": same and same.equivalent,
        "p_equivalent": same and same.p,
        "remarks": one.remarks,
    }


def _of(own: Own) -> dict[str, Any]:
    return {"response": own.response, "unit": own.unit, "of": dict(own.of)}


def print_pairs(found: Sequence[Pairs], level: float) -> None:
    """Print the pairs of each response and group, the furthest apart first."""
    from perhop.cli.output import print_table

    for one in found:
        unit = _scale(one.own)
        print(f"\n{one.own.name}")
        for remark in one.remarks:
            print(f"  {remark}")
        if one.table.is_empty():
            continue
        rows = [
            (
                row["first"],
                row["second"],
                *(f"{row[name] / unit.factor:+.4g}" for name in ("difference", "low", "high")),
                f"{row['p']:.2g}",
                "*" if row["low"] > 0 or row["high"] < 0 else "",
            )
            for row in sorted(one.table.to_dicts(), key=lambda row: -abs(row["difference"]))
        ]
        title = f"Second less first{f' in {unit.unit}' if unit.unit else ''}; all intervals hold together"
        columns = ("first", "second", "difference", "from", f"{100 * level:.3g} % interval", "p", "differ")
        print_table(title, columns, rows, "with --json", most=40, picked="the furthest apart")


def print_comparisons(found: Sequence[Comparison], level: float) -> None:
    """Print in words how two treatments differ in each response and group."""
    if found:
        print(f"{found[0].second} less {found[0].first}, {100 * level:.3g} % intervals:")
    for one in found:
        print(f"\n{one.own.name}")
        for sentence in (*one.remarks, *in_words(one)):
            print(f"  {sentence}")


def in_words(one: Comparison) -> list[str]:
    """Say how two treatments differ, what pairing saved, and whether they are the same within the margin."""
    from perhop.say.analysis import p_value
    from perhop.units import counted

    unit, found = _scale(one.own), one.found
    many = counted(found.difference.n, "replication")
    if found.difference.n < 2:
        return [f"A difference of {unit.value(found.difference.mean)}; one replication gives no interval."]
    said = [
        f"A difference of {unit.value(found.difference.mean, found.difference.half_width)} over {many}, "
        f"{p_value(found.p)}."
    ]
    if math.isfinite(found.saved):
        said.append(f"Arms with seeds of their own would need {found.saved:.3g} times the replications.")
    if one.same is not None and one.margin and one.margin.relative and not any(_first(one)):
        said.append(
            f"{one.first} is 0, and a share of 0 says nothing: give the margin in the response's unit."
        )
    elif one.same is not None:
        within = f"within {one.margin}" + (f" of {one.first}" if one.margin and one.margin.relative else "")
        verdict = "They are the same" if one.same.equivalent else "It is not shown that they are the same"
        said.append(f"{verdict} {within} ({p_value(one.same.p)}).")
    return said


def _first(one: Comparison) -> list[float]:
    """Return what the first of two treatments measured in the replications that both have."""
    return list(one.own.arm(one.first, one.own.shared([one.first, one.second])))


def _scale(own: Own) -> Scale:
    from perhop.say.analysis import Scale

    return Scale.of(own.unit, max(map(abs, own.rows["value"].to_list())))
