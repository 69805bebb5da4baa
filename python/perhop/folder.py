"""Folders and files written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def new_folder(place: str | Path) -> Iterator[Path]:
    """Give an empty folder beside `place`, and move it there in one step when the context ends well.

    When the context ends with an exception, Ctrl-C included, nothing of it is left and what was at `place` is
    still there.

    Parameters
    ----------
    place
        Where the folder goes. One that is there already is replaced: the caller decides whether it may be.

    Raises
    ------
    OSError
        No folder can be made there; the error names `place`. One about a file in the folder names the place
        that the file would have had.
    """
    folder = Path(place).resolve()
    partial = folder.with_name(f"{folder.name}.partial-{os.getpid()}")
    missing = [parent for parent in folder.parents if not parent.exists()]
    try:
        try:
            partial.mkdir(parents=True)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(place)) from error
        yield partial
        _move_into_place(partial, folder)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):
            for parent in missing:
                parent.rmdir()
        if isinstance(error, OSError) and isinstance(error.filename, str):
            file = Path(error.filename)
            if file.is_relative_to(partial):
                error.filename = str(Path(place) / file.relative_to(partial))
        raise


def write_file(file: str | Path, content: str | bytes) -> None:
    """Write a file beside its place and move it there, so that no half of it is ever seen or left.

    Raises
    ------
    OSError
        It cannot be written; the error names `file`.
    """
    real = Path(file).resolve()
    partial = real.with_name(f"{real.name}.partial-{os.getpid()}")
    try:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        partial.replace(real)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error
    finally:
        with suppress(OSError):
            partial.unlink()


def _move_into_place(partial: Path, folder: Path) -> None:
    if not folder.exists():
        partial.rename(folder)
        return
    old = folder.with_name(f"{folder.name}.old-{os.getpid()}")
    try:
        folder.rename(old)
        partial.rename(folder)
    finally:
        if not folder.exists():
            old.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
