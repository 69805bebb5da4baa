"""Faults of the disk: failing, full, short, and a crash that loses what was not synchronised."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from serving import served_by, started

HERE = Path(__file__).parent
KINDS = ("eio", "full", "short", "crash")


@dataclass(frozen=True)
class Left:
    """What a command left: its status (negative: a signal), what it said, and what it did to files."""

    code: int
    said: str
    done: list[str]

    @property
    def crashed(self) -> bool:
        return self.code < 0


class Faults:
    """Runs commands under faults.

    Parameters
    ----------
    zygote
        The process that forks for each.
    shim, folder
        What is loaded with every process, and a folder for what is its own.
    """

    def __init__(self, zygote: subprocess.Popen[str], shim: Path, folder: Path) -> None:
        self._zygote, self._shim = zygote, shim
        self._state, self._log, self._said = (folder / name for name in ("state", "log", "said"))

    def run(self, root: Path, arguments: tuple[str, ...], kind: str = "", at: int = 0) -> Left:
        """Run a command in a folder, with a fault at the `at`-th operation on files in it."""
        environment = self._begin(root, kind, at)
        job = {"arguments": arguments, "folder": str(root), "environment": environment}
        print(json.dumps(job | {"said": str(self._said)}), file=self._zygote.stdin, flush=True)
        assert self._zygote.stdout is not None
        return self._left(root, int(self._zygote.stdout.readline()), self._said.read_text())

    def serve(self, root: Path, job: str, kind: str = "", at: int = 0) -> Left:
        """Start a job from a browser, with a fault, and give its status; the server goes on."""
        environment = os.environ | {"LD_PRELOAD": str(self._shim)} | self._begin(root, kind, at)
        with (
            self._said.open("w") as said,
            started(root, ".", stderr=said, env=environment) as (server, link),
            served_by(server, link) as served,
        ):
            page = served.post(f"/{job}").raise_for_status().url.path
            told = served.events(page)
            for path in (page, "/"):
                served.client.get(path).raise_for_status()
        assert server.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM), self._said.read_text()
        return self._left(root, int(told[-1]["code"]), self._said.read_text() + json.dumps(told))

    def _begin(self, root: Path, kind: str, at: int) -> dict[str, str]:
        for each in (self._state, self._log):
            each.unlink(missing_ok=True)
        return {
            "FAULTS_ROOT": str(root.resolve()),
            "FAULTS_STATE": str(self._state),
            "FAULTS_LOG": str(self._log),
            "FAULTS_AT": str(at),
            "FAULTS_KIND": kind or "-",
        }

    def _left(self, root: Path, code: int, said: str) -> Left:
        done = self._log.read_text().splitlines() if self._log.exists() else []
        if code < 0:
            lose(root, done)
        return Left(code, said, done)


def lose(root: Path, done: list[str]) -> None:
    """Take from files what was written and not synchronised before a crash.

    What a file had before the command is kept: it is written over in place.
    """
    kept, dirty = dict[int, int](), set[int]()
    for line in done:
        _, what, inode, size, _ = line.split(" ", 4)
        file = int(inode)
        if what in ("write", "truncate", "allocate"):
            if int(size) == 0 and what != "truncate":
                kept[file] = 0  # new, or an inode that is used again
            kept.setdefault(file, int(size))
            dirty.add(file)
        elif what == "sync":
            kept[file] = int(size)
            dirty.discard(file)
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            found = path.stat()
            if found.st_ino in dirty and found.st_size > kept[found.st_ino]:
                os.truncate(path, kept[found.st_ino])


@contextmanager
def faults(folder: Path) -> Iterator[Faults]:
    """Compile the shim, and start the process that is forked."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    assert compiler, "no C compiler, which perhop needs to be built"
    shim = folder / "shim.so"
    words = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-U_FORTIFY_SOURCE", "-o", str(shim)]
    subprocess.run([compiler, *words, str(HERE / "shim.c"), "-ldl"], check=True)
    zygote = subprocess.Popen(
        [sys.executable, str(HERE / "zygote.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"LD_PRELOAD": str(shim)},
    )
    try:
        yield Faults(zygote, shim, folder)
    finally:
        assert zygote.stdin is not None
        zygote.stdin.close()
        zygote.wait(30)
        assert zygote.stdout is not None
        zygote.stdout.close()
