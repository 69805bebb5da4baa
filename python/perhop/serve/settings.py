"""A form from the JSON Schema of scenarios: settings, values, and overrides."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

from perhop.scenario.defaults import schema
from perhop.scenario.overrides import ends, toml

Table: TypeAlias = Mapping[str, Any]

_NAMES = {"name", "ends", "at", "to", "from", "between"}
"""What an element is called, or is between: its path follows from these."""

_MOST_OF_A_LIST = 40


@dataclass(frozen=True)
class Field:
    """A setting; `name` is the last key of its path."""

    path: str
    name: str
    text: str
    base: str
    """What the scenario has; empty where it has nothing."""
    about: str
    """What the schema says of it."""
    choices: tuple[str, ...] = ()
    hint: str = ""
    """A default or an example."""
    swaps: bool = False
    """Whether other settings come with another value."""
    new: bool = False
    """Whether it came with another kind that was chosen."""

    @property
    def of(self) -> str:
        """The element that it is a setting of, in words."""
        return self.path.removesuffix(f".{self.name}").replace(".", " ")

    @property
    def changed(self) -> bool:
        """Whether the field holds something else than the scenario has."""
        return self.text not in ("", self.base)


@dataclass
class Group:
    """A table of the scenario: its settings and the tables in it."""

    title: str
    about: str = ""
    fields: list[Field] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    left_out: int = 0

    @property
    def changed(self) -> bool:
        """Whether a setting in it, however deep, was changed."""
        return any(one.changed for one in self.fields) or any(one.changed for one in self.groups)


def laid_over(overrides: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return overrides with further ones, without those that the further ones write anew."""
    paths = [one.partition("=")[0] for one in more]
    kept = [
        one
        for one in overrides
        if not any(f"{one.partition('=')[0]}.".startswith(f"{path}.") for path in paths)
    ]
    return [*kept, *more]


def form(resolved: str, given: Mapping[str, str]) -> Form:
    """Make the form of a scenario, filled in with the text that is given by path."""
    made = Form(given)
    for name, part in schema()["properties"].items():
        value = tomllib.loads(resolved).get(name)
        if isinstance(value, dict):
            made.groups.append(made.table(name, name, part, value))
        elif value:
            made.groups.append(made.elements(name, name, part, [(_named(name, one), one) for one in value]))
    return made


def _named(kind: str, value: Table) -> str:
    """Return the name that paths have for an element."""
    return ends(value) if kind in ("link", "port") else str(value["name"])


def _plain(part: Table) -> dict[str, Any]:
    """Follow references; words beside one go before those at its target."""
    found = dict(part)
    while "$ref" in found:
        name = found.pop("$ref").rsplit("/", 1)[-1]
        found = schema()["$defs"][name] | found
    return found


def _kinds(part: Table) -> dict[str, dict[str, Any]]:
    """Return the tables that a setting may be, by their ``kind``."""
    variants = [_plain(one) for one in part.get("oneOf", ())]
    kinds = {one.get("properties", {}).get("kind", {}).get("const"): one for one in variants}
    return {} if None in kinds else kinds


def _choices(part: Table) -> tuple[str, ...]:
    if part.get("type") == "boolean":
        return ("true", "false")
    if "anyOf" in part:
        each = [_choices(_plain(one)) for one in part["anyOf"]]
        return tuple(chain.from_iterable(each)) if all(each) else ()
    words = part.get("enum") or [one["const"] for one in part.get("oneOf", ()) if "const" in one]
    return tuple(words) if words and all(isinstance(word, str) for word in words) else ()


def _text(value: Any, path: str) -> str:
    return "" if value is None else value if isinstance(value, str) else toml(value, path)


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(f"x = {text}")
    except tomllib.TOMLDecodeError:
        return False
    return True


def _written(text: str, part: Table, path: str) -> str:
    """Return a field's text as an override has it: a word that could be a number stays a word."""
    words = part.get("type") == "string" or bool("oneOf" in part and _choices(part))
    return toml(text, path) if words and _is_toml(text) else text


