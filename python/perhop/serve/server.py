"""The server: a socket on loopback, its address with a token, and its end."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import uvicorn

from perhop.serve.app import build
from perhop.serve.connections import WAITING, Connection
from perhop.serve.guard import HOST
from perhop.serve.jobs import Jobs
from perhop.serve.places import kind_of
from perhop.serve.site import Site

_LET_END_S = 2
_LOOK_AGAIN_S = 0.5


class _Server(uvicorn.Server):
    """Ends the streams of those who follow a job, before it waits for them; Enter is a new link."""

    def __init__(self, config: uvicorn.Config, site: Site, new_link: Callable[[], None]) -> None:
        super().__init__(config)
        self._site, self._new_link = site, new_link

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and listen to the terminal."""
        await super().startup(sockets)
        if sys.stdin is not None and sys.stdin.isatty():
            self._hear()

    def _hear(self) -> None:
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._entered)

    def _entered(self) -> None:
        loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()
        loop.remove_reader(terminal)
        try:
            is_own = os.tcgetpgrp(terminal) == os.getpgrp()
            if is_own and not os.read(terminal, 4096):
                return
        except OSError:
            return  # not the terminal that it was started from, or one that is closed
        if is_own:
            self._new_link()
        # what is typed while another program has the terminal is that program's, and may lie there for long
        loop.call_later(0 if is_own else _LOOK_AGAIN_S, self._hear)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End, at Ctrl-C or SIGTERM."""
        self._site.stopping.set()
        super().handle_exit(sig, frame)


def listen(port: int) -> socket.socket:
    """Return a socket on loopback; port 0 is a free one."""
    return socket.create_server((HOST, port))


def home_of(given: Sequence[Path]) -> Path:
    """Return the folder for runs from the browser: the first given one that is a plain folder."""
    return next((path for path in given if path.is_dir() and kind_of(path) is None), Path("out"))


def serve(given: Sequence[Path], own: socket.socket, announce: Callable[[str], None]) -> None:
    """Serve on a socket until Ctrl-C or SIGTERM, which are raised again when all has ended.

    Each address that opens the server, once, is announced.
    """
    port = own.getsockname()[1]
    jobs = Jobs(max(2, os.cpu_count() or 1))
    site = Site(given, home_of(given), jobs)
    guard = build(site, port)
    config = uvicorn.Config(
        guard,
        http=Connection,
        backlog=WAITING,
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_LET_END_S,
    )
    announce(guard.link())
    try:
        _Server(config, site, lambda: announce(guard.link())).run(sockets=[own])
    finally:
        jobs.kill()
