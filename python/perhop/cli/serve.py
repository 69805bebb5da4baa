"""`perhop serve`: runs and campaigns in the browser, on this machine alone."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from stat import S_ISREG

from perhop.cli import options
from perhop.cli.exit import CommandError, ExitCode, UsageError
from perhop.cli.options import argument, flag, option


def command(
    places: list[Path] | None = argument(
        "[STORE|FOLDER]...", "Stores, runs, scenario files, or folders with such in them; default out.", None
    ),
    port: int = option("--port", "N", "Port; 0 is a free one.", 0, min=0, max=65535),
    trust: bool = flag("--trust", "Run elements in Python of the scenarios: their programs can do anything."),
    as_json: bool = options.JSON,
) -> None:
    """Show runs and campaigns in the browser, change settings and run them; on this machine alone."""
    from perhop.cli.output import answer, note
    from perhop.scenario.trust import set_trust
    from perhop.serve.places import kind_of

    set_trust(trust)
    given = list(dict.fromkeys(places or [Path("out")]))
    for place in places or []:
        if S_ISREG(place.stat().st_mode) and kind_of(place) is None:
            message = f"{place}: nothing that serve can show"
            raise UsageError(message, "name a folder, a scenario, campaign.toml, study.toml or lesson.toml")
    try:
        from perhop.serve.guard import HOST
        from perhop.serve.server import listen, serve
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name in ("perhop", ""):
            raise
        message = f"perhop serve needs {name}, which is not installed"
        raise CommandError(ExitCode.MACHINE, message, "pip install 'perhop[ui]'") from error
    try:
        own = listen(port)
    except OSError as error:
        why = {errno.EADDRINUSE: "is taken", errno.EACCES: "is not for everybody"}.get(error.errno or 0)
        if why is None:
            raise
        message = f"--port {port}: the port {why} on {HOST}"
        raise UsageError(message, "give another, or none for a free one") from error

    def announce(address: str) -> None:
        answer({"address": address}, address, as_json)
        sys.stdout.flush()
        note("open it in a browser of this machine; it works once. Enter: another; Ctrl-C: the end")

    serve(given, own, announce)
