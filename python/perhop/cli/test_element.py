"""`perhop test-element`: the laws of perhop's own elements, asked of one in Python."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from perhop.cli import options
from perhop.cli.exit import CommandError, ExitCode, UsageError
from perhop.cli.options import argument, flag, option

LAWS = {
    "books_balance": "a packet is kept, sent, or dropped and reported; flows stay in order; the limit holds",
    "repeats": "equal calls get equal answers",
    "a_port_counts_it_all": "a port counts every drop and every mark",
    "early_timeouts_change_nothing": "a call before its time changes nothing",
    "serves_what_waits": "a class with a packet is served; the link idles if none has, or to a time ahead",
    "keeps_its_floors": "cwnd is at least one segment, ssthresh at least two, whatever happens",
    "shrinks_as_told": "a limit and a deflation leave no more than they say; idleness widens nothing",
    "takes_a_timeout_back": "a time-out that proves spurious takes nothing away",
    "acknowledges_in_time": "what may wait is acknowledged in 500 ms and with the next segment, else at once",
    "respects_colors": "a colour is never improved, or makes no difference",
}
"""The laws, each in words."""

CALLED = {"control": "congestion control", "ack": "policy for ACKs"}
"""The kinds of elements with another name in words."""


def command(
    file: Path = argument("FILE", "A file with elements in Python."),
    name: str | None = option("--name", "CLASS", "One class; default every element of the file."),
    settings: list[str] | None = option("-s --set", "NAME=VALUE", "A setting of the class; may be repeated."),
    limit: str = option("--limit", "SIZE", "Most that waits in a queue.", "8p"),
    classes: str = option("--classes", "NAMES", "Classes of a scheduler's port.", "a,b,c"),
    aware: bool = flag("--color-aware", "A meter looks at the colours that packets come with."),
    cases: int = option("--cases", "N", "Random sequences of calls for each law.", 256, min=1),
    as_json: bool = options.JSON,
) -> int:
    """Ask of elements in Python what perhop's own must obey; this runs the file."""
    from perhop import _core
    from perhop.cli.output import print_json
    from perhop.scenario.element import Mistake, kinds

    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text", "save it as UTF-8") from error
    try:
        found = kinds(str(file), text)
    except Mistake as mistake:
        raise CommandError(ExitCode.INVALID, mistake.rule) from mistake
    if name is not None and name not in found:
        hint = _core.suggest(name, list(found)) or f"elements: {', '.join(found) or 'none'}"
        raise UsageError(f"{file} has no element `{name}`", hint)
    asked = {name: found[name]} if name else found
    if not asked:
        hint = "`enqueue` and `dequeue`, `measure`, `select`, `on_ack` and `on_congestion`, or `on_arrival`"
        raise CommandError(ExitCode.INVALID, f"{file} has no element", hint)
    os.environ["PROPTEST_CASES"] = str(cases)
    given = [_setting(one) for one in settings or []]
    tested: list[dict[str, Any]] = []
    for own, kind in asked.items():
        laws, wrong = [], None
        try:
            laws = _core.element_laws(kind, (str(file), text, own), given, limit, classes.split(","), aware)
        except _core.ElementError as error:
            wrong = str(error)
        except ValueError as error:
            raise UsageError(f"--limit {limit} {error}", "write --limit 3p, or --limit 30kB") from error
        held = [{"law": law, "holds": why is None, "broken": why} for law, why in laws]
        tested.append({"name": own, "kind": kind, "mistake": wrong, "laws": held})
    if as_json:
        print_json({"file": str(file), "cases": cases, "elements": tested})
    else:
        for each in tested:
            tried = f"in {cases} random sequences of calls for each law"
            how = tried if each["mistake"] is None else f"cannot be built: {each['mistake']}"
            print(f"{file}: {each['name']}, a {CALLED.get(each['kind'], each['kind'])}, {how}")
            if missing := re.fullmatch(r"(\w+) is missing", each["mistake"] or ""):
                print(f"  give it: -s {missing[1]}=VALUE")
            for one in each["laws"]:
                print(f"  {'holds ' if one['holds'] else 'BROKEN'}  {one['law']}: {LAWS[one['law']]}")
                for line in (one["broken"] or "").strip().splitlines():
                    print(f"          {line}")
    sound = all(each["mistake"] is None and all(one["holds"] for one in each["laws"]) for each in tested)
    return ExitCode.DONE if sound else ExitCode.INVALID


def _setting(text: str) -> tuple[str, str | int | float | bool]:
    """Read ``name=value``; a value that is no number and no flag is text."""
    import tomllib

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"-s {text}: no value", "write -s name=value, such as -s min_th=5")
    try:
        read = tomllib.loads(f"value = {value}")["value"]
    except ValueError:
        read = value
    if not isinstance(read, str | int | float | bool):
        raise UsageError(f"-s {text}: a setting is text, a number, true or false")
    return name.strip(), read
