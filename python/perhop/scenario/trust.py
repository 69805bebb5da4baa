"""Whether programs run that scenarios, campaigns and studies of users name, here and in what starts here."""

from __future__ import annotations

import os

TRUST = "PERHOP_TRUST"
"""The variable of the environment that says ``no`` where no program of a user may run."""


def set_trust(trusted: bool) -> None:
    """Set whether programs may run in this process and in those that it starts."""
    os.environ[TRUST] = "yes" if trusted else "no"


def is_trusted() -> bool:
    """Return whether programs may run, as they may unless somebody said that they may not."""
    return os.environ.get(TRUST) != "no"
