"""Errors of studies, with what would mend them."""

from __future__ import annotations


class HintedError(Exception):
    """An error whose `hint` is what would mend it."""

    hint = ""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = self.hint if hint is None else hint


class PackError(HintedError, ValueError):
    """A pack that is missing or cannot be read; the message names the file."""

    hint = "docs/verdicts.md says what these files hold; `git checkout papers` restores them"
