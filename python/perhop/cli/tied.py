"""A command of perhop that a server runs: it ends, as at SIGTERM, when the server has, however that ended."""

from __future__ import annotations

import os
import signal
import threading


def main() -> None:
    """Run the command line; standard input is a pipe that the server holds open and never writes to."""
    threading.Thread(target=_watch, daemon=True).start()

    # what takes long to import: the server may end meanwhile
    from perhop.cli.__main__ import main as command

    command()


def _watch() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
