"""Commands of perhop as processes: their output as it comes, and their ends."""

from __future__ import annotations

import asyncio
import codecs
import itertools
import os
import re
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from perhop.serve.places import Place

_MOST_KEPT = 1_000_000
"""Characters kept of what a job prints."""

_MOST_ENDED = 100
_LET_END_S = 60.0
"""A run notices that it shall end at the end of a slice, which takes seconds on a busy machine."""
_PROGRESS = re.compile(r".*: (\d{1,3})%.* left\n?")

_WHAT = {
    "run": "The run",
    "recommend": "The recommendation",
    "campaign": "The campaign",
    "reproduce": "The study",
    "lesson": "The check of your predictions",
}
_MEANS = {
    1: "there is a defect in perhop, or a file cannot be written",
    2: "the command asks for something that cannot be",
    3: "a file has mistakes",
    4: "a run failed",
    7: "this machine lacks something",
    8: "the folder is damaged, in use, or of a newer perhop",
}
"""What exit statuses mean: `perhop.cli.exit`."""


class BusyError(Exception):
    """As many jobs are going as there may be."""


@dataclass
class Job:
    """A command that was started."""

    id: int
    words: tuple[str, ...]
    """The command from the word after ``perhop``."""
    result: str
    """The run or the store that it makes, by key."""
    back: str
    """The address of the page where it was asked for."""
    began: float = field(default_factory=time.time)
    state: Literal["going", "ended"] = "going"
    code: int | None = None
    asked_to_end: bool = False
    printed: list[tuple[str, str]] = field(default_factory=list)
    kept: int = 0
    process: asyncio.subprocess.Process | None = None
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def status(self) -> str:
        """The command, and how it ended or that it is going."""
        what = _WHAT.get(self.words[0], "The command")
        if self.state == "going":
            return f"{what} is going"
        if self.code == 0:
            return f"{what} is done"
        if self.asked_to_end:
            return f"{what} was ended"
        means = _MEANS.get(self.code or 0)
        return f"{what} ended with exit status {self.code}" + (f": {means}" if means else "")

    @property
    def sets(self) -> list[str]:
        """Overrides of the scenario that it was started with."""
        return [value for option, value in itertools.pairwise(self.words) if option == "-s"]

    @property
    def line(self) -> str:
        """The command, to be copied."""
        return shlex.join(["perhop", *self.words])

    def text(self, stream: str) -> str:
        """Return the text printed to a stream."""
        return "".join(text for name, text in self.printed if name == stream)

    @property
    def percent(self) -> int | None:
        """Return the progress as the job prints it, in percent."""
        if self.state == "ended":
            return 100 if self.code == 0 else None
        found = _PROGRESS.fullmatch(self.progress)
        return min(int(found[1]), 100) if found else None

    @property
    def progress(self) -> str:
        """The latest line of progress."""
        return next((text for name, text in reversed(self.printed) if name == "progress"), "")

    async def add(self, stream: str, text: str) -> None:
        """Keep printed text, of very much the beginning, and wake those who wait."""
        if not text or self.kept > _MOST_KEPT:
            return
        self.kept += len(text)
        cut = "\n(the rest is left out)\n" if self.kept > _MOST_KEPT else ""
        async with self.changed:
            self.printed.append((stream, text[:_MOST_KEPT] + cut))
            self.changed.notify_all()

    async def news(self, seen: int, wait_s: float) -> list[tuple[str, str]]:
        """Return the text printed after `seen` parts, and wait so long for some."""
        async with self.changed:
            if len(self.printed) <= seen and self.state == "going":
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.changed.wait(), wait_s)
            return self.printed[seen:]


