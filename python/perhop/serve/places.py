"""Served files: runs, stores, scenario files and the like below the given places, and nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from perhop.experiment import ledger
from perhop.experiment.kinds import LESSON, STUDY

Kind: TypeAlias = Literal["run", "store", "reproduced", "scenario", "campaign", "lesson", "study"]
"""A folder: a run, the store of a campaign, what reproducing a study left. A file: what makes one of them."""

_NAMED: dict[str, Kind] = {LESSON: "lesson", STUDY: "study"}
_DEEPEST = 12
_MOST_ENTRIES = 50_000
_LARGEST_FILE = 1_000_000
_SCENARIO = re.compile(rb"^[ \t]*\[\[(link|node|flow)\]\]", re.MULTILINE)
_CAMPAIGN = re.compile(rb"^[ \t]*scenario[ \t]*=", re.MULTILINE)


class UnknownPlaceError(Exception):
    """A key that names nothing that is served."""


@dataclass(frozen=True)
class Place:
    """A run, a store or a file."""

    key: str
    """Its name in addresses: the number of the place given, and the way down from there."""
    path: Path
    """As a command has it, from the folder in which the server was started."""
    kind: Kind

    @property
    def word(self) -> str:
        """The path as a word of a command."""
        return word(self.path)

    def stamp(self) -> tuple[int, ...]:
        """Return a stamp that changes when the files behind a page do."""
        of_store = (ledger.FILE, f"{ledger.FILE}-wal")
        names = {"store": of_store, "reproduced": ("result.json",)}.get(self.kind, ("record.json",))
        files = [self.path / name for name in names] if self.path.is_dir() else [self.path]
        return tuple(_time(file) for file in files)


def word(path: Path) -> str:
    """Return a path as a word of a command; no option begins like it."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def _time(file: Path) -> int:
    try:
        return file.lstat().st_mtime_ns
    except OSError:
        return 0


@dataclass(frozen=True)
class Found:
    """The results of a search, the latest first, and whether it went through everything."""

    places: tuple[Place, ...]
    whole: bool

    def of(self, kind: Kind) -> list[Place]:
        """Return those of a kind."""
        return [place for place in self.places if place.kind == kind]


def search(roots: Sequence[Path]) -> Found:
    """Find runs, stores, scenario and campaign files, without links and hidden names."""
    found: list[Place] = []
    left = _MOST_ENTRIES
    for number, root in enumerate(roots):
        for key, path in _below(str(number), root, _DEEPEST):
            left -= 1
            kind = kind_of(path) if left > 0 else None
            if kind is not None:
                found.append(Place(key, path, kind))
    latest = sorted(found, key=lambda place: (-place.stamp()[0], place.key))
    return Found(tuple(latest), left > 0)


def _below(key: str, path: Path, deep: int) -> Iterator[tuple[str, Path]]:
    """Go through a folder, but not into runs and stores."""
    yield key, path
    if deep == 0 or not path.is_dir() or kind_of(path) is not None:
        return
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return
    for name in names:
        if _is_plain(name) and not (path / name).is_symlink():
            below = path / name
            if below.is_dir():
                yield from _below(f"{key}/{name}", below, deep - 1)
            elif name.endswith(".toml"):
                yield f"{key}/{name}", below


def look_up(roots: Sequence[Path], key: str) -> Place:
    """Return the place with a key, unless it leads out of the places given, through a link or into a run.

    In what all studies left is what each of them left, and nothing else.
    """
    first, *names = key.split("/")
    if not re.fullmatch("[0-9]{1,6}", first) or int(first) >= len(roots):
        raise UnknownPlaceError(key)
    path, within = roots[int(first)], False
    try:
        for name in names:
            if not _is_plain(name) or kind_of(path) not in (None, "reproduced"):
                raise UnknownPlaceError(key)
            within = within or kind_of(path) == "reproduced"
            path = path / name
            if path.is_symlink():
                raise UnknownPlaceError(key)
        kind = kind_of(path)
    except OSError as error:
        raise UnknownPlaceError(key) from error
    if kind is None or (within and kind != "reproduced"):
        raise UnknownPlaceError(key)
    return Place(key, path, kind)


def _is_plain(name: str) -> bool:
    """Return whether a name is one step down, visible, and text."""
    return bool(name) and name[0] != "." and not re.search(r"[/\x00\ud800-\udfff]", name)


def kind_of(path: Path) -> Kind | None:
    """Return the kind of a folder or file, if it is one to be served."""
    if path.is_dir():
        if _is_file(path / ledger.FILE):
            return "store"
        if all(_is_file(path / name) for name in ("result.json", "report.html")):
            return "reproduced"
        return "run" if _is_file(path / "record.json") and _is_file(path / "scenario.toml") else None
    if path.suffix != ".toml" or not path.is_file():
        return None
    try:
        with open(path, "rb") as file:
            text = file.read(_LARGEST_FILE)
    except OSError:
        return None
    if path.name in _NAMED:
        return _NAMED[path.name]
    if _SCENARIO.search(text):
        return "scenario"
    return "campaign" if _CAMPAIGN.search(text) and b"[[response]]" in text else None


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
