"""A study as one file: a ZIP archive with the hash of every member, made and opened.

Nothing is compressed. So equal folders give equal bytes whatever the machine's zlib, and what is opened takes
no more room than the file itself. A member becomes a plain file below one folder, whatever it says it is, and
none is run here: who may run what is inside is the caller's to ask, by `Manifest.programs`.
"""

from __future__ import annotations

import hashlib
import io
import posixpath
import re
import shlex
import stat
import struct
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unicodedata import normalize

import msgspec

from perhop import _core
from perhop._core import ScenarioError
from perhop.experiment.fault import DesignError, HintedError
from perhop.experiment.ledger import MEASURES_VERSION
from perhop.papers import recorded
from perhop.papers.error import PackError
from perhop.papers.records import encode
from perhop.run.folder import is_there, new_folder, write_file

MANIFEST = "perhop-pack.json"
"""The first member: versions, and path, size and hash of every other."""
FORM = 1
"""Version of how a study is packed."""
MOST_FILES, MOST_BYTES, LONGEST_PATH = 10_000, 1 << 30, 200

_HEADER, _ENTRY, _END = 30, 46, 22
"""Bytes of a ZIP file: beside a member's name before its content, beside it in the list, behind the list."""
_TIME = (1980, 1, 1, 0, 0, 0)
_RECORD = f"{recorded.FOLDER}/{recorded.RESULTS}"
_FORBIDDEN = frozenset('\\:*?"<>|')
_MADE_HERE = re.compile(r"out|.*\.runs|(.*/)?__pycache__")
"""Paths of folders in a study's own that commands make there."""
_BROKEN = (
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError),
    *(ValueError, OverflowError, struct.error, OSError),
)
"""Errors of zipfile about a file that is damaged."""


class PackedError(HintedError):
    """A packed study that is damaged, unsafe or of a newer version."""


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a packed study."""

    path: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first member of a packed study: all others, versions of how and by which perhop it is packed."""

    pack: int
    perhop: str
    results_version: int
    measures_version: int
    files: list[Member]

    @property
    def programs(self) -> list[str]:
        """Paths of the members that are programs in Python."""
        return [one.path for one in self.files if one.path.lower().endswith(".py")]


class _Recorded(msgspec.Struct):
    results_version: int


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
_DECODER, _RECORDED = msgspec.json.Decoder(Manifest), msgspec.json.Decoder(_Recorded)


def pack(
    folder: Path,
    file: Path,
    check: Callable[[Path], object] = lambda _: None,
    may_replace: Callable[[Path], bool] | None = None,
) -> Manifest:
    """Write the files of a study's folder into one file; equal files give equal bytes.

    Left out are names that begin with a dot, `__pycache__`, and what `perhop reproduce` makes in a study's
    own folder, `out` and `*.runs`. What comes out of the file is read by `check` before it gets its name.
    Without `may_replace`, as of `perhop.run.folder.write_file`, a packed study may go.

    A `PackError`: the folder holds a link, a name that not every system takes, or a path that leads out of
    it; or what comes out of the file is no whole study.
    """
    names = sorted(_names(folder))
    if why := _unsafe(names):
        raise PackError(f"{folder}: {why}", "rename it")
    files = {name: (folder / name).read_bytes() for name in names}
    for name, content in files.items():
        if why := _leads_out(name, content):
            raise PackError(f"{folder / name}: {why}", "a study that is packed holds all that it reads")
    members = [Member(name, len(content), _hash(content)) for name, content in files.items()]
    manifest = Manifest(FORM, _core.__version__, _core.RESULTS_VERSION, MEASURES_VERSION, members)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {MANIFEST: encode(msgspec.to_builtins(manifest)), **files}.items():
            entry = zipfile.ZipInfo(name, _TIME)
            entry.create_system = 3  # Unix, so that its tools read the mode
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, content)
    with TemporaryDirectory() as temporary:
        trial, place = Path(temporary, "packed"), Path(temporary, folder.resolve().name)
        trial.write_bytes(whole.getvalue())
        unpack(trial, place)
        try:
            check(place)
        except (ScenarioError, DesignError, PackError, OSError) as error:
            why = f"{folder}: what is packed of it is no whole study: {error}"
            raise PackError(why, "names that begin with a dot are not packed") from error
    write_file(file, whole.getvalue(), may_replace or is_packed)
    return manifest


