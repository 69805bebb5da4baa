"""Errors of studies, with what would mend them."""

from __future__ import annotations

from perhop.experiment.fault import HintedError


class PackError(HintedError, ValueError):
    """A pack that is missing or cannot be read; the message names the file."""

    hint = "docs/verdicts.md says what these files hold; `git checkout papers` restores them"
