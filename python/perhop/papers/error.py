"""The error of a study whose files cannot be used."""

from __future__ import annotations


class PackError(ValueError):
    """A pack that is missing or cannot be read; the message names the file.

    `hint` is what would mend it.
    """

    def __init__(
        self,
        message: str,
        hint: str = "docs/verdicts.md says what these files hold; `git checkout papers` restores them",
    ) -> None:
        super().__init__(message)
        self.hint = hint
