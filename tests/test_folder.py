"""A folder is written whole or not at all, and what was there stays until the new one is whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from perhop.folder import new_folder


def files(top: Path) -> dict[str, str]:
    """Give every file under a folder with its text."""
    return {str(path.relative_to(top)): path.read_text() for path in top.rglob("*") if path.is_file()}


def begin(place: Path, error: type[BaseException]) -> None:
    """Write half of a folder."""
    with new_folder(place) as partial:
        (partial / "x").write_text("half")
        raise error


def test_it_comes_into_being_whole_with_its_parents(tmp_path: Path) -> None:
    with new_folder(tmp_path / "a" / "b") as partial:
        (partial / "x").write_text("new")
        assert not (tmp_path / "a" / "b").exists()
    assert files(tmp_path) == {"a/b/x": "new"}


def test_it_replaces_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "old").write_text("old")
    with new_folder(tmp_path / "a") as partial:
        (partial / "x").write_text("new")
    assert files(tmp_path) == {"a/x": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


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
        if ".partial-" in self.name:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "a") as partial:
        (partial / "x").write_text("new")
    assert files(tmp_path) == {"a/old": "old"}


def test_the_error_names_the_place_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"directory|exists") as told, new_folder(tmp_path / "file" / "a"):
        pass
    assert told.value.filename == str(tmp_path / "file" / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
