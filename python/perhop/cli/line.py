"""The pack `line`: a scenario of somebody's own line, from a few words about it."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import typer

from perhop.cli.exit import UsageError
from perhop.units import quantity

USERS = ("pages", "chat", "video", "call", "download", "upload")
"""Who may use a line, in the order in which a scenario has them."""


@dataclass(frozen=True)
class Line:
    """The words about a line, each as its option takes it.

    Attributes
    ----------
    down, up
        Rates.
    round_trip
        There and back to a server, nothing waiting.
    buffer
        What either end holds: a size, or how long that keeps the line busy.
    overhead
        What the line adds to an IP packet.
    use
        Who uses it, ``video=2`` for two of a kind.
    """

    down: str = "100Mbit/s"
    up: str = "5Mbit/s"
    round_trip: str = "30ms"
    buffer: str = "200ms"
    overhead: str = "0B"
    use: str = "pages,video,call,download,upload"


ASKED = {
    "down": "Rate down, as a speed test has it",
    "up": "Rate up",
    "round_trip": "Round trip to a server while nobody uses the line, as ping has it",
    "buffer": "What waits at most at either end: ping beside an upload less ping alone, or a size",
    "overhead": "What the line adds to each IP packet (PPPoE 8B, DOCSIS 18B); 0B if the rates are of IP",
    "use": f"Who uses it at once, of {', '.join(USERS)} (video=2: two of a kind)",
}
"""What is asked on a terminal."""


def asked(given: Mapping[str, str | None]) -> Line:
    """Return what was given, the rest as asked for on a terminal where nothing was, else by default."""
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not any(given.values())
    words = {}
    for one in fields(Line):
        default = str(one.default)
        words[one.name] = given[one.name] or (
            str(typer.prompt(ASKED[one.name], default=default)) if asks else default
        )
    return Line(**words)


def scenario(line: Line, template: Path, directory: Path) -> str:
    """Write the scenario of a line.

    Raises
    ------
    UsageError
        A value is not what it should be.
    """
    from jinja2 import Environment

    rates = {name: _read(line, name, ("bit/s",), "a rate, as 50Mbit/s")[0] for name in ("down", "up")}
    round_trip, _ = _read(line, "round_trip", ("s",), "a time, as 30ms")
    held, unit = _read(line, "buffer", ("B", "s"), "a time or a size, as 200ms or 256kB")
    overhead, _ = _read(line, "overhead", ("B",), "a size, as 8B", can_be_none=True)
    ports = []
    for at, to, name in (("isp", "home", "down"), ("home", "isp", "up")):
        limit = held if unit == "B" else held * rates[name] / 8
        ports.append((at, to, getattr(line, name), f"{max(round(limit), 3000)}B"))
    words = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(line).items()]
    page = Environment(keep_trailing_newline=True, autoescape=False).from_string(template.read_text("utf-8"))
    return page.render(
        down=line.down,
        up=line.up,
        round_trip=line.round_trip,
        overhead=line.overhead if overhead else "",
        use=_users(line.use),
        ports=ports,
        trunk="1Gbit/s" if max(rates.values()) <= 3e8 else "10Gbit/s",
        near=f"{round_trip * 1e3 / 6:.3g}ms",
        far=f"{round_trip * 1e3 / 3:.3g}ms",
        command=shlex.join(["perhop", "init", "--pack", "line", *words, str(directory)]),
    )


def _read(
    line: Line, name: str, units: tuple[str, ...], rule: str, *, can_be_none: bool = False
) -> tuple[float, str]:
    text = getattr(line, name)
    option = f"--{name.replace('_', '-')}"
    try:
        value, unit = quantity(text)
    except ValueError:
        value, unit = -1.0, ""
    if unit not in units or value < 0 or (value == 0 and not can_be_none):
        raise UsageError(f"{option}: `{text}` is not {rule}", f"{option} {rule.rsplit(' ', 1)[1]}")
    return value, unit


def _users(text: str) -> list[tuple[str, int]]:
    """Return who uses the line and how many of each, in the order of a scenario."""
    counts: dict[str, int] = {}
    for word in text.split(","):
        found = re.fullmatch(r"\s*([a-z]+)(?:=([1-9]\d{0,2}))?\s*", word)
        if not found or found[1] not in USERS or found[1] in counts:
            rule = f"of {', '.join(USERS)}, each once; video=2 for two"
            raise UsageError(f"--use: `{word}` is not one {rule}", "--use pages,video=2,call,download,upload")
        counts[found[1]] = int(found[2] or 1)
    return [(name, counts[name]) for name in USERS if name in counts]
