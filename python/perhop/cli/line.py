"""The pack `line`: a scenario of somebody's own line, and a campaign on it, from a few words about it."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import typer

from perhop.cli.exit import UsageError
from perhop.units import quantity, written_rate, written_time

USERS = ("pages", "chat", "video", "call", "download", "upload")
"""Who may use a line, in the order in which a scenario has them."""

_DEFAULTS = {
    "down": "100Mbit/s",
    "up": "5Mbit/s",
    "round_trip": "30ms",
    "buffer": "200ms",
    "overhead": "0B",
    "use": "pages,video,call,download,upload",
}
"""The words about a line, each as its option takes it."""
_ASKED = {
    "down": "Rate down, as a speed test has it",
    "up": "Rate up",
    "round_trip": "Round trip to a server while nobody uses the line, as ping has it",
    "buffer": "What waits at most at either end: ping beside an upload less ping alone, or a size",
    "overhead": "What the line adds to each IP packet (PPPoE 8B, DOCSIS 18B); 0B if the rates are of IP",
    "use": f"Who uses it at once, of {', '.join(USERS)} (video=2: two of a kind)",
}
_RULES = {
    "down": (("bit/s",), "a rate, as 50Mbit/s"),
    "up": (("bit/s",), "a rate, as 5Mbit/s"),
    "round_trip": (("s",), "a time, as 30ms"),
    "buffer": (("B", "s"), "a time or a size, as 200ms or 256kB"),
    "overhead": (("B",), "a size, as 8B"),
}


def asked(given: Mapping[str, str | None]) -> dict[str, str]:
    """Return what was given, the rest as asked for on a terminal where nothing was, else by default."""
    asks = sys.stdin.isatty() and sys.stdout.isatty() and all(one is None for one in given.values())
    words = {}
    for name, default in _DEFAULTS.items():
        own = given[name]
        if own is None:
            own = typer.prompt(_ASKED[name], default, value_proc=_valid(name)) if asks else default
        words[name] = own.strip()
    return words


def files(line: Mapping[str, str], place: Path, directory: Path) -> dict[str, str]:
    """Write the scenario of a line, and a campaign on it, by the templates in a folder."""
    from jinja2 import Environment

    from perhop.scenario.scenario import Scenario

    numbers = {name: _read(name, line[name]) for name in _RULES}
    held, unit = numbers["buffer"]
    ports = []
    for at, to, name in (("isp", "home", "down"), ("home", "isp", "up")):
        limit = held if unit == "B" else held * numbers[name][0] / 8
        ports.append((at, to, line[name], f"{max(round(limit), 3000)}B"))
    use = _users(line["use"])
    names = {name for name, _ in use}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in line.items()]
    command = shlex.join(["perhop", "init", "--pack", "line", *words, str(directory)])
    values = {
        **line,
        "overhead": line["overhead"] if numbers["overhead"][0] else "",
        "use": use,
        "ports": ports,
        "trunk": written_rate(round(10 * max(numbers[name][0] for name in ("down", "up")))),
        "near": written_time(round(numbers["round_trip"][0] * 1e9 / 6)),
        "far": written_time(round(numbers["round_trip"][0] * 1e9 / 3)),
        "command": " ".join(command.split()),
        "goes_up": bool(names & {"upload", "call"}),
        "comes_down": names != {"upload"},
        "bulk": [name for name in ("download", "upload") if name in names],
    }
    pages = Environment(keep_trailing_newline=True, autoescape=False)
    made = {
        one.stem: pages.from_string(one.read_text("utf-8")).render(values)
        for one in sorted(place.glob("*.toml.j2"))
    }
    mistakes = Scenario(made["line.toml"].encode(), "line.toml", ()).check()
    if mistakes:
        raise UsageError(f"no line is like that: {mistakes[0]['path']}: {mistakes[0]['rule']}")
    return made


def _valid(name: str) -> Callable[[str], str]:
    """Return what asks again for a word that is not as it should be."""

    def check(text: str) -> str:
        try:
            if name == "use":
                _users(text)
            else:
                _read(name, text)
        except UsageError as error:
            raise typer.BadParameter(str(error)) from None
        return text

    return check


def _read(name: str, text: str) -> tuple[float, str]:
    """Return a value in its base unit, and that; only `overhead` may be zero."""
    units, rule = _RULES[name]
    option = f"--{name.replace('_', '-')}"
    try:
        value, unit = quantity(text.strip())
    except ValueError:
        value, unit = -1.0, ""
    if unit not in units or value < 0 or (value == 0 and name != "overhead"):
        raise UsageError(f"{option}: `{text}` is not {rule}", f"{option} {rule.rsplit(' ', 1)[1]}")
    return value, unit


def _users(text: str) -> list[tuple[str, int]]:
    """Return who uses the line and how many of each, in the order of a scenario."""
    counts: dict[str, int] = {}
    for word in text.split(","):
        found = re.fullmatch(r"\s*([a-z]+)(?:=([1-9]\d{0,2}))?\s*", word)
        name, _, number = word.strip().partition("=")
        if not found and name in USERS and number:
            hint = f"none of them: leave `{name}` out" if number == "0" else f"{name}=2 for two"
            raise UsageError(f"--use: `{word}` has no number from 1 to 999", hint)
        if not found or found[1] not in USERS or found[1] in counts:
            rule = f"of {', '.join(USERS)}, each once; video=2 for two"
            raise UsageError(f"--use: `{word}` is not one {rule}", "--use pages,video=2,call,download,upload")
        counts[found[1]] = int(found[2] or 1)
    return [(name, counts[name]) for name in USERS if name in counts]
