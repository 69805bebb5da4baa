"""`perhop estimate`: closed forms of a scenario, without running it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perhop.cli import options
from perhop.cli.output import print_json, warn
from perhop.say.document import MOST_ROWS, Table
from perhop.say.terminal import show
from perhop.units import bit_rate, duration, exact

if TYPE_CHECKING:
    from perhop.models.form import Estimate


def command(
    scenario: Path = options.SCENARIO,
    overrides: list[str] | None = options.SET,
    as_json: bool = options.JSON,
) -> None:
    """Say what closed forms give for a scenario, where they hold, and why others do not."""
    from perhop.models.estimate import estimates

    loaded = options.load(scenario, overrides)
    found = estimates(loaded)
    warn(loaded.warnings())
    if as_json:
        print_json({"scenario": str(scenario), "estimates": found})
        return
    _print_values([one for one in found if one.holds])
    _print_refused([one for one in found if not one.holds])


def _print_values(found: list[Estimate]) -> None:
    if not found:
        print("No closed form holds for this scenario.\n")
        return
    cells = [
        (one.form, one.of, f"{one.quantity} of each" if len(one.flows) > 1 else one.quantity, _value(one))
        for one in found
    ]
    columns = ("form", "of", "quantity", "value")
    show(Table("What closed forms give", columns, cells, whole="in --json", most=MOST_ROWS))
    forms = {one.form: one for one in found}
    lines = [f"{one.form}: {one.formula}. {one.source}. Valid: {one.range}." for one in forms.values()]
    show(Table("Formulas, sources and where they are valid", (), [(line,) for line in lines], most=MOST_ROWS))


def _value(one: Estimate) -> str:
    assert one.value is not None
    text = {"bit/s": bit_rate, "s": duration}.get(one.unit, exact)(one.value)
    return f"at most {text}" if one.bound else text


def _print_refused(found: list[Estimate]) -> None:
    """Print each form with its reasons, the flows that have the same one in a row."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in found:
        reasons.setdefault((one.form, one.why_not), []).append(one.of or "-")
    if reasons:
        cells = [(form, ", ".join(names), why) for (form, why), names in reasons.items()]
        columns = ("form", "of", "why not")
        show(Table("What does not hold here", columns, cells, whole="in --json", most=MOST_ROWS))
