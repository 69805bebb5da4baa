"""TOML files whose keys and kinds of values are those of structs, with every mistake in its place."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

import msgspec

from perhop import _core
from perhop.experiment.fault import At, Fault, FileError

if TYPE_CHECKING:
    from perhop._core import Diagnostic

Text = Annotated[str, msgspec.Meta(min_length=1)]
S = TypeVar("S", bound=msgspec.Struct)


def read(path: Path, source: bytes, kind: type[S], error: type[FileError]) -> S:
    """Return what a file says; errors as of `parsed`."""
    return msgspec.convert(parsed(path, source, kind, error), kind)


def parsed(path: Path, source: bytes, kind: type[S], error: type[FileError]) -> dict[str, Any]:
    """Return what a file of a kind says, as it is written; raise the error where it is of another kind."""
    try:
        _core.File(source, str(path))
        found = written(source)
    except _core.ScenarioError as wrong:
        raise error(wrong.diagnostics) from None
    except ValueError as wrong:
        raise error([_core.diagnostic("", str(path), 0, 0, str(wrong))]) from None
    mistakes = [*faults(found, kind)]
    if mistakes:
        # what the file as a whole lacks is on no line
        lacking = [one for one in mistakes if not one.at]
        whole = [_core.diagnostic("", str(path), 0, 0, f"{path}: {one.rule}", one.hint) for one in lacking]
        raise error([*whole, *diagnostics(path, source, (one for one in mistakes if one.at))])
    return found


def written(source: bytes) -> dict[str, Any]:
    """Return what a TOML file says, as it is written."""
    return tomllib.loads(source.decode("utf-8-sig"))


def diagnostics(
    path: Path, source: bytes, faults: Iterable[Fault], *, are_warnings: bool = False
) -> list[Diagnostic]:
    """Return mistakes, or warnings, with their places, from top to bottom."""
    return _core.File(source, str(path)).diagnostics(
        [(list(one.at), one.span, one.rule, one.hint, are_warnings, one.of_key) for one in faults]
    )


def schema(kind: type[msgspec.Struct]) -> str:
    """Return the JSON Schema of files of a kind."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(kind)), indent=2).decode()


WORDS: dict[Any, str] = {
    str: "a string",
    Text: "a string that is not empty",
    bool: "a boolean",
    int: "an integer",
    float: "a finite number",
    dict[str, Any]: "a table",
}
"""What kinds of values are called; a room adds its own."""

_KINDS = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    list: "an array",
    dict: "a table",
}


def faults(value: Any, kind: Any, at: At = ()) -> Iterator[Fault]:
    """Yield the mistakes in the shape of a value."""
    kind = _some(kind)
    table = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    if get_origin(kind) is list and isinstance(value, list):
        for k, one in enumerate(value):
            yield from faults(one, get_args(kind)[0], (*at, k))
    elif table and isinstance(value, dict):
        fields = {one.name: one for one in msgspec.structs.fields(kind)}
        for key, own in value.items():
            if key in fields:
                yield from faults(own, fields[key].type, (*at, key))
            else:
                hint = _core.suggest(key, list(fields))
                yield Fault((*at, key), f"there is no setting `{key}` here", hint, of_key=True)
        lacking = [name for name, one in fields.items() if one.required and name not in value]
        yield from (Fault(at, f"`{name}` is missing", f"add `{name} = ...`") for name in lacking)
    elif get_origin(kind) is dict and isinstance(value, dict):
        for key, own in value.items():
            yield from faults(own, get_args(kind)[1], (*at, key))
    elif table or not _is(value, kind):
        wanted = "a table" if table or get_origin(kind) is dict else WORDS.get(kind, "an array")
        is_text = kind is str and isinstance(value, bool | int | float)
        hint = f'write "{str(value).lower()}"' if is_text else None
        what = _KINDS.get(type(value), "a time") if value != "" else "an empty one"
        yield Fault(at, f"must be {wanted}, not {what}", hint)


def _is(value: Any, kind: Any) -> bool:
    """Return whether a value is of a kind; not for tables with known keys."""
    if kind is Any:
        return True
    if kind == Text:
        return isinstance(value, str) and value != ""
    if get_origin(kind) is dict:
        return isinstance(value, dict)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_is(one, get_args(kind)[0]) for one in value)
    if get_args(kind):
        return any(_is(value, one) for one in get_args(kind))
    if kind is float:
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    return type(value) is kind


def _some(kind: Any) -> Any:
    """Return a kind of value without None."""
    left = tuple(one for one in get_args(kind) if one is not type(None))
    return reduce(or_, left) if len(left) < len(get_args(kind)) else kind
