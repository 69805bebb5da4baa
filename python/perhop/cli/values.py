"""The values of options, made of their words without pydantic where that is plain.

typer makes every value by pydantic, whose import takes longer than many a command.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from typer import core
from typer._coercion import RuntimeParam, TypeDescriptor, build_runtime_param

if TYPE_CHECKING:
    from typer._click import Context
    from typer.models import ParameterInfo

_LONGEST = 18
"""Digits of a number that is plain: all of them count, in 64 bits as in a float."""


def take_plain() -> None:
    """Have typer take what is plain, and make by pydantic what is left: mistakes, numbers as 1_000."""
    core.build_runtime_param = _Plain.of  # type: ignore[attr-defined]


@dataclass(frozen=True)
class _Plain(RuntimeParam):
    """The values of one option."""

    descriptor: TypeDescriptor

    @classmethod
    def of(cls, descriptor: TypeDescriptor) -> _Plain:
        return cls(descriptor.parameter_info, descriptor.annotation, descriptor)

    def _coerce_value(self, value: Any, param: core._TyperParameter, ctx: Context) -> Any:
        annotation: Any = self.annotation
        several = get_origin(annotation) is list
        kind = get_args(annotation)[0] if several else annotation
        words = list(value) if several else [value]
        made = [_made(kind, word, self.parameter_info) for word in words]
        if None in made:
            return build_runtime_param(self.descriptor)._coerce_value(value, param, ctx)
        return made if several else made[0]


def _made(kind: Any, word: Any, info: ParameterInfo) -> Any:
    """Return the value of a word; None where that is not plain, or perhaps a mistake."""
    if kind is str:
        return word if isinstance(word, str) else None
    if kind is Path:
        # that there is none, the command says
        return Path(word) if os.access(word, os.R_OK) or not os.path.exists(word) else None
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((one for one in kind if word in (one, one.value)), None)
    if kind not in (int, float):
        return None
    if isinstance(word, str):
        digits = word.replace(".", "", 1) if kind is float else word
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST):
            return None
        word = kind(word)
    least = word if info.min is None else info.min
    most = word if info.max is None else info.max
    return word if least <= word <= most else None