def lacks(folder: Path, manifest: Manifest) -> list[str]:
    """Return in words what a packed study lacks as an artefact that others judge."""
    names = {one.path for one in manifest.files}
    found = [
        f"no {name}: {why}"
        for name, why in (
            ("README.md", "nobody learns what it is without perhop"),
            ("CITATION.cff", "nobody learns who made it, how to cite it and under which licence it is"),
            (_RECORD, f"there is nothing to compare with; perhop reproduce {folder} --record writes it"),
        )
        if name not in names
    ]
    if "CITATION.cff" in names:
        citation = (folder / "CITATION.cff").read_text(errors="replace")
        if not re.search(r"^license(-url)?: *\S", citation, re.MULTILINE):
            found.append("no `license` in CITATION.cff: nobody may use it")
    if _RECORD in names:
        try:
            version = _RECORDED.decode((folder / _RECORD).read_bytes()).results_version
        except msgspec.MsgspecError:
            return [*found, f"{_RECORD} is no record"]
        if version > _core.RESULTS_VERSION:
            versions = f"{version}; this perhop has {_core.RESULTS_VERSION}"
            found.append(f"{_RECORD} is of results version {versions}")
        elif version < _core.RESULTS_VERSION:
            command = f"perhop reproduce {shlex.quote(str(folder))}"
            whether = f"{command} says whether it holds in {_core.RESULTS_VERSION}"
            found.append(f"{_RECORD} is of results version {version}; {whether}")
    return found


def is_packed(file: Path) -> bool:
    """Return whether a file is a packed study, sound or not."""
    try:
        with open(file, "rb") as opened:
            return opened.read(_HEADER + len(MANIFEST))[_HEADER:] == MANIFEST.encode()
    except OSError:
        return False


def manifest_of(file: Path) -> Manifest:
    """Read what a packed study says it holds, and check that the file has members of that size."""
    with _opened(file) as (_, manifest):
        return manifest


def unpack(file: Path, place: Path) -> None:
    """Write the members of a packed study into a folder, all or none, each compared with its hash.

    A folder that has the very same files is left as it is; one with others is a `PackedError`.
    """
    with _opened(file) as (archive, manifest):
        members = ((one, _content(file, archive, one)) for one in manifest.files)
        if is_there(place):
            _check_equal(file, place, members)
            return
        with new_folder(place) as new:
            for one, content in members:
                path = new / one.path
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(path, "xb") as out:
                    out.write(content)


@contextmanager
def _opened(file: Path) -> Iterator[tuple[zipfile.ZipFile, Manifest]]:
    if not is_packed(file):
        raise PackedError(f"{file}: is no packed study", "perhop pack DIR makes one")
    try:
        archive = zipfile.ZipFile(file)
    except _BROKEN as error:
        raise PackedError(f"{file}: damaged: {error}", _AGAIN) from error
    with archive:
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        if why := _unsafe(names):
            raise PackedError(f"{file}: {why}", _AGAIN)
        for entry in entries:
            if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
                raise PackedError(f"{file}: {entry.filename}: is compressed, as perhop packs nothing", _AGAIN)
        # members that share bytes would come out as more than the file holds
        if sum(entry.file_size for entry in entries) > min(file.stat().st_size, MOST_BYTES):
            raise PackedError(f"{file}: its members are larger than it is, or than {MOST_BYTES:,} bytes")
        manifest = _manifest(file, archive, names)
        sizes = {entry.filename: entry.file_size for entry in entries}
        for one in manifest.files:
            if sizes.pop(one.path, None) != one.bytes:
                raise PackedError(f"{file}: {one.path}: is missing, or has another size", _AGAIN)
        sizes.pop(MANIFEST)
        if sizes:
            raise PackedError(f"{file}: {min(sizes)}: is not in its list of members", _AGAIN)
        tables = sum(_HEADER + _ENTRY + 2 * len(name.encode()) for name in names) + _END
        if tables + sum(entry.file_size for entry in entries) != file.stat().st_size:
            raise PackedError(f"{file}: has bytes that are of no member", _AGAIN)
        yield archive, manifest


