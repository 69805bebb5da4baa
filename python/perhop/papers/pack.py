"""Find and read a reproduction pack."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from perhop.judge.grammar import Claim, Claims, read
from perhop.papers.error import PackError
from perhop.papers.published import PublishedRow, read_table

ROOTS = (Path(__file__).parents[1] / "papers_data", Path(__file__).parents[3] / "papers")
"""Folders of the project's studies: in the installed package, in the repository."""


@dataclass(frozen=True)
class Kind:
    """Kind of value of a key: as a message names it, and whether a value is of this kind."""

    words: str
    holds: Callable[[Any], bool]


def _list_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(type(one) is kind for one in value)


TEXT = Kind("a text that is not empty", lambda value: isinstance(value, str) and value != "")
ANY_TEXT = Kind("a text", lambda value: isinstance(value, str))
WHOLE = Kind("a whole number", lambda value: type(value) is int)
TEXTS = Kind("a list of texts", _list_of(str))
WHOLES = Kind("a list of whole numbers", _list_of(int))

Keys = Mapping[str, Kind]
"""Keys of a table, and what each holds."""


@dataclass(frozen=True)
class Pack:
    """A paper's published numbers, figures and claims, and the scenarios that repeat it.

    `figures` are the tables of `figures.toml`, none without such a file; `written` is `claims.toml` as it was
    read; `published` has the printed tables by file stem. `called` is how commands name its folder.
    """

    key: str
    folder: Path
    figures: tuple[dict[str, Any], ...]
    written: Claims
    published: dict[str, tuple[PublishedRow, ...]]
    called: str = ""

    @property
    def place(self) -> str:
        """How commands name its folder: by default as the project's."""
        return self.called or f"papers/{self.key}"

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims of `claims.toml`, in file order."""
        return self.written.claims

    def scenario(self, name: str) -> bytes:
        """Return the text of one of the pack's scenario files."""
        return _read(self.folder / name)

    def table(self, name: str) -> tuple[PublishedRow, ...]:
        """Return one of the printed tables."""
        if name not in self.published:
            raise PackError(f"{self.folder / 'published' / name}.csv: is missing")
        return self.published[name]

    def record(self, name: str, keys: Sequence[str]) -> dict[str, Any]:
        """Return the record of a command of ours, an object with these keys."""
        path = self.folder / name
        try:
            found = json.loads(_read(path))
        except ValueError as error:
            raise PackError(f"{path}: not JSON: {error}") from None
        lacks = [key for key in keys if not isinstance(found, dict) or key not in found]
        if lacks:
            raise PackError(f"{path}: has no {', '.join(map(repr, lacks))}")
        return dict(found)

    def tables(self, name: str, kind: str, keys: Keys, least: int = 1) -> tuple[dict[str, Any], ...]:
        """Return the tables `[[kind]]` of a file, at least so many, with these keys alone."""
        return _tables(self.folder / name, kind, keys, least)

    def toml(self, name: str) -> dict[str, Any]:
        """Parse one of the pack's files; asking for a key that is missing is a `PackError`."""
        return _Words(self.folder / name, _parse(self.folder / name, self.scenario(name)))


def own_folder(key: str) -> Path | None:
    """Return the folder of a pack of the project, by its name; None where there is none."""
    return next(((root / key).resolve() for root in ROOTS if (root / key / "claims.toml").is_file()), None)


def pack_dir(key: str) -> Path:
    """Return the folder of a pack: in the installed package, or `papers/` of the repository.

    Raises
    ------
    PackError
        If there is no such pack; the message lists those there are.
    """
    if (own := own_folder(key)) is not None:
        return own
    known = sorted({path.parent.name for root in ROOTS for path in root.glob("*/claims.toml")})
    raise PackError(f"no pack {key!r}; there is {', '.join(known) or 'none'}")


def load_pack(key: str, figure: Keys = MappingProxyType({})) -> Pack:
    """Read a pack.

    `figure` has the keys of a figure, which each study has of its own; without any,
    `figures.toml` is not read.

    Raises
    ------
    PackError
        If a file is missing or malformed.
    ClaimsError
        If `claims.toml` has mistakes.
    """
    folder = pack_dir(key)
    figures = _tables(folder / "figures.toml", "figure", figure) if figure else ()
    written = read(folder / "claims.toml")
    published = {
        path.stem: read_table(path, _decode(path, _read(path)))
        for path in sorted((folder / "published").glob("*.csv"))
    }
    return Pack(key, folder, figures, written, published)


_TOP = {
    "kernel.toml": frozenset({"kernel", "variant"}),
    "figures.toml": frozenset({"figure"}),
}
"""Keys at the top of each file, its tables among them."""


class _Words(dict[str, Any]):
    """A parsed file, or a table in it, that says which of its keys is missing, and where."""

    def __init__(self, path: Path, table: Mapping[str, Any], inside: str = "") -> None:
        def found(value: Any, place: str) -> Any:
            if isinstance(value, list):
                return [found(one, f"{place}[{at}]") for at, one in enumerate(value)]
            return _Words(path, value, f"{place}.") if isinstance(value, dict) else value

        super().__init__({key: found(value, inside + key) for key, value in table.items()})
        self._path, self._inside = path, inside

    def __missing__(self, key: str) -> Any:
        raise PackError(f"{self._path}: has no {self._inside + key!r}; there is {', '.join(self)}")


class _Table(dict[str, Any]):
    """A table that says which of its keys is missing, and where."""

    def __init__(self, path: Path, kind: str, table: dict[str, Any], keys: Keys) -> None:
        super().__init__(table)
        name = table.get("id") or table.get("case") or table.get("of") or "?"
        self._where = f"{path}: {kind} {name}"
        _check_keys(self._where, table, keys)
        for key, value in table.items():
            if not keys[key].holds(value):
                raise PackError(f"{self._where}: {key!r} is {value!r}, not {keys[key].words}")

    def __missing__(self, key: str) -> Any:
        raise PackError(f"{self._where} has no {key!r}")


def _tables(path: Path, name: str, keys: Keys, least: int = 1) -> tuple[dict[str, Any], ...]:
    whole = _parse(path, _read(path))
    _check_keys(str(path), whole, _TOP[path.name])
    tables = whole.get(name, [])
    if not (isinstance(tables, list) and all(isinstance(table, dict) for table in tables)):
        raise PackError(f"{path}: {name!r} is not written as [[{name}]]")
    if len(tables) < least:
        raise PackError(f"{path}: has no [[{name}]]")
    return tuple(_Table(path, name, table, keys) for table in tables)


def _check_keys(where: str, table: Collection[str], known: Collection[str]) -> None:
    for key in table:
        if key not in known:
            raise PackError(f"{where}: unknown key {key!r}; there is {', '.join(sorted(known))}")


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
