"""The files that a scenario names, read once and held, so that every run of it has the same."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Mapping
from pathlib import Path

FOLDER = "files"
"""The folder beside a recorded scenario in which the files are that it names."""

_LARGEST = 64 << 20


class Files:
    """The files beside a scenario, by the names that it gives them.

    They are in the scenario's own folder or in `FOLDER` there; a scenario that came as text has the `held`
    alone.
    """

    def __init__(self, folder: str | Path | None = None, held: Mapping[str, bytes] | None = None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._held = dict(held or {})

    @property
    def held(self) -> dict[str, bytes]:
        """The files that were read or given so far, by name in order."""
        return {name: self._held[name] for name in sorted(self._held)}

    def read(self, name: str) -> tuple[bytes, str]:
        """Return a file and its SHA-256.

        Where there is none, the message of the ValueError ends a sentence that begins with its name.
        """
        if name not in self._held:
            self._held.setdefault(name, self._read(name))
        content = self._held[name]
        return content, hashlib.sha256(content).hexdigest()

    def _read(self, name: str) -> bytes:
        if self._folder is None:
            raise ValueError("cannot be read: this scenario came as text, without a folder")
        places = [self._folder / name, self._folder / FOLDER / name]
        place = next((place for place in places if place.exists()), places[0])
        try:
            if not stat.S_ISREG(place.stat().st_mode):
                raise ValueError(f"is not a file, in {self._folder}")
            with open(place, "rb") as file:
                content = file.read(_LARGEST + 1)
        except OSError as error:
            raise ValueError(f"cannot be read in {self._folder}: {error.strerror}") from error
        if len(content) > _LARGEST:
            raise ValueError(f"has more than {_LARGEST >> 20} MiB, the most that such a file may have")
        return content
