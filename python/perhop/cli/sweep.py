"""`perhop sweep`: a campaign in one line."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from perhop.cli import campaign, options
from perhop.cli.exit import UsageError
from perhop.cli.options import option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perhop.experiment.definition import Campaign
    from perhop.experiment.factors import Factor
    from perhop.scenario.scenario import Scenario


def command(
    scenario: Path = options.SCENARIO,
    measure: list[str] | None = option(
        "--measure",
        "[NAME=]EXPR",
        "What is measured in each run: 'goodput=mean(flows.goodput_bit_s)'; may be repeated. "
        "What the scenario promises ([[sla]]) is measured as well.",
    ),
    vary: list[str] | None = option(
        "--vary",
        "PATH=A,B,C",
        "A setting and its values; may be repeated: all are crossed. None: the scenario as it is.",
    ),
    replications: int = option("--replications", "N", "Of each treatment.", 10, min=1),
    overrides: list[str] | None = options.SET,
    out: Path | None = option("-o --out", "DIR", "Store; default out/<scenario>-sweep."),
    jobs: int | None = campaign.JOBS,
    executor: str | None = campaign.EXECUTOR,
    until_ci: list[str] | None = campaign.UNTIL_CI,
    most: int | None = campaign.MOST,
    each: bool = campaign.EACH,
    whole: bool = options.ALL,
    as_json: bool = options.JSON,
) -> int:
    """Vary settings of a scenario, or none, and measure: every combination, replicated, in a store."""
    from perhop.experiment.factors import Factor, Level

    loaded = options.load(scenario, overrides)
    varied = factors(vary) if vary else [Factor("scenario", (Level("as written"),))]
    asked = _campaign(f"{scenario.stem}-sweep", loaded, varied, measure or [], replications)
    asked = campaign.with_stop(asked, until_ci, most, each)
    asked = replace(asked, source=_file(asked).encode())
    return campaign.run_and_tell(asked, out or Path("out") / asked.name, jobs, executor, as_json, whole)


def _campaign(
    name: str, scenario: Scenario, factors: Sequence[Factor], measures: Sequence[str], replications: int
) -> Campaign:
    from perhop.cli.output import note
    from perhop.experiment.definition import Campaign
    from perhop.experiment.design import Design
    from perhop.experiment.design_check import EVERYWHERE
    from perhop.experiment.fault import DesignError
    from perhop.experiment.promises import promised_responses
    from perhop.experiment.response import Response
    from perhop.experiment.unseen import unseen
    from perhop.experiment.vocabulary import words_of_design

    design = Design.full(factors, replications=replications)
    promised = promised_responses(scenario)
    given = [Response.parse(*_named(text)) for text in dict.fromkeys(measures)]
    taken = {one.name for one in promised} & {one.name for one in given}
    if taken:
        message = f"--measure {min(taken)}=...: the scenario promises that, and it is measured by itself"
        raise UsageError(message, "choose another name")
    responses = (*given, *promised)
    if not responses:
        raise UsageError("nothing is measured", "add --measure 'goodput=mean(flows.goodput_bit_s)'")
    known = words_of_design(scenario, design)
    for response in responses:
        response.check(known, design.factors)
        for doubt in response.doubts(known):
            hint = f" ({doubt.hint})" if doubt.hint else ""
            note(f"warning: --measure {response.text}: {doubt.rule}{hint}")
    mistakes, warnings = design.check(scenario)
    if mistakes:
        raise DesignError(mistakes)
    for warning in (*warnings, *unseen(design, scenario, responses)):
        note(f"warning: {'' if warning.at == EVERYWHERE else '--vary: '}{warning}")
    return Campaign(name, scenario, design, responses)


def _named(measure: str) -> tuple[str, str]:
    """Split `NAME=EXPR`; an expression without a name is its own."""
    found = re.fullmatch(r"\s*([A-Za-z][\w .-]*?)\s*=(?!=)\s*(.+)", measure, re.DOTALL)
    return (found[1], found[2]) if found else (measure, measure)


def factors(vary: Sequence[str]) -> list[Factor]:
    """Return a factor for each `--vary`, called by the last word of its path if no other is."""
    from perhop.experiment.columns import RESERVED, SOURCES
    from perhop.experiment.factors import Factor, Level
    from perhop.experiment.level_names import level_names

    given = []
    for text in vary:
        path, sign, values = text.partition("=")
        if not sign or not path or not values:
            hint = "write --vary PATH=A,B,C, such as --vary link.a-b.delay=10ms,20ms"
            raise UsageError(f"--vary {text}: no values", hint)
        split = _values(values)
        if "" in split:
            message = f"--vary {text}: value {split.index('') + 1} of {len(split)} is empty"
            raise UsageError(message, "write a value between commas, or one comma less")
        given.append((path.strip(), split))
    last = Counter(path.split(".")[-1] for path, _ in given)
    found = []
    for path, split in given:
        word = path.split(".")[-1]
        name = path if last[word] > 1 or word in (*RESERVED, *SOURCES) else word
        set_of = zip(level_names(split), split, strict=True)
        found.append(Factor(name, tuple(Level(level, (f"{path}={value}",)) for level, value in set_of)))
    return found


def _values(text: str) -> list[str]:
    """Split at commas that are in no brackets and no quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _file(asked: Campaign) -> str:
    """Return the campaign file of a sweep; its scenario is beside it."""
    from perhop.experiment.store import SCENARIO
    from perhop.scenario.overrides import toml

    overrides, stop = asked.scenario.overrides, asked.stop
    lines = [
        "# what a sweep stands for",
        f"scenario = {toml(SCENARIO, 'scenario')}",
        *([f"set = {toml(overrides, 'set')}"] if overrides else []),
        f"replications = {asked.design.replications}",
    ]
    for factor in asked.design.factors:
        if not factor.levels[0].set:
            lines += ["", "[[factor]]", 'name = "scenario"', 'levels = { "as written" = [] }']
            continue
        path = factor.levels[0].set[0].partition("=")[0]
        set_of = {level.name: level.set[0].partition("=")[2] for level in factor.levels}
        plain = all(name == value for name, value in set_of.items())
        parts = {"name": factor.name, "path": path, "levels": list(set_of) if plain else set_of}
        lines += ["", "[[factor]]", *(f"{key} = {toml(value, key)}" for key, value in parts.items())]
    for response in asked.responses:
        parts = {"name": response.name, "measure": response.text}
        lines += ["", "[[response]]", *(f"{key} = {toml(value, key)}" for key, value in parts.items())]
    if stop is not None:
        width = f"{100 * stop.half_width:.15g}%" if stop.relative else stop.half_width
        asks = {"response": stop.response, "half_width": width, "most": stop.most}
        asks |= {"each": True} if stop.each else {}
        lines += ["", "[stop]", *(f"{key} = {toml(value, key)}" for key, value in asks.items())]
    return "\n".join(lines) + "\n"
