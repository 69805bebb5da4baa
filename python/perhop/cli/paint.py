"""Colour of errors and warnings on a terminal; ``NO_COLOR`` (no-color.org) is heeded."""

from __future__ import annotations

import os
import re
import sys

_OF = (
    (re.compile(r"^(internal error|error)(?=:)", re.MULTILINE), "1;31"),
    (re.compile(r"^(warning)(?=:)", re.MULTILINE), "1;33"),
    (re.compile(r"^(hint|to see where)(?=:)", re.MULTILINE), "1;36"),
    # what the core renders: the mistake, the mark under its place, the hint
    (re.compile(r"^(  ×.*)$", re.MULTILINE), "31"),
    (re.compile(r"^(  ⚠.*)$", re.MULTILINE), "33"),
    (re.compile(r"^(  help)(?=:)", re.MULTILINE), "36"),
)


def painted(text: str) -> str:
    """Return text for standard error with its first words in colour, where that is wanted."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty():
        return text
    for pattern, color in _OF:
        text = pattern.sub(f"\x1b[{color}m\\1\x1b[0m", text)
    return text
