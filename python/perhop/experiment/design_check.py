"""The check of a design: names, and the effect of its levels on a scenario."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from perhop import _core
from perhop.experiment.columns import kept_for
from perhop.experiment.fault import At, Fault
from perhop.units import counted

if TYPE_CHECKING:
    from perhop._core import Diagnostic
    from perhop.experiment.factors import Exclusion, Factor, Treatment, Treatments
    from perhop.scenario.scenario import Scenario

_DRAWN = ("run.seed", "run.replication")


class Checked(NamedTuple):
    """Mistakes of a design on a scenario, and warnings."""

    mistakes: list[Fault]
    warnings: list[Fault]


def check(design: Treatments, scenario: Scenario) -> Checked:
    """Apply every treatment of a design to a scenario; see `Design.check`."""
    mistakes = _drawn(design)
    warnings = [*_overwritten(design, scenario.overrides)]
    wrong: dict[tuple[str, str], tuple[Diagnostic, set[int]]] = {}
    doubtful: dict[tuple[str, str], dict[int, Diagnostic]] = {}
    same: dict[str, int] = {}
    twins: dict[Fault, None] = {}
    for index, one in enumerate(design.treatments):
        changed = scenario.unread(*one.overrides)
        found, doubts = changed.diagnose()
        found = found or changed.kernel_only()
        for diagnostic in found:
            key = (diagnostic["path"], diagnostic["rule"])
            wrong.setdefault(key, (diagnostic, set()))[1].add(index)
        for diagnostic in doubts:
            # with other numbers it is the same warning
            key = (diagnostic["path"], _NUMBER.sub("#", diagnostic["rule"]))
            doubtful.setdefault(key, {})[index] = diagnostic
        if not found:
            first = same.setdefault(changed.key().treatment, index)
            if first < index:
                twins[_twins(design, design.treatments[first], one)] = None
    for diagnostic, having in wrong.values():
        mistakes += _blamed(design, diagnostic, having)
    warnings += [*twins, *(_doubted(design, having) for having in doubtful.values())]
    return Checked(mistakes, warnings)


_IN_CONDITIONS = frozenset("=|,")
"""Letters that say something between names: in `--where net=slow|fast`, in tables as CSV."""

_NUMBER = re.compile(r"\b\d[\w./]*")
"""A number with its unit."""

EVERYWHERE: At = ("scenario",)
"""Place of a warning that every treatment has."""


def message(diagnostic: Diagnostic) -> str:
    """Return where a scenario is wrong or doubtful, and why."""
    path, rule = diagnostic["path"], diagnostic["rule"]
    return f"{path}: {rule}" if path else rule


def _doubted(design: Treatments, having: Mapping[int, Diagnostic]) -> Fault:
    """Return a warning that some treatments have, with the levels that they have in common."""
    differ = len({one["rule"] for one in having.values()}) > 1
    first = design.treatments[min(having)].name
    more = f" (the numbers are those of {first})" if differ else ""
    return _fault(*levels_of(design, having), having[min(having)], more)


def _fault(at: At, where: str, diagnostic: Diagnostic, more: str = "") -> Fault:
    """Return what is wrong or doubtful about a scenario as a fault of levels; `where` is empty of all."""
    said = message(diagnostic) + more
    shown = diagnostic["rendered"].rstrip()
    return Fault(at, f"{where}: {said}" if where else said, diagnostic["hint"], None, shown)


def levels_of(design: Treatments, having: Collection[int]) -> tuple[At, str]:
    """Return the place of the levels that some treatments have in common, and their names; none of all."""
    if len(having) == len(design.treatments):
        return EVERYWHERE, ""
    box = [{design.treatments[index].levels[i] for index in having} for i in range(len(design.factors))]
    places = [i for i, factor in enumerate(design.factors) if len(box[i]) < len(factor.levels)]
    inside = sum(all(one.levels[i] in box[i] for i in places) for one in design.treatments)
    if inside == len(having):
        levels = {
            i: [level.name for level in design.factors[i].levels if level.name in box[i]] for i in places
        }
        where = " ".join(f"{design.names[i]}={_few(own)}" for i, own in levels.items())
        return ("factor", places[0], "levels", levels[places[0]][0]), where
    first = design.treatments[min(having)].name
    return ("factor",), f"{first} and {counted(len(having) - 1, 'more treatment')}"


def _drawn(design: Treatments) -> list[Fault]:
    """Find levels that set a setting of the design itself, or what is promised whatever is varied."""
    drawn = "leave it out: `replications` and `seeds` say which random numbers a run has"
    promised = "every treatment is judged by one and the same: write it into the scenario, or into `set`"
    return [
        Fault(("factor", i, "levels", level.name), f"{factor.name}={level.name} sets {path}", hint)
        for i, factor in enumerate(design.factors)
        for level in factor.levels
        for path in (one.split("=")[0].strip() for one in level.set)
        for hint in ([drawn] if path in _DRAWN else [promised] if path == "sla" else [])
    ]


def _overwritten(design: Treatments, given: Sequence[str]) -> Iterator[Fault]:
    """Find settings that a later override writes again, so that the first has no effect.

    A level that leaves one level of the other factor in the design is meant so.
    """
    hint = "what is written later counts: take one of them away"
    sets = [[_paths(level.set) for level in factor.levels] for factor in design.factors]
    for i, j in combinations(range(len(sets)), 2):
        both = _lost(design, sets, i, j)
        if both is not None:
            rule = f"`{design.names[i]}` and `{design.names[j]}` both set {both}"
            yield Fault(("factor", j, "levels"), rule, hint)
    for index, path in enumerate(_paths(given)):
        for name, levels in zip(design.names, sets, strict=True):
            if all(any(_covers(other, path) for other in level) for level in levels):
                rule = f"`{name}` sets {path} in all its levels, so that `{given[index]}` does nothing"
                yield Fault(("set", index), rule, hint)


def _lost(design: Treatments, sets: Sequence[Sequence[Sequence[str]]], first: int, later: int) -> str | None:
    """Return a setting of several levels of one factor that a level of a later one writes over."""
    for place, level in enumerate(design.factors[later].levels):
        together = {design.treatments[one].levels[first] for one in design.having(later, level.name)}
        for own, paths in zip(design.factors[first].levels, sets[first], strict=True):
            if len(together) > 1 and own.name in together:
                for path in paths:
                    if any(_covers(other, path) for other in sets[later][place]):
                        return path
    return None


def _paths(overrides: Sequence[str]) -> list[str]:
    return [one.split("=")[0].strip() for one in overrides]


def _covers(written: str, path: str) -> bool:
    """Return whether writing one setting writes another: the same, or a part of it."""
    return path == written or path.startswith((f"{written}.", f"{written}["))


def _twins(design: Treatments, first: Treatment, second: Treatment) -> Fault:
    """Return a warning of two treatments that are one scenario: one for all pairs with these levels."""
    shared = ": they share their runs" if design.seeds == "common" else ""
    differ = [i for i, (a, b) in enumerate(zip(first.levels, second.levels, strict=True)) if a != b]
    names = [
        " ".join(f"{design.names[i]}={treatment.levels[i]}" for i in differ) for treatment in (first, second)
    ]
    at: At = ("factor", differ[0], "levels", second.levels[differ[0]]) if len(differ) == 1 else ("factor",)
    rule = f"{names[0]} and {names[1]} are the same scenario{shared}"
    return Fault(at, rule, "let levels differ in what they set, or leave one treatment out")


def _few(levels: Sequence[str]) -> str:
    more = f" and {len(levels) - 4} more" if len(levels) > 4 else ""
    return "|".join(levels[:4]) + more


def _blamed(design: Treatments, diagnostic: Diagnostic, having: set[int]) -> list[Fault]:
    """Attribute a mistake that some treatments have to levels."""
    setters, alone = [], []
    for i, factor in enumerate(design.factors):
        sets = [setting_of(level.set, diagnostic["path"]) for level in factor.levels]
        if len(having) == len(design.treatments) and len(sets) > 1 and None not in sets:
            setters.append(_fault(("factor", i, "path"), factor.name, diagnostic))
            continue
        for level, index in zip(factor.levels, sets, strict=True):
            with_it, at = design.having(i, level.name), ("factor", i, "levels", level.name)
            if index is not None and with_it and with_it <= having:
                setters.append(_fault((*at, index), f"{factor.name}={level.name}", diagnostic))
            elif with_it == having and len(factor.levels) > 1:
                alone.append(_fault(at, f"{factor.name}={level.name}", diagnostic))
    if setters or len(alone) == 1:
        return setters or alone
    name = design.treatments[min(having)].name
    more = f" (and {len(having) - 1} more)" if len(having) > 1 else ""
    return [_fault(("factor",), f"treatment {name}{more}", diagnostic)]


def setting_of(overrides: Sequence[str], path: str) -> int | None:
    """Return which override writes the setting at a path, the last if several do."""
    writing = [index for index, one in enumerate(_paths(overrides)) if _covers(one, path)]
    return writing[-1] if writing else None


def faulty_names(factors: Sequence[Factor]) -> Iterator[Fault]:
    """Find names that repeat or cannot be columns."""
    if not factors:
        yield Fault(("factor",), "nothing is varied", "a design has at least one factor")
    for i, factor in enumerate(factors):
        at, levels = ("factor", i, "name"), ("factor", i, "levels")
        if _IN_CONDITIONS & set(factor.name):
            rule = f"`{factor.name}` has a letter of conditions, such as `{factor.name}=level|level`"
            yield Fault(at, rule, "give the factor a name without `=`, `|` and `,`")
        elif what := kept_for(factor.name):
            yield Fault(at, f"`{factor.name}` is {what}", "give the factor another name")
        elif any(one.name == factor.name for one in factors[:i]):
            yield Fault(at, f"a second factor is called `{factor.name}`")
        if not factor.levels:
            yield Fault(levels, f"`{factor.name}` has no levels")
        for name, times in Counter(level.name for level in factor.levels).items():
            if times > 1:
                yield Fault(levels, f"`{factor.name}` has the level `{name}` twice")


def faulty_exclusions(factors: Sequence[Factor], exclude: Sequence[Exclusion]) -> Iterator[Fault]:
    """Find exclusions that exclude nothing there is."""
    for index, one in enumerate(exclude):
        at: At = ("exclude", index)
        if not one:
            yield Fault(at, "an exclusion names a level of at least one factor")
        for name, levels in one.items():
            for level in several(levels):
                yield from faulty_levels(factors, {name: level}, at)


def faulty_levels(factors: Sequence[Factor], row: Mapping[str, str], at: At) -> Iterator[Fault]:
    """Find names in a row that no factor or level has."""
    by_name = {factor.name: factor for factor in factors}
    for name, level in row.items():
        factor = by_name.get(name)
        if factor is None:
            hint = _core.suggest(name, list(by_name))
            yield Fault((*at, name), f"there is no factor `{name}`", hint, of_key=True)
        elif factor.level(level) is None:
            hint = _core.suggest(level, [one.name for one in factor.levels])
            yield Fault((*at, name), f"`{name}` has no level `{level}`", hint)


def faulty_rows(factors: Sequence[Factor], rows: Sequence[Mapping[str, str]]) -> Iterator[Fault]:
    """Find treatments that lack a level, have one that is none, or are listed twice."""
    known: dict[tuple[str | None, ...], int] = {}
    for index, row in enumerate(rows):
        at = ("treatment", index)
        yield from faulty_levels(factors, row, at)
        missing = [factor.name for factor in factors if factor.name not in row]
        if missing:
            yield Fault(at, f"no level of {', '.join(missing)}", "give a level for each factor")
        first = known.setdefault(tuple(row.get(factor.name) for factor in factors), index)
        if first < index:
            yield Fault(at, f"the treatment is listed already, as number {first + 1}")
    if not rows:
        yield Fault(("treatment",), "there is no treatment")


def is_excluded(factors: Sequence[Factor], row: tuple[str, ...], exclude: Sequence[Exclusion]) -> bool:
    """Return whether an exclusion leaves out a treatment."""
    level = {factor.name: name for factor, name in zip(factors, row, strict=True)}
    return any(all(level[name] in several(names) for name, names in one.items()) for one in exclude)


def several(levels: str | Sequence[str]) -> Sequence[str]:
    """Return one name as a list of one."""
    return [levels] if isinstance(levels, str) else levels
