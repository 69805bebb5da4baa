"""A study as one file: equal folders give equal bytes, and a file that is not sound gives nothing."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from perhop import RESULTS_VERSION
from perhop.papers import packed
from perhop.papers.error import PackError
from perhop.papers.packed import MANIFEST, PackedError, manifest_of, pack, unpack

FILES = {
    "study.toml": b'title = "A study"\nscenario = "sub/scenario.toml"\n',
    "sub/scenario.toml": b'[run]\nduration = "1 s"\n',
    "sub/own.py": b"raise SystemExit('ran')\n",
    "recorded/runs.csv": bytes(range(256)),
    "Ünïcode name.md": b"",
    "sub/out/page.md": b"is packed",
}


def write(folder: Path, files: Mapping[str, bytes] = FILES) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if not path.is_dir()
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pack(write(tmp_path / "study"), tmp_path / "study.zip")
    return tmp_path / "study.zip"


def test_equal_folders_give_equal_bytes(tmp_path: Path) -> None:
    write(tmp_path / "one")
    other = write(tmp_path / "other", dict(reversed(FILES.items())))
    os.utime(other / "study.toml", (1, 1))
    (other / "study.toml").chmod(0o755)
    for left_out in (
        ".git/config",
        "__pycache__/a.pyc",
        "out.runs/ledger",
        "out/x/report.html",
        "sub/.hidden",
    ):
        write(other, {left_out: b"left out"})
    assert pack(tmp_path / "one", tmp_path / "1.zip") == pack(other, tmp_path / "2.zip")
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()


def test_bytes_are_the_same_whatever_python_packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("__version__", "1"), ("RESULTS_VERSION", 1)):
        monkeypatch.setattr(packed._core, name, value)
    monkeypatch.setattr(packed, "MEASURES_VERSION", 1)
    pack(write(tmp_path / "study"), tmp_path / "study.zip")
    found = hashlib.sha256((tmp_path / "study.zip").read_bytes()).hexdigest()
    assert found == "6f344f4b0e31860a42311407d03ae3608812ec52de32954c0766367f35ae47fe"


def test_what_is_packed_comes_out_again(file: Path, tmp_path: Path) -> None:
    unpack(file, tmp_path / "again")
    assert read(tmp_path / "again") == FILES
    pack(tmp_path / "again", tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == file.read_bytes()
    manifest = manifest_of(file)
    assert (manifest.results_version, manifest.programs) == (RESULTS_VERSION, ["sub/own.py"])
    assert [one.path for one in manifest.files] == sorted(FILES)


def test_any_zip_tool_reads_it(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [MANIFEST, *sorted(FILES)]
        hashes = {one["path"]: one["sha256"] for one in json.loads(archive.read(MANIFEST))["files"]}
    assert hashes == {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}


def test_a_folder_that_is_there_is_used_only_if_it_is_the_same(file: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    unpack(file, place)
    before = (place / "study.toml").stat()
    unpack(file, place)
    after = (place / "study.toml").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    (place / "sub" / "own.py").write_bytes(b"mine")
    with pytest.raises(PackedError, match=r"differs from .*: sub/own\.py"):
        unpack(file, place)
    (place / "sub" / "own.py").write_bytes(FILES["sub/own.py"])
    write(place, {"new.toml": b""})
    with pytest.raises(PackedError, match=r"differs from .*: new\.toml"):
        unpack(file, place)
    (place / "new.toml").unlink()
    (place / "sub" / "own.py").unlink()
    with pytest.raises(PackedError, match=r"differs from .*: sub/own\.py"):
        unpack(file, place)
    link = tmp_path / "link"
    link.symlink_to(place)
    with pytest.raises(PackedError, match="differs"):
        unpack(file, link)


def test_a_packed_study_is_replaced_and_no_other_file(file: Path, tmp_path: Path) -> None:
    pack(tmp_path / "study", file)
    other = tmp_path / "notes.zip"
    other.write_bytes(b"mine")
    with pytest.raises(OSError, match="exists"):
        pack(tmp_path / "study", other)
    assert other.read_bytes() == b"mine"


def sound(file: Path, place: Path) -> bool:
    """Return whether a file opens; if it does it must give what was packed, else nothing."""
    told = ""
    try:
        unpack(file, place)
    except PackedError as error:
        told = str(error)
    assert read(place) == ({} if told else FILES)
    assert not told or str(file) in told
    return not told


def test_damage_of_any_byte_is_told_or_changes_nothing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perhop.run.folder.reach_disk", lambda _: None)
    whole = file.read_bytes()
    unseen = 0
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        file.write_bytes(damaged)
        unseen += sound(file, tmp_path / f"place {at}")
    assert unseen < 0.2 * len(whole)  # dates, modes and versions of tools, twice for each member
    for length in range(0, len(whole), 7):
        file.write_bytes(whole[:length])
        assert not sound(file, tmp_path / f"short {length}")


@pytest.mark.parametrize("more", [b"x", b"\0" * 100])
def test_bytes_that_are_of_no_member_are_refused(more: bytes, file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole + more)
    with pytest.raises(PackedError, match="has bytes that are of no member"):
        unpack(file, tmp_path / "place")
    # as a comment, which any ZIP tool shows
    file.write_bytes(whole[:-2] + len(more).to_bytes(2, "little") + more)
    with pytest.raises(PackedError, match="has bytes that are of no member"):
        manifest_of(file)
    assert not (tmp_path / "place").exists()


@pytest.mark.parametrize("name", [name for name in FILES if FILES[name]])
def test_damage_names_the_member(name: str, file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    at = whole.index(FILES[name]) + len(FILES[name]) // 2
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(PackedError, match=f"{name}: damaged"):
        unpack(file, tmp_path / "place")


Change = Callable[[dict[str, Any]], None]


def forged(file: Path, members: Mapping[str, bytes], change: Change = lambda _: None, **how: Any) -> Path:
    """Write a packed study of whatever members, with the right hashes."""
    files = [
        {"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in members.items()
    ]
    manifest = {"pack": 1, "perhop": "1", "results_version": 1, "measures_version": 1, "files": files}
    change(manifest)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(MANIFEST, json.dumps(manifest))
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)
            for attribute, value in how.items():
                setattr(entry, attribute, value)
            archive.writestr(entry, content)
    return file


@pytest.mark.parametrize(
    "name",
    [
        *("../out", "/etc/out", "a/../../out", "a//out", "./out", "a/./out", ".ssh/config", "a/", ""),
        *("..\\out", "C:out", "a\nb", "a\x1b[31m", "out.", "out ", "a" * 201, "a\u202egnp.exe"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    place = tmp_path / "deep" / "place"
    with pytest.raises(PackedError) as told:
        unpack(forged(tmp_path / "bad.zip", {name: b"x", "study.toml": b""}), place)
    assert "bad.zip" in str(told.value)
    assert str(told.value).isprintable()
    assert not place.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.zip"]


@pytest.mark.parametrize(("one", "other"), [("a", "A"), ("a/b", "A"), ("x/é", "x/e\u0301"), ("a", "a/b")])
def test_names_that_are_one_on_some_systems_are_refused(one: str, other: str, tmp_path: Path) -> None:
    with pytest.raises(PackedError, match="one name"):
        unpack(forged(tmp_path / "bad.zip", {one: b"1", other: b"2"}), tmp_path / "place")


def test_a_member_that_says_it_is_a_link_becomes_a_plain_file(tmp_path: Path) -> None:
    file = forged(tmp_path / "link.zip", {"passwords": b"/etc/passwd"}, external_attr=0o120777 << 16)
    unpack(file, tmp_path / "place")
    found = tmp_path / "place" / "passwords"
    assert not found.is_symlink()
    assert (found.read_bytes(), found.stat().st_mode & 0o7111) == (b"/etc/passwd", 0)


def test_nothing_grows(tmp_path: Path) -> None:
    bomb = forged(tmp_path / "bomb.zip", {"zeros": bytes(1 << 20)}, compress_type=zipfile.ZIP_DEFLATED)
    with pytest.raises(PackedError, match="zeros: is compressed"):
        unpack(bomb, tmp_path / "place")
    many = forged(tmp_path / "many.zip", {f"{k}": b"x" * 5000 for k in range(10)})
    with zipfile.ZipFile(many) as archive:
        first = archive.infolist()[1].header_offset
        offsets = [entry.header_offset for entry in archive.infolist()[2:]]
    whole = many.read_bytes()
    directory = whole.index(b"PK\x01\x02")
    for offset in offsets:  # all members share the bytes of one, and the bytes of the others go
        whole = whole[:directory] + whole[directory:].replace(
            offset.to_bytes(4, "little"), first.to_bytes(4, "little")
        )
    kept = first + 30 + 1 + 5000
    end = whole.rindex(b"PK\x05\x06")
    tail = whole[directory : end + 16] + kept.to_bytes(4, "little") + whole[end + 20 :]
    many.write_bytes(whole[:kept] + tail)
    with zipfile.ZipFile(many) as archive:
        assert sum(entry.file_size for entry in archive.infolist()) > many.stat().st_size
    with pytest.raises(PackedError, match="larger than it is"):
        unpack(many, tmp_path / "place")


def test_more_files_than_a_study_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MOST_FILES", 5)
    with pytest.raises(PackedError, match="more than 5 files"):
        unpack(forged(tmp_path / "bad.zip", {f"{k}": b"" for k in range(6)}), tmp_path / "place")


def drop(manifest: dict[str, Any]) -> None:
    manifest["files"].pop()


def grow(manifest: dict[str, Any]) -> None:
    manifest["files"][0]["bytes"] += 1


def another(manifest: dict[str, Any]) -> None:
    manifest["files"][0]["sha256"] = "0" * 64


def newer(manifest: dict[str, Any]) -> None:
    manifest |= {"pack": 2, "what": "else"}


def more(manifest: dict[str, Any]) -> None:
    manifest["files"].append({"path": "c", "bytes": 0, "sha256": hashlib.sha256().hexdigest()})


def wrong(manifest: dict[str, Any]) -> None:
    manifest["files"] = 5


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (drop, "b: is not in its list"),
        (grow, "a: is missing, or has another size"),
        (another, "a: damaged, its SHA-256 is another"),
        (newer, "of a newer version, 2"),
        (more, "c: is missing"),
        (wrong, f"{MANIFEST}: Expected `array`"),
    ],
)
def test_a_manifest_that_is_of_other_members_is_refused(change: Change, told: str, tmp_path: Path) -> None:
    with pytest.raises(PackedError, match=told):
        unpack(forged(tmp_path / "bad.zip", {"a": b"1", "b": b"2"}, change), tmp_path / "place")


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("study.toml", b"")
    for content in (b"", b"not a zip", other.getvalue()):
        (tmp_path / "x.zip").write_bytes(content)
        with pytest.raises(PackedError, match="is no packed study"):
            manifest_of(tmp_path / "x.zip")


def test_what_is_no_plain_file_is_not_packed(tmp_path: Path) -> None:
    study = write(tmp_path / "study")
    (study / "link").symlink_to("/etc/passwd")
    with pytest.raises(PackError, match="link: is a link"):
        pack(study, tmp_path / "x.zip")
    (study / "link").unlink()
    os.mkfifo(study / "pipe")
    with pytest.raises(PackError, match="pipe: is no plain file"):
        pack(study, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('scenario = "../scenario.toml"', "../scenario.toml"),
        ('scenario = "/etc/scenario.toml"', "/etc/scenario.toml"),
        ('set = ["udp.a.pattern=/dev/zero"]', "/dev/zero"),
        ('[[reading]]\nset = [{ x = "a/../../b" }]', "a/../../b"),
    ],
)
def test_a_path_out_of_the_folder_is_told_when_packing_and_when_opening(
    text: str, path: str, tmp_path: Path
) -> None:
    study = write(tmp_path / "study", {"study.toml": text.encode()})
    with pytest.raises(PackError, match="leads out of the folder") as told:
        pack(study, tmp_path / "x.zip")
    assert repr(path) in str(told.value)
    file = forged(tmp_path / "bad.zip", {"study.toml": text.encode()})
    with pytest.raises(PackedError, match=r"study\.toml: .* leads out of the folder"):
        unpack(file, tmp_path / "place")


def test_a_path_to_a_neighbour_may_be_packed(tmp_path: Path) -> None:
    study = write(tmp_path / "study", {"beyond/campaign.toml": b'scenario = "../scenario.toml"'})
    assert pack(study, tmp_path / "x.zip").files[0].path == "beyond/campaign.toml"
