"""A folder is written whole or not at all; what was there stays, or goes once the new one is whole."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perhop.run.folder import PlaceTakenError, always, never, new_folder, write_file


def files(top: Path) -> dict[str, str]:
    """Give every file under a folder with its text."""
    return {str(path.relative_to(top)): path.read_text() for path in top.rglob("*") if path.is_file()}


def begin(place: Path, error: type[BaseException]) -> None:
    """Write half of a folder."""
    with new_folder(place, always) as partial:
        (partial / "x").write_text("half")
        raise error


def write(place: Path, text: str = "new", may_replace: Callable[[Path], bool] = never) -> None:
    """Write a whole folder."""
    with new_folder(place, may_replace) as partial:
        (partial / "x").write_text(text)


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """Give the place of a folder that a process was writing, in place of an older one, when it was killed."""
    place = tmp_path / "a"
    code = (
        "import os, pathlib, perhop.run.folder as f\n"
        "rename = pathlib.Path.rename\n"
        "def killed(self, target):\n"
        "    if self.name == 'new': os.kill(os.getpid(), 9)\n"
        "    return rename(self, target)\n"
        "pathlib.Path.rename = killed\n"
        f"with f.new_folder({str(place)!r}, f.always) as new: (new / 'x').write_text('half')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    return place


def test_it_comes_into_being_whole_with_its_parents(tmp_path: Path) -> None:
    with new_folder(tmp_path / "a" / "b") as partial:
        (partial / "x").write_text("new")
        assert not (tmp_path / "a" / "b").exists()
    assert files(tmp_path) == {"a/b/x": "new"}


def test_it_replaces_what_may_go(tmp_path: Path) -> None:
    write(tmp_path / "a", "old")
    with new_folder(tmp_path / "a", lambda path: (path / "x").read_text() == "old") as partial:
        (partial / "y").write_text("new")
    assert files(tmp_path) == {"a/y": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("kind", ["folder", "file", "link to nothing"])
def test_what_is_there_stays_unless_it_may_go(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "a"
    if kind == "folder":
        place.mkdir()
    elif kind == "file":
        place.touch()
    else:
        place.symlink_to(tmp_path / "nothing")
    with pytest.raises(FileExistsError):
        write(place)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_that_appears_meanwhile_stays_and_what_was_written_is_kept_beside_it(
    tmp_path: Path, replace: bool
) -> None:
    (tmp_path / "a-2").touch()

    def write_while_somebody_else_does() -> None:
        with new_folder(tmp_path / "a", lambda path: replace and (path / "x").exists()) as partial:
            (partial / "x").write_text("new")
            (tmp_path / "a").mkdir()
            (tmp_path / "a" / "notes").write_text("precious")

    told = re.escape(f"what was written is in {tmp_path / 'a-3'}")
    with pytest.raises(PlaceTakenError, match=rf"a came into being meanwhile and is left alone; {told}$"):
        write_while_somebody_else_does()
    assert files(tmp_path) == {"a/notes": "precious", "a-2": "", "a-3/x": "new"}


def test_two_cannot_write_to_one_place(tmp_path: Path) -> None:
    place = tmp_path / "a"
    told = re.escape(f"{place}: another command is writing it, in {place}.partial")
    with new_folder(place) as partial:
        (partial / "x").write_text("first")
        with pytest.raises(PlaceTakenError, match=told):
            write(place)
        (tmp_path / "b").symlink_to(tmp_path)
        with pytest.raises(PlaceTakenError):
            write(tmp_path / "b" / "a")
    assert files(place) == {"x": "first"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_what_a_killed_process_left_is_cleared_by_the_next(killed: Path) -> None:
    assert files(killed.parent) == {"a.partial/new/x": "half", "a.partial/perhop.lock": ""}
    assert list(killed.iterdir()) == []
    write(killed)
    assert files(killed.parent) == {"a/x": "new"}
    assert [path.name for path in killed.parent.iterdir()] == ["a"]


def test_the_folder_that_a_killed_process_was_replacing_comes_back_and_stays(killed: Path) -> None:
    (killed.parent / "a.partial" / "old").mkdir()
    (killed.parent / "a.partial" / "old" / "x").write_text("old")
    with pytest.raises(FileExistsError, match="left alone"):
        write(killed)
    assert files(killed.parent) == {"a/x": "old"}


def test_what_was_replaced_when_a_process_was_killed_is_gone(killed: Path) -> None:
    (killed.parent / "a.partial" / "old").mkdir()
    (killed.parent / "a.partial" / "old" / "x").write_text("old")
    (killed.parent / "a.partial" / "new").rename(killed)
    with pytest.raises(FileExistsError, match="left alone"):
        write(killed)
    assert files(killed.parent) == {"a/x": "half"}


def test_the_folder_that_cannot_go_back_stays_in_the_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a", "old")
    rename = Path.rename

    def broken(self: Path, target: Path) -> Path:
        if target == tmp_path / "a":
            raise OSError(errno.EIO, "the disk is broken")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", broken)
    with pytest.raises(OSError, match=r"what was at .*a is kept here") as told:
        write(tmp_path / "a", "new", always)
    assert told.value.filename == str(tmp_path / "a.partial" / "old")
    monkeypatch.undo()
    with pytest.raises(FileExistsError, match="left alone"):
        write(tmp_path / "a")
    assert files(tmp_path) == {"a/x": "old"}


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_only_has_the_name_of_such_a_rest_stays(tmp_path: Path, kind: str) -> None:
    rest = tmp_path / "a.partial"
    if kind == "folder":
        rest.mkdir()
        (rest / "new").write_text("mine")
    elif kind == "file":
        rest.write_text("mine")
    else:
        (tmp_path / "other").mkdir()
        rest.symlink_to(tmp_path / "other")
    before = files(tmp_path)
    with pytest.raises(FileExistsError, match="is in the way of") as told:
        write(tmp_path / "a")
    assert told.value.filename == str(rest)
    assert files(tmp_path) == before


@pytest.mark.parametrize("letters", [240, 247, 255])
def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path, letters: int) -> None:
    place = tmp_path / ("x" * letters)
    write(place)
    write_file(place / ("y" * letters), "text")
    assert files(place) == {"x": "new", "y" * letters: "text"}
    with new_folder(place.with_name("z" * letters)) as partial:
        (partial / "x").touch()
        with pytest.raises(PlaceTakenError):
            write(place.with_name("z" * letters))


def test_a_name_that_is_too_long_is_told_at_once(tmp_path: Path) -> None:
    place = tmp_path / ("x" * 256)
    with pytest.raises(OSError, match="too long"), new_folder(place):
        raise AssertionError("began")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interruption_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "old").write_text("old")
    for place in (tmp_path / "a", tmp_path / "new" / "deep" / "b"):
        with pytest.raises(error):
            begin(place, error)
    assert files(tmp_path) == {"a/old": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_interruption_between_the_two_moves_puts_the_old_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "old").write_text("old")
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "a", always) as partial:
        (partial / "x").write_text("new")
    assert files(tmp_path) == {"a/old": "old"}


def test_the_error_names_the_place_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"directory|exists") as told, new_folder(tmp_path / "file" / "a"):
        pass
    assert told.value.filename == str(tmp_path / "file" / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_is_replaced_only_if_it_may_be_and_a_link_never_followed(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_text("precious")
    link.symlink_to(victim)
    for file in (victim, link):
        with pytest.raises(FileExistsError):
            write_file(file, "new")
    write_file(link, "new", always)
    assert files(tmp_path) == {"victim": "precious", "link": "new"}
    assert not link.is_symlink()


def test_a_file_is_written_where_the_file_system_has_no_second_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    write_file(tmp_path / "a", "text")
    assert files(tmp_path) == {"a": "text"}
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "a", "new")


@pytest.mark.parametrize("call", ["unlink", "rmdir"])
def test_a_signal_while_a_claim_is_given_up_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real, interrupted = getattr(Path, call), []

    def once(path: Path, **more: bool) -> None:
        if not interrupted:
            interrupted.append(path)
            raise KeyboardInterrupt
        real(path, **more)

    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "whole"):
        monkeypatch.setattr(Path, call, once)
    assert interrupted
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]
