"""`perhop estimate`: what closed forms say of a scenario, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perhop.cli import options

if TYPE_CHECKING:
    from perhop.models.form import Estimate


def command(
    scenario: options.ScenarioFile,
    overrides: options.Set = None,
    as_json: options.Json = False,
) -> None:
    """Say what closed forms give for a scenario, where they hold, and why others do not."""
    from dataclasses import asdict

    from perhop.cli.output import print_json, warn
    from perhop.models.estimate import estimates

    loaded = options.load(scenario, overrides)
    found = estimates(loaded)
    warn(loaded.warnings())
    if as_json:
        print_json({"scenario": str(scenario), "estimates": [asdict(one) for one in found]})
        return
    _print_values([one for one in found if one.holds])
    _print_refused([one for one in found if not one.holds])


def _print_values(found: list[Estimate]) -> None:
    from perhop.cli.output import print_lines, print_table

    if not found:
        print("No closed form holds for this scenario.\n")
        return
    print_table(
        "What closed forms give",
        ("form", "of", "quantity", "value"),
        [
            (one.form, one.of, f"{one.quantity} of each" if len(one.flows) > 1 else one.quantity, _value(one))
            for one in found
        ],
        "in --json",
    )
    forms = {one.form: one for one in found}
    lines = [f"{one.form}: {one.formula}. {one.source}. Valid: {one.range}." for one in forms.values()]
    print_lines("Formulas, sources and where they are valid", lines)


def _value(one: Estimate) -> str:
    from perhop.units import bit_rate, duration, exact

    assert one.value is not None
    text = {"bit/s": bit_rate, "s": duration}.get(one.unit, exact)(one.value)
    return f"at most {text}" if one.bound else text


def _print_refused(found: list[Estimate]) -> None:
    """Print each form with its reasons, the flows that have the same one in a row."""
    from perhop.cli.output import print_table

    reasons: dict[tuple[str, str], list[str]] = {}
    for one in found:
        reasons.setdefault((one.form, one.why_not), []).append(one.of or "-")
    if reasons:
        print_table(
            "What does not hold here",
            ("form", "of", "why not"),
            [(form, ", ".join(names), why) for (form, why), names in reasons.items()],
            "in --json",
            wrap=True,
        )
