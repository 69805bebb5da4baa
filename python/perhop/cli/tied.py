"""A command that a server runs and that ends, as at SIGTERM, with the server."""

from __future__ import annotations

import os
import signal
import threading


def main() -> None:
    """Run the command line until standard input closes, a pipe that the server holds open."""
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
