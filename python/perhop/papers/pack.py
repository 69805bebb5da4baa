"""Find and read a reproduction pack."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOTS = (Path(__file__).parents[1] / "papers_data", Path(__file__).parents[3] / "papers")


class PackError(ValueError):
    """A pack that is missing or cannot be read; the message names the file.

    Parameters
    ----------
    message
        What is wrong.
    hint
        What would mend it.
    """

    def __init__(
        self, message: str, hint: str = "the files of a study are part of perhop: restore them"
    ) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, turned into a predicate over measured results.

    Attributes
    ----------
    id
        Short name, `K1`.
    statement
        What is claimed, in our own words.
    where
        Section or page of the paper.
    predicate
        Name of the function that judges it.
    parameters
        Its keyword arguments.
    """

    id: str
    statement: str
    where: str
    predicate: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Pack:
    """A paper's published numbers, figures and claims, and the scenarios that repeat it.

    Attributes
    ----------
    key
        Folder name.
    folder
        Where it was found.
    figures
        Tables of `figures.toml`, in file order.
    claims
        Tables of `claims.toml`, in file order.
    published
        The printed tables by file stem; one dict of strings per row, empty where the paper prints nothing.
    """

    key: str
    folder: Path
    figures: tuple[dict[str, Any], ...]
    claims: tuple[Claim, ...]
    published: dict[str, tuple[dict[str, str], ...]]

    def scenario(self, name: str) -> bytes:
        """Text of one of the pack's scenario files."""
        return _read(self.folder / name)

    def toml(self, name: str) -> dict[str, Any]:
        """One of the pack's files, parsed."""
        return _parse(self.folder / name, self.scenario(name))


def pack_dir(key: str) -> Path:
    """Folder of a pack: in the installed package, or `papers/` of the repository.

    Parameters
    ----------
    key
        Name of the pack, for example `kalampoukas`.

    Raises
    ------
    PackError
        If there is no such pack; the message lists those there are.
    """
    for root in _ROOTS:
        if (root / key / "claims.toml").is_file():
            return root / key
    known = sorted({path.parent.name for root in _ROOTS for path in root.glob("*/claims.toml")})
    raise PackError(f"no pack {key!r}; there is {', '.join(known) or 'none'}")


def load_pack(key: str) -> Pack:
    """Read a pack.

    Parameters
    ----------
    key
        Name of the pack.

    Raises
    ------
    PackError
        If a file is missing or malformed.
    """
    folder = pack_dir(key)
    figures = _tables(folder / "figures.toml", "figure")
    claims = []
    for table in _tables(folder / "claims.toml", "claim"):
        try:
            claims.append(
                Claim(
                    table["id"],
                    table["statement"],
                    table["where"],
                    table["predicate"],
                    table.get("parameters", {}),
                )
            )
        except KeyError as missing:
            raise PackError(
                f"{folder / 'claims.toml'}: claim {table.get('id', '?')} has no {missing}"
            ) from None
    published = {
        path.stem: tuple(csv.DictReader(_decode(path, _read(path)).splitlines()))
        for path in sorted((folder / "published").glob("*.csv"))
    }
    return Pack(key, folder, figures, tuple(claims), published)


def _tables(path: Path, name: str) -> tuple[dict[str, Any], ...]:
    tables = _parse(path, _read(path)).get(name, [])
    if not tables:
        raise PackError(f"{path}: has no [[{name}]]")
    return tuple(tables)


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(_decode(path, text))
    except tomllib.TOMLDecodeError as error:
        raise PackError(f"{path}: {error}") from None


def _decode(path: Path, text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise PackError(f"{path}: not UTF-8 at byte {error.start}") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PackError(f"{path}: {error.strerror}") from None
