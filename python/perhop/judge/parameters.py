"""Parameters of predicates, checked by the annotations of what takes them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from perhop.judge.grammar import Part

_NAMES = {str: "text", int: "whole number", float: "finite number"}
_MOST = sys.float_info.max


def unfit_of(name: str, given: Mapping[str, Any], known: Mapping[str, Callable[..., Any]]) -> str | None:
    """Return what is wrong with a call by name: there is no such function, or of its parameters.

    The first parameter of each is what was measured.
    """
    if name not in known:
        return f"no predicate {name!r}; known here: {', '.join(known) or 'none'}"
    _, *names = inspect.signature(known[name]).parameters
    types = get_type_hints(known[name], include_extras=True)
    return unfit(given, {one: types[one] for one in names})


def unfit_predicate(predicates: Mapping[str, Callable[..., Any]]) -> Callable[[Part], str | None]:
    """Return what says what is wrong with a part that names one of these predicates."""
    return lambda part: unfit_of(str(part.predicate), part.parameters, predicates)


def no_predicate(part: Part) -> str:
    """Return what is wrong with a part that names a predicate, where there is no study."""
    return "a predicate is a function of a study; a campaign has none"


def unfit(given: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """Return which parameter is unknown, of another type, or missing; None where none is.

    Each is `wanted` by an annotation: `str`, `int`, `float`, a `Literal`, a list or tuple of one of the first
    three, or `Annotated[list[str], 2]` where there must be so many.
    """
    for name, value in given.items():
        if name not in wanted:
            return f"no parameter {name!r}; known here: {', '.join(wanted)}"
        if instead := _mismatch(value, wanted[name]):
            return f"{name} is {value!r}, not {instead}"
    missing = [name for name in wanted if name not in given]
    return f"'parameters' has no {', '.join(map(repr, missing))}" if missing else None


def _mismatch(value: Any, annotation: Any) -> str | None:
    """Return what a value should be; None where it is."""
    origin, of = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return None if value in of else f"one of {', '.join(map(repr, of))}"
    if origin is Annotated:
        fits = _mismatch(value, of[0]) is None and len(value) == of[1]
        return None if fits else f"a list of {of[1]} {_NAMES[get_args(of[0])[0]]}s"
    if origin is None:
        return None if _is(value, annotation) else f"a {_NAMES[annotation]}"
    fits = isinstance(value, list) and value != [] and all(_is(one, of[0]) for one in value)
    return None if fits else f"a list of one {_NAMES[of[0]]} or more"


def _is(value: Any, kind: type) -> bool:
    if kind is float:
        return type(value) in (int, float) and -_MOST <= value <= _MOST
    return type(value) is kind
