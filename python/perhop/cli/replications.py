"""`perhop campaign replications`: how many runs of each treatment a question needs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from perhop.cli import comparing, options
from perhop.cli.exit import UsageError
from perhop.cli.options import argument, option
from perhop.cli.output import print_json
from perhop.say.terminal import show


def command(
    store: Path = argument("STORE", "Folder of a campaign, or of a pilot with a few runs."),
    half_width: str | None = option(
        "--half-width", "WIDTH", "Of the interval of each mean: 5%, or 20kbit/s."
    ),
    difference: str | None = option("--difference", "WIDTH", "Between two treatments: 5%, or 20kbit/s."),
    response: list[str] | None = option("--response", "NAME", "Response that is meant; may be repeated."),
    level: float = options.LEVEL,
    where: list[str] | None = options.WHERE,
    whole: bool = options.ALL,
    as_json: bool = options.JSON,
) -> None:
    """Say how many replications give a half-width, or find a difference; nothing is run."""
    from perhop.experiment.analyze import asked_of
    from perhop.experiment.replications import TooManyError, for_difference, for_half_width
    from perhop.say.replications import of_needed

    if (half_width is None) == (difference is None):
        message = "one of --half-width and --difference says what is wanted"
        raise UsageError(message, "such as --half-width 5%, of each mean")
    options.check_level(level)
    opened = options.opened(store, where)
    names = comparing.known(opened, response or [])
    name, text = ("--half-width", half_width) if half_width else ("--difference", difference or "")
    wanted = comparing.width(name, text, opened, names)
    asked = asked_of(opened.campaign, level=level)
    try:
        ask = for_half_width if half_width else for_difference
        found = ask(opened.scalars(), asked, wanted, names)
    except TooManyError as error:
        raise UsageError(f"--difference: {error}", "choose some with --where FACTOR=LEVEL") from error
    if as_json:
        print_json({"store": str(store), "needed": [asdict(one) for one in found]})
        return
    if not found:
        message = f"{store}: no treatment has two values, so that nothing is known of their spread"
        raise UsageError(message, "make a pilot: a campaign with five replications")
    show(*of_needed(found, wanted, level), whole=whole)