@dataclass
class Form:
    """All settings of a scenario, and the overrides that the values given by path amount to."""

    given: Mapping[str, str]
    groups: list[Group] = field(default_factory=list)
    overrides: list[str] = field(default_factory=list)

    def elements(self, title: str, path: str, part: Any, found: list[tuple[str, dict[str, Any]]]) -> Group:
        """Return a group of a list of tables that have names."""
        items = _plain(part)["items"]
        shown = found[:_MOST_OF_A_LIST]
        groups = [self.table(name, f"{path}.{name}", items, value) for name, value in shown]
        for one in groups:
            one.about = ""
        return Group(title, part.get("description", ""), [], groups, len(found) - len(shown))

    def table(self, title: str, path: str, part: Any, value: Table) -> Group:
        """Return the group of a table."""
        part = _plain(part)
        kinds = _kinds(part)
        if kinds:
            return self._one_of(title, path, part, kinds, value)
        group = Group(title, part.get("description", ""))
        for name, own in part.get("properties", {}).items():
            if name not in _NAMES or (name == "from" and "ends" in part):
                self._put(group, name, f"{path}.{name}", own, value.get(name))
        return group

    def _put(self, group: Group, name: str, path: str, part: Any, value: Any) -> None:
        """Put a setting into its group: as a field, or as a group where it is a table."""
        plain = _plain(part)
        is_table = isinstance(value, dict)
        if is_table and (plain.get("properties") or _kinds(plain)):
            group.groups.append(self.table(name, path, part, value))
        elif is_table and all(not isinstance(one, dict | list) for one in value.values()):
            inside = Group(name, plain.get("description", ""))
            about = {"description": inside.about}
            inside.fields = [self._field(key, f"{path}.{key}", about, one) for key, one in value.items()]
            group.groups.append(inside)
        elif value and isinstance(value, list) and all(isinstance(x, dict) and "name" in x for x in value):
            named = [(str(one["name"]), one) for one in value]
            group.groups.append(self.elements(name, path, part, named))
        else:
            group.fields.append(self._field(name, path, plain, value))

    def _field(self, name: str, path: str, part: Table, value: Any, described: bool = True) -> Field:
        """Return a field; with `described` its change is an override of its own."""
        base = _text(value, path)
        text = self.given.get(path, "").strip() or base
        examples = [f"such as {_text(one, path)}" for one in part.get("examples", ())]
        hint = base or _text(part.get("default"), path) or "".join(examples[:1])
        about, swaps = part.get("description", ""), name == "profile"
        found = Field(path, name, text, base, about, _choices(part), hint, swaps, not described)
        if described and found.changed:
            self.overrides.append(f"{path}={_written(text, part, path)}")
        return found

    def _one_of(self, title: str, path: str, part: Table, kinds: Mapping[str, Table], value: Table) -> Group:
        """Return the group of a table of several kinds; another kind is written as a whole."""
        base = str(value.get("kind"))
        asked = self.given.get(f"{path}.kind", "") or base
        kind = asked if asked in kinds else base
        own = kinds.get(kind, {"properties": {}})
        about = part.get("description") or own.get("description", "")
        choice = Field(f"{path}.kind", "kind", kind, base, own.get("description", ""), tuple(kinds), "", True)
        group = Group(title, about, [choice])
        settings = {name: one for name, one in own.get("properties", {}).items() if name != "kind"}
        if kind == base:
            for name, one in settings.items():
                self._put(group, name, f"{path}.{name}", one, value.get(name))
            return group
        whole: dict[str, Any] = {"kind": kind}
        for name, one in settings.items():
            found = self._field(name, f"{path}.{name}", _plain(one), None, described=False)
            group.fields.append(found)
            if found.text:
                whole[name] = _value(found.text, _plain(one))
        self.overrides.append(f"{path}={toml(whole, path)}")
        return group


def _value(text: str, part: Table) -> Any:
    """Return a field's text as a value of TOML."""
    if part.get("type") == "string" or not _is_toml(text):
        return text
    return tomllib.loads(f"x = {text}")["x"]
