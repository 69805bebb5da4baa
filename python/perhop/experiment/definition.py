"""Campaigns (scenario, design, responses), their files, and mistakes with their places."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from perhop import _core
from perhop._core import ScenarioError
from perhop.experiment import levels
from perhop.experiment.columns import faulty_columns
from perhop.experiment.design import Design
from perhop.experiment.design_check import EVERYWHERE, message, setting_of
from perhop.experiment.expression import SyntaxFault
from perhop.experiment.factors import Factor, Level
from perhop.experiment.fault import At, DesignError, Fault, FileError
from perhop.experiment.fractions import Range
from perhop.experiment.level_names import level_names
from perhop.experiment.promises import promised_responses
from perhop.experiment.response import Response, ResponseError
from perhop.experiment.rules import Select, Stop, half_width, name_of
from perhop.experiment.unseen import unseen
from perhop.experiment.vocabulary import words, words_of_design
from perhop.scenario.overrides import toml
from perhop.scenario.scenario import Scenario
from perhop.units import counted

if TYPE_CHECKING:
    from perhop._core import Diagnostic

_READ_AT_MOST = 64 * 1024 * 1024


class CampaignError(FileError):
    """A campaign file, or its scenario, with mistakes."""


@dataclass(frozen=True)
class Campaign:
    """A scenario, a design, and the responses to measure."""

    name: str
    scenario: Scenario
    """With the overrides that all runs have."""
    design: Design
    responses: tuple[Response, ...]
    """At least one, each with a name of its own."""
    stop: Stop | None = None
    """Without it the design says how many replications there are."""
    source: bytes = b""
    """The campaign file as read; empty without one."""
    select: Select | None = None
    """In the place of `stop`."""

    def __post_init__(self) -> None:
        responses = tuple(one.of_design(self.design.factors) for one in self.responses)
        object.__setattr__(self, "responses", responses)

    def at(self, treatment: int) -> tuple[Response, ...]:
        """Return the responses of a treatment: with the numbers of its levels."""
        if not any(one.units for one in self.responses):
            return self.responses
        factors, names = self.design.factors, self.design.treatments[treatment].levels
        chosen = [(factor.name, factor.level(name)) for factor, name in zip(factors, names, strict=True)]
        found = {name: levels.number(level) for name, level in chosen if level is not None}
        numbers = {name: one[0] for name, one in found.items() if one is not None}
        return tuple(one.at(numbers) for one in self.responses)

    @property
    def most(self) -> int:
        """Replications that there may be."""
        rule = self.stop or self.select
        return self.design.replications if rule is None else rule.most

    @classmethod
    def load(cls, path: str | Path) -> Campaign:
        """Read a campaign file.

        Parameters
        ----------
        path
            The file; it names its scenario by a path from its own folder.

        Raises
        ------
        OSError
            It cannot be read.
        CampaignError
            It has mistakes, or its scenario has.
        """
        campaign, mistakes, _ = read(path)
        if campaign is None:
            raise CampaignError(mistakes)
        return campaign

    def __str__(self) -> str:
        design = self.design
        sizes = " x ".join(f"{factor.name} {len(factor.levels)}" for factor in design.factors)
        runs = counted(len(design.treatments) * design.replications, "run")
        times = f"{counted(len(design.treatments), 'treatment')} ({sizes}) x {design.replications} = {runs}"
        text = f"{times}; {', '.join(response.name for response in self.responses)}"
        return f"{text}; {design.fraction}" if design.fraction else text


class ReadCampaign(NamedTuple):
    """A campaign file that was read: the campaign if there are no mistakes."""

    campaign: Campaign | None
    mistakes: list[Diagnostic]
    warnings: list[Diagnostic]


def read(path: str | Path, overrides: Sequence[str] = ()) -> ReadCampaign:
    """Read a campaign file and its scenario, with overrides for every run after those of the file."""
    with open(path, "rb") as file:
        source = file.read(_READ_AT_MOST + 1)
    try:
        core = _core.File.campaign(source, str(path))
    except ScenarioError as error:
        return ReadCampaign(None, error.diagnostics, [])
    return _Reader(Path(path), source, core).read(overrides)


class _Reader:
    """Collects the parts of a campaign, and its mistakes."""

    def __init__(self, path: Path, source: bytes, core: _core.File) -> None:
        self.path, self.source, self.core = path, source, core
        self.written: dict[str, Any] = msgspec.json.decode(core.json())
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = []
        self.unread: set[int] = set()
        self.sound: Scenario | None = None
        self.in_scenario: list[Diagnostic] = []

    def read(self, overrides: Sequence[str]) -> ReadCampaign:
        scenario = self.scenario(overrides)
        design = self.design()
        responses = self.responses(scenario)
        stop = self.stop([response.name for response in responses])
        self.faults += faulty_columns(design.names if design else (), responses)
        if self.sound:
            self.check_responses(responses, self.sound, design)
        if scenario and design:
            mistakes, warnings = design.check(scenario)
            self.faults += mistakes
            self.warnings += warnings
            self.warnings += unseen(design, scenario, responses) if not self.faults else ()
        diagnostics = [*self.in_scenario, *self.diagnostics(self.faults)]
        if diagnostics or scenario is None or design is None:
            return ReadCampaign(None, diagnostics, [])
        campaign = Campaign(name_of(self.path), scenario, design, tuple(responses), stop, self.source)
        everywhere = {one.rule for one in self.warnings if one.at == EVERYWHERE}
        own = [one for one in scenario.warnings() if message(one) in everywhere]
        told = {message(one) for one in own}
        more = [one for one in self.warnings if one.at != EVERYWHERE or one.rule not in told]
        return ReadCampaign(campaign, [], [*own, *self.diagnostics(more, are_warnings=True)])

    def fault(self, at: At, rule: str, hint: str | None = None) -> None:
        self.faults.append(Fault(at, rule, hint))

    def diagnostics(self, faults: list[Fault], *, are_warnings: bool = False) -> list[Diagnostic]:
        return self.core.diagnostics(
            [(self.place(one.at), one.span, one.rule, one.hint, are_warnings, one.of_key) for one in faults]
        )

    def place(self, at: At) -> list[str | int]:
        """Return where in the file a part of the design is."""
        if at[0] != "factor" or len(at) == 1:
            return list(at)
        if "range" in self.written:
            return ["range", *at[1:2]]
        if at[2:] == ("path",) and "path" not in self.written["factor"][at[1]]:
            at = (*at[:2], "levels")
        place, level = list(at[:3]), at[3:]
        levels = self.written["factor"][at[1]]["levels"]
        if not level:
            return place
        if isinstance(levels, list):
            return [*place, level_names([_text(one) for one in levels]).index(str(level[0]))]
        # of an override that stands alone there is no number
        return [*place, *(level if isinstance(levels[level[0]], list) else level[:1])]

    def scenario(self, overrides: Sequence[str]) -> Scenario | None:
        """Return the scenario with the overrides of all runs; its mistakes are in `in_scenario`."""
        name, own = self.written["scenario"], self.written.get("set", [])
        try:
            plain = Scenario.load(self.path.parent / name)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            self.fault(("scenario",), f"{name}: {reason}", "the path begins at the folder of this file")
            return None
        scenario = plain.unread(*own, *overrides)
        found = scenario.check()
        before = {(one["path"], one["rule"]) for one in plain.check()} if found else set()
        self.sound = plain if found and not before else scenario if not found else None
        for one in found:
            index = setting_of(own, one["path"])
            if index is None or (one["path"], one["rule"]) in before:
                self.in_scenario.append(one)
            else:
                self.faults.append(Fault(("set", index), message(one), one["hint"]))
        return None if found else scenario

    def design(self) -> Design | None:
        written = self.written
        given = {key: written[key] for key in ("replications", "seeds", "order_seed") if key in written}
        ways = [key for key in ("treatment", "fraction", "exclude", "range") if written.get(key)]
        if len(ways) > 1:
            self.fault((ways[1],), f"`{ways[1]}` and `{ways[0]}` do not go together")
            return None
        ranges = [
            Range(one["name"], one["path"], _text(one["from"]), _text(one["to"]), one.get("scale", "linear"))
            for one in written.get("range", [])
        ]
        factors = self.factors()
        if factors is None or not self.are_ranges_alone(ranges, factors):
            return None
        try:
            if ranges:
                return Design.latin_hypercube(ranges, written["points"], **given)
            if "treatment" in ways:
                return Design.listed(factors, written["treatment"], **given)
            if "fraction" in ways:
                return Design.fractional(factors, written["fraction"], **given)
            return Design.full(factors, exclude=written.get("exclude", []), **given)
        except DesignError as error:
            self.faults += error.faults
            return None

    def are_ranges_alone(self, ranges: list[Range], factors: list[Factor]) -> bool:
        if ranges and "points" not in self.written:
            self.fault(("range", 0), "`points` is missing", "add `points = 20`")
        elif not ranges and "points" in self.written:
            self.fault(("points",), "`points` are those of ranges", "add a [[range]]")
        elif ranges and factors:
            hint = "write levels as a [[range]], or the range as levels"
            self.fault(("range", 0), "`range` and `factor` do not go together", hint)
        else:
            return True
        return False

    def factors(self) -> list[Factor] | None:
        """Return the factors, None if one has no meaning."""
        found = [self.factor(i, one) for i, one in enumerate(self.written.get("factor", []))]
        return None if None in found else [one for one in found if one is not None]

    def factor(self, i: int, one: dict[str, Any]) -> Factor | None:
        levels, path = one["levels"], one.get("path")
        paths = [path] if isinstance(path, str) else path
        at: At = ("factor", i, "levels")
        before = len(self.faults)
        if _has_null(levels):
            self.fault(at, "`inf` and `nan` are values of no setting", "write a number")
        elif paths is None and isinstance(levels, list):
            hint = 'write `path = "..."` for the setting they are values of, or `{ name = ["path=value"] }`'
            self.fault(at, "a list of levels needs to know what they are values of", hint)
        elif isinstance(levels, list):
            named = list(zip(level_names([_text(value) for value in levels]), levels, strict=True))
        else:
            named = list(levels.items())
            for name, value in named:
                if paths is not None and isinstance(value, list):
                    rule = f"level `{name}` has overrides, but `path` says what is varied"
                    self.fault((*at, name), rule, "write the value of the setting, or no `path`")
                elif paths is None and not isinstance(value, str | list):
                    hint = 'write overrides, as in `["run.duration=60s"]`, or a `path` for the factor'
                    self.fault((*at, name), f"level `{name}` has a value, but the factor no `path`", hint)
        if len(self.faults) > before:
            return None
        if paths is not None:
            made = [(name, [f"{path}={_text(value)}" for path in paths]) for name, value in named]
        else:
            made = [(name, [value] if isinstance(value, str) else value) for name, value in named]
        return Factor(one["name"], tuple(Level(name, tuple(values)) for name, values in made))

    def responses(self, scenario: Scenario | None) -> list[Response]:
        """Return the responses, those without a valid expression too: their names are known to others.

        What the scenario promises is measured as well.
        """
        found: list[Response] = []
        for i, one in enumerate(self.written.get("response", [])):
            try:
                found.append(
                    Response.parse(one["name"], one["measure"], one.get("unit"), folder=self.path.parent)
                )
            except ResponseError as error:
                self.faults += _of_measure(i, error.faults)
                self.unread.add(i)
                found.append(Response(one["name"], one["measure"]))
        if scenario is not None:
            promised = {one.name: one for one in promised_responses(scenario)}
            for i, response in enumerate(found):
                own = promised.pop(response.name, response)
                if own.text != response.text:
                    rule = f"the scenario promises `{response.name}`, which is measured by itself"
                    self.fault(("response", i, "name"), rule, "choose another name")
            found += promised.values()
        if not found:
            hint = 'add a [[response]]: `name = "goodput"` and `measure = "mean(flows.goodput_bit_s)"`'
            self.fault(("response",), "nothing is measured", hint)
        return found

    def check_responses(self, responses: list[Response], scenario: Scenario, design: Design | None) -> None:
        """Compare the names and words of the responses with those of the scenario."""
        known = words(scenario)
        for i, response in enumerate(responses[: len(self.written.get("response", []))]):
            if i in self.unread:
                continue
            if design and (response.faults(known) or response.doubts(known)):
                known = words_of_design(scenario, design)
            faults = response.faults(known)
            factors = design.factors if design else ()
            faults += levels.faults(response.measure.of, factors) if design else ()
            self.faults += _of_measure(i, faults)
            if not faults:
                doubts = [*response.doubts(known), *levels.doubts(response.measure.of, factors)]
                self.warnings += _of_measure(i, doubts)

    def stop(self, responses: list[str]) -> Stop | None:
        one = self.written.get("stop")
        if one is None:
            return None
        if one["response"] not in responses:
            rule = f"there is no response `{one['response']}`"
            self.fault(("stop", "response"), rule, _core.suggest(one["response"], responses))
        width = one["half_width"]
        value, relative = half_width(str(width).strip())
        if math.isnan(value):
            rule = f"`{width}` is not a half-width above zero"
            hint = 'write a part of the mean, as in "2%", or a number in the unit of the response'
            self.fault(("stop", "half_width"), rule, hint)
        if one["most"] < self.written.get("replications", 1):
            self.fault(("stop", "most"), f"{one['most']} is below `replications`")
        return Stop(one["response"], value, relative, one["most"], one.get("each", False))


def _of_measure(i: int, faults: Iterable[SyntaxFault]) -> list[Fault]:
    return [Fault(("response", i, "measure"), one.rule, one.hint, one.span) for one in faults]


def _has_null(value: object) -> bool:
    """Return whether a value contains null, the core's form of numbers that JSON has not."""
    if isinstance(value, dict | list):
        return any(map(_has_null, value.values() if isinstance(value, dict) else value))
    return value is None


def _text(value: object) -> str:
    """Return a value as it stands after ``path=``; text has no quotes there."""
    return value if isinstance(value, str) else toml(value, "levels")
