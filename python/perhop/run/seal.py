"""Hashes against damage: of the bytes of files, and of a document within itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

_KEY = "record_hash"


class Hashed:
    """A file that is hashed while it is written, in order; `digest` is of what it holds already."""

    def __init__(self, out: IO[bytes], digest: Any = None) -> None:
        self._out = out
        self.digest = hashlib.sha256() if digest is None else digest
        self.refused: OSError | None = None
        """What the system said to a write, which who writes may tell as something else."""

    def write(self, data: bytes) -> int:
        """Write bytes."""
        self.digest.update(data)
        with self._noted():
            return self._out.write(data)

    def flush(self) -> None:
        """Hand buffered bytes to the system."""
        with self._noted():
            self._out.flush()

    @contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.refused = error
            raise


def file_hash(file: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def changed_files(folder: Path, hashes: dict[str, str]) -> dict[str, OSError | None]:
    """Return the files of a folder that have not these hashes; an error of those that cannot be read."""
    found = dict[str, OSError | None]()
    for name, recorded in hashes.items():
        try:
            if file_hash(folder / name) != recorded:
                found[name] = None
        except OSError as error:
            found[name] = error
    return found


def indented(document: Any) -> bytes:
    """Return a document as JSON, with a line for each value."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def sealed(document: Any) -> bytes:
    """Return a document as JSON with the hash of everything else in it as ``record_hash``."""
    plain = msgspec.json.decode(msgspec.json.encode(document))
    plain[_KEY] = _hash(plain)
    return indented(plain)


def is_whole(text: bytes) -> bool:
    """Return whether a JSON document has the hash that is in it; an older one has none.

    What is hashed are values and their order, not how they are spaced.
    """
    found = msgspec.json.decode(text)
    recorded = found.get(_KEY)
    return recorded is None or recorded == _hash(found)


def _hash(document: dict[str, Any]) -> str:
    rest = {key: value for key, value in document.items() if key != _KEY}
    return hashlib.sha256(msgspec.json.encode(rest)).hexdigest()
