"""A mistake in a campaign, with the setting of the campaign file that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perhop._core import ScenarioError

if TYPE_CHECKING:
    from perhop._core import Diagnostic

At = tuple[str | int, ...]
"""Keys and positions from the top of a campaign file: ``("factor", 0, "levels", "low")``."""


@dataclass(frozen=True)
class Fault:
    """A mistake in a campaign, or a warning."""

    at: At
    rule: str
    hint: str | None = None
    span: tuple[int, int] | None = None
    """Which characters of the setting, where it is a text."""
    shown: str = ""
    """More about it, several lines with the hint, for whom there is no file to point into."""
    of_key: bool = False
    """Whether it is the key of the setting that is wrong, not its value."""

    def __str__(self) -> str:
        if self.shown:
            return f"{self.rule}\n{self.shown}"
        return f"{self.rule} ({self.hint})" if self.hint else self.rule


class HintedError(Exception):
    """An error whose `hint` is what would mend it."""

    hint = ""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = self.hint if hint is None else hint


class FileError(ScenarioError):
    """A file with mistakes; `diagnostics` lists every one."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("\n".join(one["rendered"] for one in diagnostics))
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[type[FileError], tuple[list[Diagnostic]]]:
        return type(self), (self.diagnostics,)


class DesignError(ValueError):
    """A design that cannot be; all mistakes found are in `faults`."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)

    def __reduce__(self) -> tuple[type[DesignError], tuple[tuple[Fault, ...]]]:
        return DesignError, (self.faults,)
