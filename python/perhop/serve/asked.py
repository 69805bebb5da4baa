"""A request from the page of a form: a scenario with overrides, and the command that runs it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from perhop.recommend.goals import GOALS
from perhop.run.tables import TRACES
from perhop.scenario.scenario import Scenario
from perhop.serve import listing
from perhop.serve.places import Place, UnknownPlaceError, word
from perhop.serve.settings import Form, form, laid_over

if TYPE_CHECKING:
    from perhop.serve.site import Site

_VALUE = "value:"
_MOST_FIELDS = 50_000
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class FilledInError(Exception):
    """A form with something in it that no form of ours sends, or a name that no folder can have."""


@dataclass
class Filled:
    """A form as it was filled in: overrides that it began with, values by path, traces, the run's folder."""

    sets: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    trace: list[str] = field(default_factory=list)
    name: str = ""
    goal: str = ""
    """What counts where something is recommended."""


def read(body: bytes) -> Filled:
    """Read a form, or refuse what is none of ours."""
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise FilledInError(f"the form cannot be read: {error}") from error
    found = Filled()
    for name, value in pairs:
        if _UNPRINTABLE.search(name + value):
            raise FilledInError(
                f"{name.removeprefix(_VALUE)!r}: {value!r} has characters that no setting has"
            )
        if name == "set":
            found.sets.append(value)
        elif name == "trace" and value in TRACES:
            found.trace.append(value)
        elif name == "goal" and value in ("", *GOALS):
            found.goal = value
        elif name == "name" and _NAME.fullmatch(value.strip()):
            found.name = value.strip()
        elif name.startswith(_VALUE):
            found.values[name.removeprefix(_VALUE)] = value
        else:
            raise FilledInError(f"{name}={value}: a folder's name has letters, digits, `.`, `_` and `-`")
    return found


@dataclass(frozen=True)
class Base:
    """The scenario of a file, or of a run with the overrides and traces that it had."""

    scenario: Scenario
    sets: list[str]
    trace: list[str]
    word: str
    """The file as a word of a command."""
    stem: str
    """What runs of it are called."""


def base_of(place: Place) -> Base:
    """Return the scenario that a form begins with."""
    if place.kind == "run":
        head = listing.head(place)
        file = f"{place.word}/scenario.toml"
        stem = re.sub(r"-\d+$", "", place.path.resolve().name)
        return Base(Scenario.load(file), head.overrides, head.trace, file, _clean(stem))
    if place.kind == "scenario":
        return Base(Scenario.load(place.word), [], [], place.word, _clean(place.path.stem))
    raise UnknownPlaceError(place.key)


def _clean(stem: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", stem).lstrip(".-")[:80] or "run"


@dataclass
class Offer:
    """A form to be shown, its overrides and its mistakes."""

    form: Form
    shown: list[str]
    sets: list[str]
    mistakes: list[str]
    warnings: list[str]


def offer(base: Base, filled: Filled, settle: bool = True) -> Offer:
    """Compute overrides and mistakes of a form.

    With `settle` it is the form of the changed scenario, where that is valid: other settings may follow from
    a change. A scenario that is invalid before any change is a `ScenarioError`.
    """
    shown = form(base.scenario.unread(*filled.sets).resolve(), filled.values)
    sets = laid_over(filled.sets, shown.overrides)
    after = base.scenario.unread(*sets)
    mistakes, warnings = ([one["rendered"].rstrip() for one in found] for found in after.diagnose())
    if not settle or mistakes or not shown.overrides:
        return Offer(shown, filled.sets, sets, mistakes, warnings)
    return Offer(form(after.resolve(), {}), sets, sets, mistakes, warnings)


def run_words(site: Site, base: Base, sets: Sequence[str], trace: Sequence[str], name: str) -> list[str]:
    """Return the command that makes the run of a form."""
    words = ["run", base.word, *set_words(sets)]
    if trace:
        words += ["--trace", ",".join(trace)]
    return [*words, "-o", word(site.home / (name or site.free_name(base.stem)))]


def set_words(sets: Sequence[str]) -> list[str]:
    """Return overrides as words of a command."""
    return [part for one in sets for part in ("-s", one)]
