"""Bounds on connections, and on their silence, so that nobody keeps the owner out."""

from __future__ import annotations

import asyncio
import errno
import resource
import sys
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 256
"""Connections at a time, where the limit on open files leaves room for them."""

SILENT_S = 10.0
"""How long a request may take to arrive, s: its head, and each part of its body."""

WAITING = 64
"""Connections that wait to be taken in, and the most that are taken in at once."""

_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def most() -> int:
    """Return the bound on connections: a quarter of the open files allowed, at most `MOST`."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(8, min(MOST, soft // 4))


class Connection(H11Protocol):
    """A connection that is closed if no request comes, and goes first where there are too many."""

    _silent: ClassVar[dict[Connection, asyncio.TimerHandle]] = {}  # of all, the oldest first
    _most = most()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; closes the longest silent connection, if need be."""
        super().connection_made(transport)
        self._silent[self] = self.loop.call_later(SILENT_S, transport.abort)
        while len(self.connections) > self._most and len(self._silent) > 1:
            oldest = next(iter(self._silent))
            oldest._spoke()
            oldest.connections.discard(oldest)
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._spoke()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Stop waiting when the head of a request is whole."""
        before = self.scope
        super().handle_events()
        if self.scope is not before:
            self._spoke()

    def _spoke(self) -> None:
        timer = self._silent.pop(self, None)
        if timer is not None:
            timer.cancel()


def warn_once(loop: asyncio.AbstractEventLoop) -> None:
    """Print one line, once, if no connection can be accepted; everything else as usual."""
    warned = False

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal warned
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in _NO_ROOM):
            loop.default_exception_handler(context)
        elif not warned:
            warned = True
            print(f"warning: a connection cannot be taken in: {error.strerror}", file=sys.stderr)

    loop.set_exception_handler(handle)
