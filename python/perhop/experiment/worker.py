"""A worker process of this machine: it reads runs from its standard input, and writes results."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn


def main() -> NoReturn:
    """Serve until the input ends, as it does when the driver has ended, however it did."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's, who ends its workers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    calls: queue.SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(calls,), daemon=True).start()
    while True:
        function, arguments = calls.get()
        try:
            answer: tuple[bool, Any] = True, function(*arguments)
        except Exception as error:
            answer = False, error
        try:
            pickle.dump(answer, answers)
            answers.flush()
        except OSError:
            os._exit(0)


def _read(calls: queue.SimpleQueue[Any]) -> None:
    """Take calls in; without a driver a run is for nobody, and ends at once."""
    try:
        while True:
            calls.put(pickle.load(sys.stdin.buffer))
    except (EOFError, OSError):
        os._exit(0)