class Jobs:
    """All jobs of a server, at most so many side by side."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.all: dict[int, Job] = {}
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._groups: set[int] = set()
        # nobody writes to it; its end closes with this process, and every job sees that
        self._tie, self._held = os.pipe()

    def going(self) -> list[Job]:
        """Return those that have not ended."""
        return [job for job in self.all.values() if job.state == "going"]

    def start(self, words: Sequence[str], result: str, back: str) -> Job:
        """Start a command, unless too many are going."""
        if len(self.going()) >= self.most:
            raise BusyError(f"{self.most} commands are going, as many as this machine has cores")
        ended = [job.id for job in self.all.values() if job.state == "ended"]
        for old in ended[: max(0, len(ended) - _MOST_ENDED)]:
            del self.all[old]
        job = Job(next(self._numbers), tuple(words), result, back)
        self.all[job.id] = job
        task = asyncio.create_task(self._run(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    async def _run(self, job: Job) -> None:
        try:
            job.process = process = await self._process(job.words)
            assert process.stdout is not None
            assert process.stderr is not None
            if job.asked_to_end:
                self.end(job)
            await asyncio.gather(_read(job, "stdout", process.stdout), _read(job, "stderr", process.stderr))
            code = await process.wait()
            # one that a signal ended before it could say so, as a shell has it
            job.code = code if code >= 0 else 128 - code
            self._groups.discard(process.pid)
        except OSError as error:
            await job.add("stderr", f"error: {error}\n")
            job.code = 1
        finally:
            async with job.changed:
                job.state = "ended"
                job.changed.notify_all()

    async def _process(self, words: Sequence[str]) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "perhop.cli.tied", *words),
            stdin=self._tie,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PERHOP_PROGRESS": "0.3", "NO_COLOR": "1"},
            start_new_session=True,
        )
        self._groups.add(process.pid)
        return process

    async def printed(self, words: Sequence[str]) -> tuple[int, str, str]:
        """Run a command to its end; return its exit status and its output."""
        process = await self._process(words)
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                process.kill()
            raise
        self._groups.discard(process.pid)
        return process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace")

    def end(self, job: Job) -> None:
        """Ask a job to end, as ``kill`` does: it leaves nothing half-written."""
        job.asked_to_end = True
        if job.process is not None and job.state == "going":
            with suppress(ProcessLookupError):
                job.process.terminate()

    async def close(self) -> None:
        """End all jobs and wait for them; kill those that do not end."""
        for job in self.going():
            self.end(job)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LET_END_S)
        self.kill()

    def kill(self) -> None:
        """Kill jobs that still go."""
        for group in self._groups:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        self._groups.clear()


async def _read(job: Job, name: str, stream: asyncio.StreamReader) -> None:
    """Read a process's output, in whole lines; lines of progress are apart from others."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    rest = ""
    while data := await stream.read(1 << 16):
        *lines, rest = (rest + decoder.decode(data)).split("\n")
        for is_progress, some in itertools.groupby(lines, lambda line: bool(_PROGRESS.fullmatch(line))):
            for text in [f"{line}\n" for line in some] if is_progress else ["\n".join(some) + "\n"]:
                await job.add("progress" if is_progress and name == "stderr" else name, text)
    await job.add(name, rest + decoder.decode(b"", final=True))


class Pages:
    """Pages from commands, kept as long as the files that they are made from stay as they are."""

    _MOST = 32

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._kept: dict[tuple[object, ...], str] = {}
        self._turn = asyncio.Semaphore(2)

    async def page(self, words: Sequence[str], places: Sequence[Place]) -> tuple[int, str]:
        """Return the exit status of a command, and the page or its error."""
        stamp = (*words, *(place.stamp() for place in places))
        if stamp in self._kept:
            return 0, self._kept[stamp]
        async with self._turn:
            code, out, err = await self._jobs.printed(words)
        if code != 0:
            return code, err
        while len(self._kept) >= self._MOST:
            del self._kept[next(iter(self._kept))]
        self._kept[stamp] = out
        return 0, out


async def following(job: Job, seen: int, stopping: asyncio.Event) -> AsyncIterator[tuple[int, str, str]]:
    """Yield the output of a job after `seen` parts, until it ends or the server does."""
    while not stopping.is_set():
        ended = job.state == "ended"
        for stream, text in await job.news(seen, 0.5):
            seen += 1
            yield seen, stream, text
        if ended:
            return
