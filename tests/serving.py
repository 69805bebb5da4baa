"""`perhop serve` as a process, and a client that has its cookie: what its tests share."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

WAIT_S = 60.0


@dataclass
class Served:
    """A server that goes, and a client that has its cookie."""

    process: subprocess.Popen[str]
    base: str
    client: httpx.Client

    def post(self, path: str, **form: str) -> httpx.Response:
        return self.client.post(path, data=form, headers={"origin": self.base})

    def events(self, path: str) -> list[dict[str, Any]]:
        """Return what a job's stream of events told until it ended."""
        told = []
        with self.client.stream("GET", f"{path}/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    told.append(json.loads(line.removeprefix("data: ")))
        return told


@contextmanager
def started(folder: Path, place: str, **more: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve a place from a folder; give the process and the link that it prints. `more` is for `Popen`."""
    words = [sys.executable, "-m", "perhop.cli", "serve", place]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True, **more) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(WAIT_S)


@contextmanager
def served_by(process: subprocess.Popen[str], link: str) -> Iterator[Served]:
    """Open the link."""
    base = link.partition("/?")[0]
    with httpx.Client(base_url=base, follow_redirects=True, timeout=WAIT_S) as client:
        assert client.get(link).status_code == 200
        yield Served(process, base, client)