_AGAIN = "get the file again"


def _manifest(file: Path, archive: zipfile.ZipFile, names: list[str]) -> Manifest:
    if names[:1] != [MANIFEST]:
        raise PackedError(f"{file}: {MANIFEST}: is not its first member", _AGAIN)
    text = _read(file, archive, MANIFEST)
    try:
        found: Any = msgspec.json.decode(text)
        if isinstance(found, dict) and isinstance(form := found.get("pack"), int) and form > FORM:
            newer = f"of a newer version, {form}; this perhop reads {FORM}"
            raise PackedError(f"{file}: {newer}", "upgrade perhop")
        return _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise PackedError(f"{file}: {MANIFEST}: {error}", _AGAIN) from error


def _content(file: Path, archive: zipfile.ZipFile, member: Member) -> bytes:
    content = _read(file, archive, member.path)
    if _hash(content) != member.sha256:
        raise PackedError(f"{file}: {member.path}: damaged, its SHA-256 is another", _AGAIN)
    if why := _leads_out(member.path, content):
        raise PackedError(f"{file}: {member.path}: {why}")
    return content


def _read(file: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except _BROKEN as error:
        raise PackedError(f"{file}: {name}: damaged: {error}", _AGAIN) from error


def _check_equal(file: Path, place: Path, members: Iterable[tuple[Member, bytes]]) -> None:
    """Refuse a folder whose files are not the members."""
    hint = "move the folder away, or reproduce the folder itself"
    there = set(_names(place)) if place.is_dir() and not place.is_symlink() else set()
    for one, content in members:
        if one.path not in there or (place / one.path).read_bytes() != content:
            raise PackedError(f"{place}: is there and differs from {file}: {one.path}", hint)
        there.remove(one.path)
    if there:
        raise PackedError(f"{place}: is there and differs from {file}: {min(there)}", hint)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _names(folder: Path, within: str = "") -> Iterator[str]:
    """Give the files of a study's folder by their path in it."""
    for path in (folder / within).iterdir():
        name = within + path.name
        if path.name.startswith("."):
            continue
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            what = "a link" if path.is_symlink() else "no plain file"
            raise PackError(f"{path}: is {what}", "a study that is packed holds plain files alone")
        if path.is_file():
            yield name
        elif not _MADE_HERE.fullmatch(name):
            yield from _names(folder, f"{name}/")


def _unsafe(names: Iterable[str]) -> str | None:
    """Return which path leads out of a folder, or is none that every system can have beside the others."""
    seen: dict[str, tuple[str, bool]] = {}
    for name in names:
        parts = name.split("/")
        for part in parts:
            dotted = not part or part[0] == "." or part[-1] in " ."
            if dotted or not part.isprintable() or _FORBIDDEN & {*part}:
                return f"{name[:LONGEST_PATH]!r} is no name that a file may have in a packed study"
        if len(name) > LONGEST_PATH:
            return f"{name[:LONGEST_PATH]!r}... is longer than {LONGEST_PATH} characters"
        for end in range(1, len(parts) + 1):
            own = "/".join(parts[:end]), end == len(parts)
            key = normalize("NFC", own[0]).casefold()
            if key in seen and (own[1] or seen[key] != own):
                return f"{name!r} and {seen[key][0]!r} are one name on some systems"
            seen[key] = own
        if len(seen) > MOST_FILES:
            return f"more than {MOST_FILES:,} files and folders"
    return None


def _leads_out(name: str, content: bytes) -> str | None:
    """Return which text of a TOML file is a path out of the study's folder."""
    if not name.lower().endswith(".toml"):
        return None
    try:
        within = posixpath.dirname(name)
        for text in _texts(tomllib.loads(content.decode())):
            # a setting has its path behind the sign
            for path in (text, text.partition("=")[2]):
                goal = posixpath.normpath(posixpath.join(within, path))
                if goal.split("/")[0] in ("", ".."):
                    return f"{path!r} leads out of the folder"
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"is not TOML: {error}"
    return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
