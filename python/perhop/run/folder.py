"""Folders and files written whole or not at all, and never over the files of others."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# A claim is the folder `<place>.partial`. Whoever holds the lock of this file in it owns the place; the
# system lets go of a lock when its process ends, however that ends. The file also marks the folder as ours.
_LOCK = "perhop.lock"
_NEW, _OLD = "new", "old"
_LONGEST_NAME = 255


class PlaceTakenError(Exception):
    """Another command is writing the same folder, or something came into being there meanwhile."""


def never(_: Path) -> bool:
    """Offer nothing to be replaced."""
    return False


def always(_: Path) -> bool:
    """Offer whatever it is to be replaced."""
    return True


def real_name(path: Path) -> Path:
    """Return a name's real place: links on the way followed, the last one not."""
    return path.parent.resolve() / path.name


def is_there(path: Path) -> bool:
    """Return whether something has this name, be it a link that leads nowhere.

    An OSError says that nothing can have it: it is too long, or a part of it is a file.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


@contextmanager
def new_folder(place: str | Path, may_replace: Callable[[Path], bool] = never) -> Iterator[Path]:
    """Give an empty folder beside `place`, moved there in one step when the context ends well.

    When the context ends with an exception, Ctrl-C included, nothing of it is left and what was at `place` is
    still there. What a process left that was killed is cleared by the next that writes to the same place.
    `may_replace` tells of what is at `place` whether it may go; it is asked now and once more at the end.

    Raises
    ------
    PlaceTakenError
        Another process is at work on the same place; or something that must stay came into being there
        meanwhile. Then the new folder is kept beside it, and the error names it.
    OSError
        No folder can be made there, or what is there must stay, as a link does; the error names `place`. One
        about a file in the folder names the place that the file would have had.
    """
    place = Path(place)
    if place.is_symlink():
        raise FileExistsError(errno.EEXIST, "is a link, which is neither followed nor replaced", str(place))
    settle(place)
    if is_there(place) and not may_replace(place):
        raise FileExistsError(errno.EEXIST, "exists and is left alone", str(place))
    folder = place.resolve()
    missing = [parent for parent in folder.parents if not parent.exists()]
    try:
        with _claimed(folder, place) as claim:
            new = claim / _NEW
            try:
                new.mkdir()
                yield new
                reach_disk(new)
                _move_into_place(claim, folder, place, may_replace)
                _name_reaches_disk(folder)
            except OSError as error:
                _name_the_place(error, new, place)
                raise
    except BaseException:
        with suppress(OSError):
            for parent in missing:
                parent.rmdir()
        raise


def reach_disk(path: Path) -> None:
    """Flush a file, or a folder and everything in it, before it gets its final name.

    An OSError of a disk that is full or broken names the file.
    """
    folders = [path] if path.is_dir() else []
    files = [] if folders else [path]
    for folder, within, names in os.walk(path):
        folders += [Path(folder, name) for name in within]
        files += [Path(folder, name) for name in names]
    for each in (*files, *reversed(folders)):
        _flush(each, os.O_NOFOLLOW)


def _flush(path: Path, flag: int = 0) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flag)
    try:
        os.fsync(opened)
    except OSError as error:
        # a file system that knows no such thing, as some of networks for folders
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(opened)


def _name_reaches_disk(path: Path) -> None:
    """Flush the name too. The move is done: an error of the disk now is no reason to undo it."""
    with suppress(OSError):
        _flush(path.parent)


def settle(place: Path) -> None:
    """Remove what a killed process left for `place`; a folder that it was replacing goes back.

    A PlaceTakenError says that the process lives, an OSError where a folder is that cannot go back.
    """
    folder = place.resolve()
    if place.is_symlink() or not os.path.lexists(_beside(folder, ".partial")):
        return
    with _claimed(folder, place) as claim:
        if (claim / _NEW).exists():
            with suppress(OSError):
                folder.rmdir()  # empty: it was to be what is in the claim
        _clear(claim, folder)


def write_file(file: str | Path, content: str | bytes, may_replace: Callable[[Path], bool] = never) -> None:
    """Write a file beside its place and move it there, so that no half of it is ever seen or left.

    A link is not followed: it is replaced, if it may be. `may_replace` tells of what is there already whether
    it may go. An OSError, where it must stay or the file cannot be written, names `file`.
    """
    file = Path(file)
    partial = file.with_name(f".partial-{secrets.token_hex(8)}")
    try:
        with open(partial, "xb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
        reach_disk(partial)
        if not (is_there(file) and may_replace(file)):
            _give_name(partial, file)
        partial.replace(file)
        _name_reaches_disk(file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error
    finally:
        with suppress(OSError):
            partial.unlink()


def _give_name(partial: Path, file: Path) -> None:
    """Give a file a second name, which unlike a move is refused where there is something."""
    try:
        os.link(partial, file)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        file.touch(exist_ok=False)  # a file system without second names


@contextmanager
def _claimed(folder: Path, place: Path) -> Iterator[Path]:
    """Hold the claim to a place, and clear it at the end."""
    claim = _beside(folder, ".partial")
    try:
        lock = _lock(claim, place)
    except OSError as error:
        if error.errno == errno.EEXIST:
            raise
        raise OSError(error.errno, error.strerror, str(place)) from error
    try:
        yield claim
        _clear(claim, folder)
    except BaseException:
        _clear(claim, folder)
        raise
    finally:
        try:
            _release(claim)
        except BaseException:  # a signal in the midst of it; there is no second
            _release(claim)
            raise
        finally:
            os.close(lock)


def _release(claim: Path) -> None:
    if not (claim / _OLD).exists():
        with suppress(OSError):
            (claim / _LOCK).unlink(missing_ok=True)
            claim.rmdir()


def _lock(claim: Path, place: Path) -> int:
    """Make the claim's folder unless it is there, and lock it."""
    while True:
        try:
            claim.mkdir(parents=True)
            made = True
        except FileExistsError:
            made = False
        try:
            _check_ours(claim, place)
            lock = os.open(claim / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except FileNotFoundError:
            continue  # its owner has just ended
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # where a file system has no locks, who made the folder owns it, and may live
            if isinstance(error, BlockingIOError) or not made:
                os.close(lock)
                raise PlaceTakenError(f"{place}: another command is writing it, in {claim}") from error
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.lstat(claim / _LOCK)):
                return lock
        os.close(lock)  # the lock of a claim that ended meanwhile


