"""The kind of a file or folder, by its name or a word in it: what reads it is imported after."""

from __future__ import annotations

import re
from pathlib import Path

STUDY = "study.toml"
STUDY_PARTS = ("readings.toml", "kernel.toml")
"""Files that mean nothing without the study beside them."""
LESSON = "lesson.toml"
LEDGER = "ledger.sqlite"

_OF_CAMPAIGNS = re.compile(rb"^[ \t]*(scenario[ \t]*=|\[\[(factor|range|response)\]\])", re.MULTILINE)
_OF_CLAIMS = re.compile(rb"^[ \t]*\[\[claim(\.part)?\]\]|^[ \t]*claim[ \t]*=", re.MULTILINE)


def is_campaign(source: bytes) -> bool:
    """Return whether a file is a campaign: it has a key that only campaigns have."""
    return _OF_CAMPAIGNS.search(source) is not None


def is_claims(source: bytes) -> bool:
    """Return whether a text is a file of claims."""
    return _OF_CLAIMS.search(source) is not None


def is_study(path: Path) -> bool:
    """Return whether a path is that of a study: of its folder, or of its `study.toml`."""
    return path.name == STUDY if path.is_file() else (path / STUDY).is_file()


def is_study_part(path: Path) -> bool:
    """Return whether a path is that of a file that is read with the study beside it."""
    return path.name in STUDY_PARTS and path.is_file() and is_study(path.parent)


def is_lesson(path: Path) -> bool:
    """Return whether a path is that of a lesson's questions."""
    return path.name == LESSON


def is_store(folder: Path) -> bool:
    """Return whether a folder is the store of a campaign."""
    return (folder / LEDGER).exists()