def _check_ours(claim: Path, place: Path) -> None:
    """Refuse a file or folder that has the name of a claim and is none."""
    try:
        names = os.listdir(claim)
    except NotADirectoryError:
        names = [""]
    if claim.is_symlink() or (names and _LOCK not in names):
        raise FileExistsError(errno.EEXIST, f"is in the way of {place}", str(claim))


def _clear(claim: Path, folder: Path) -> None:
    """Empty a claim; a folder that was being replaced goes back, unless the new is in its place."""
    old, new = claim / _OLD, claim / _NEW
    if old.exists() and (new.exists() or not is_there(folder)):
        try:
            _settle_at(old, folder)
        except OSError as error:
            said = f"{error.strerror}; what was at {folder} is kept here"
            raise OSError(error.errno, said, str(old)) from error
    for each in (new, old):
        shutil.rmtree(each, ignore_errors=True)


def _move_into_place(claim: Path, folder: Path, place: Path, may_replace: Callable[[Path], bool]) -> None:
    if is_there(folder) and may_replace(folder):
        folder.rename(claim / _OLD)
    goal = _settle_at(claim / _NEW, folder)
    if goal != folder:
        raise PlaceTakenError(
            f"{place} came into being meanwhile and is left alone; what was written is in {goal}"
        )


def _settle_at(part: Path, folder: Path) -> Path:
    """Move a folder to a place, or to the first free place beside it; return which."""
    number, goal = 1, folder
    while not _moved(part, goal):
        number += 1
        goal = _beside(folder, f"-{number}")
    return goal


def _moved(folder: Path, goal: Path) -> bool:
    """Move a folder to a free name; return False if something has it."""
    try:
        goal.mkdir()
    except FileExistsError:
        return False
    try:
        folder.rename(goal)
    except BaseException:
        with suppress(OSError):
            goal.rmdir()
        raise
    return True


def _beside(folder: Path, suffix: str) -> Path:
    """Give a name for a neighbour; that of a folder with a very long name is a hash."""
    name = folder.name
    if not name:  # the root of all folders
        raise FileExistsError(errno.EEXIST, "exists and is left alone", str(folder))
    if len(os.fsencode(name + suffix)) > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return folder.with_name(name + suffix)


def _name_the_place(error: OSError, new: Path, place: Path) -> None:
    """Name the user's own path where an error names the folder under way."""
    if isinstance(error.filename, str) and (file := Path(error.filename)).is_relative_to(new):
        error.filename = str(place / file.relative_to(new))
